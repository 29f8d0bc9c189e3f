//! Limits that hold whatever a model asks.

use super::done;
use crate::harness::{LIMIT, Run, Workspace};
use protocol::{Phase, exit};
use serde_json::json;
use test_support::llm_server::ServerReply;
use test_support::wait_until;

fn ping() -> ServerReply {
    ServerReply::calls([("send_message", json!({"to": "bob", "content": "ping"}))])
}

/// How many messages went from alice to bob.
fn pings(workspace: &Workspace) -> usize {
    let events = std::fs::read_to_string(workspace.team().layout().events()).unwrap();
    events.matches(r#""from":"alice","to":"bob""#).count()
}

#[test]
fn a_loop_of_messages_is_stopped_told_of_and_may_go_on_after_a_reset() {
    let workspace = Workspace::with_config("[limits]\nmessages_per_minute = 5\n");
    workspace.server.always("bob", done());
    workspace.spawn("bob", &[]);
    for _ in 0..6 {
        workspace.server.enqueue("alice", ping());
    }
    workspace.server.always("alice", done());
    workspace.spawn("alice", &["--prompt", "Write to bob."]);
    let asked = workspace.server.wait_for_requests("alice", 7, LIMIT);
    let last = asked.last().unwrap().body().to_string();
    assert!(
        last.contains("exchanged 5 messages within a minute"),
        "{last}"
    );
    assert_eq!(pings(&workspace), 5);
    assert!(workspace.lead_mail_ids().contains(&"traffic/1".to_owned()));

    workspace.wait_phase("alice", Phase::Idle);
    let shown = workspace.json(&["limits", "reset"]);
    assert_eq!(shown["stopped"], json!([["alice", "bob"]]), "{shown}");
    workspace.server.enqueue("alice", ping());
    workspace.ok(&["send", "alice", "Once more."]);
    wait_until("the message after the reset", LIMIT, || {
        pings(&workspace) == 6
    });
}

#[test]
fn a_team_has_no_more_members_than_it_may_have() {
    let workspace = Workspace::with_config("[limits]\nmembers = 1\n");
    workspace.spawn("alice", &[]);
    let all = [
        "spawn",
        "bob",
        "tester",
        "--model",
        "offline",
        "--max-turns",
        "3",
    ];
    let run = Run::of(&mut workspace.command_as("bob", &all));
    assert_eq!(run.code, i32::from(exit::FAILED), "{run:?}");
    assert!(run.err.contains("has 1 members"), "{run:?}");
    assert!(run.err.contains("[limits] in team.toml"), "{run:?}");
    assert_eq!(workspace.team().roster().unwrap().members.len(), 1);
    assert!(workspace.team().budget().unwrap().members.is_empty());
    // One that is known comes back.
    workspace.ok(&["shutdown", "alice", "--wait", "--timeout", "100"]);
    workspace.spawn("alice", &[]);
}
