//! One lead per folder, leads that are killed, and leads that come after them.

use crate::harness::{LIMIT, Session, Workspace, bash, script_bash, signal, spawn_teammate};
use nix::sys::signal::Signal;
use protocol::{Phase, RequestStatus};
use serde_json::json;
use test_support::llm_server::{Gate, ServerReply};

#[test]
fn a_second_lead_is_told_who_has_the_folder() {
    let workspace = Workspace::new();
    let session = workspace.start_lead(&[]);
    let (pid, _) = workspace.wait_alive("lead", Phase::Idle);
    assert_eq!(pid, session.id());
    let run = workspace.run_lead(&["hello"], "");
    assert_eq!((run.code, run.out.as_str()), (7, ""), "{run:?}");
    assert!(run.err.contains(&format!("process {pid}")), "{run:?}");
    assert!(run.err.contains("next: team-lead send lead"), "{run:?}");
    assert_eq!(workspace.lead_requests().len(), 0);
    assert_eq!(session.end().code, 0);
}

/// Starts a lead with a teammate. The first query is over, and the next reply is queued.
fn lead_with_alice(workspace: &Workspace, next: Option<ServerReply>) -> Session {
    workspace.reply(spawn_teammate("alice", "", "offline"));
    workspace.reply(ServerReply::text("Alice is here."));
    let mut session = workspace.start_lead(&[]);
    session.type_text("remember the magic word: abracadabra\n");
    workspace.wait_for_lead_request("Spawned 'alice'");
    workspace.wait_alive("alice", Phase::Idle);
    workspace.wait_alive("lead", Phase::Idle);
    if let Some(reply) = next {
        workspace.reply(reply);
    }
    session
}

/// A new lead finds the teammate of the one that was killed, and its conversation.
fn adopt(workspace: &Workspace, alice: u32) {
    let before = workspace.lead_requests().len();
    assert_eq!(workspace.alive("alice").map(|(pid, _)| pid), Some(alice));
    workspace.reply(ServerReply::text("I am back."));
    let run = workspace.run_lead(&["--resume", "where were we?"], "");
    assert_eq!(run.code, 0, "{run:?}");
    let asked = workspace.lead_requests();
    let first = asked.get(before).unwrap();
    assert!(first.contains("abracadabra"), "{first}");
    assert!(first.contains("where were we?"), "{first}");
    assert!(first.contains("alice (coder): idle"), "{first}");
    assert_eq!(workspace.alive("alice"), None);
    assert_eq!(workspace.roster_status("alice"), "shutdown");
}

#[test]
fn a_lead_killed_at_rest_is_followed_by_another() {
    let workspace = Workspace::new();
    let mut session = lead_with_alice(&workspace, None);
    let (alice, _) = workspace.wait_alive("alice", Phase::Idle);
    session.kill9();
    adopt(&workspace, alice);
}

#[test]
fn a_lead_killed_in_a_model_call_is_followed_by_another() {
    let workspace = Workspace::new();
    let gate = Gate::new();
    let mut session = lead_with_alice(&workspace, Some(ServerReply::text("lost").gate_head(&gate)));
    let (alice, _) = workspace.wait_alive("alice", Phase::Idle);
    session.type_text("think\n");
    gate.wait_until_reached(LIMIT);
    session.kill9();
    gate.open();
    adopt(&workspace, alice);
}

#[test]
fn a_lead_killed_in_a_tool_is_followed_by_another() {
    let workspace = Workspace::new();
    let mut session = lead_with_alice(&workspace, Some(bash("echo $$ > pid.txt; exec sleep 3600")));
    let (alice, _) = workspace.wait_alive("alice", Phase::Idle);
    session.type_text("work\n");
    workspace.wait_for_file("pid.txt");
    session.kill9();
    workspace.wait_until_commands_ended();
    adopt(&workspace, alice);
    // The model learns that the outcome of the command is unknown.
    workspace.wait_for_lead_request("nterrupted");
}

