//! Commands in running text and in tables name what exists.

use crate::readme::document::{self, documents, root};
use crate::readme::stage::{Stage, programs};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Everything that looks like a command in any document, with the name of the document.
fn mentioned(start: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for path in documents() {
        let document = document::read(&path);
        let blocks = document.blocks().filter(|block| block.language == "sh");
        let typed =
            blocks.flat_map(|block| block.text.lines().map(str::to_owned).collect::<Vec<_>>());
        let all = document.spans().into_iter().chain(typed);
        let commands = all.map(|span| span.replace("TEAM_TEST=long ", ""));
        let commands = commands.filter(|span| span.starts_with(start));
        found.extend(commands.map(|command| (document.path.clone(), command)));
    }
    found
}

/// The tests below a folder, each as `module::of::file::name_of_test`.
fn tests_below(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&next) else {
            continue;
        };
        for path in entries.map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let module = path.strip_prefix(folder).unwrap().with_extension("");
                let module = module.to_str().unwrap().replace('/', "::");
                let text = std::fs::read_to_string(&path).unwrap();
                let tests = text.split("#[test]").skip(1);
                let names = tests.filter_map(|rest| rest.split_once("fn ")?.1.split('(').next());
                found.extend(names.map(|name| format!("{module}::{name}")));
            }
        }
    }
    found
}

/// The folders whose tests a `cargo test` runs, and the filter.
fn scope(command: &str) -> (Vec<PathBuf>, Option<String>) {
    let (mut package, mut target, mut filter) = (None, None, None);
    let mut words = command.split_whitespace().skip(2);
    while let Some(word) = words.next() {
        match word {
            "-p" => package = words.next(),
            "--test" => target = words.next(),
            "--locked" => {}
            word => filter = Some(word.to_owned()),
        }
    }
    let home = match package {
        Some(name) => root().join("crates").join(name),
        None => root().to_path_buf(),
    };
    let folders = match target {
        Some(name) => vec![home.join("tests").join(name)],
        None => vec![home.join("src"), home.join("tests")],
    };
    (folders, filter)
}

#[test]
fn tests_that_are_named_exist() {
    let commands = mentioned("cargo test");
    assert!(commands.len() > 10, "{commands:?}");
    for (document, command) in commands {
        let (folders, filter) = scope(&command);
        let mut tests = folders.iter().flat_map(|folder| tests_below(folder));
        let is_meant = |test: String| filter.as_ref().is_none_or(|words| test.contains(words));
        assert!(tests.any(is_meant), "{document}: `{command}` runs nothing");
    }
}

#[test]
fn packages_that_are_named_exist() {
    for start in ["cargo bench", "cargo run"] {
        for (document, command) in mentioned(start) {
            let package = command.split(" -p ").nth(1);
            let package = package.and_then(|rest| rest.split_whitespace().next());
            let package = package.unwrap_or_else(|| panic!("{document}: `{command}`"));
            let manifest = root().join("crates").join(package).join("Cargo.toml");
            assert!(manifest.exists(), "{document}: `{command}`");
        }
    }
}

#[test]
fn scripts_that_are_named_exist_and_have_help() {
    let mut stage = Stage::installed();
    stage.run("cd ~/clone");
    let scripts = mentioned("scripts/").into_iter();
    let scripts = scripts.map(|(_, command)| command.split_whitespace().next().unwrap().to_owned());
    for script in scripts
        .filter(|name| name != "scripts/...")
        .collect::<BTreeSet<_>>()
    {
        stage.run(&format!("{script} --help"));
    }
    stage.close();
}

fn help(words: &[&str]) -> Option<String> {
    let (program, verbs) = match words {
        ["teammate", verbs @ ..] => ("teammate", verbs),
        verbs => ("team-lead", verbs),
    };
    let mut command = Command::new(programs().join(program));
    let output = command.args(verbs).arg("--help").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    output.status.success().then_some(text)
}

/// Makes sure that a command has the verbs and options that are written.
fn check(document: &str, command: &str) {
    let words = command
        .split_whitespace()
        .map(|word| word.trim_matches(['[', ']', ',']));
    let verb = words
        .clone()
        .find(|word| word.starts_with(|char: char| char.is_ascii_lowercase()));
    let verb = verb.filter(|verb| !verb.contains("..."));
    let inner = words
        .clone()
        .nth(1)
        .filter(|_| matches!(verb, Some("task" | "budget" | "limits" | "config" | "mcp")));
    let path: Vec<&str> = verb.into_iter().collect();
    let mut texts = vec![help(&path)];
    for inner in inner.into_iter().flat_map(|word| word.split('|')) {
        texts.push(help(&[path.as_slice(), &[inner]].concat()));
    }
    assert!(
        texts.iter().all(Option::is_some),
        "{document}: `{command}` is unknown"
    );
    let options = words.flat_map(|word| word.split('|'));
    let options = options.filter(|word| word.starts_with("--"));
    for option in options {
        // The value of an option may stand behind it.
        let option = option.split_once('=').map_or(option, |(option, _)| option);
        let known = texts.iter().flatten().any(|text| text.contains(option));
        assert!(known, "{document}: `{command}`: there is no {option}");
    }
}

#[test]
fn verbs_and_options_that_are_named_exist() {
    for path in documents() {
        for command in document::read(&path).table_commands() {
            check(&path, &command);
        }
    }
    for (document, command) in mentioned("team-lead ") {
        let command = command.strip_prefix("team-lead ").unwrap();
        let first = command.split(['\'', '|', '#', '&']).next().unwrap();
        if !first.starts_with("COMMAND") {
            check(&document, first);
        }
    }
}

#[test]
fn the_tables_of_verbs_and_exit_codes_are_complete() {
    let page = document::read("docs/commands.md");
    let commands = page.table_commands();
    let help = help(&[]).unwrap();
    let verbs = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let verbs = verbs.take_while(|line| !line.is_empty());
    // A long description goes on below its beginning.
    let verbs = verbs.filter(|line| !line.starts_with("   "));
    for verb in verbs.filter_map(|line| line.split_whitespace().next()) {
        let is_there = |command: &String| command.split_whitespace().next() == Some(verb);
        assert!(
            verb == "help" || commands.iter().any(is_there),
            "{verb} is not in docs/commands.md"
        );
    }
    let codes = protocol::exit::ALL.iter();
    let codes: Vec<Vec<String>> = codes
        .map(|(code, words)| vec![code.to_string(), (*words).to_owned()])
        .collect();
    assert_eq!(page.table("| exit code |"), codes);
}
