//! SIGTERM in every state: the process ends cleanly, and the next incarnation goes on.

use crate::harness::{LIMIT, Session, Workspace, call, say};
use protocol::{MemberStatus, Phase, RequestKind, RestartPolicy};
use serde_json::json;
use test_support::llm_server::{Gate, ServerReply};
use test_support::wait_until;

/// Ends a member with SIGTERM and checks that it ended cleanly.
#[track_caller]
fn stop(workspace: &Workspace, name: &str, session: &mut Session) {
    session.terminate();
    assert_eq!(
        session.wait(LIMIT).code(),
        Some(0),
        "{}",
        workspace.log(name)
    );
    assert_eq!(workspace.member(name).status, MemberStatus::Shutdown);
    assert_eq!(workspace.state(name), "shutdown");
    assert!(workspace.notices().is_empty(), "{:?}", workspace.notices());
    workspace.check_gone();
}

#[test]
fn an_idle_member_stops() {
    let workspace = Workspace::new();
    let mut alice = workspace.start_teammate("alice");
    stop(&workspace, "alice", &mut alice);
    assert!(workspace.server.requests("alice").is_empty());
    assert!(workspace.reports("alice").is_empty());
}

#[test]
fn a_member_stops_in_a_model_call_and_asks_again_in_its_next_incarnation() {
    let workspace = Workspace::new();
    let gate = Gate::new();
    workspace.script("alice", [say("Too late.").gate_head(&gate)]);
    let mut alice = workspace.start_teammate("alice");
    workspace.ok(&["send", "alice", "What is new?"]);
    gate.wait_until_reached(LIMIT);
    stop(&workspace, "alice", &mut alice);
    workspace.script("alice", [say("Nothing is new.")]);
    let mut alice = workspace.start_teammate("alice");
    assert_eq!(workspace.wait_reports("alice", 1), ["Nothing is new."]);
    assert_eq!(workspace.count_in_last_request("alice", "What is new?"), 1);
    stop(&workspace, "alice", &mut alice);
}

#[test]
fn a_member_stops_in_a_reply_that_has_begun() {
    let workspace = Workspace::new();
    let gate = Gate::new();
    workspace.script("alice", [say("Half of a word").gate(3, &gate)]);
    let mut alice = workspace.start_teammate("alice");
    workspace.ok(&["send", "alice", "Speak."]);
    gate.wait_until_reached(LIMIT);
    stop(&workspace, "alice", &mut alice);
    workspace.script("alice", [say("A whole word.")]);
    let mut alice = workspace.start_teammate("alice");
    assert_eq!(workspace.wait_reports("alice", 1), ["A whole word."]);
    assert_eq!(workspace.count_in_last_request("alice", "Half of"), 0);
    stop(&workspace, "alice", &mut alice);
}

#[test]
fn a_member_stops_in_a_shell_command_and_nothing_of_it_is_left() {
    let workspace = Workspace::new();
    let command = "touch started; sleep 6000 & sleep 6000";
    workspace.script(
        "alice",
        [call("bash", json!({"command": command, "timeout": 7000}))],
    );
    let mut alice = workspace.start_teammate("alice");
    workspace.ok(&["send", "alice", "Sleep well."]);
    let started = workspace.path().join("started");
    wait_until("the command", LIMIT, || started.exists());
    stop(&workspace, "alice", &mut alice);
    workspace.script("alice", [say("I was interrupted.")]);
    let mut alice = workspace.start_teammate("alice");
    assert_eq!(workspace.wait_reports("alice", 1), ["I was interrupted."]);
    let text = workspace.server.last_request("alice").last_text();
    assert!(text.contains("interrupted"), "{text}");
    stop(&workspace, "alice", &mut alice);
}

#[test]
fn a_member_stops_while_it_waits_for_a_busy_server() {
    let workspace = Workspace::new();
    workspace.script("alice", [ServerReply::rate_limited(Some("500"))]);
    let mut alice = workspace.start_teammate("alice");
    workspace.ok(&["send", "alice", "Hurry."]);
    workspace.wait_phase("alice", Phase::Waiting);
    stop(&workspace, "alice", &mut alice);
    workspace.script("alice", [say("Here I am.")]);
    let mut alice = workspace.start_teammate("alice");
    assert_eq!(workspace.wait_reports("alice", 1), ["Here I am."]);
    assert_eq!(workspace.count_in_last_request("alice", "Hurry."), 1);
    stop(&workspace, "alice", &mut alice);
}

#[test]
fn a_member_stops_while_its_plan_waits_and_is_bound_to_it_afterwards() {
    let workspace = Workspace::new();
    workspace.start_teammate("alice").kill9();
    let changed = workspace.team().update_roster(|roster| {
        for member in &mut roster.members {
            member.spec.require_plan = Some(true);
            member.spec.restart = Some(RestartPolicy::Never);
        }
        Ok::<_, teamdir::RosterError>(())
    });
    changed.unwrap();
    // The death is reported before the notices are read first.
    assert_eq!(workspace.state("alice"), "dead");
    workspace.ok(&["inbox", "--drain"]);
    workspace.script(
        "alice",
        [
            call("plan_approval", json!({"plan": "Write a file."})),
            say("I wait for the decision."),
        ],
    );
    let mut alice = workspace.start_teammate("alice");
    workspace.ok(&["send", "alice", "Write a file, but ask before."]);
    workspace.wait_phase("alice", Phase::Waiting);
    let request = workspace.pending(RequestKind::Plan);
    stop(&workspace, "alice", &mut alice);
    let mut alice = workspace.start_teammate("alice");
    workspace.wait_phase("alice", Phase::Waiting);
    let write = json!({"path": "new.txt", "content": "new"});
    workspace.script("alice", [call("write_file", write), say("Written.")]);
    workspace.decide("alice", &["approve", request.id.as_str()]);
    assert_eq!(workspace.wait_reports("alice", 1), ["Written."]);
    assert!(workspace.path().join("new.txt").exists());
    stop(&workspace, "alice", &mut alice);
}
