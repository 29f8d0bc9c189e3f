use std::collections::HashSet;

use super::pattern::TABLE;
use super::{Clause, Known, parse};
use crate::table::{ROWS, Verb};

const BROADCAST: Verb = Verb::Call("broadcast", "content=TEXT");
const LIST_TEAMMATES: Verb = Verb::Call("list_teammates", "");
const READ_FILE: Verb = Verb::Call("read_file", "path=FILE");
const RUN: Verb = Verb::Call("bash", "command=TEXT");
const RUN_IN_BACKGROUND: Verb = Verb::Call("background_run", "command=TEXT");
const WRITE_FILE: Verb = Verb::Call("write_file", "path=FILE content=TEXT");

fn clauses(text: &str) -> Vec<Clause> {
    let parsed = parse(text, &mut Known::default());
    assert!(parsed.unclear.is_empty(), "{text}: {parsed:?}");
    parsed.clauses
}

fn verbs(text: &str) -> Vec<Verb> {
    clauses(text).iter().map(|clause| clause.verb).collect()
}

fn text(clause: &Clause) -> String {
    clause.text().unwrap_or_default().to_owned()
}

/// The one clause of a text.
fn clause(text: &str) -> Clause {
    let mut all = clauses(text);
    assert_eq!(all.len(), 1, "{text}: {all:?}");
    all.pop().unwrap()
}

#[test]
fn the_documentation_shows_every_verb() {
    let document = include_str!("../../../../docs/models.md");
    // The tables before this heading are about models.
    let (_, section) = document
        .split_once("## What `offline` understands")
        .unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    let examples = rows.filter_map(|row| Some(row.split_once("` | ")?.0));
    let shown: HashSet<Verb> = examples.flat_map(verbs).collect();
    for (verb, _) in ROWS {
        assert!(
            shown.contains(verb),
            "docs/models.md does not show {verb:?}"
        );
    }
}

#[test]
fn every_pattern_compiles() {
    for (verb, pattern) in TABLE.iter() {
        let first = pattern.first_words().next().unwrap_or("alice");
        assert!(pattern.captures(first).is_none() || *verb != Verb::Spawn);
    }
}

#[test]
fn teammates_are_named_in_many_ways() {
    let spawned = |text: &str| {
        let clause = clause(text);
        assert_eq!(clause.verb, Verb::Spawn, "{text}");
        let members = clause.names.iter().zip(&clause.roles);
        let members = members.map(|(name, role)| format!("{name} ({role})"));
        let members: Vec<String> = members.collect();
        (members.join(", "), clause.text().map(str::to_owned))
    };
    for text in [
        "Spawn alice (coder)",
        "Spawn alice as a coder.",
        "spawn a coder named alice",
        "Please spawn a teammate called alice as a coder",
        "Create a teammate named alice (coder)",
        "Spawn teammate alice (role: coder)",
        "Spawn 'alice' (\"coder\")",
        "Could you spawn alice as the coder?",
        "Hire one new teammate: alice (coder)!",
    ] {
        assert_eq!(spawned(text), ("alice (coder)".into(), None), "{text}");
    }
    assert_eq!(
        spawned("Spawn three teammates: a1 (senior coder), b (y) and c (z)").0,
        "a1 (senior coder), b (y), c (z)"
    );
    assert_eq!(
        spawned("Spawn a frontend teammate and a backend teammate").0,
        "frontend (frontend), backend (backend)"
    );
    assert_eq!(
        spawned("Spawn a coder and a reviewer").0,
        "coder (coder), reviewer (reviewer)"
    );
    assert_eq!(
        spawned("Spawn zoë with the prompt \u{201c}Read a.txt.\u{201d}"),
        ("zoë (generalist)".into(), Some("Read a.txt.".into()))
    );
    assert_eq!(
        spawned("Spawn bob with a risky refactoring task"),
        ("bob (generalist)".into(), Some("risky refactoring".into()))
    );
}

#[test]
fn quotes_of_all_kinds_hold_texts_together() {
    for (open, close) in [
        ("\"", "\""),
        ("'", "'"),
        ("`", "`"),
        ("\u{201c}", "\u{201d}"),
        ("\u{2018}", "\u{2019}"),
        ("\u{ab}", "\u{bb}"),
    ] {
        let text = format!("Broadcast {open}stop. then go, and run it's ok{close} to everyone");
        let clause = clause(&text);
        assert_eq!(clause.verb, BROADCAST, "{text}");
        assert_eq!(
            clause.text(),
            Some("stop. then go, and run it's ok"),
            "{text}"
        );
    }
}

#[test]
fn words_stand_for_those_named_last() {
    for text in [
        "request her shutdown",
        "shut her down",
        "shut down alice",
        "stop Alice",
        "ask her to shut down",
        "request a shutdown of alice",
        "request alice's shutdown",
    ] {
        let all = clauses(&format!("Spawn alice as a coder. Then {text}."));
        assert_eq!(all[1].verb, Verb::Shutdown, "{text}");
        assert_eq!(all[1].names, ["alice"], "{text}");
    }
    let all = clauses("Spawn alice and bob. Ask bob to read a.txt. Then shut them down");
    assert_eq!(all[2].verb, Verb::Shutdown);
    assert_eq!(all[2].names, ["alice", "bob"]);
    let parsed = parse("Request her shutdown", &mut Known::default());
    assert_eq!(parsed.unclear, ["Request her shutdown"]);
}

