//! Leaving: Ctrl-C once, twice, and teammates that do not want to go.

use crate::harness::{Session, Workspace, bash, script_bash, spawn_teammate};
use nix::sys::signal::Signal;
use protocol::Phase;
use test_support::llm_server::ServerReply;

#[test]
fn one_interrupt_ends_the_turn_and_asks_the_team_to_leave() {
    let workspace = Workspace::new();
    workspace.reply(spawn_teammate("alice", "", "offline"));
    workspace.reply(bash("echo $$ > pid.txt; exec sleep 3600"));
    let session = workspace.start_lead(&["--leave-timeout", "100", "work"]);
    workspace.wait_for_file("pid.txt");
    workspace.wait_alive("alice", Phase::Idle);
    session.signal(Signal::SIGINT);
    let run = session.end();
    assert_eq!((run.code, run.out.as_str()), (130, ""), "{run:?}");
    assert!(run.err.contains("alice has left."), "{run:?}");
    workspace.wait_until_commands_ended();
    assert_eq!(workspace.alive("alice"), None);
}

#[test]
fn a_polite_kill_is_like_an_interrupt() {
    let workspace = Workspace::new();
    let session = workspace.start_lead(&[]);
    workspace.wait_alive("lead", Phase::Idle);
    session.signal(Signal::SIGTERM);
    assert_eq!(session.end().code, 130);
}

/// A lead whose teammate is busy and hears nothing.
fn lead_with_deaf_alice(workspace: &Workspace, args: &[&str]) -> Session {
    let deaf = workspace.script_file(
        "script",
        &[script_bash("alice", "echo $$ > pid.txt; exec sleep 3600")],
    );
    workspace.reply(spawn_teammate("alice", "go", &deaf));
    workspace.reply(ServerReply::text("She works."));
    let session = workspace.start_lead(&[args, &["work"]].concat());
    workspace.wait_for_file("pid.txt");
    session
}

#[test]
fn a_second_interrupt_asks_nobody() {
    let workspace = Workspace::new();
    let session = lead_with_deaf_alice(&workspace, &["--leave-timeout", "1h"]);
    session.signal(Signal::SIGINT);
    session.wait_for_error_text("Ctrl-C again");
    session.signal(Signal::SIGINT);
    let run = session.end();
    assert_eq!(run.code, 130, "{run:?}");
    assert!(run.err.contains("alice did not leave in time"), "{run:?}");
    assert_eq!(workspace.alive("alice"), None);
    assert_eq!(workspace.roster_status("alice"), "shutdown");
}

#[test]
fn whoever_does_not_leave_in_time_is_ended() {
    let workspace = Workspace::new();
    let session = lead_with_deaf_alice(&workspace, &["--leave-timeout", "1"]);
    workspace.wait_for_file("pid.txt");
    session.signal(Signal::SIGINT);
    let run = session.end();
    assert_eq!(run.code, 130, "{run:?}");
    // With SIGTERM, but on a busy machine that may not be enough.
    assert!(run.err.contains("was ended with SIG"), "{run:?}");
    assert_eq!(workspace.alive("alice"), None);
    workspace.wait_until_commands_ended();
}
