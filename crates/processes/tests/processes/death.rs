//! Deaths, and what is done about them.

use crate::support::{Crew, LIMIT, name, programs, recipient};
use processes::{Cause, KillError, ProcessHandleError, Reaped, RestartError, Spawned};
use protocol::{Incarnation, MemberStatus, Recipient, TaskStatus};
use rules::{ClaimLimit, NewTask};
use std::io::Write;
use std::process::Command;
use std::sync::Barrier;
use team::{Actor, Worker};
use teamdir::{MemberSession, WatchChoice};
use test_support::wait_until;

/// Gives a living member a task of its own.
fn give_task(processes: &Crew, name_: &str, incarnation: Incarnation) -> protocol::TaskId {
    let wish = NewTask {
        subject: "Mend the parser".to_owned(),
        ..NewTask::default()
    };
    let task = team::create(processes.team(), &Actor::user(), &wish).unwrap();
    let worker = Worker {
        me: Actor::member(name(name_), incarnation),
        role: String::new(),
    };
    team::claim(processes.team(), &worker, task.id, ClaimLimit::One).unwrap();
    task.id
}

#[test]
fn a_death_is_shown_told_and_its_task_goes_back() {
    let processes = Crew::new();
    let (_, incarnation) = processes.start("alice", "busy");
    let task = give_task(&processes, "alice", incarnation);
    processes.kill9("alice");
    assert_eq!(processes.state("alice"), "dead");
    processes.repair_until_reaped("alice");
    let notices = processes.notices();
    let [(id, text)] = notices.as_slice() else {
        panic!("{notices:?}");
    };
    assert_eq!(id, "death/alice/1");
    assert_eq!(
        text,
        "alice (busy) died in incarnation 1 while working; its task #1 is back on the board. \
         Bring it back: team-lead restart alice"
    );
    let task = processes.team().task(task).unwrap();
    assert_eq!(
        (task.status, task.owner.0.clone()),
        (TaskStatus::Pending, None)
    );
    let deaths = processes.events().matches(r#""event":"death""#).count();
    assert_eq!(deaths, 1);
    assert_eq!(processes.state("alice"), "dead");
}

#[test]
fn a_member_that_dies_before_it_says_a_word_in_the_roster_is_dead() {
    let processes = Crew::new();
    for incarnation in [1, 2] {
        processes.start("alice", "shy");
        processes.kill9("alice");
        assert_eq!(processes.state("alice"), "dead");
        processes.repair_until_reaped("alice");
        assert_eq!(processes.notices().len(), incarnation);
        // Its incarnation before is said to have ended cleanly.
        processes.change("alice", |member| member.status = MemberStatus::Shutdown);
    }
}

#[test]
fn a_death_is_dealt_with_once_however_many_look() {
    let processes = Crew::new();
    let team = processes.team();
    processes.start("alice", "busy");
    let incarnation = processes.kill9("alice");
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
    processes.repair_until_reaped("alice");
    processes::repair(team);
    assert_eq!(processes.notices().len(), 1);
    assert_eq!(processes.events().matches(r#""event":"death""#).count(), 1);
    let again = processes::reap(team, &name("alice"), incarnation).unwrap();
    assert_eq!(again, Reaped::Nothing);
}

#[test]
fn a_death_is_left_to_whoever_starts_or_ends_the_member() {
    let processes = Crew::new();
    processes.start("alice", "busy");
    let somebody = processes.team().lock_start(&name("alice"), LIMIT).unwrap();
    let incarnation = processes.kill9("alice");
    assert_eq!(processes.state("alice"), "dead");
    let reaped = processes::reap(processes.team(), &name("alice"), incarnation).unwrap();
    assert_eq!(reaped, Reaped::Left);
    let repairs = processes::repair(processes.team());
    assert_eq!(repairs.reaped, []);
    assert_eq!(processes.notices(), []);
    assert_eq!(processes.member("alice").reaped, None);
    drop(somebody);
    processes.repair_until_reaped("alice");
    assert_eq!(processes.notices().len(), 1);
}

#[test]
fn reaping_that_was_cut_short_is_repeated_without_harm() {
    let processes = Crew::new();
    let team = processes.team();
    let (_, incarnation) = processes.start("alice", "busy");
    give_task(&processes, "alice", incarnation);
    processes.kill9("alice");
    // As if whoever reaped had been killed before the last step, twice, and a colleague had taken
    // the task in between.
    for incarnation in [1, 2] {
        processes.repair_until_reaped("alice");
        let bob = Worker {
            me: Actor::member(name("bob"), Incarnation(incarnation)),
            role: String::new(),
        };
        let _ = team::claim_next(team, &bob).unwrap();
        processes.change("alice", |member| member.reaped = None);
    }
    processes.repair_until_reaped("alice");
    let notices = processes.notices();
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
fn a_good_end_is_no_death_and_its_task_goes_back_all_the_same() {
    let processes = Crew::new();
    let (_, incarnation) = processes.start("alice", "");
    let task = give_task(&processes, "alice", incarnation);
    processes.change("alice", |member| member.status = MemberStatus::Shutdown);
    processes.kill9("alice");
    let repairs = processes::repair(processes.team());
    assert_eq!(repairs.problems, [""; 0]);
    assert_eq!(repairs.released, [task]);
    assert_eq!(
        (processes.state("alice"), processes.notices()),
        ("shutdown", vec![])
    );
}

#[test]
fn a_killed_member_is_dead_reaped_and_swept() {
    let processes = Crew::new();
    let (pid, incarnation) = processes.start("alice", "breeds");
    let killed = processes::kill(processes.team(), &name("ALICE")).unwrap();
    assert_eq!((killed.name.as_str(), killed.pid), ("alice", pid));
    assert_eq!(killed.incarnation, incarnation);
    // One that takes its time to go is counted again.
    assert!(killed.swept >= 1);
    assert_eq!(processes.state("alice"), "dead");
    processes.repair_until_reaped("alice");
    assert_eq!(processes.notices().len(), 1);
    let error = processes::kill(processes.team(), &name("alice")).unwrap_err();
    assert!(matches!(error, KillError::NotRunning { .. }), "{error}");
    assert!(error.to_string().contains("team-lead restart alice"));
    let error = processes::kill(processes.team(), &name("nobody")).unwrap_err();
    assert!(
        error.to_string().contains("the members are alice"),
        "{error}"
    );
}

#[test]
fn a_process_that_got_the_number_of_a_member_is_never_signalled() {
    let processes = Crew::new();
    processes.start("alice", "");
    processes.kill9("alice");
    processes.repair_until_reaped("alice");
    let mut innocent = Command::new("sleep").arg("900").spawn().unwrap();
    // Somebody holds the lock, and its text names the number with another start time.
    let guard = processes
        .team()
        .lock_dead_member(&recipient("alice"))
        .unwrap();
    let path = processes.team().layout().member_lock(&recipient("alice"));
    let text = std::fs::read_to_string(&path).unwrap();
    let mut holder: serde_json::Value = serde_json::from_str(&text).unwrap();
    holder["pid"] = innocent.id().into();
    let mut file = std::fs::File::options()
        .write(true)
        .truncate(true)
        .open(&path)
        .unwrap();
    writeln!(file, "{holder}").unwrap();
    let error = processes::kill(processes.team(), &name("alice")).unwrap_err();
    let is_unnamed = matches!(
        error,
        KillError::ProcessHandle(ProcessHandleError::Unnamed { .. })
    );
    assert!(is_unnamed, "{error}");
    let error = processes::restart(processes.team(), &name("alice"), &programs(), Cause::Person);
    assert!(error.is_err());
    assert!(innocent.try_wait().unwrap().is_none());
    innocent.kill().unwrap();
    innocent.wait().unwrap();
    drop(guard);
}

#[test]
fn a_restart_ends_the_living_without_reaping() {
    let processes = Crew::new();
    let (pid, incarnation) = processes.start("alice", "busy");
    let task = give_task(&processes, "alice", incarnation);
    processes.change("alice", |member| {
        member.prompt = Some("Mend it.".to_owned());
        member.restarts = Some(vec![teamdir::now()]);
        member.gave_up = Some("enough".to_owned());
    });
    let restarted =
        processes::restart(processes.team(), &name("alice"), &programs(), Cause::Person);
    let Spawned::Started {
        pid: new,
        incarnation: Incarnation(2),
        came_back: true,
    } = restarted.unwrap()
    else {
        panic!("not started");
    };
    assert_ne!(new, pid);
    let member = processes.member("alice");
    assert_eq!(member.prompt.as_deref(), Some("Mend it."));
    assert_eq!((member.restarts, member.gave_up), (None, None));
    assert_eq!(member.reaped, Some(Incarnation(1)));
    processes::repair(processes.team());
    assert_eq!(processes.notices(), []);
    let task = processes.team().task(task).unwrap();
    assert_eq!(task.status, TaskStatus::Pending);
    assert!(
        processes
            .events()
            .contains(r#""event":"restart","member":"alice""#)
    );
}

#[test]
fn the_policy_counts_its_restarts_and_leaves_the_living_alone() {
    let processes = Crew::new();
    processes.start("alice", "busy");
    let restart =
        || processes::restart(processes.team(), &name("alice"), &programs(), Cause::Policy);
    let error = restart().unwrap_err();
    assert!(matches!(error, RestartError::NotDead { .. }), "{error}");
    assert_eq!(processes.process("alice").incarnation(), Incarnation(1));
    for incarnation in [2, 3] {
        processes.kill9("alice");
        restart().unwrap();
        assert_eq!(
            processes.process("alice").incarnation(),
            Incarnation(incarnation)
        );
    }
    assert_eq!(processes.member("alice").restarts.unwrap().len(), 2);
    // Each death was told of, by its own incarnation.
    let ids: Vec<String> = processes.notices().into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, ["death/alice/1", "death/alice/2"]);
    // One that fails to start counts too, or it would be tried for ever.
    processes.kill9("alice");
    processes.change("alice", |member| member.role = "fails".to_owned());
    assert!(restart().is_err());
    assert_eq!(processes.member("alice").restarts.unwrap().len(), 3);
    processes.change("alice", |member| member.status = MemberStatus::Shutdown);
    let error = restart().unwrap_err();
    assert!(matches!(error, RestartError::NotDead { .. }), "{error}");
}

#[test]
fn a_restart_that_ignores_sigterm_ends_by_sigkill() {
    let processes = Crew::new();
    let (pid, _) = processes.start("alice", "deaf");
    let old = processes.process("alice");
    let restarted =
        processes::restart(processes.team(), &name("alice"), &programs(), Cause::Person);
    assert!(matches!(restarted, Ok(Spawned::Started { .. })));
    assert!(old.is_gone());
    assert_ne!(processes.process("alice").holder().pid, pid);
}

#[test]
fn no_zombie_stays_in_a_process_that_incarnations_on() {
    let processes = Crew::new();
    let (pid, _) = processes.start("alice", "");
    processes.kill9("alice");
    wait_until("the process to be collected", LIMIT, || {
        !std::path::Path::new(&format!("/proc/{pid}")).exists() || is_somebody_else(pid)
    });
}

/// Whether the number was given to another process by now.
fn is_somebody_else(pid: u32) -> bool {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm"));
    name.is_ok_and(|name| name.trim() != "crew-member")
}