#[test]
fn clauses_end_where_a_new_verb_begins() {
    assert_eq!(
        verbs(
            "Spawn alice and ask her to write hello to a.txt and run ls, then list the teammates"
        ),
        [Verb::Spawn, Verb::Ask, LIST_TEAMMATES]
    );
    let work = |clause: &Clause| {
        assert_eq!(clause.verb, Verb::Ask);
        (clause.names.join(","), text(clause))
    };
    let all = clauses("Have alice write hi to a.txt and bob run ls.");
    assert_eq!(work(&all[0]), ("alice".into(), "write hi to a.txt".into()));
    assert_eq!(work(&all[1]), ("bob".into(), "run ls".into()));
    let all = clauses("Tell bob to read a.txt and write ok to b.txt; read c.txt");
    assert_eq!(work(&all[0]).1, "read a.txt and write ok to b.txt");
    assert_eq!((all[1].verb, all[1].path()), (READ_FILE, "c.txt"));
}

#[test]
fn commands_files_and_tasks_keep_their_texts() {
    for (text, path, content) in [
        ("write hello to test.txt", "test.txt", "hello"),
        (
            "Create a file src/a.md with the text 'two words'",
            "src/a.md",
            "two words",
        ),
        (
            "Create a file called notes.txt containing hello world.",
            "notes.txt",
            "hello world",
        ),
    ] {
        let clause = clause(text);
        let written = (clause.verb, clause.path(), clause.text());
        assert_eq!(written, (WRITE_FILE, path, Some(content)));
    }
    for (text, verb, command) in [
        ("Run ls -la src/", RUN, "ls -la src/"),
        ("Execute the command `echo \"a; b\"`", RUN, "echo \"a; b\""),
        (
            "run ./go.sh in the background",
            RUN_IN_BACKGROUND,
            "./go.sh",
        ),
    ] {
        let clause = clause(text);
        assert_eq!((clause.verb, clause.text()), (verb, Some(command)));
    }
    let tasks = clause("create tasks: setup project, write code and run tests");
    assert_eq!(tasks.verb, Verb::CreateTasks);
    assert_eq!(tasks.subjects, ["setup project", "write code", "run tests"]);
}

#[test]
fn reasons_and_kinds_of_files_are_kept() {
    let reject = clause("Reject bob's plan because it lacks tests");
    assert_eq!(reject.verb, Verb::Decide(false));
    assert_eq!(reject.names, ["bob"]);
    assert_eq!(reject.text(), Some("it lacks tests"));
    let every = clause("Read all the Python files under src");
    assert_eq!(every.verb, Verb::ReadEvery);
    assert_eq!((every.text(), every.path()), (Some("Python"), "src"));
}

#[test]
fn what_is_not_understood_is_named() {
    let text = "Prove the Riemann hypothesis. Read a.txt.";
    let parsed = parse(text, &mut Known::default());
    assert_eq!(parsed.unclear, ["Prove the Riemann hypothesis"]);
    assert_eq!(parsed.clauses.len(), 1);
}

#[test]
fn the_speaker_is_known() {
    let mut known = Known::default();
    known.speaker = Some("carl".into());
    let parsed = parse("Send me a message.", &mut known);
    assert_eq!(parsed.clauses[0].verb, Verb::Send);
    assert_eq!(parsed.clauses[0].names, ["carl"]);
    assert_eq!(parsed.clauses[0].text(), None);
    assert_eq!(
        verbs("Spawn eve. She should write hi to a.txt"),
        [Verb::Spawn, Verb::Ask]
    );
}

#[test]
fn lists_and_fillers_do_not_get_in_the_way() {
    let ask = clause("Please ask alice and bob to read README.md");
    assert_eq!(ask.verb, Verb::Ask);
    assert_eq!(ask.names, ["alice", "bob"]);
    assert_eq!(ask.text(), Some("read README.md"));
    assert_eq!(
        verbs("Spawn alice and bob, then broadcast 'hi' to everyone, and shut them both down"),
        [Verb::Spawn, BROADCAST, Verb::Shutdown]
    );
    assert_eq!(verbs("Read Cargo.toml and README.md"), [READ_FILE; 2]);
    assert_eq!(
        verbs("Please run the command \"ls\" and write done to out.txt"),
        [RUN, WRITE_FILE]
    );
    assert_eq!(
        verbs("Have bob submit a plan, review it and reject it"),
        [Verb::Ask, Verb::ReviewPlan, Verb::Decide(false)]
    );
    for text in [
        "Create 2 tasks: A, B in order",
        "Create 2 tasks: 'A', 'B' in that order",
    ] {
        let tasks = clause(text);
        assert_eq!(tasks.verb, Verb::CreateChain);
        assert_eq!(tasks.subjects, ["A", "B"]);
    }
}
