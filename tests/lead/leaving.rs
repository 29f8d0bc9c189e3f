//! Leaving: Ctrl-C once, twice, and teammates that do not want to go.

use crate::support::{Office, Session, bash, plays_bash, spawn, wait_until_ended};
use protocol::Phase;
use test_support::llm_server::ServerReply;

#[test]
fn one_interrupt_ends_the_turn_and_asks_the_team_to_leave() {
    let office = Office::new();
    office.reply(spawn("alice", "", "offline"));
    office.reply(bash("echo $$ > pid.txt; exec sleep 3600"));
    let session = office.start(&mut office.lead(&["--leave-timeout", "100", "work"]));
    let pid = office.wait_for_file("pid.txt");
    office.wait_for_phase("alice", Phase::Idle);
    session.signal("INT");
    let run = session.end();
    assert_eq!((run.code, run.out.as_str()), (Some(130), ""), "{run:?}");
    assert!(run.err.contains("alice has left."), "{run:?}");
    wait_until_ended(&pid);
    assert_eq!(office.alive("alice"), None);
}

#[test]
fn a_polite_kill_is_like_an_interrupt() {
    let office = Office::new();
    let session = office.start(&mut office.lead(&[]));
    office.wait_for_phase("lead", Phase::Idle);
    session.signal("TERM");
    assert_eq!(session.end().code, Some(130));
}

/// A lead whose teammate is busy and hears nothing.
fn lead_with_deaf_alice(office: &Office, args: &[&str]) -> Session {
    let deaf = office.script(&[plays_bash("alice", "echo $$ > pid.txt; exec sleep 3600")]);
    office.reply(spawn("alice", "go", &deaf));
    office.reply(ServerReply::text("She works."));
    let session = office.start(office.lead(args).arg("work"));
    office.wait_for_file("pid.txt");
    session
}

#[test]
fn a_second_interrupt_asks_nobody() {
    let office = Office::new();
    let session = lead_with_deaf_alice(&office, &["--leave-timeout", "1h"]);
    session.signal("INT");
    session.wait_for_word("Ctrl-C again");
    session.signal("INT");
    let run = session.end();
    assert_eq!(run.code, Some(130), "{run:?}");
    assert!(run.err.contains("alice did not leave in time"), "{run:?}");
    assert_eq!(office.alive("alice"), None);
    assert_eq!(office.status("alice"), "shutdown");
}

#[test]
fn whoever_does_not_leave_in_time_is_ended() {
    let office = Office::new();
    let session = lead_with_deaf_alice(&office, &["--leave-timeout", "1"]);
    let pid = office.wait_for_file("pid.txt");
    session.signal("INT");
    let run = session.end();
    assert_eq!(run.code, Some(130), "{run:?}");
    // With SIGTERM, but on a busy machine that may not be enough.
    assert!(run.err.contains("was ended with SIG"), "{run:?}");
    assert_eq!(office.alive("alice"), None);
    wait_until_ended(&pid);
}
