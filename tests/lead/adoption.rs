//! One lead per folder, leads that are killed, and leads that come after them.

use crate::support::{
    LIMIT, Office, Session, bash, plays_bash, send_signal, spawn, wait_until_ended,
};
use protocol::{Phase, RequestStatus};
use serde_json::json;
use test_support::llm_server::{Gate, ServerReply};

#[test]
fn a_second_lead_is_told_who_has_the_folder() {
    let office = Office::new();
    let session = office.start(&mut office.lead(&[]));
    let (pid, _) = office.wait_for_phase("lead", Phase::Idle);
    assert_eq!(pid, session.pid());
    let run = office.run(&mut office.lead(&["hello"]), "");
    assert_eq!((run.code, run.out.as_str()), (Some(7), ""), "{run:?}");
    assert!(run.err.contains(&format!("process {pid}")), "{run:?}");
    assert!(run.err.contains("next: team-lead send lead"), "{run:?}");
    assert_eq!(office.asked().len(), 0);
    assert_eq!(session.end().code, Some(0));
}

/// Starts a lead with a teammate. The first query is over, and the next reply is waiting.
fn lead_with_alice(office: &Office, next: Option<ServerReply>) -> Session {
    office.reply(spawn("alice", "", "offline"));
    office.reply(ServerReply::text("Alice is here."));
    let mut session = office.start(&mut office.lead(&[]));
    session.type_text("remember the magic word: abracadabra\n");
    office.wait_until_told("Spawned 'alice'");
    office.wait_for_phase("alice", Phase::Idle);
    office.wait_for_phase("lead", Phase::Idle);
    if let Some(reply) = next {
        office.reply(reply);
    }
    session
}

/// A new lead finds the teammate of the one that was killed, and its conversation.
fn adopt(office: &Office, alice: u32) {
    let before = office.asked().len();
    assert_eq!(office.alive("alice").map(|(pid, _)| pid), Some(alice));
    office.reply(ServerReply::text("I am back."));
    let run = office.run(&mut office.lead(&["--resume", "where were we?"]), "");
    assert_eq!(run.code, Some(0), "{run:?}");
    let asked = office.asked();
    let first = asked.get(before).unwrap();
    assert!(first.contains("abracadabra"), "{first}");
    assert!(first.contains("where were we?"), "{first}");
    assert!(first.contains("alice (coder): idle"), "{first}");
    assert_eq!(office.alive("alice"), None);
    assert_eq!(office.status("alice"), "shutdown");
}

#[test]
fn a_lead_killed_at_rest_is_followed_by_another() {
    let office = Office::new();
    let mut session = lead_with_alice(&office, None);
    let (alice, _) = office.wait_for_phase("alice", Phase::Idle);
    session.kill9();
    adopt(&office, alice);
}

#[test]
fn a_lead_killed_in_a_model_call_is_followed_by_another() {
    let office = Office::new();
    let gate = Gate::new();
    let mut session = lead_with_alice(&office, Some(ServerReply::text("lost").gate_head(&gate)));
    let (alice, _) = office.wait_for_phase("alice", Phase::Idle);
    session.type_text("think\n");
    gate.wait_until_reached(LIMIT);
    session.kill9();
    gate.open();
    adopt(&office, alice);
}

#[test]
fn a_lead_killed_in_a_tool_is_followed_by_another() {
    let office = Office::new();
    let mut session = lead_with_alice(&office, Some(bash("echo $$ > pid.txt; exec sleep 3600")));
    let (alice, _) = office.wait_for_phase("alice", Phase::Idle);
    session.type_text("work\n");
    let command = office.wait_for_file("pid.txt");
    session.kill9();
    wait_until_ended(&command);
    adopt(&office, alice);
    // The model is told that nobody knows what the command did.
    office.wait_until_told("nterrupted");
}

