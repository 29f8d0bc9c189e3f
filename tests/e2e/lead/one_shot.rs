//! `team-lead run PROMPT`.

use crate::harness::{Run, Workspace, bash, script_bash, spawn_teammate};
use protocol::Phase;
use serde_json::{Value, json};
use test_support::llm_server::ServerReply;

#[test]
fn the_answer_alone_is_on_standard_output() {
    let workspace = Workspace::new();
    let first = ServerReply::text("I look.");
    workspace.reply(first.call("bash", json!({"command": "echo hi > made.txt"})));
    workspace.reply(ServerReply::text("Done.\u{1b}[2J"));
    let run = workspace.run_lead(&["make a file"], "never read\n");
    assert_eq!(
        (run.code, run.out.as_str()),
        (0, "Done.\u{fffd}[2J\n"),
        "{run:?}"
    );
    assert!(run.err.contains("lead: I look."), "{run:?}");
    assert!(run.err.contains("> bash: "), "{run:?}");
    assert_eq!(workspace.wait_for_file("made.txt"), "hi");
    assert_eq!(workspace.lead_requests().len(), 2);
}

#[test]
fn programs_get_one_object_and_silence() {
    let workspace = Workspace::new();
    workspace.reply(bash("echo hi"));
    workspace.reply(ServerReply::text("Done."));
    let args = ["--json", "-q", "run", "--model", "anthropic:test", "x"];
    let run = Run::of(&mut workspace.command_as("lead", &args));
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
    let object: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(object, json!({"answer": "Done.", "exit_code": 0}));
}

#[test]
fn a_model_that_fails_is_a_failure() {
    let workspace = Workspace::new();
    let error = ServerReply::error(400, "invalid_request_error", "you ask too much");
    workspace.reply(error);
    let run = workspace.run_lead(&["hello"], "");
    assert_eq!((run.code, run.out.as_str()), (1, ""), "{run:?}");
    assert!(run.err.contains("you ask too much"), "{run:?}");
}

#[test]
fn a_long_answer_is_put_together_from_its_parts() {
    let workspace = Workspace::new();
    for part in ["one ", "two "] {
        workspace.reply(ServerReply::text(part).stop("max_tokens"));
    }
    workspace.reply(ServerReply::text("three"));
    let run = workspace.run_lead(&["count"], "");
    assert_eq!(
        (run.code, run.out.as_str()),
        (0, "one two three\n"),
        "{run:?}"
    );
}

#[test]
fn an_answer_without_an_end_is_said_to_be_cut_and_is_no_success() {
    let workspace = Workspace::new();
    let cut = ServerReply::text("more ").stop("max_tokens");
    workspace.server.always("lead", cut);
    let run = workspace.run_lead(&["count"], "");
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.out.starts_with("more more "), "{run:?}");
    assert!(run.err.contains("answer is not complete"), "{run:?}");
}

#[test]
fn a_model_that_never_stops_is_stopped() {
    let workspace = Workspace::new();
    workspace.server.always("lead", bash("true"));
    let run = workspace.run_lead(&["--max-rounds", "3", "hello"], "");
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.err.contains("3 rounds"), "{run:?}");
    assert_eq!(workspace.lead_requests().len(), 3);
}

#[test]
fn a_teammate_that_fails_is_told_and_counts() {
    let workspace = Workspace::new();
    let empty = workspace.script_file("script", &[json!({"agent": "nobody", "say": "x"})]);
    workspace.reply(spawn_teammate("alice", "work", &empty));
    let run = workspace.run_lead(&["spawn alice"], "");
    assert_eq!(run.code, 5, "{run:?}");
    workspace.wait_for_lead_request("has no turn 1 for alice");
    workspace.wait_until_gone("alice");
    // Recorded turns that a model has chosen count for its run; the next one asks.
    let run = workspace.run_lead(&["hello"], "");
    run.complains(1, "members.*.model", "team-lead trust");
    // What was lost before is no result of the next run.
    let run = workspace.run_lead(&["--trust", "hello"], "");
    assert_eq!(run.code, 0, "{run:?}");
}

#[test]
fn time_that_is_up_ends_everything() {
    let workspace = Workspace::new();
    workspace.reply(bash("echo $$ > pid.txt; exec sleep 3600"));
    let run = workspace.run_lead(&["--timeout", "2", "wait"], "");
    assert_eq!((run.code, run.out.as_str()), (4, ""), "{run:?}");
    assert!(run.err.contains("The timeout is reached"), "{run:?}");
    workspace.wait_until_commands_ended();
    assert_eq!(workspace.alive("lead"), None);
}

