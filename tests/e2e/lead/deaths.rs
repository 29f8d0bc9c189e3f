//! Teammates that die under a running lead.

use crate::harness::{LIMIT, Workspace, signal, spawn_teammate};
use nix::sys::signal::Signal;
use protocol::{Incarnation, Phase};
use test_support::wait_until;

#[test]
fn a_death_is_noticed_and_told() {
    let workspace = Workspace::new();
    workspace.reply(spawn_teammate("alice", "", "offline"));
    let mut session = workspace.start_lead(&[]);
    session.type_text("spawn alice\n");
    workspace.wait_for_lead_request("Spawned 'alice'");
    let (pid, _) = workspace.wait_alive("alice", Phase::Idle);
    signal(pid, Signal::SIGKILL);
    workspace.wait_for_lead_request("alice (coder) died in incarnation 1");
    let status = workspace.ok(&["status"]);
    assert!(status.contains("alice (coder): dead"), "{status}");
    let run = session.end();
    assert_eq!(run.code, 5, "{run:?}");
    assert!(run.err.contains("alice (coder) died"), "{run:?}");
}

#[test]
fn members_that_others_start_are_watched_and_brought_back_by_their_policy() {
    let workspace = Workspace::new();
    let session = workspace.start_lead(&[]);
    workspace.wait_alive("lead", Phase::Idle);
    workspace.ok(&[
        "spawn",
        "alice",
        "coder",
        "--model",
        "offline",
        "--restart",
        "on-failure",
    ]);
    for incarnation in [1, 2] {
        wait_until(
            &format!("incarnation {incarnation} of alice"),
            LIMIT,
            || {
                let (_, now) = workspace.wait_alive("alice", Phase::Idle);
                now == Incarnation(incarnation)
            },
        );
        let (pid, _) = workspace.wait_alive("alice", Phase::Idle);
        signal(pid, Signal::SIGKILL);
        workspace
            .wait_for_lead_request(&format!("alice (coder) died in incarnation {incarnation}"));
    }
    wait_until("incarnation 3 of alice", LIMIT, || {
        workspace.wait_alive("alice", Phase::Idle).1 == Incarnation(3)
    });
    let run = session.end();
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.err.contains("alice is restarted."), "{run:?}");
    assert_eq!(workspace.roster_status("alice"), "shutdown");
}
