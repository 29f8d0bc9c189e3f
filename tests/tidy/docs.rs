//! Documents speak of what exists, and promises about the code hold in the code.

use crate::sources::{crates, read, root, sources, test_files};
use std::collections::BTreeMap;
use std::path::Path;

/// The documents whose links are checked, besides those in `docs/`.
const DOCUMENTS: [&str; 5] = [
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "crates/README.md",
    "crates/protocol/README.md",
];

/// All of them, by their paths in the repository.
fn documents() -> Vec<String> {
    let entries = std::fs::read_dir(root().join("docs")).expect("there are documents");
    let entries = entries.map(|entry| entry.expect("it can be listed").path());
    let names = entries.filter_map(|path| path.file_name()?.to_str().map(str::to_owned));
    let more = names.filter(|name| name.ends_with(".md"));
    let more = more.map(|name| format!("docs/{name}"));
    DOCUMENTS
        .map(str::to_owned)
        .into_iter()
        .chain(more)
        .collect()
}

#[test]
fn the_code_map_has_every_crate_and_no_other() {
    let map = read("crates/README.md");
    for name in crates() {
        assert!(
            map.contains(&format!("| [`{name}`]({name}/)")),
            "crates/README.md has no row for `{name}`"
        );
    }
    for line in map.lines().filter_map(|line| line.strip_prefix("| [`")) {
        let (name, _) = line.split_once('`').expect("a row names its crate");
        let manifest = root().join("crates").join(name).join("Cargo.toml");
        assert!(manifest.exists(), "crates/README.md has a row for `{name}`");
    }
}

#[test]
fn links_lead_somewhere() {
    for document in documents() {
        let path = root().join(&document);
        let folder = path.parent().expect("a document lies in a folder");
        for target in links(&read(&document)) {
            assert!(
                leads_somewhere(folder, &target),
                "{document}: the link to {target} leads nowhere"
            );
        }
    }
}

/// The list in `crates/README.md` speaks of 22 invariants; each has a test that bears its number.
#[test]
fn every_invariant_has_a_test_of_its_number() {
    let tests: String = test_files().iter().map(|path| read(path)).collect();
    for number in 1..=22 {
        let name = format!("inv_{number:02}_");
        let is_named = tests
            .lines()
            .any(|line| line.trim_start().starts_with("fn ") && line.contains(&name));
        assert!(is_named, "no test is called {name}...");
    }
}

/// The targets of all links of a Markdown text, fenced blocks left out.
fn links(text: &str) -> Vec<String> {
    let mut targets = Vec::new();
    let mut fenced = false;
    for line in text.lines() {
        fenced ^= line.trim_start().starts_with("```");
        if fenced {
            continue;
        }
        for part in line.split("](").skip(1) {
            targets.extend(part.split_once(')').map(|(target, _)| target.to_owned()));
        }
    }
    targets
}

fn leads_somewhere(folder: &Path, target: &str) -> bool {
    if target.contains("://") || target.starts_with("mailto:") {
        return true;
    }
    let (path, _heading) = target.split_once('#').unwrap_or((target, ""));
    path.is_empty() || folder.join(path).exists()
}

#[test]
fn links_are_found_outside_fences_only() {
    let text = "a [b](c.md) and [d](e.md#f)\n```\n[no](x)\n```\n[g](#h)";
    assert_eq!(links(text), ["c.md", "e.md#f", "#h"]);
}

/// Invariant 7. Programs that take no lock append to inboxes too, so whatever is cut off could be
/// theirs. Four places shorten files that have one writer: the journal's torn end, the text in a
/// member's lock, the live state that is not shown, and the notes in the lock of tasks or requests, for whoever holds it.
#[test]
fn inv_07_no_code_path_shortens_an_inbox() {
    let shortening = [
        "set_len",
        "truncate(true)",
        "ftruncate",
        "File::create(",
        "fs::write(",
    ];
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    let sources = sources("crates/teamdir/src");
    assert!(!sources.is_empty(), "teamdir has no sources");
    for source in &sources {
        let lines = source.code();
        let count = lines.filter(|(_, line)| shortening.iter().any(|word| line.contains(word)));
        let count = count.count();
        if count > 0 {
            found.insert(source.path.clone(), count);
        }
    }
    let allowed = BTreeMap::from([
        ("crates/teamdir/src/members/journal.rs".to_owned(), 1),
        ("crates/teamdir/src/members/live_file.rs".to_owned(), 1),
        ("crates/teamdir/src/locks/file_lock.rs".to_owned(), 1),
        ("crates/teamdir/src/members/lock.rs".to_owned(), 1),
    ]);
    assert_eq!(
        found, allowed,
        "files that shorten something, and how often"
    );
}

/// Where a test waits in a loop of its own, or for something not to happen.
const SLEEPING_TESTS: [&str; 2] = [
    "crates/sandbox/tests/inside/attacks.rs",
    "crates/sandbox/tests/session.rs",
];

#[test]
fn tests_wait_for_conditions_and_do_not_sleep() {
    let is_test = |path: &&String| {
        path.starts_with("tests/") || path.contains("/tests/") || path.ends_with("/tests.rs")
    };
    let calls = ["thread::", "time::"].map(|module| format!("{module}sleep("));
    for path in test_files().iter().filter(is_test) {
        let text = read(path);
        let sleeps = calls.iter().any(|call| text.contains(call));
        assert!(
            !sleeps || SLEEPING_TESTS.contains(&path.as_str()),
            "{path} sleeps: wait for a condition with a limit"
        );
    }
}