#[test]
fn a_spent_budget_ends_the_run() {
    let workspace = Workspace::new();
    workspace.server.always("lead", bash("true"));
    let run = workspace.run_lead(&["--max-turns", "2", "work"], "");
    assert_eq!((run.code, run.out.as_str()), (6, ""), "{run:?}");
    assert!(run.err.contains("team-lead budget raise"), "{run:?}");
    assert_eq!(workspace.lead_requests().len(), 2);
}

#[test]
fn the_limits_of_a_run_count_that_run_alone() {
    let workspace = Workspace::new();
    workspace.server.always("lead", bash("true"));
    for calls in [2, 4] {
        let run = workspace.run_lead(&["--max-turns", "2", "work"], "");
        assert_eq!(run.code, 6, "{run:?}");
        assert_eq!(workspace.lead_requests().len(), calls);
        assert_eq!(workspace.team().budget().unwrap().run, None);
    }
    // The team's budget holds besides, and comes from elsewhere.
    workspace.ok(&["budget", "raise", "--max-turns", "5"]);
    let run = workspace.run_lead(&["--max-turns", "9", "work"], "");
    assert_eq!(run.code, 6, "{run:?}");
    assert_eq!(workspace.lead_requests().len(), 5);
}

#[test]
fn a_team_that_goes_on_keeps_to_the_limits_of_its_run_until_they_are_raised() {
    let workspace = Workspace::new();
    let busy: Vec<Value> = vec![script_bash("alice", "true"); 20];
    let model = workspace.script_file("script", &busy);
    workspace.reply(spawn_teammate("alice", "go", &model));
    let run = workspace.run_lead(&["--keep", "--max-turns", "6", "start her"], "");
    assert_eq!(run.code, 6, "{run:?}");
    workspace.wait_state("alice", "waiting");
    let shown = workspace.json(&["budget"]);
    assert_eq!(shown["run"]["limits"]["max_turns"], 6, "{shown}");
    assert_eq!(shown["run"]["is_spent"], true, "{shown}");
    assert_eq!(shown["team"]["limits"], json!({}), "{shown}");
    let text = workspace.ok(&["budget"]);
    assert!(text.contains("this run: "), "{text}");
    assert!(text.contains("budget raise --run --max-turns N"), "{text}");
    workspace.ok(&["budget", "raise", "--run", "--max-turns", "100"]);
    workspace.wait_phase("alice", Phase::Failed);
    workspace.end();
    // The next run begins with its own limits, or with none.
    let run = workspace.run_lead(&["--trust", "hello"], "");
    assert_eq!(run.code, 0, "{run:?}");
    let run = workspace.run(&["budget", "raise", "--run", "--max-turns", "9"]);
    assert_eq!(run.code, 1, "{run:?}");
}

#[test]
fn a_team_whose_budget_is_spent_is_not_waited_for() {
    let workspace = Workspace::new();
    let busy: Vec<Value> = vec![script_bash("alice", "true"); 20];
    let model = workspace.script_file("script", &busy);
    let alice = [
        "spawn",
        "alice",
        "coder",
        "--max-turns",
        "3",
        "--prompt",
        "go",
    ];
    workspace.ok(&[&alice[..], &["--model", &model]].concat());
    let run = workspace.run_lead(&["--leave-timeout", "1", "hello"], "");
    assert_eq!(run.code, 6, "{run:?}");
    assert_eq!(workspace.alive("alice"), None);
}

#[test]
fn without_a_team_one_begins_and_without_a_model_a_word_says_so() {
    let workspace = Workspace::empty();
    let run = workspace.run(&["run", "List the teammates"]);
    assert_eq!(run.code, 0, "{run:?}");
    let words = run.err.lines().filter(|line| line.contains("`offline`"));
    assert_eq!(words.count(), 1, "{run:?}");
    assert!(run.err.contains("TEAM_MODEL"), "{run:?}");
    assert!(run.out.contains("No teammates"), "{run:?}");
    assert_eq!(workspace.team().roster().unwrap().members, []);
}

#[test]
fn a_wrong_model_names_the_right_ones() {
    let workspace = Workspace::new();
    let run = workspace.run(&["run", "--model", "klingon:x", "hi"]);
    assert_eq!((run.code, run.out.as_str()), (2, ""), "{run:?}");
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
