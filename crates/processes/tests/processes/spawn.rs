//! Starting, waking and bringing back.

use crate::support::{Crew, LIMIT, name, programs, recipient};
use command::session_of;
use nix::unistd::Pid;
use processes::{LaunchError, MemberSpec, Programs, SpawnError, Spawned, spawn};
use protocol::{Incarnation, MemberStatus, Recipient};
use std::path::PathBuf;
use std::sync::Barrier;
use std::time::Duration;
use team::{Actor, LimitedSendError};
use teamdir::{Liveness, SendError};
use test_support::wait_until;

fn spec(name_: &str, role: &str) -> MemberSpec {
    MemberSpec::new(name(name_), role)
}

fn session(pid: u32) -> i32 {
    let pid = Pid::from_raw(pid.cast_signed());
    session_of(pid).unwrap()
}

#[test]
fn a_new_member_is_ready_in_a_session_of_its_own() {
    let processes = Crew::new();
    let mut alice = spec("alice", "busy");
    alice.prompt = Some("Mend it.".to_owned());
    let spawned = spawn(processes.team(), &Actor::user(), &alice, &programs()).unwrap();
    let Spawned::Started {
        pid,
        incarnation: Incarnation(1),
        came_back: false,
    } = spawned
    else {
        panic!("{spawned:?}");
    };
    assert_eq!(session(pid), pid.cast_signed());
    assert_ne!(session(pid), session(std::process::id()));
    assert_eq!(processes.state("alice"), "working");
    let member = processes.member("alice");
    assert_eq!(member.prompt.as_deref(), Some("Mend it."));
    assert!(member.prompt_id.is_some());
    assert_eq!(member.status, MemberStatus::Working);
    assert_eq!(processes.process("alice").holder().pid, pid);
    assert!(
        processes
            .events()
            .contains(r#""event":"spawn","member":"alice","incarnation":1"#)
    );
}

/// Nothing of a member is left.
fn assert_no_trace(processes: &Crew, name_: &str) {
    let team = processes.team();
    assert!(team.roster().unwrap().member(&name(name_)).is_none());
    let owner = recipient(name_);
    assert!(!team.layout().member_dir(&owner).exists());
    assert_eq!(team.liveness(&owner).unwrap(), Liveness::Gone(None));
}

#[test]
fn a_member_that_exits_early_leaves_no_trace_but_its_last_words() {
    let processes = Crew::new();
    let alice = spec("alice", "fails");
    let error = spawn(processes.team(), &Actor::user(), &alice, &programs()).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("'alice' was not started"), "{text}");
    assert!(text.contains("exit status: 1"), "{text}");
    assert!(text.contains("the model has no key"), "{text}");
    assert_no_trace(&processes, "alice");
    // The name is free, and its first incarnation is its first.
    assert_eq!(processes.start("alice", "").1, Incarnation(1));
}

#[test]
fn a_member_that_is_never_ready_is_killed_and_its_mail_is_kept() {
    for role in ["mute", "slow"] {
        let processes = Crew::new();
        let team = processes.team();
        let impatient = Programs {
            ready_within: Duration::from_millis(500),
            ..programs()
        };
        let error = std::thread::scope(|scope| {
            let spawner = scope.spawn(|| {
                let alice = spec("alice", role);
                spawn(team, &Actor::user(), &alice, &impatient).unwrap_err()
            });
            // While it is being started, somebody writes to it.
            wait_until("a letter to be accepted", LIMIT, || {
                match team::send(team, &Actor::user(), recipient("alice"), "hello") {
                    Ok(_) => true,
                    Err(LimitedSendError::Send(SendError::UnknownRecipient { .. })) => {
                        spawner.is_finished()
                    }
                    Err(error) => panic!("{error}"),
                }
            });
            spawner.join().unwrap()
        });
        let SpawnError::Launch { source, .. } = &error else {
            panic!("{error}");
        };
        assert!(matches!(source, LaunchError::NotReady { .. }), "{error}");
        assert_no_trace(&processes, "alice");
        // A letter that was accepted is kept: among the dead ones, or in the inbox if it came when
        // the member was gone again.
        let sent = processes.events().matches(r#""event":"send""#).count();
        let places = [
            team.layout().dead_letters(),
            team.layout().inbox(&recipient("alice")),
        ];
        let texts = places.map(|path| std::fs::read_to_string(path).unwrap_or_default());
        assert_eq!(texts.concat().matches("hello").count(), sent, "{role}");
    }
}

#[test]
fn a_missing_program_creates_nothing() {
    let processes = Crew::new();
    let missing = Programs::new(PathBuf::from("/nowhere/teammate"));
    let alice = spec("alice", "");
    let error = spawn(processes.team(), &Actor::user(), &alice, &missing).unwrap_err();
    assert!(error.to_string().contains("/nowhere/teammate"), "{error}");
    assert_no_trace(&processes, "alice");
}

#[test]
fn eight_at_once_are_one_process() {
    let processes = Crew::new();
    let team = processes.team();
    let gate = Barrier::new(8);
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let spawners = (0..8).map(|at| {
            let gate = &gate;
            scope.spawn(move || {
                // Two spellings of one name are one member.
                let spelled = if at % 2 == 0 { "alice" } else { "Alice" };
                let spec = spec(spelled, "busy");
                gate.wait();
                spawn(team, &Actor::user(), &spec, &programs())
            })
        });
        let spawners: Vec<_> = spawners.collect();
        spawners.into_iter().map(|s| s.join().unwrap()).collect()
    });
    let started = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    assert_eq!(started, 1, "{outcomes:?}");
    for error in outcomes.iter().filter_map(|outcome| outcome.as_ref().err()) {
        let text = error.to_string().to_lowercase();
        assert_eq!(text, "'alice' is currently working");
    }
    let roster = team.roster().unwrap();
    assert_eq!(roster.members.len(), 1);
    assert_eq!(roster.members[0].incarnation, Incarnation(1));
}

