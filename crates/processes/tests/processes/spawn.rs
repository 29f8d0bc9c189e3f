//! Starting, waking and restarting members.

use crate::support::{LIMIT, Members, name, programs, recipient};
use command::session_of;
use nix::unistd::Pid;
use processes::{LaunchError, Programs, SpawnError, Spawned, spawn};
use protocol::{Incarnation, MemberSpec, MemberStatus, Recipient};
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
    let members = Members::new();
    let mut alice = spec("alice", "busy");
    alice.prompt = Some("Mend it.".to_owned());
    let spawned = spawn(members.team(), &Actor::user(), &alice, &programs()).unwrap();
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
    assert_eq!(members.state("alice"), "working");
    let member = members.member("alice");
    assert_eq!(member.spec.prompt.as_deref(), Some("Mend it."));
    assert!(member.prompt_id.is_some());
    assert_eq!(member.status, MemberStatus::Working);
    assert_eq!(members.process("alice").holder().pid, pid);
    assert!(
        members
            .events()
            .contains(r#""event":"spawn","member":"alice","incarnation":1"#)
    );
}

/// Nothing of a member is left.
fn assert_no_trace(members: &Members, name_: &str) {
    let team = members.team();
    assert!(team.roster().unwrap().member(&name(name_)).is_none());
    let owner = recipient(name_);
    assert!(!team.layout().member_dir(&owner).exists());
    assert_eq!(team.liveness(&owner).unwrap(), Liveness::Gone(None));
}

#[test]
fn a_member_that_exits_early_leaves_only_its_output_in_the_error() {
    let members = Members::new();
    let alice = spec("alice", "fails");
    let error = spawn(members.team(), &Actor::user(), &alice, &programs()).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("'alice' was not started"), "{text}");
    assert!(text.contains("exit status: 1"), "{text}");
    assert!(text.contains("the model has no key"), "{text}");
    assert_no_trace(&members, "alice");
    // The name is free again, and its incarnations start at 1.
    assert_eq!(members.start("alice", "").1, Incarnation(1));
}

