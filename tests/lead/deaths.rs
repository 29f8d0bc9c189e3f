//! Teammates that die under a running lead.

use crate::support::{LIMIT, Office, send_signal, spawn};
use protocol::{Incarnation, Phase};
use test_support::wait_until;

#[test]
fn a_death_is_noticed_and_told() {
    let office = Office::new();
    office.reply(spawn("alice", "", "offline"));
    let mut session = office.start(&mut office.lead(&[]));
    session.type_text("spawn alice\n");
    office.wait_until_told("Spawned 'alice'");
    let (pid, _) = office.wait_for_phase("alice", Phase::Idle);
    send_signal("KILL", pid);
    office.wait_until_told("alice (coder) died in incarnation 1");
    let status = office.verb(&["status"]);
    assert!(status.contains("alice (coder): dead"), "{status}");
    let run = session.end();
    assert_eq!(run.code, Some(5), "{run:?}");
    assert!(run.err.contains("alice (coder) died"), "{run:?}");
}

#[test]
fn members_that_others_start_are_watched_and_brought_back_by_their_policy() {
    let office = Office::new();
    let session = office.start(&mut office.lead(&[]));
    office.wait_for_phase("lead", Phase::Idle);
    office.verb(&[
        "spawn",
        "alice",
        "coder",
        "--model",
        "offline",
        "--restart",
        "on-failure",
    ]);
    for incarnation in [1, 2] {
        wait_until(&format!("life {incarnation} of alice"), LIMIT, || {
            let (_, now) = office.wait_for_phase("alice", Phase::Idle);
            now == Incarnation(incarnation)
        });
        let (pid, _) = office.wait_for_phase("alice", Phase::Idle);
        send_signal("KILL", pid);
        office.wait_until_told(&format!("alice (coder) died in incarnation {incarnation}"));
    }
    wait_until("life 3 of alice", LIMIT, || {
        office.wait_for_phase("alice", Phase::Idle).1 == Incarnation(3)
    });
    let run = session.end();
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.err.contains("alice is restarted."), "{run:?}");
    assert_eq!(office.status("alice"), "shutdown");
}
