//! A process that reaps or starts a member is killed at each call that changes something, and the next
//! process continues.

use crate::support::{LIMIT, Members, name, programs, recipient};
use processes::{Spawned, spawn};
use protocol::{
    Incarnation, Member, MemberSpec, MemberStatus, Recipient, RequestStatus, TaskStatus,
};
use rules::{ClaimLimit, NewTask};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use team::{Actor, ShutdownOptions, Worker, ask_shutdown};
use teamdir::{Durability, MemberSession, Options, RosterError, TeamDir, WatchChoice};
use test_support::faults::{self, Fault, Outcome};
use test_support::{report_skip, wait_until};

/// Tell a copy of this program which step to run, and in which team.
const STEP: &str = "PROCESSES_CRASH_STEP";
const FOLDER: &str = "PROCESSES_CRASH_FOLDER";

/// The system calls that change something other processes see.
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
/// For a start also the calls that create the process and its files, and some of the waiting. Reaping lists
/// all processes, which opens too many files to kill it at each `openat`.
const STARTS: [&str; 7] = [
    "openat",
    "mkdir",
    "clone",
    "clone3",
    "vfork",
    "pidfd_open",
    "ppoll",
];
/// How many calls of one kind are tested; the later ones only wait.
const MOST_OF_A_KIND: usize = 12;

/// The process that is killed; it does nothing in a run of all tests.
#[test]
fn the_process_that_is_killed() {
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

/// Syncs matter only for power cuts, and there are none here.
fn options() -> Options {
    Options {
        durability: Durability::ProcessDeath,
        ..Options::default()
    }
}

fn victim(members: &Members, step: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "crash::the_process_that_is_killed"])
        .env(STEP, step)
        .env(FOLDER, members.team().workspace())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

/// Kills the process at the changes of its step, each time in a fresh team.
fn kill_at_every_call(step: &str, more: &[&str], prepare: fn(&Members), check: fn(&Members)) {
    if let Err(reason) = faults::available() {
        return report_skip("crash points of processes", &reason);
    }
    let members = Members::with(options());
    prepare(&members);
    let whole = faults::record(&mut victim(&members, step)).unwrap();
    check(&members);
    drop(members);
    let mut killed = 0;
    let mut tested: BTreeMap<&str, usize> = BTreeMap::new();
    for call in &whole.calls {
        let most = if CHANGES.contains(&call.name) {
            usize::MAX
        } else if more.contains(&call.name) {
            MOST_OF_A_KIND
        } else {
            0
        };
        let times = tested.entry(call.name).or_default();
        if *times >= most {
            continue;
        }
        *times += 1;
        let members = Members::with(options());
        prepare(&members);
        let outcome = faults::inject(&mut victim(&members, step), call.index, Fault::Kill).unwrap();
        killed += usize::from(outcome == Outcome::Killed);
        check(&members);
    }
    // Not all: listing all processes takes a varying number of calls, so the calls after it may differ from
    // the recorded ones.
    assert!(killed > 0, "no call was hit");
}

/// A member that died with a claimed task and an unanswered request.
fn prepare_death(members: &Members) {
    let team = members.team();
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

fn check_death(members: &Members) {
    let team = members.team();
    members.repair_until_reaped("alice");
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
fn the_reaping_process_may_be_killed_at_any_step() {
    kill_at_every_call("reap", &[], prepare_death, check_death);
}

fn check_spawn(members: &Members) {
    // The interrupted start may or may not continue; either way the member can be started.
    let alice = MemberSpec::new(name("alice"), "");
    let mut last = String::new();
    wait_until("the member to be started", LIMIT, || {
        match spawn(members.team(), &Actor::user(), &alice, &programs()) {
            Ok(Spawned::Started { .. } | Spawned::Woken { .. }) => true,
            Err(error) => {
                last = error.to_string();
                false
            }
        }
    });
    let roster = members.team().roster().unwrap();
    assert_eq!(roster.members.len(), 1);
    let process = members.process("alice");
    assert_eq!(process.incarnation(), roster.members[0].incarnation);
    assert_eq!(members.state("alice"), "idle", "{last}");
    let mark = recipient("alice");
    assert_eq!(members.team().unread_mail(&mark, |_, _| {}).unwrap(), 0);
}

#[test]
fn the_starting_process_may_be_killed_at_any_step() {
    kill_at_every_call("spawn", &STARTS, |_| {}, check_spawn);
}
