//! Deaths, reaping, and restarts.

use crate::support::{LIMIT, Members, name, programs, recipient};
use nix::libc;
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use processes::{KillError, ProcessHandleError, Reaped, RestartError, Spawned};
use protocol::{Incarnation, MemberSpec, MemberStatus, Recipient, TaskStatus};
use rules::{ClaimLimit, NewTask};
use serde_json::{Value, json};
use std::io::Write;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::Command;
use std::sync::Barrier;
use team::{Actor, Worker};
use teamdir::{MemberSession, WatchChoice};
use test_support::wait_until;

/// Creates a task and claims it for a running member.
fn give_task(members: &Members, name_: &str, incarnation: Incarnation) -> protocol::TaskId {
    let task = NewTask {
        subject: "Mend the parser".to_owned(),
        ..NewTask::default()
    };
    let task = team::create(members.team(), &Actor::user(), &task).unwrap();
    let worker = Worker {
        me: Actor::member(name(name_), incarnation),
        role: String::new(),
    };
    team::claim(members.team(), &worker, task.id, ClaimLimit::One).unwrap();
    task.id
}

#[test]
fn a_death_is_shown_and_the_lead_is_notified_and_the_task_is_released() {
    let members = Members::new();
    let (_, incarnation) = members.start("alice", "busy");
    let task = give_task(&members, "alice", incarnation);
    members.kill9("alice");
    assert_eq!(members.state("alice"), "dead");
    members.repair_until_reaped("alice");
    let notices = members.notices();
    let [(id, text)] = notices.as_slice() else {
        panic!("{notices:?}");
    };
    assert_eq!(id, "death/alice/1");
    assert_eq!(
        text,
        "alice (busy) died in incarnation 1 while working (killed by signal 9, SIGKILL); its task #1 is back \
         on the board. Restart it: team-lead restart alice"
    );
    let task = members.team().task(task).unwrap();
    assert_eq!(
        (task.status, task.owner.0.clone()),
        (TaskStatus::Pending, None)
    );
    let deaths = members.events().matches(r#""event":"death""#).count();
    assert_eq!(deaths, 1);
    assert_eq!(members.state("alice"), "dead");
}

#[test]
fn a_death_has_a_cause_and_a_restart_a_reason() {
    let members = Members::new();
    members.start("alice", "busy");
    let process = members.process("alice");
    process.signal(Signal::SIGTERM).unwrap();
    wait_until("the end of the process", LIMIT, || process.is_gone());
    processes::restart_dead(members.team(), &name("alice"), &programs()).unwrap();
    members.kill9("alice");
    members.start("alice", "busy");
    processes::restart(members.team(), &name("alice"), &programs()).unwrap();
    let events = members.events();
    let why = events.lines().filter_map(|line| {
        let event: Value = serde_json::from_str(line).unwrap();
        let told = match event["event"].as_str() {
            Some("death") => &event["cause"],
            Some("restart") => &event["reason"],
            _ => return None,
        };
        Some((event["incarnation"].as_u64().unwrap(), told.clone()))
    });
    let expected = [
        (1, json!({"signal": 15})),
        (2, json!("policy")),
        (2, json!({"signal": 9})),
        (3, json!("spawned")),
        (4, json!("requested")),
    ];
    assert_eq!(why.collect::<Vec<_>>(), expected);
}

#[test]
fn the_cause_of_a_death_is_known_after_its_status_was_collected() {
    let members = Members::new();
    let (pid, _) = members.start("alice", "busy");
    members.kill9("alice");
    wait_until("the exit status to be collected", LIMIT, || {
        !std::path::Path::new(&format!("/proc/{pid}")).exists() || is_reused(pid)
    });
    members.repair_until_reaped("alice");
    let events = members.events();
    assert!(events.contains(r#""cause":{"signal":9}"#), "{events}");
}

#[test]
fn the_cause_of_a_death_is_known_if_the_lock_is_freed_after_the_status_was_collected() {
    let members = Members::new();
    let (pid, _) = members.start("alice", "busy");
    // A process that the member has just forked has it too, until it executes its program.
    let lock = copy_of_lock(pid);
    members.kill9("alice");
    wait_until("the exit status to be collected", LIMIT, || {
        !std::path::Path::new(&format!("/proc/{pid}")).exists() || is_reused(pid)
    });
    assert_ne!(members.state("alice"), "dead");
    drop(lock);
    members.repair_until_reaped("alice");
    let events = members.events();
    assert!(events.contains(r#""cause":{"signal":9}"#), "{events}");
}

/// The descriptor with which a process holds the lock of a member, opened once more in this process.
fn copy_of_lock(pid: u32) -> OwnedFd {
    let process = command::Pidfd::open(Pid::from_raw(pid.cast_signed())).unwrap();
    let mut open = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    let number = open.find_map(|entry| {
        let path = entry.unwrap().path();
        let is_lock = std::fs::read_link(&path).is_ok_and(|target| target.ends_with("alice/lock"));
        let number = path.file_name()?.to_str()?.parse::<i32>().ok()?;
        is_lock.then_some(number)
    });
    let number = number.expect("an open lock");
    // SAFETY: the call takes three numbers and touches no memory of ours.
    let copy = unsafe { libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), number, 0) };
    let copy = i32::try_from(copy).unwrap();
    assert!(copy >= 0, "{}", std::io::Error::last_os_error());
    // SAFETY: the system has just opened it for us, and nobody else knows of it.
    unsafe { OwnedFd::from_raw_fd(copy) }
}

#[test]
fn the_cause_of_a_death_is_unknown_without_a_parent_of_the_team() {
    let members = Members::new();
    let team = members.team();
    // The status of an earlier incarnation says nothing about this one.
    members.start("alice", "busy");
    members.kill9("alice");
    members.repair_until_reaped("alice");
    members.change("alice", |member| member.incarnation = Incarnation(7));
    members.change("alice", |member| member.reaped = Some(Incarnation(6)));
    members.repair_until_reaped("alice");
    let events = members.events();
    let death = events
        .lines()
        .find(|line| line.contains(r#""incarnation":7"#));
    assert!(death.unwrap().contains(r#""event":"death""#), "{events}");
    assert!(!death.unwrap().contains("cause"), "{events}");
    let owner = recipient("alice");
    assert_eq!(
        team.exit_record(&owner).map(|exit| exit.incarnation),
        Some(Incarnation(1))
    );
}

#[test]
fn a_member_that_dies_before_it_updates_the_roster_is_dead() {
    let members = Members::new();
    for incarnation in [1, 2] {
        members.start("alice", "shy");
        members.kill9("alice");
        assert_eq!(members.state("alice"), "dead");
        members.repair_until_reaped("alice");
        assert_eq!(members.notices().len(), incarnation);
        // The roster says that the previous incarnation ended cleanly.
        members.change("alice", |member| member.status = MemberStatus::Shutdown);
    }
}

#[test]
fn a_death_that_many_processes_notice_is_reaped_once() {
    let members = Members::new();
    let team = members.team();
    members.start("alice", "busy");
    let incarnation = members.kill9("alice");
    let gate = Barrier::new(8);
    std::thread::scope(|scope| {
        for at in 0..8 {
            let gate = &gate;
            scope.spawn(move || {
                gate.wait();
                if at % 2 == 0 {
                    processes::repair(team);
                } else {
                    processes::reap(team, &name("alice"), incarnation).unwrap();
                }
            });
        }
    });
    members.repair_until_reaped("alice");
    processes::repair(team);
    assert_eq!(members.notices().len(), 1);
    assert_eq!(members.events().matches(r#""event":"death""#).count(), 1);
    let again = processes::reap(team, &name("alice"), incarnation).unwrap();
    assert_eq!(again, Reaped::Nothing);
}

#[test]
fn a_death_is_left_to_the_process_that_holds_the_start_lock() {
    let members = Members::new();
    members.start("alice", "busy");
    let start_lock = members.team().lock_start(&name("alice"), LIMIT).unwrap();
    let incarnation = members.kill9("alice");
    assert_eq!(members.state("alice"), "dead");
    let reaped = processes::reap(members.team(), &name("alice"), incarnation).unwrap();
    assert_eq!(reaped, Reaped::Left);
    let repairs = processes::repair(members.team());
    assert_eq!(repairs.reaped, []);
    assert_eq!(members.notices(), []);
    assert_eq!(members.member("alice").reaped, None);
    drop(start_lock);
    members.repair_until_reaped("alice");
    assert_eq!(members.notices().len(), 1);
}

#[test]
fn interrupted_reaping_is_repeated_without_harm() {
    let members = Members::new();
    let team = members.team();
    let (_, incarnation) = members.start("alice", "busy");
    give_task(&members, "alice", incarnation);
    members.kill9("alice");
    // As if the reaping process had been killed before the last step, twice, and another member had claimed
    // the task in between.
    for incarnation in [1, 2] {
        members.repair_until_reaped("alice");
        let bob = Worker {
            me: Actor::member(name("bob"), Incarnation(incarnation)),
            role: String::new(),
        };
        let _ = team::claim_next(team, &bob).unwrap();
        members.change("alice", |member| member.reaped = None);
    }
    members.repair_until_reaped("alice");
    let notices = members.notices();
    assert_eq!(notices.len(), 3, "{notices:?}");
    assert!(notices.iter().all(|notice| *notice == notices[0]));
    // The lead reads it once.
    let mut lead = MemberSession::open(team, &Recipient::Lead, WatchChoice::Poll).unwrap();
    let mut read = 0;
    while let Some(delivery) = lead.try_next().unwrap() {
        read += delivery.mail.len();
    }
    assert_eq!(read, 1);
}

#[test]
fn a_clean_end_is_not_a_death_and_its_task_is_released() {
    let members = Members::new();
    let (_, incarnation) = members.start("alice", "");
    let task = give_task(&members, "alice", incarnation);
    members.change("alice", |member| member.status = MemberStatus::Shutdown);
    members.kill9("alice");
    let repairs = processes::repair(members.team());
    assert_eq!(repairs.problems, [""; 0]);
    assert_eq!(repairs.released, [task]);
    assert_eq!(
        (members.state("alice"), members.notices()),
        ("shutdown", vec![])
    );
}

#[test]
fn a_killed_member_is_dead_reaped_and_swept() {
    let members = Members::new();
    let (pid, incarnation) = members.start("alice", "breeds");
    let killed = processes::kill(members.team(), &name("ALICE")).unwrap();
    assert_eq!((killed.name.as_str(), killed.pid), ("alice", pid));
    assert_eq!(killed.incarnation, incarnation);
    // One that ends slowly is counted again.
    assert!(killed.swept >= 1);
    assert_eq!(members.state("alice"), "dead");
    members.repair_until_reaped("alice");
    assert_eq!(members.notices().len(), 1);
    let error = processes::kill(members.team(), &name("alice")).unwrap_err();
    assert!(matches!(error, KillError::NotRunning { .. }), "{error}");
    assert!(error.to_string().contains("team-lead restart alice"));
    let error = processes::kill(members.team(), &name("nobody")).unwrap_err();
    assert!(
        error.to_string().contains("the members are alice"),
        "{error}"
    );
}

#[test]
fn a_process_that_reuses_the_pid_of_a_member_is_never_signalled() {
    let members = Members::new();
    members.start("alice", "");
    members.kill9("alice");
    members.repair_until_reaped("alice");
    let mut bystander = Command::new("sleep").arg("900").spawn().unwrap();
    // The lock is held, and its text has the pid with another start time.
    let guard = members
        .team()
        .lock_dead_member(&recipient("alice"))
        .unwrap();
    let path = members.team().layout().member_lock(&recipient("alice"));
    let text = std::fs::read_to_string(&path).unwrap();
    let mut holder: Value = serde_json::from_str(&text).unwrap();
    holder["pid"] = bystander.id().into();
    let mut file = std::fs::File::options()
        .write(true)
        .truncate(true)
        .open(&path)
        .unwrap();
    writeln!(file, "{holder}").unwrap();
    let error = processes::kill(members.team(), &name("alice")).unwrap_err();
    let is_unnamed = matches!(
        error,
        KillError::ProcessHandle(ProcessHandleError::Unnamed { .. })
    );
    assert!(is_unnamed, "{error}");
    let error = processes::restart(members.team(), &name("alice"), &programs());
    assert!(error.is_err());
    assert!(bystander.try_wait().unwrap().is_none());
    bystander.kill().unwrap();
    bystander.wait().unwrap();
    drop(guard);
}

#[test]
fn a_restart_ends_a_running_process_without_reaping() {
    let members = Members::new();
    let (pid, incarnation) = members.start("alice", "busy");
    let task = give_task(&members, "alice", incarnation);
    members.change("alice", |member| {
        member.spec.prompt = Some("Mend it.".to_owned());
        member.restarts = Some(vec![teamdir::now()]);
        member.gave_up = Some("enough".to_owned());
    });
    let restarted = processes::restart(members.team(), &name("alice"), &programs());
    let Spawned::Started {
        pid: new,
        incarnation: Incarnation(2),
        came_back: true,
    } = restarted.unwrap()
    else {
        panic!("not started");
    };
    assert_ne!(new, pid);
    let member = members.member("alice");
    assert_eq!(member.spec.prompt.as_deref(), Some("Mend it."));
    assert_eq!((member.restarts, member.gave_up), (None, None));
    assert_eq!(member.reaped, Some(Incarnation(1)));
    processes::repair(members.team());
    assert_eq!(members.notices(), []);
    let task = members.team().task(task).unwrap();
    assert_eq!(task.status, TaskStatus::Pending);
    assert!(
        members
            .events()
            .contains(r#""event":"restart","member":"alice""#)
    );
}

#[test]
fn the_policy_counts_its_restarts_and_leaves_running_members_alone() {
    let members = Members::new();
    members.start("alice", "busy");
    let restart = || processes::restart_dead(members.team(), &name("alice"), &programs());
    let error = restart().unwrap_err();
    assert!(matches!(error, RestartError::NotDead { .. }), "{error}");
    assert_eq!(members.process("alice").incarnation(), Incarnation(1));
    for incarnation in [2, 3] {
        members.kill9("alice");
        restart().unwrap();
        assert_eq!(
            members.process("alice").incarnation(),
            Incarnation(incarnation)
        );
    }
    assert_eq!(members.member("alice").restarts.unwrap().len(), 2);
    // The lead was notified of each death, with its incarnation.
    let ids: Vec<String> = members.notices().into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, ["death/alice/1", "death/alice/2"]);
    // A failed start counts too, or the policy would retry without limit.
    members.kill9("alice");
    members.change("alice", |member| member.spec.role = "fails".to_owned());
    assert!(restart().is_err());
    assert_eq!(members.member("alice").restarts.unwrap().len(), 3);
    members.change("alice", |member| member.status = MemberStatus::Shutdown);
    let error = restart().unwrap_err();
    assert!(matches!(error, RestartError::NotDead { .. }), "{error}");
}

#[test]
fn only_a_person_resets_the_count_of_restarts() {
    let members = Members::new();
    members.start("alice", "busy");
    let counted = || members.member("alice").restarts.map_or(0, |all| all.len());
    let spawn = |me: &Actor| {
        members.kill9("alice");
        let spec = MemberSpec::new(name("alice"), "busy");
        processes::spawn(members.team(), me, &spec, &programs()).unwrap();
    };
    members.change("alice", |member| {
        member.restarts = Some(vec![teamdir::now()]);
        member.gave_up = Some("too often".to_owned());
    });
    spawn(&Actor::lead(Incarnation(1)));
    // It runs again, so the policy decides about its next death, with all restarts before it.
    assert_eq!((counted(), members.member("alice").gave_up), (1, None));
    spawn(&Actor::user());
    assert_eq!(counted(), 0);
}

#[test]
fn a_restart_kills_a_process_that_ignores_sigterm() {
    let members = Members::new();
    let (pid, _) = members.start("alice", "deaf");
    let old = members.process("alice");
    let restarted = processes::restart(members.team(), &name("alice"), &programs());
    assert!(matches!(restarted, Ok(Spawned::Started { .. })));
    assert!(old.is_gone());
    assert_ne!(members.process("alice").holder().pid, pid);
}

#[test]
fn the_exit_status_of_an_ended_member_is_collected() {
    let members = Members::new();
    let (pid, _) = members.start("alice", "");
    members.kill9("alice");
    wait_until("the exit status to be collected", LIMIT, || {
        !std::path::Path::new(&format!("/proc/{pid}")).exists() || is_reused(pid)
    });
}

/// Whether the pid belongs to another process by now.
fn is_reused(pid: u32) -> bool {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm"));
    name.is_ok_and(|name| name.trim() != "test-member")
}
