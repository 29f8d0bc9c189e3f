//! Who is alive, and who is who.

use crate::support::{LIMIT, TestTeam};
use protocol::{AgentName, Incarnation, Recipient};
use rules::ShutdownLimits;
use std::process::Stdio;
use std::time::Duration;
use team::{Actor, ShutdownOptions};
use teamdir::{JoinError, Liveness, is_running};
use test_support::{Gate, try_wait_for, wait_until};

fn is_alive(team: &TestTeam) -> bool {
    matches!(team.team.liveness(&team.alice).unwrap(), Liveness::Alive(_))
}

#[test]
fn inv_14_of_two_processes_started_as_alice_one_runs() {
    let team = TestTeam::new();
    let mut both = [0, 1].map(|_| team.start_quietly(&["hold", "--name", "alice"]));
    wait_until("one gave up", LIMIT, || {
        both.iter_mut().any(|p| p.try_wait().is_some())
    });
    let losers = both.iter_mut().filter_map(|p| p.try_wait()).count();
    assert_eq!(losers, 1);
    assert!(is_alive(&team));
    let error = team.team.join(&team.alice).unwrap_err();
    let JoinError::Held { holder, .. } = &error else {
        panic!("{error}");
    };
    let winner = both
        .iter_mut()
        .find_map(|p| p.try_wait().is_none().then(|| p.id()));
    assert_eq!(holder.as_ref().map(|holder| holder.pid), winner);
    assert!(
        error.to_string().contains("alice already runs as process"),
        "{error}"
    );
}

#[test]
fn inv_15_a_child_that_outlives_alice_does_not_keep_her_alive() {
    let team = TestTeam::new();
    let mut alice = team.start(&["hold", "--name", "alice", "--child", "60"]);
    let child = alice.line(LIMIT);
    assert_eq!(alice.line(LIMIT), "incarnation 1");
    assert!(is_alive(&team));
    alice.kill9();
    wait_until("the lock is free", LIMIT, || !is_alive(&team));
    let again = team.team.join(&team.alice).unwrap();
    assert_eq!(again.incarnation().0, 2);
    let pid = child.strip_prefix("child ").unwrap();
    assert!(
        std::path::Path::new(&format!("/proc/{pid}")).exists(),
        "the child still runs"
    );
    let status = std::process::Command::new("kill")
        .args(["-9", pid])
        .status();
    assert!(status.unwrap().success());
}

/// A shutdown that is over has freed the lock, though a child of the member had a copy of it at the end.
#[test]
fn a_shutdown_is_over_when_the_last_copy_of_the_lock_is_gone() {
    let team = TestTeam::new();
    let place = tempfile::tempdir().unwrap();
    let mut gate = Gate::new(place.path());
    let path = gate.path().to_str().unwrap();
    let mut alice = team.bench(&["hold", "--name", "alice", "--orphan", path]);
    let mut alice = alice.stdout(Stdio::null()).spawn().unwrap();
    gate.wait_for_visitor(LIMIT);
    let wish = ShutdownOptions {
        to: AgentName::new("alice").unwrap(),
        reason: String::new(),
        timeout: LIMIT,
        force: false,
        lead_leaves: false,
    };
    let request = team::ask_shutdown(&team.team, &Actor::user(), &wish, Incarnation(1)).unwrap();
    let followed = std::thread::spawn({
        let team = team.team.clone();
        move || processes::follow_shutdown(&team, request, ShutdownLimits::default(), &|| false)
    });
    alice.kill().unwrap();
    alice.wait().unwrap();
    let early = try_wait_for(Duration::from_millis(300), || {
        followed.is_finished().then_some(())
    });
    assert!(early.is_none() && is_alive(&team), "a child has the lock");
    drop(gate);
    followed.join().unwrap().unwrap();
    assert!(!is_alive(&team));
}

#[test]
fn a_reused_pid_is_never_taken_for_the_member() {
    let team = TestTeam::new();
    let mut alice = team.start(&["hold", "--name", "alice"]);
    alice.line(LIMIT);
    let Liveness::Alive(Some(holder)) = team.team.liveness(&team.alice).unwrap() else {
        panic!("alice is not alive");
    };
    assert_eq!(holder.pid, alice.id());
    assert!(is_running(&holder));
    alice.kill9();
    // What a later process with the same pid would look like: another start time.
    let path = team.team.layout().member_lock(&team.alice);
    let stale = protocol::Holder {
        pid: std::process::id(),
        ..holder
    };
    std::fs::write(&path, serde_json::to_vec(&stale).unwrap()).unwrap();
    let Liveness::Gone(Some(found)) = team.team.liveness(&team.alice).unwrap() else {
        panic!("a dead member is taken for alive");
    };
    assert_eq!(found.pid, std::process::id());
    assert!(
        !is_running(&found),
        "the pid runs, but it is not the member"
    );
}

#[test]
fn incarnations_grow_and_strangers_cannot_join() {
    let team = TestTeam::new();
    for expected in 1..=3 {
        assert_eq!(
            team.team.join(&team.alice).unwrap().incarnation().0,
            expected
        );
    }
    let stranger: Recipient = "mallory".parse().unwrap();
    assert!(matches!(
        team.team.join(&stranger),
        Err(JoinError::NotAMember(_))
    ));
    assert!(!team.team.layout().member_dir(&stranger).exists());
}
