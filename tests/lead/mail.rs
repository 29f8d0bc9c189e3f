//! Mail for the lead: it wakes it, and a burst is one turn.

use crate::support::{LIMIT, Office};
use protocol::Phase;
use test_support::llm_server::{Gate, ServerReply};

fn letters() -> Vec<String> {
    (1..=5).map(|n| format!("letter number {n}")).collect()
}

#[test]
fn what_came_before_the_lead_is_its_first_turn() {
    let office = Office::new();
    for letter in letters() {
        office.verb(&["send", "lead", &letter]);
    }
    let session = office.start(&mut office.lead(&[]));
    office.server.wait_for_requests("lead", 1, LIMIT);
    let run = session.end();
    assert_eq!(run.code, Some(0), "{run:?}");
    let asked = office.asked();
    assert_eq!(asked.len(), 1, "{asked:?}");
    for letter in letters() {
        assert!(asked[0].contains(&letter), "{letter}: {asked:?}");
        assert!(run.err.contains(&format!("user: {letter}")), "{run:?}");
    }
}

#[test]
fn what_comes_during_a_turn_is_in_its_next_request() {
    let office = Office::new();
    let gate = Gate::new();
    office.reply(ServerReply::text("One.").gate_head(&gate));
    let mut session = office.start(&mut office.lead(&[]));
    session.type_text("hello\n");
    gate.wait_until_reached(LIMIT);
    for letter in letters() {
        office.verb(&["send", "lead", &letter]);
    }
    gate.open();
    office.server.wait_for_requests("lead", 2, LIMIT);
    let run = session.end();
    assert_eq!(run.code, Some(0), "{run:?}");
    let asked = office.asked();
    assert_eq!(asked.len(), 2, "{asked:?}");
    for letter in letters() {
        assert!(!asked[0].contains(&letter), "{letter}: {asked:?}");
        assert!(asked[1].contains(&letter), "{letter}: {asked:?}");
    }
}

#[test]
fn mail_wakes_a_lead_at_rest_and_a_mere_notice_does_not() {
    let office = Office::new();
    let mut session = office.start(&mut office.lead(&[]));
    session.type_text("hello\n");
    office.wait_until_told("hello");
    office.wait_for_phase("lead", Phase::Idle);
    let team = office.team();
    team::notice(&team, "lead".parse().unwrap(), "other/1", "by the way").unwrap();
    session.wait_for_word("by the way");
    office.verb(&["send", "lead", "wake up"]);
    office.wait_until_told("wake up");
    let run = session.end();
    assert_eq!(run.code, Some(0), "{run:?}");
    // The notice waited for the turn that the message began.
    let asked = office.asked();
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert!(asked[1].contains("by the way"), "{asked:?}");
}
