//! Text that a terminal would act on, in every field of every file and in the words of a server.

use crate::harness::{Run, Workspace};
use protocol::exit;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use terminal_text::is_hostile;
use test_support::llm_server::ServerReply;

/// A title, the clipboard, a cleared screen, C1, turned writing, and characters without a width.
const HOSTILE: &str = "\u{1b}]0;owned\u{7}\u{1b}]52;c;ZXZpbA==\u{7}\u{1b}[2J\u{9b}31m\u{90}x\u{202e}evil\u{2066}\u{200b}\u{feff}\u{7f}\rx";

/// A field that no file has before.
const NEW: &str = "gave_up";

const FROZEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/team-v1");

/// The verbs that read a file, by the beginning of its path.
const READERS: [(&str, &[&[&str]]); 8] = [
    (
        "tasks",
        &[
            &["task", "list"],
            &["task", "show", "1"],
            &["task", "graph"],
            &["task", "graph", "--format", "mermaid"],
            &["wait", "--tasks", "--timeout", "0"],
        ],
    ),
    (
        "requests",
        &[
            &["requests"],
            &["requests", "10000000"],
            &["requests", "20000001"],
            &["status"],
            &["doctor"],
        ],
    ),
    ("inbox", &[&["inbox", "alice"], &["inbox"], &["status"]]),
    (
        "members",
        &[&["status"], &["logs", "alice"], &["wait", "--timeout", "0"]],
    ),
    ("events", &[&["events"]]),
    ("dead_letters", &[&["doctor"]]),
    (
        "budget",
        &[
            &["costs"],
            &["costs", "--by", "model"],
            &["budget", "show"],
            &["status"],
        ],
    ),
    (
        "config",
        &[
            &["status"],
            &["inbox"],
            &["wait", "--timeout", "0"],
            &["doctor"],
            &["costs"],
            &["budget", "show"],
        ],
    ),
];

#[track_caller]
fn assert_clean(run: &Run, what: &str) {
    for text in [&run.out, &run.err] {
        let found: Vec<char> = text
            .chars()
            .filter(|c| is_hostile(*c) && !matches!(c, '\n' | '\t'))
            .collect();
        assert!(found.is_empty(), "{what}: {found:?} in {run:?}");
    }
}

/// Runs a verb that reads, as text and as JSON.
#[track_caller]
fn check(workspace: &Workspace, verb: &[&str], what: &str) {
    let what = format!("{what}: {verb:?}");
    assert_clean(&workspace.run(verb), &what);
    let run = workspace.run(&[&["--json"], verb].concat());
    assert_clean(&run, &what);
    for line in run.out.lines() {
        let parsed: Result<Value, _> = serde_json::from_str(line);
        assert!(parsed.is_ok(), "{what}: {line}");
    }
}