#[test]
fn an_idle_member_is_woken_and_a_working_one_left_alone() {
    let processes = Crew::new();
    let (pid, _) = processes.start("alice", "sleepy");
    let mut again = spec("ALICE", "sleepy");
    let woken = spawn(processes.team(), &Actor::user(), &again, &programs()).unwrap();
    assert_eq!(woken, Spawned::Woken { prompt_sent: false });
    again.prompt = Some("more".to_owned());
    let woken = spawn(processes.team(), &Actor::user(), &again, &programs()).unwrap();
    assert_eq!(woken, Spawned::Woken { prompt_sent: true });
    let view = processes::member_view(processes.team(), &name("alice")).unwrap();
    assert_eq!(view.unread, 1);
    assert_eq!(view.holder.map(|holder| holder.pid), Some(pid));
    processes.start("bob", "busy");
    let error = spawn(
        processes.team(),
        &Actor::user(),
        &spec("bob", ""),
        &programs(),
    )
    .unwrap_err();
    assert_eq!(error.to_string(), "'bob' is currently working");
}

#[test]
fn the_dead_and_the_shut_down_come_back_in_their_next_life() {
    let processes = Crew::new();
    processes.start("alice", "sleepy");
    team::send(
        processes.team(),
        &Actor::user(),
        recipient("alice"),
        "later",
    )
    .unwrap();
    processes.kill9("alice");
    let mut back = spec("alice", "sleepy");
    back.prompt = Some("go on".to_owned());
    let spawned = spawn(processes.team(), &Actor::user(), &back, &programs()).unwrap();
    let Spawned::Started {
        incarnation: Incarnation(2),
        came_back: true,
        ..
    } = spawned
    else {
        panic!("{spawned:?}");
    };
    // The death was reaped on the way, and the unread mail is still there.
    assert_eq!(processes.notices().len(), 1);
    let view = processes::member_view(processes.team(), &name("alice")).unwrap();
    assert_eq!((view.unread, view.member.reaped), (1, Some(Incarnation(1))));
    processes.kill9("alice");
    processes.change("alice", |member| member.status = MemberStatus::Shutdown);
    assert_eq!(processes.start("alice", "").1, Incarnation(3));
    assert_eq!(processes.notices().len(), 1);
}

#[test]
fn a_member_that_does_not_come_back_stays_as_it_was() {
    let processes = Crew::new();
    processes.start("alice", "tester");
    processes.kill9("alice");
    processes.repair_until_reaped("alice");
    let before = processes.member("alice");
    let mut doomed = spec("alice", "slow");
    doomed.prompt = Some("never".to_owned());
    let impatient = Programs {
        ready_within: Duration::from_secs(1),
        ..programs()
    };
    let error = spawn(processes.team(), &Actor::user(), &doomed, &impatient).unwrap_err();
    assert!(error.to_string().contains("TEAM_READY_TIMEOUT"), "{error}");
    let after = processes.member("alice");
    assert_eq!((after.role.as_str(), after.prompt), ("tester", None));
    assert_eq!(after.status, before.status);
    // It may have counted an incarnation, which nobody reaps.
    processes::repair(processes.team());
    assert_eq!(processes.notices().len(), 1);
    assert!(processes.start("alice", "").1 > before.incarnation);
}

#[test]
fn a_member_started_for_the_team_knows_nothing_of_the_command_that_started_it() {
    let processes = Crew::new();
    let (pid, _) = processes.start("alice", "");
    let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap();
    let environment = String::from_utf8_lossy(&environment).into_owned();
    assert!(!environment.contains("TEAM_JOB="), "{environment}");
    let folder = std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap();
    let workspace = processes.team().workspace().canonicalize().unwrap();
    assert_eq!(folder, workspace);
    assert_eq!(
        processes.team().liveness(&Recipient::Lead).unwrap(),
        Liveness::Gone(None)
    );
}

#[test]
fn a_prompt_that_was_never_said_goes_before_the_next_one() {
    let processes = Crew::new();
    let tell = |prompt: &str| {
        let mut alice = spec("alice", "sleepy");
        alice.prompt = Some(prompt.to_owned());
        spawn(processes.team(), &Actor::user(), &alice, &programs()).unwrap();
        let member = processes.member("alice");
        processes.kill9("alice");
        (member.prompt.unwrap(), member.prompt_id.unwrap())
    };
    // These members never say a prompt to a model.
    let (first, first_id) = tell("Mend it.");
    let (both, both_id) = tell("Then test it.");
    assert_eq!(both, format!("{first}\n\nThen test it."));
    assert_ne!(both_id, first_id);
    // Trying again says nothing new.
    assert_eq!(tell("Then test it."), (both.clone(), both_id.clone()));
    // Once it is said it is past.
    let journal = processes.team().layout().transcript(&recipient("alice"));
    let said = format!(
        r#"{{"kind":"user","messages":[{{"source":{{"prompt":"{both_id}"}},"text":"x"}}]}}"#
    );
    let mut file = std::fs::File::options().append(true).open(journal).unwrap();
    std::io::Write::write_all(&mut file, format!("{said}\n").as_bytes()).unwrap();
    assert_eq!(tell("Rest.").0, "Rest.");
}
