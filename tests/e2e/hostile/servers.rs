//! Replies without an end, counts beyond belief, and input without an end.

use crate::harness::{LIMIT, Workspace, say};
use protocol::{Phase, exit};
use serde_json::{Value, json};
use std::fs;
use test_support::llm_server::ServerReply;

#[test]
fn a_count_beyond_belief_does_not_stop_the_team() {
    let workspace = Workspace::new();
    let most = u64::MAX / 2;
    let first = say("One.").usage(most, most, most, most);
    workspace.server.enqueue("alice", first);
    workspace.server.enqueue("alice", say("Two."));
    let model = ["--model", "anthropic:claude-opus-4-5", "--prompt", "Go."];
    workspace.spawn("alice", &model);
    workspace.wait_reports("alice", 1);
    workspace.json(&["costs"]);
    workspace.ok(&["send", "alice", "And again."]);
    let reports = workspace.wait_reports("alice", 2);
    assert_eq!(reports, ["One.", "Two."]);
    workspace.json(&["budget", "show"]);
}

#[test]
fn a_cost_that_cannot_be_is_read_as_the_most() {
    let workspace = Workspace::with_members(&["alice"]);
    let path = workspace.path().join(".team/budget.json");
    workspace.ok(&["budget", "raise", "--max-cost", "5"]);
    let mut budget: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let row = json!({"member": "alice", "model": "m", "calls": 1, "input": 1_000_000_000_000_000_u64,
        "cost": 3_000_000_000.0_f64});
    budget["booked"] = json!([row]);
    fs::write(&path, budget.to_string()).unwrap();
    let costs = workspace.ok(&["costs"]);
    assert!(costs.contains("alice"), "{costs}");
    workspace.ok(&["doctor", "--fix"]);
    workspace.ok(&["budget", "raise", "--max-cost", "6"]);
}

#[test]
fn a_reply_of_too_many_tool_uses_fails_the_turn_and_says_why() {
    let workspace = Workspace::new();
    let calls = (0..1000).map(|_| ("bash", json!({"command": "touch ran"})));
    workspace.server.enqueue("alice", ServerReply::calls(calls));
    workspace.spawn("alice", &["--prompt", "Go."]);
    workspace.wait_phase("alice", Phase::Failed);
    let waited = workspace.run(&["wait", "--timeout", "120"]);
    waited.has_code(exit::TEAM_FAILED);
    assert!(waited.err.contains("more than 128 tools"), "{waited:?}");
    assert!(!workspace.path().join("ran").exists(), "none of them ran");
}

#[test]
fn input_without_an_end_is_refused_while_it_comes() {
    let workspace = Workspace::with_members(&["alice"]);
    for args in [&["send", "alice", "-"][..], &["broadcast", "-"]] {
        let mut session = workspace.start(args);
        // The input stays open.
        session.type_text(&"x".repeat(2 << 20));
        let status = session.wait(LIMIT);
        assert_eq!(status.code(), Some(i32::from(exit::USAGE)));
        let err = session.err();
        assert!(err.contains("more than 1048576 bytes"), "{err}");
    }
    assert_eq!(workspace.json(&["inbox", "alice"])["messages"], json!([]));
}