#[test]
fn a_lead_killed_while_it_leaves_is_followed_by_another() {
    let workspace = Workspace::new();
    let stubborn = workspace.script_file(
        "script",
        &[script_bash("bob", "echo $$ > pid.txt; exec sleep 3600")],
    );
    let mut session = lead_with_alice(&workspace, None);
    workspace.ok(&[
        "spawn", "bob", "tester", "--model", &stubborn, "--prompt", "go",
    ]);
    workspace.wait_for_file("pid.txt");
    session.signal(Signal::SIGINT);
    session.wait_for_error_text("Leaving");
    workspace.wait_until_gone("alice");
    session.kill9();
    let bob = workspace.alive("bob").unwrap();
    let args = ["--leave-timeout", "1", "--resume", "where were we?"];
    workspace.reply(ServerReply::text("I am back."));
    let mut next = workspace.start_lead(&args);
    workspace.wait_for_lead_request("where were we?");
    assert_eq!(workspace.alive("bob"), Some(bob));
    next.signal(Signal::SIGINT);
    next.type_text("");
    let run = next.end();
    assert_eq!(run.code, 130, "{run:?}");
    assert_eq!(workspace.alive("bob"), None);
}

#[test]
fn an_answer_that_came_while_no_lead_ran_counts_and_is_told() {
    let workspace = Workspace::new();
    let ask = ServerReply::new().call("shutdown_request", json!({"teammate": "alice"}));
    let mut session = lead_with_alice(&workspace, Some(ask));
    let gate = Gate::new();
    workspace.reply(ServerReply::text("lost").gate_head(&gate));
    session.type_text("end alice\n");
    gate.wait_until_reached(LIMIT);
    session.kill9();
    gate.open();
    // She ends when her answer is sent, whoever may read it.
    workspace.wait_until_gone("alice");
    let before = workspace.lead_requests().len();
    let run = workspace.run_lead(&["--resume", "is she gone?"], "");
    assert_eq!(run.code, 0, "{run:?}");
    let told = workspace.lead_requests().remove(before);
    assert_eq!(told.matches("Nothing is in hand").count(), 1, "{told}");
    assert!(told.contains("alice (coder): shutdown"), "{told}");
    let requests = workspace.team().requests().unwrap();
    let statuses: Vec<_> = requests
        .iter()
        .map(|r| r.as_ref().unwrap().status())
        .collect();
    assert_eq!(statuses, [RequestStatus::Approved]);
}

#[test]
fn teammates_can_be_kept_and_are_watched_by_the_next_lead() {
    let workspace = Workspace::new();
    workspace.reply(spawn_teammate("alice", "", "offline"));
    let run = workspace.run_lead(&["--keep", "spawn alice"], "");
    assert_eq!(run.code, 0, "{run:?}");
    let (pid, _) = workspace.wait_alive("alice", Phase::Idle);
    let session = workspace.start_lead(&["--keep"]);
    workspace.wait_alive("lead", Phase::Idle);
    signal(pid, Signal::SIGKILL);
    workspace.wait_for_lead_request("alice (coder) died in incarnation 1");
    assert_eq!(session.end().code, 5);
}

#[test]
fn a_conversation_goes_on_only_if_that_is_wanted() {
    let workspace = Workspace::new();
    for (args, knows) in [
        (vec!["the word is abracadabra"], true),
        (vec!["what is the word?"], false),
        (vec!["--resume", "and now?"], false),
    ] {
        let run = workspace.run_lead(&args, "");
        assert_eq!(run.code, 0, "{run:?}");
        let last = workspace.lead_requests().pop().unwrap();
        assert_eq!(last.contains("abracadabra"), knows, "{args:?}: {last}");
    }
    let last = workspace.lead_requests().pop().unwrap();
    assert!(last.contains("what is the word?"), "{last}");
}

#[test]
fn mail_that_a_killed_lead_had_taken_is_not_lost() {
    let workspace = Workspace::new();
    let gate = Gate::new();
    workspace.reply(ServerReply::text("lost").gate_head(&gate));
    let mut session = workspace.start_lead(&[]);
    workspace.wait_alive("lead", Phase::Idle);
    workspace.ok(&["send", "lead", "do not forget the milk"]);
    gate.wait_until_reached(LIMIT);
    session.kill9();
    gate.open();
    let run = workspace.run_lead(&["--resume", "hello"], "");
    assert_eq!(run.code, 0, "{run:?}");
    let last = workspace.lead_requests().pop().unwrap();
    assert_eq!(last.matches("do not forget the milk").count(), 1, "{last}");
    assert!(last.contains("hello"), "{last}");
}
