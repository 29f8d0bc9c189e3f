//! Whoever reaps or starts a member is killed at each step that changes something, and the next
//! who looks goes on.

use crate::support::{Crew, LIMIT, name, programs, recipient};
use processes::{MemberSpec, Spawned, spawn};
use protocol::{Incarnation, Member, MemberStatus, Recipient, RequestStatus, TaskStatus};
use rules::{ClaimLimit, NewTask};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use team::{Actor, ShutdownOptions, Worker, ask_shutdown};
use teamdir::{Durability, MemberSession, Options, RosterError, TeamDir, WatchChoice};
use test_support::faults::{self, Fault, Outcome};
use test_support::{report_skip, wait_until};

/// Says to a copy of this program what it is, and for which team.
const STEP: &str = "CREW_CRASH_STEP";
const FOLDER: &str = "CREW_CRASH_FOLDER";

/// The calls that change something others see.
const CHANGES: [&str; 8] = [
    "write",
    "rename",
    "renameat",
    "renameat2",
    "link",
    "linkat",
    "unlink",
    "flock",
];
/// For a start those that make the process and its files too, and some of the waiting. A look at
/// all processes, as at a death, opens too many files to be struck at each.
const STARTS: [&str; 7] = [
    "openat",
    "mkdir",
    "clone",
    "clone3",
    "vfork",
    "pidfd_open",
    "ppoll",
];
/// More of the same call are not worth their time: those after it are waiting.
const OF_A_KIND: usize = 12;

/// The process that is struck; it does nothing in a run of all tests.
#[test]
fn the_process_that_is_struck() {
    let (Ok(step), Some(folder)) = (std::env::var(STEP), std::env::var_os(FOLDER)) else {
        return;
    };
    let team = TeamDir::open(Path::new(&folder), options()).unwrap();
    faults::mark_begin();
    match step.as_str() {
        "reap" => {
            processes::repair(&team);
        }
        _ => {
            let alice = MemberSpec::new(name("alice"), "");
            spawn(&team, &Actor::user(), &alice, &programs()).unwrap();
        }
    }
    faults::mark_end();
}

/// Syncs matter for power cuts alone, and there are none here.
fn options() -> Options {
    Options {
        durability: Durability::ProcessDeath,
        ..Options::default()
    }
}

fn struck(processes: &Crew, step: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "crash::the_process_that_is_struck"])
        .env(STEP, step)
        .env(FOLDER, processes.team().workspace())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

/// Kills the process at the changes of its step, each time in a fresh team.
fn strike_everywhere(step: &str, more: &[&str], prepare: fn(&Crew), check: fn(&Crew)) {
    if let Err(reason) = faults::available() {
        return report_skip("crash points of processes", &reason);
    }
    let processes = Crew::with(options());
    prepare(&processes);
    let whole = faults::record(&mut struck(&processes, step)).unwrap();
    check(&processes);
    drop(processes);
    let mut killed = 0;
    let mut struck_at: BTreeMap<&str, usize> = BTreeMap::new();
    for call in &whole.calls {
        let worth = if CHANGES.contains(&call.name) {
            usize::MAX
        } else if more.contains(&call.name) {
            OF_A_KIND
        } else {
            0
        };
        let times = struck_at.entry(call.name).or_default();
        if *times >= worth {
            continue;
        }
        *times += 1;
        let processes = Crew::with(options());
        prepare(&processes);
        let outcome =
            faults::inject(&mut struck(&processes, step), call.index, Fault::Kill).unwrap();
        killed += usize::from(outcome == Outcome::Killed);
        check(&processes);
    }
    // Not all: a look at all processes takes more or fewer calls each time, and then the calls after
    // it are others than those that were recorded, or fewer.
    assert!(killed > 0, "no step was struck");
}

/// A member that died with a task in hand and a question to answer.
fn prepare_death(processes: &Crew) {
    let team = processes.team();
    let added = team.update_roster(|roster| {
        let mut alice = Member::new(name("alice"), "coder");
        alice.status = MemberStatus::Working;
        alice.incarnation = Incarnation(1);
        roster.members.push(alice);
        Ok::<_, RosterError>(())
    });
    added.unwrap();
    let wish = NewTask {
        subject: "Mend the parser".to_owned(),
        ..NewTask::default()
    };
    let task = team::create(team, &Actor::user(), &wish).unwrap();
    let worker = Worker {
        me: Actor::member(name("alice"), Incarnation(1)),
        role: String::new(),
    };
    team::claim(team, &worker, task.id, ClaimLimit::One).unwrap();
    let wish = ShutdownOptions {
        to: name("alice"),
        reason: String::new(),
        timeout: LIMIT * 10,
        force: false,
        lead_leaves: false,
    };
    ask_shutdown(team, &Actor::user(), &wish, Incarnation(1)).unwrap();
}

fn check_death(processes: &Crew) {
    let team = processes.team();
    processes.repair_until_reaped("alice");
    let mut lead = MemberSession::open(team, &Recipient::Lead, WatchChoice::Poll).unwrap();
    let mut read = 0;
    while let Some(delivery) = lead.try_next().unwrap() {
        read += delivery.mail.len();
    }
    assert_eq!(read, 1);
    let tasks: Vec<_> = team.tasks().unwrap().into_iter().flatten().collect();
    assert_eq!(tasks[0].status, TaskStatus::Pending);
    let requests: Vec<_> = team.requests().unwrap().into_iter().flatten().collect();
    assert_eq!(requests[0].status(), RequestStatus::Expired);
}

#[test]
fn whoever_reaps_may_be_killed_at_any_step() {
    strike_everywhere("reap", &[], prepare_death, check_death);
}

fn check_spawn(processes: &Crew) {
    // What was begun may go on by itself, or not; either way the member can be had.
    let alice = MemberSpec::new(name("alice"), "");
    let mut last = String::new();
    wait_until("the member to be had", LIMIT, || {
        match spawn(processes.team(), &Actor::user(), &alice, &programs()) {
            Ok(Spawned::Started { .. } | Spawned::Woken { .. }) => true,
            Err(error) => {
                last = error.to_string();
                false
            }
        }
    });
    let roster = processes.team().roster().unwrap();
    assert_eq!(roster.members.len(), 1);
    let process = processes.process("alice");
    assert_eq!(process.incarnation(), roster.members[0].incarnation);
    assert_eq!(processes.state("alice"), "idle", "{last}");
    let mark = recipient("alice");
    assert_eq!(processes.team().unread_mail(&mark, |_, _| {}).unwrap(), 0);
}

#[test]
fn whoever_starts_a_member_may_be_killed_at_any_step() {
    strike_everywhere("spawn", &STARTS, |_| {}, check_spawn);
}
