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
    let told = workspace.ok(&["events", "--member", "alice", "--words"]);
    let death = "! alice died (killed by signal 9, SIGKILL)\n";
    assert!(told.contains(death), "{told}");
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
    // Of the first incarnation, which a command started, an older system does not tell.
    let told = workspace.ok(&["events", "--member", "alice", "--words"]);
    let (_, later) = told.split_once("! alice died (").unwrap();
    let (_, later) = later.split_once('\n').unwrap();
    let expected = [
        "+ alice was restarted (by its restart policy)",
        "! alice died (killed by signal 9, SIGKILL)",
        "+ alice was restarted (by its restart policy)",
    ];
    let is_told = |line: &&str| line.contains(" died (") || line.contains("restarted");
    let told_lines = later.lines().filter(is_told);
    // Each begins with its date and time.
    let found: Vec<&str> = told_lines.filter_map(|line| line.get(20..)).collect();
    assert!(found.ends_with(&expected) && found.len() <= 4, "{told}");
    assert_eq!(workspace.roster_status("alice"), "shutdown");
}
