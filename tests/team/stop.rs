//! SIGTERM in every state: the process ends in good order, and the next life goes on.

use crate::harness::{LIMIT, Team, call, say};
use protocol::{MemberStatus, Phase, RequestKind, RestartPolicy};
use serde_json::json;
use test_support::llm_server::{Gate, ServerReply};
use test_support::{Worker, wait_until};

/// Ends a member with SIGTERM and checks that it ended in good order.
#[track_caller]
fn stop(team: &Team, name: &str, worker: &mut Worker) {
    worker.terminate();
    assert_eq!(worker.wait(LIMIT).code(), Some(0), "{}", team.log(name));
    assert_eq!(team.member(name).status, MemberStatus::Shutdown);
    assert_eq!(team.state(name), "shutdown");
    assert!(team.notices().is_empty(), "{:?}", team.notices());
    team.check_gone();
}

#[test]
fn an_idle_member_stops() {
    let team = Team::new();
    let mut alice = team.by_hand("alice");
    stop(&team, "alice", &mut alice);
    assert!(team.server.requests("alice").is_empty());
    assert!(team.reports("alice").is_empty());
}

#[test]
fn a_member_stops_in_a_model_call_and_asks_again_in_its_next_life() {
    let team = Team::new();
    let gate = Gate::new();
    team.script("alice", [say("Too late.").gate_head(&gate)]);
    let mut alice = team.by_hand("alice");
    team.ok(&["send", "alice", "What is new?"]);
    gate.wait_until_reached(LIMIT);
    stop(&team, "alice", &mut alice);
    team.script("alice", [say("Nothing is new.")]);
    let mut alice = team.by_hand("alice");
    assert_eq!(team.wait_reports("alice", 1), ["Nothing is new."]);
    assert_eq!(team.said("alice", "What is new?"), 1);
    stop(&team, "alice", &mut alice);
}

#[test]
fn a_member_stops_in_a_reply_that_has_begun() {
    let team = Team::new();
    let gate = Gate::new();
    team.script("alice", [say("Half of a word").gate(3, &gate)]);
    let mut alice = team.by_hand("alice");
    team.ok(&["send", "alice", "Speak."]);
    gate.wait_until_reached(LIMIT);
    stop(&team, "alice", &mut alice);
    team.script("alice", [say("A whole word.")]);
    let mut alice = team.by_hand("alice");
    assert_eq!(team.wait_reports("alice", 1), ["A whole word."]);
    assert_eq!(team.said("alice", "Half of"), 0);
    stop(&team, "alice", &mut alice);
}

#[test]
fn a_member_stops_in_a_shell_command_and_nothing_of_it_is_left() {
    let team = Team::new();
    let command = "touch started; sleep 6000 & sleep 6000";
    team.script(
        "alice",
        [call("bash", json!({"command": command, "timeout": 7000}))],
    );
    let mut alice = team.by_hand("alice");
    team.ok(&["send", "alice", "Sleep well."]);
    let started = team.path().join("started");
    wait_until("the command", LIMIT, || started.exists());
    stop(&team, "alice", &mut alice);
    team.script("alice", [say("I was interrupted.")]);
    let mut alice = team.by_hand("alice");
    assert_eq!(team.wait_reports("alice", 1), ["I was interrupted."]);
    let text = team.server.last_request("alice").last_text();
    assert!(text.contains("interrupted"), "{text}");
    stop(&team, "alice", &mut alice);
}

#[test]
fn a_member_stops_while_it_waits_for_a_busy_server() {
    let team = Team::new();
    team.script("alice", [ServerReply::rate_limited(Some("500"))]);
    let mut alice = team.by_hand("alice");
    team.ok(&["send", "alice", "Hurry."]);
    team.wait_phase("alice", Phase::Waiting);
    stop(&team, "alice", &mut alice);
    team.script("alice", [say("Here I am.")]);
    let mut alice = team.by_hand("alice");
    assert_eq!(team.wait_reports("alice", 1), ["Here I am."]);
    assert_eq!(team.said("alice", "Hurry."), 1);
    stop(&team, "alice", &mut alice);
}

#[test]
fn a_member_stops_while_its_plan_waits_and_is_bound_to_it_afterwards() {
    let team = Team::new();
    team.by_hand("alice").kill9();
    let changed = team.team.update_roster(|roster| {
        for member in &mut roster.members {
            member.require_plan = Some(true);
            member.restart = Some(RestartPolicy::Never);
        }
        Ok::<_, teamdir::RosterError>(())
    });
    changed.unwrap();
    // The death is told before the first look at the notices.
    assert_eq!(team.state("alice"), "dead");
    team.ok(&["inbox", "--drain"]);
    team.script(
        "alice",
        [
            call("plan_approval", json!({"plan": "Write a file."})),
            say("I wait for the decision."),
        ],
    );
    let mut alice = team.by_hand("alice");
    team.ok(&["send", "alice", "Write a file, but ask before."]);
    team.wait_phase("alice", Phase::Waiting);
    let request = team.pending(RequestKind::Plan);
    stop(&team, "alice", &mut alice);
    let mut alice = team.by_hand("alice");
    team.wait_phase("alice", Phase::Waiting);
    let write = json!({"path": "new.txt", "content": "new"});
    team.script("alice", [call("write_file", write), say("Written.")]);
    team.decide("alice", &["approve", request.id.as_str()]);
    assert_eq!(team.wait_reports("alice", 1), ["Written."]);
    assert!(team.path().join("new.txt").exists());
    stop(&team, "alice", &mut alice);
}