/// The files of a team by their paths, with all that a team can have.
fn files() -> Vec<(PathBuf, String)> {
    fn collect(folder: &Path, files: &mut Vec<(PathBuf, String)>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, files);
            } else {
                let name = path.strip_prefix(FROZEN).unwrap().to_path_buf();
                files.push((name, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    let mut files = Vec::new();
    collect(Path::new(FROZEN), &mut files);
    files.push((
        PathBuf::from("members/alice/log"),
        format!("{HOSTILE}\nsecond\n"),
    ));
    let budget = json!({
        "team": {"limits": {"max_turns": 5}},
        "members": {"alice": {"limits": {"max_turns": 5}}},
        "booked": [{"member": "alice", "model": "anthropic:x", "calls": 1, "input": 5}],
    });
    files.push((PathBuf::from("budget.json"), budget.to_string()));
    files
}

/// The keys of all texts in a value; those of a text in a list are the list's.
fn keys(value: &Value, key: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::String(_) => {
            found.insert(key.to_owned());
        }
        Value::Array(list) => list.iter().for_each(|value| keys(value, key, found)),
        Value::Object(object) => {
            for (key, value) in object {
                keys(value, key, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Puts the hostile text behind each text with this key.
fn plant(value: &mut Value, key: &str, wanted: &str) {
    match value {
        Value::String(text) if key == wanted => text.push_str(HOSTILE),
        Value::Array(list) => list.iter_mut().for_each(|value| plant(value, key, wanted)),
        Value::Object(object) => {
            for (key, value) in object.iter_mut() {
                plant(value, &key.clone(), wanted);
            }
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The values in a file of lines, or the one of another file.
fn values(name: &Path, text: &str) -> Vec<Value> {
    let is_lines = name.extension().is_some_and(|end| end == "jsonl");
    let parts: Vec<&str> = match is_lines {
        true => text.lines().collect(),
        false => vec![text],
    };
    let parts = parts.into_iter();
    parts
        .filter_map(|part| serde_json::from_str(part).ok())
        .collect()
}

fn write_all(workspace: &Workspace, files: &[(PathBuf, String)]) {
    for (name, text) in files {
        let path = workspace.path().join(".team").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// The files with the hostile text behind each text with this key, in the files of one kind.
fn with_planted(files: &[(PathBuf, String)], kind: &str, key: &str) -> Vec<(PathBuf, String)> {
    let of_kind = files
        .iter()
        .filter(|(name, _)| name.starts_with(kind) || is_file_of(name, kind));
    let changed = of_kind.map(|(name, text)| {
        let mut values = values(name, text);
        for value in &mut values {
            plant(value, "", key);
            if key == NEW && kind == "config" {
                value["members"][0][NEW] = json!(HOSTILE);
                value[HOSTILE] = json!(HOSTILE);
            }
        }
        let lines: Vec<String> = values.iter().map(Value::to_string).collect();
        (name.clone(), format!("{}\n", lines.join("\n")))
    });
    changed.collect()
}

fn is_file_of(name: &Path, kind: &str) -> bool {
    name.file_stem().is_some_and(|stem| stem == kind)
}

#[test]
fn no_field_of_any_file_reaches_the_terminal_as_it_is() {
    let files = files();
    let mut planted = 0;
    for (kind, verbs) in READERS {
        let mut found = BTreeSet::from([NEW.to_owned()]);
        for (name, text) in &files {
            if name.starts_with(kind) || is_file_of(name, kind) {
                values(name, text)
                    .iter()
                    .for_each(|value| keys(value, "", &mut found));
            }
        }
        for key in found {
            let workspace = Workspace::empty();
            write_all(&workspace, &files);
            write_all(&workspace, &with_planted(&files, kind, &key));
            planted += 1;
            for verb in verbs {
                check(&workspace, verb, &format!("{kind}: {key}"));
            }
        }
    }
    assert!(planted > 60, "only {planted} fields were tried");
}

#[test]
fn lines_that_are_no_json_reach_the_terminal_clean() {
    let workspace = Workspace::empty();
    write_all(&workspace, &files());
    for name in [
        "events.jsonl",
        "dead_letters.jsonl",
        "notes.jsonl",
        "inbox/alice.jsonl",
    ] {
        let text = format!("{HOSTILE}\n{{\"event\":\"{HOSTILE}\n");
        write_all(&workspace, &[(PathBuf::from(name), text)]);
    }
    for verb in [
        &["events"][..],
        &["doctor"],
        &["inbox", "alice"],
        &["notes"],
        &["status"],
    ] {
        assert_clean(&workspace.run(verb), &format!("{verb:?}"));
    }
}

#[test]
fn settings_of_a_stranger_are_shown_clean() {
    let text = HOSTILE.replace('\u{7f}', "");
    let escaped = text.escape_unicode().to_string();
    let escaped = escaped.replace("\\u{", "\\U{").replace('}', "");
    // TOML wants eight digits.
    let digits = escaped.split("\\U{").filter(|hex| !hex.is_empty());
    let value: String = digits.map(|hex| format!("\\U{hex:0>8}")).collect();
    let workspace = Workspace::with_config(&format!("model = \"offline{value}\"\n"));
    check(&workspace, &["config", "show"], "team.toml");
    let workspace = Workspace::with_config(&format!("\"key{value}\" = 1\n"));
    check(&workspace, &["config", "show"], "an unknown key");
}

#[test]
fn the_error_of_a_server_reaches_the_terminal_clean() {
    let workspace = Workspace::new();
    let refused = ServerReply::error(400, "invalid_request_error", HOSTILE);
    workspace.server.enqueue("alice", refused);
    workspace.spawn("alice", &["--prompt", "Go."]);
    let waited = workspace.run(&["wait", "--timeout", "120"]);
    assert_clean(&waited, "wait");
    waited.has_code(exit::TEAM_FAILED);
    assert!(waited.err.contains("]52;c;ZXZpbA=="), "{waited:?}");
    for verb in [
        &["status"][..],
        &["logs", "alice"],
        &["inbox"],
        &["events"],
        &["doctor"],
    ] {
        check(&workspace, verb, "after the error");
    }
    workspace.reply(ServerReply::error(400, "invalid_request_error", HOSTILE));
    let lead = workspace.run_lead(&["hello"], "");
    assert_clean(&lead, "run");
    assert!(lead.err.contains("]52;c;ZXZpbA=="), "{lead:?}");
}
