//! Mail for the lead: it wakes it, and a burst is one turn.

use crate::harness::{LIMIT, Workspace};
use protocol::Phase;
use test_support::llm_server::{Gate, ServerReply};

fn messages() -> Vec<String> {
    (1..=5).map(|n| format!("message number {n}")).collect()
}

#[test]
fn what_came_before_the_lead_is_its_first_turn() {
    let workspace = Workspace::new();
    for message in messages() {
        workspace.ok(&["send", "lead", &message]);
    }
    let session = workspace.start_lead(&[]);
    workspace.server.wait_for_requests("lead", 1, LIMIT);
    let run = session.end();
    assert_eq!(run.code, 0, "{run:?}");
    let asked = workspace.lead_requests();
    assert_eq!(asked.len(), 1, "{asked:?}");
    for message in messages() {
        assert!(asked[0].contains(&message), "{message}: {asked:?}");
        assert!(run.err.contains(&format!("user: {message}")), "{run:?}");
    }
}

#[test]
fn what_comes_during_a_turn_is_in_its_next_request() {
    let workspace = Workspace::new();
    let gate = Gate::new();
    workspace.reply(ServerReply::text("One.").gate_head(&gate));
    let mut session = workspace.start_lead(&[]);
    session.type_text("hello\n");
    gate.wait_until_reached(LIMIT);
    for message in messages() {
        workspace.ok(&["send", "lead", &message]);
    }
    gate.open();
    workspace.server.wait_for_requests("lead", 2, LIMIT);
    let run = session.end();
    assert_eq!(run.code, 0, "{run:?}");
    let asked = workspace.lead_requests();
    assert_eq!(asked.len(), 2, "{asked:?}");
    for message in messages() {
        assert!(!asked[0].contains(&message), "{message}: {asked:?}");
        assert!(asked[1].contains(&message), "{message}: {asked:?}");
    }
}

#[test]
fn mail_wakes_a_lead_at_rest_and_a_mere_notice_does_not() {
    let workspace = Workspace::new();
    let mut session = workspace.start_lead(&[]);
    session.type_text("hello\n");
    workspace.wait_for_lead_request("hello");
    workspace.wait_alive("lead", Phase::Idle);
    let team = workspace.team();
    let cause = protocol::NoticeCause::Other("other".to_owned());
    let lead = "lead".parse().unwrap();
    team::notice(team, lead, cause, "other/1", "by the way").unwrap();
    session.wait_for_error_text("by the way");
    workspace.ok(&["send", "lead", "wake up"]);
    workspace.wait_for_lead_request("wake up");
    let run = session.end();
    assert_eq!(run.code, 0, "{run:?}");
    // The notice waited for the turn that the message began.
    let asked = workspace.lead_requests();
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert!(asked[1].contains("by the way"), "{asked:?}");
}
