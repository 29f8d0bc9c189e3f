//! `team-lead run PROMPT`.

use crate::support::{Office, bash, plays_bash, spawn, wait_until_ended};
use serde_json::{Value, json};
use test_support::llm_server::ServerReply;

#[test]
fn the_answer_alone_is_on_standard_output() {
    let office = Office::new();
    let first = ServerReply::text("I look.");
    office.reply(first.call("bash", json!({"command": "echo hi > made.txt"})));
    office.reply(ServerReply::text("Done.\u{1b}[2J"));
    let run = office.run(&mut office.lead(&["make a file"]), "never read\n");
    assert_eq!(
        (run.code, run.out.as_str()),
        (Some(0), "Done.[2J\n"),
        "{run:?}"
    );
    assert!(run.err.contains("lead: I look."), "{run:?}");
    assert!(run.err.contains("> bash: "), "{run:?}");
    assert_eq!(office.wait_for_file("made.txt"), "hi");
    assert_eq!(office.asked().len(), 2);
}

#[test]
fn programs_get_one_object_and_silence() {
    let office = Office::new();
    office.reply(bash("echo hi"));
    office.reply(ServerReply::text("Done."));
    let mut command = office.command(&["--json", "-q", "run", "--model", "anthropic:test", "x"]);
    let run = office.run(&mut command, "");
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{run:?}");
    let object: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(object, json!({"answer": "Done.", "exit_code": 0}));
}

#[test]
fn a_model_that_fails_is_a_failure() {
    let office = Office::new();
    let error = ServerReply::error(400, "invalid_request_error", "you ask too much");
    office.reply(error);
    let run = office.run(&mut office.lead(&["hello"]), "");
    assert_eq!((run.code, run.out.as_str()), (Some(1), ""), "{run:?}");
    assert!(run.err.contains("you ask too much"), "{run:?}");
}

#[test]
fn a_model_that_never_stops_is_stopped() {
    let office = Office::new();
    office.server.always("lead", bash("true"));
    let run = office.run(&mut office.lead(&["--max-rounds", "3", "hello"]), "");
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.err.contains("3 rounds"), "{run:?}");
    assert_eq!(office.asked().len(), 3);
}

#[test]
fn a_teammate_that_fails_is_told_and_counts() {
    let office = Office::new();
    let empty = office.script(&[json!({"agent": "nobody", "say": "x"})]);
    office.reply(spawn("alice", "work", &empty));
    let run = office.run(&mut office.lead(&["spawn alice"]), "");
    assert_eq!(run.code, Some(5), "{run:?}");
    office.wait_until_told("has no turn 1 for alice");
    office.wait_until_gone("alice");
    // What was lost before is no result of the next run.
    let run = office.run(&mut office.lead(&["hello"]), "");
    assert_eq!(run.code, Some(0), "{run:?}");
}

#[test]
fn time_that_is_up_ends_everything() {
    let office = Office::new();
    office.reply(bash("echo $$ > pid.txt; exec sleep 3600"));
    let run = office.run(&mut office.lead(&["--timeout", "2", "wait"]), "");
    assert_eq!((run.code, run.out.as_str()), (Some(4), ""), "{run:?}");
    assert!(run.err.contains("The time is up"), "{run:?}");
    // On a busy machine the command may not have begun.
    let pid = std::fs::read_to_string(office.path().join("pid.txt")).unwrap_or_default();
    if pid.ends_with('\n') {
        wait_until_ended(&pid);
    }
    assert_eq!(office.alive("lead"), None);
}

#[test]
fn a_spent_budget_ends_the_run() {
    let office = Office::new();
    office.server.always("lead", bash("true"));
    let run = office.run(&mut office.lead(&["--max-turns", "2", "work"]), "");
    assert_eq!((run.code, run.out.as_str()), (Some(6), ""), "{run:?}");
    assert!(run.err.contains("team-lead budget raise"), "{run:?}");
    assert_eq!(office.asked().len(), 2);
}

#[test]
fn a_team_whose_budget_is_spent_is_not_waited_for() {
    let office = Office::new();
    let busy: Vec<Value> = vec![plays_bash("alice", "true"); 20];
    let model = office.script(&busy);
    let alice = [
        "spawn",
        "alice",
        "coder",
        "--max-turns",
        "3",
        "--prompt",
        "go",
    ];
    office.verb(&[&alice[..], &["--model", &model]].concat());
    let run = office.run(&mut office.lead(&["--leave-timeout", "1", "hello"]), "");
    assert_eq!(run.code, Some(6), "{run:?}");
    assert_eq!(office.alive("alice"), None);
}

#[test]
fn without_a_team_one_begins_and_without_a_model_a_word_says_so() {
    let office = Office::empty();
    let mut command = office.command(&["run", "List the teammates"]);
    let run = office.run(command.env_remove("ANTHROPIC_BASE_URL"), "");
    assert_eq!(run.code, Some(0), "{run:?}");
    let words = run.err.lines().filter(|line| line.contains("`offline`"));
    assert_eq!(words.count(), 1, "{run:?}");
    assert!(run.err.contains("TEAM_MODEL"), "{run:?}");
    assert!(run.out.contains("No teammates"), "{run:?}");
    assert_eq!(office.team().roster().unwrap().members, []);
}

#[test]
fn a_wrong_model_names_the_right_ones() {
    let office = Office::new();
    let run = office.run(
        &mut office.command(&["run", "--model", "klingon:x", "hi"]),
        "",
    );
    assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{run:?}");
    for word in [
        "klingon",
        "anthropic:NAME",
        "offline",
        "script:FILE",
        "next:",
    ] {
        assert!(run.err.contains(word), "{word}: {run:?}");
    }
}
