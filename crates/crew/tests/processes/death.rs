//! Deaths, and what is done about them.

use crate::support::{Crew, LIMIT, name, programs, recipient};
use coordination::{ClaimLimit, NewTask};
use crew::{Cause, KillError, Mourned, RestartError, Spawned, WitnessError};
use dealings::{Me, Worker};
use protocol::{Incarnation, MemberStatus, Recipient, TaskStatus};
use std::io::Write;
use std::process::Command;
use std::sync::Barrier;
use teamdir::{Post, WatchChoice};
use test_support::wait_until;

/// Gives a living member a task of its own.
fn give_task(crew: &Crew, name_: &str, life: Incarnation) -> protocol::TaskId {
    let wish = NewTask {
        subject: "Mend the parser".to_owned(),
        ..NewTask::default()
    };
    let task = dealings::create(crew.team(), &Me::user(), &wish).unwrap();
    let worker = Worker {
        me: Me::member(name(name_), life),
        role: String::new(),
    };
    dealings::claim(crew.team(), &worker, task.id, ClaimLimit::One).unwrap();
    task.id
}

#[test]
fn a_death_is_shown_told_and_its_task_goes_back() {
    let crew = Crew::new();
    let (_, life) = crew.start("alice", "busy");
    let task = give_task(&crew, "alice", life);
    crew.kill9("alice");
    assert_eq!(crew.state("alice"), "dead");
    crew.repair_until_mourned("alice");
    let notices = crew.notices();
    let [(id, text)] = notices.as_slice() else {
        panic!("{notices:?}");
    };
    assert_eq!(id, "death/alice/1");
    assert_eq!(
        text,
        "alice (busy) died in life 1 while working; its task #1 is back on the board. \
         Bring it back: team-lead restart alice"
    );
    let task = crew.team().task(task).unwrap();
    assert_eq!(
        (task.status, task.owner.0.clone()),
        (TaskStatus::Pending, None)
    );
    let deaths = crew.events().matches(r#""event":"death""#).count();
    assert_eq!(deaths, 1);
    assert_eq!(crew.state("alice"), "dead");
}

#[test]
fn a_member_that_dies_before_it_says_a_word_in_the_roster_is_dead() {
    let crew = Crew::new();
    for life in [1, 2] {
        crew.start("alice", "shy");
        crew.kill9("alice");
        assert_eq!(crew.state("alice"), "dead");
        crew.repair_until_mourned("alice");
        assert_eq!(crew.notices().len(), life);
        // Its life before is said to have ended in good order.
        crew.change("alice", |member| member.status = MemberStatus::Shutdown);
    }
}

#[test]
fn a_death_is_dealt_with_once_however_many_look() {
    let crew = Crew::new();
    let team = crew.team();
    crew.start("alice", "busy");
    let life = crew.kill9("alice");
    let gate = Barrier::new(8);
    std::thread::scope(|scope| {
        for at in 0..8 {
            let gate = &gate;
            scope.spawn(move || {
                gate.wait();
                if at % 2 == 0 {
                    crew::repair(team);
                } else {
                    crew::mourn(team, &name("alice"), life).unwrap();
                }
            });
        }
    });
    crew.repair_until_mourned("alice");
    crew::repair(team);
    assert_eq!(crew.notices().len(), 1);
    assert_eq!(crew.events().matches(r#""event":"death""#).count(), 1);
    let again = crew::mourn(team, &name("alice"), life).unwrap();
    assert_eq!(again, Mourned::Nothing);
}

#[test]
fn a_death_is_left_to_whoever_starts_or_ends_the_member() {
    let crew = Crew::new();
    crew.start("alice", "busy");
    let somebody = crew.team().lock_life(&name("alice"), LIMIT).unwrap();
    let life = crew.kill9("alice");
    assert_eq!(crew.state("alice"), "dead");
    let mourned = crew::mourn(crew.team(), &name("alice"), life).unwrap();
    assert_eq!(mourned, Mourned::Left);
    let repairs = crew::repair(crew.team());
    assert_eq!(repairs.mourned, []);
    assert_eq!(crew.notices(), []);
    assert_eq!(crew.member("alice").mourned, None);
    drop(somebody);
    crew.repair_until_mourned("alice");
    assert_eq!(crew.notices().len(), 1);
}

#[test]
fn mourning_that_was_cut_short_is_repeated_without_harm() {
    let crew = Crew::new();
    let team = crew.team();
    let (_, life) = crew.start("alice", "busy");
    give_task(&crew, "alice", life);
    crew.kill9("alice");
    // As if whoever mourned had been killed before the last step, twice, and a colleague had taken
    // the task in between.
    for life in [1, 2] {
        crew.repair_until_mourned("alice");
        let bob = Worker {
            me: Me::member(name("bob"), Incarnation(life)),
            role: String::new(),
        };
        let _ = dealings::claim_next(team, &bob).unwrap();
        crew.change("alice", |member| member.mourned = None);
    }
    crew.repair_until_mourned("alice");
    let notices = crew.notices();
    assert_eq!(notices.len(), 3, "{notices:?}");
    assert!(notices.iter().all(|notice| *notice == notices[0]));
    // The lead reads it once.
    let mut lead = Post::open(team, &Recipient::Lead, WatchChoice::Poll).unwrap();
    let mut read = 0;
    while let Some(delivery) = lead.try_next().unwrap() {
        read += delivery.mail.len();
    }
    assert_eq!(read, 1);
}

#[test]
fn a_good_end_is_no_death_and_its_task_goes_back_all_the_same() {
    let crew = Crew::new();
    let (_, life) = crew.start("alice", "");
    let task = give_task(&crew, "alice", life);
    crew.change("alice", |member| member.status = MemberStatus::Shutdown);
    crew.kill9("alice");
    let repairs = crew::repair(crew.team());
    assert_eq!(repairs.problems, [""; 0]);
    assert_eq!(repairs.released, [task]);
    assert_eq!((crew.state("alice"), crew.notices()), ("shutdown", vec![]));
}

#[test]
fn a_killed_member_is_dead_mourned_and_swept() {
    let crew = Crew::new();
    let (pid, life) = crew.start("alice", "breeds");
    let killed = crew::kill(crew.team(), &name("ALICE")).unwrap();
    assert_eq!((killed.name.as_str(), killed.pid), ("alice", pid));
    assert_eq!(killed.incarnation, life);
    // One that takes its time to go is counted again.
    assert!(killed.swept >= 1);
    assert_eq!(crew.state("alice"), "dead");
    crew.repair_until_mourned("alice");
    assert_eq!(crew.notices().len(), 1);
    let error = crew::kill(crew.team(), &name("alice")).unwrap_err();
    assert!(matches!(error, KillError::NotRunning { .. }), "{error}");
    assert!(error.to_string().contains("team-lead restart alice"));
    let error = crew::kill(crew.team(), &name("nobody")).unwrap_err();
    assert!(
        error.to_string().contains("the members are alice"),
        "{error}"
    );
}

#[test]
fn a_process_that_got_the_number_of_a_member_is_never_signalled() {
    let crew = Crew::new();
    crew.start("alice", "");
    crew.kill9("alice");
    crew.repair_until_mourned("alice");
    let mut innocent = Command::new("sleep").arg("900").spawn().unwrap();
    // Somebody holds the lock, and its text names the number with another start time.
    let guard = crew.team().sit_in(&recipient("alice")).unwrap();
    let path = crew.team().layout().member_lock(&recipient("alice"));
    let text = std::fs::read_to_string(&path).unwrap();
    let mut holder: serde_json::Value = serde_json::from_str(&text).unwrap();
    holder["pid"] = innocent.id().into();
    let mut file = std::fs::File::options()
        .write(true)
        .truncate(true)
        .open(&path)
        .unwrap();
    writeln!(file, "{holder}").unwrap();
    let error = crew::kill(crew.team(), &name("alice")).unwrap_err();
    let is_unnamed = matches!(error, KillError::Witness(WitnessError::Unnamed { .. }));
    assert!(is_unnamed, "{error}");
    let error = crew::restart(crew.team(), &name("alice"), &programs(), Cause::Person);
    assert!(error.is_err());
    assert!(innocent.try_wait().unwrap().is_none());
    innocent.kill().unwrap();
    innocent.wait().unwrap();
    drop(guard);
}

#[test]
fn a_restart_ends_the_living_without_mourning() {
    let crew = Crew::new();
    let (pid, life) = crew.start("alice", "busy");
    let task = give_task(&crew, "alice", life);
    crew.change("alice", |member| {
        member.prompt = Some("Mend it.".to_owned());
        member.restarts = Some(vec![teamdir::now()]);
        member.gave_up = Some("enough".to_owned());
    });
    let restarted = crew::restart(crew.team(), &name("alice"), &programs(), Cause::Person);
    let Spawned::Started {
        pid: new,
        incarnation: Incarnation(2),
        came_back: true,
    } = restarted.unwrap()
    else {
        panic!("not started");
    };
    assert_ne!(new, pid);
    let member = crew.member("alice");
    assert_eq!(member.prompt.as_deref(), Some("Mend it."));
    assert_eq!((member.restarts, member.gave_up), (None, None));
    assert_eq!(member.mourned, Some(Incarnation(1)));
    crew::repair(crew.team());
    assert_eq!(crew.notices(), []);
    let task = crew.team().task(task).unwrap();
    assert_eq!(task.status, TaskStatus::Pending);
    assert!(
        crew.events()
            .contains(r#""event":"restart","member":"alice""#)
    );
}

#[test]
fn the_policy_counts_its_restarts_and_leaves_the_living_alone() {
    let crew = Crew::new();
    crew.start("alice", "busy");
    let restart = || crew::restart(crew.team(), &name("alice"), &programs(), Cause::Policy);
    let error = restart().unwrap_err();
    assert!(matches!(error, RestartError::NotDead { .. }), "{error}");
    assert_eq!(crew.witness("alice").incarnation(), Incarnation(1));
    for life in [2, 3] {
        crew.kill9("alice");
        restart().unwrap();
        assert_eq!(crew.witness("alice").incarnation(), Incarnation(life));
    }
    assert_eq!(crew.member("alice").restarts.unwrap().len(), 2);
    // Each death was told of, by its own life.
    let ids: Vec<String> = crew.notices().into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, ["death/alice/1", "death/alice/2"]);
    // One that fails to start counts too, or it would be tried for ever.
    crew.kill9("alice");
    crew.change("alice", |member| member.role = "fails".to_owned());
    assert!(restart().is_err());
    assert_eq!(crew.member("alice").restarts.unwrap().len(), 3);
    crew.change("alice", |member| member.status = MemberStatus::Shutdown);
    let error = restart().unwrap_err();
    assert!(matches!(error, RestartError::NotDead { .. }), "{error}");
}

#[test]
fn a_restart_that_ignores_sigterm_ends_by_sigkill() {
    let crew = Crew::new();
    let (pid, _) = crew.start("alice", "deaf");
    let old = crew.witness("alice");
    let restarted = crew::restart(crew.team(), &name("alice"), &programs(), Cause::Person);
    assert!(matches!(restarted, Ok(Spawned::Started { .. })));
    assert!(old.is_gone());
    assert_ne!(crew.witness("alice").holder().pid, pid);
}

#[test]
fn no_zombie_stays_in_a_process_that_lives_on() {
    let crew = Crew::new();
    let (pid, _) = crew.start("alice", "");
    crew.kill9("alice");
    wait_until("the process to be collected", LIMIT, || {
        !std::path::Path::new(&format!("/proc/{pid}")).exists() || is_somebody_else(pid)
    });
}

/// Whether the number was given to another process by now.
fn is_somebody_else(pid: u32) -> bool {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm"));
    name.is_ok_and(|name| name.trim() != "crew-member")
}