#[test]
fn a_lead_killed_while_it_leaves_is_followed_by_another() {
    let office = Office::new();
    let stubborn = office.script(&[plays_bash("bob", "echo $$ > pid.txt; exec sleep 3600")]);
    let mut session = lead_with_alice(&office, None);
    office.verb(&[
        "spawn", "bob", "tester", "--model", &stubborn, "--prompt", "go",
    ]);
    office.wait_for_file("pid.txt");
    session.signal("INT");
    session.wait_for_word("Leaving");
    office.wait_until_gone("alice");
    session.kill9();
    let bob = office.alive("bob").unwrap();
    let args = ["--leave-timeout", "1", "--resume", "where were we?"];
    office.reply(ServerReply::text("I am back."));
    let mut next = office.start(&mut office.lead(&args));
    office.wait_until_told("where were we?");
    assert_eq!(office.alive("bob"), Some(bob));
    next.signal("INT");
    next.type_text("");
    let run = next.end();
    assert_eq!(run.code, Some(130), "{run:?}");
    assert_eq!(office.alive("bob"), None);
}

#[test]
fn an_answer_that_came_while_no_lead_ran_counts_and_is_told() {
    let office = Office::new();
    let ask = ServerReply::new().call("shutdown_request", json!({"teammate": "alice"}));
    let mut session = lead_with_alice(&office, Some(ask));
    let gate = Gate::new();
    office.reply(ServerReply::text("lost").gate_head(&gate));
    session.type_text("end alice\n");
    gate.wait_until_reached(LIMIT);
    session.kill9();
    gate.open();
    // She ends when her answer is sent, whoever may read it.
    office.wait_until_gone("alice");
    let before = office.asked().len();
    let run = office.run(&mut office.lead(&["--resume", "is she gone?"]), "");
    assert_eq!(run.code, Some(0), "{run:?}");
    let told = office.asked().remove(before);
    assert_eq!(told.matches("Nothing is in hand").count(), 1, "{told}");
    assert!(told.contains("alice (coder): shutdown"), "{told}");
    let requests = office.team().requests().unwrap();
    let statuses: Vec<_> = requests
        .iter()
        .map(|r| r.as_ref().unwrap().status())
        .collect();
    assert_eq!(statuses, [RequestStatus::Approved]);
}

#[test]
fn teammates_can_be_kept_and_are_watched_by_the_next_lead() {
    let office = Office::new();
    office.reply(spawn("alice", "", "offline"));
    let run = office.run(&mut office.lead(&["--keep", "spawn alice"]), "");
    assert_eq!(run.code, Some(0), "{run:?}");
    let (pid, _) = office.wait_for_phase("alice", Phase::Idle);
    let session = office.start(&mut office.lead(&["--keep"]));
    office.wait_for_phase("lead", Phase::Idle);
    send_signal("KILL", pid);
    office.wait_until_told("alice (coder) died in incarnation 1");
    assert_eq!(session.end().code, Some(5));
}

#[test]
fn a_conversation_goes_on_only_if_that_is_wanted() {
    let office = Office::new();
    for (args, knows) in [
        (vec!["the word is abracadabra"], true),
        (vec!["what is the word?"], false),
        (vec!["--resume", "and now?"], false),
    ] {
        let run = office.run(&mut office.lead(&args), "");
        assert_eq!(run.code, Some(0), "{run:?}");
        let last = office.asked().pop().unwrap();
        assert_eq!(last.contains("abracadabra"), knows, "{args:?}: {last}");
    }
    let last = office.asked().pop().unwrap();
    assert!(last.contains("what is the word?"), "{last}");
}

#[test]
fn mail_that_a_killed_lead_had_taken_is_not_lost() {
    let office = Office::new();
    let gate = Gate::new();
    office.reply(ServerReply::text("lost").gate_head(&gate));
    let mut session = office.start(&mut office.lead(&[]));
    office.wait_for_phase("lead", Phase::Idle);
    office.verb(&["send", "lead", "do not forget the milk"]);
    gate.wait_until_reached(LIMIT);
    session.kill9();
    gate.open();
    let run = office.run(&mut office.lead(&["--resume", "hello"]), "");
    assert_eq!(run.code, Some(0), "{run:?}");
    let last = office.asked().pop().unwrap();
    assert_eq!(last.matches("do not forget the milk").count(), 1, "{last}");
    assert!(last.contains("hello"), "{last}");
}