#[test]
fn a_member_that_is_never_ready_is_killed_and_its_mail_is_kept() {
    for role in ["mute", "slow"] {
        let members = Members::new();
        let team = members.team();
        let impatient = Programs {
            ready_within: Duration::from_millis(500),
            ..programs()
        };
        let error = std::thread::scope(|scope| {
            let spawner = scope.spawn(|| {
                let alice = spec("alice", role);
                spawn(team, &Actor::user(), &alice, &impatient).unwrap_err()
            });
            // While it is being started, it gets a message.
            wait_until("a message to be accepted", LIMIT, || {
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
        assert_no_trace(&members, "alice");
        // An accepted message is kept: as a dead letter, or in the inbox if it came after the member was
        // removed.
        let sent = members.events().matches(r#""event":"send""#).count();
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
    let members = Members::new();
    let missing = Programs::new(PathBuf::from("/nowhere/teammate"));
    let alice = spec("alice", "");
    let error = spawn(members.team(), &Actor::user(), &alice, &missing).unwrap_err();
    assert!(error.to_string().contains("/nowhere/teammate"), "{error}");
    assert_no_trace(&members, "alice");
}

#[test]
fn eight_concurrent_spawns_start_one_process() {
    let members = Members::new();
    let team = members.team();
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
fn an_idle_member_is_woken_and_a_working_one_is_left_alone() {
    let members = Members::new();
    let (pid, _) = members.start("alice", "sleepy");
    let mut again = spec("ALICE", "sleepy");
    let woken = spawn(members.team(), &Actor::user(), &again, &programs()).unwrap();
    assert_eq!(woken, Spawned::Woken { prompt_sent: false });
    again.prompt = Some("more".to_owned());
    let woken = spawn(members.team(), &Actor::user(), &again, &programs()).unwrap();
    assert_eq!(woken, Spawned::Woken { prompt_sent: true });
    let view = processes::member_view(members.team(), &name("alice")).unwrap();
    assert_eq!(view.unread, 1);
    assert_eq!(view.holder.map(|holder| holder.pid), Some(pid));
    members.start("bob", "busy");
    let error = spawn(
        members.team(),
        &Actor::user(),
        &spec("bob", ""),
        &programs(),
    )
    .unwrap_err();
    assert_eq!(error.to_string(), "'bob' is currently working");
}

#[test]
fn dead_and_shut_down_members_start_as_their_next_incarnation() {
    let members = Members::new();
    members.start("alice", "sleepy");
    team::send(members.team(), &Actor::user(), recipient("alice"), "later").unwrap();
    members.kill9("alice");
    let mut back = spec("alice", "sleepy");
    back.prompt = Some("go on".to_owned());
    let spawned = spawn(members.team(), &Actor::user(), &back, &programs()).unwrap();
    let Spawned::Started {
        incarnation: Incarnation(2),
        came_back: true,
        ..
    } = spawned
    else {
        panic!("{spawned:?}");
    };
    // The spawn reaped the death, and the unread mail is still there.
    assert_eq!(members.notices().len(), 1);
    let view = processes::member_view(members.team(), &name("alice")).unwrap();
    assert_eq!((view.unread, view.member.reaped), (1, Some(Incarnation(1))));
    members.kill9("alice");
    members.change("alice", |member| member.status = MemberStatus::Shutdown);
    assert_eq!(members.start("alice", "").1, Incarnation(3));
    assert_eq!(members.notices().len(), 1);
}

#[test]
fn a_failed_restart_leaves_the_roster_entry_as_it_was() {
    let members = Members::new();
    members.start("alice", "tester");
    members.kill9("alice");
    members.repair_until_reaped("alice");
    let before = members.member("alice");
    let mut doomed = spec("alice", "slow");
    doomed.prompt = Some("never".to_owned());
    let impatient = Programs {
        ready_within: Duration::from_secs(1),
        ..programs()
    };
    let error = spawn(members.team(), &Actor::user(), &doomed, &impatient).unwrap_err();
    assert!(error.to_string().contains("TEAM_READY_TIMEOUT"), "{error}");
    let after = members.member("alice");
    assert_eq!(
        (after.spec.role.as_str(), after.spec.prompt),
        ("tester", None)
    );
    assert_eq!(after.status, before.status);
    // The failed start may have counted an incarnation, which is not reaped.
    processes::repair(members.team());
    assert_eq!(members.notices().len(), 1);
    assert!(members.start("alice", "").1 > before.incarnation);
}

#[test]
fn a_member_does_not_inherit_the_variables_of_the_process_that_started_it() {
    let members = Members::new();
    let (pid, _) = members.start("alice", "");
    let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap();
    let environment = String::from_utf8_lossy(&environment).into_owned();
    assert!(!environment.contains("TEAM_JOB="), "{environment}");
    let folder = std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap();
    let workspace = members.team().workspace().canonicalize().unwrap();
    assert_eq!(folder, workspace);
    assert_eq!(
        members.team().liveness(&Recipient::Lead).unwrap(),
        Liveness::Gone(None)
    );
}

#[test]
fn a_prompt_that_was_never_delivered_precedes_the_next_one() {
    let members = Members::new();
    let spawn_with = |prompt: &str| {
        let mut alice = spec("alice", "sleepy");
        alice.prompt = Some(prompt.to_owned());
        spawn(members.team(), &Actor::user(), &alice, &programs()).unwrap();
        let member = members.member("alice");
        members.kill9("alice");
        (member.spec.prompt.unwrap(), member.prompt_id.unwrap())
    };
    // These members never give a prompt to a model.
    let (first, first_id) = spawn_with("Mend it.");
    let (both, both_id) = spawn_with("Then test it.");
    assert_eq!(both, format!("{first}\n\nThen test it."));
    assert_ne!(both_id, first_id);
    // A repeated prompt is not added twice.
    assert_eq!(spawn_with("Then test it."), (both.clone(), both_id.clone()));
    // A delivered prompt is not repeated.
    let journal = members.team().layout().transcript(&recipient("alice"));
    let record = format!(
        r#"{{"kind":"user","messages":[{{"source":{{"prompt":"{both_id}"}},"text":"x"}}]}}"#
    );
    let mut file = std::fs::File::options().append(true).open(journal).unwrap();
    std::io::Write::write_all(&mut file, format!("{record}\n").as_bytes()).unwrap();
    assert_eq!(spawn_with("Stop.").0, "Stop.");
}
