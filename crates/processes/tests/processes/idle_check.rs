//! When there is nothing left to wait for.

use crate::support::{Crew, name, recipient};
use processes::{IdleCheck, MemberSpec, check_idle, spawn};
use rules::NewTask;
use std::time::Duration;
use team::{Actor, ShutdownOptions, ask_shutdown};

fn why_not(processes: &Crew) -> String {
    match check_idle(processes.team()).unwrap() {
        IdleCheck::Busy { why } => why,
        yes @ IdleCheck::Idle { .. } => panic!("{yes:?}"),
    }
}

fn assert_quiet(processes: &Crew, expected_failed: &[&str]) {
    let failed: Vec<_> = expected_failed.iter().map(|text| name(text)).collect();
    let waiting_plan = Vec::new();
    let expected = IdleCheck::Idle {
        failed,
        waiting_plan,
    };
    assert_eq!(check_idle(processes.team()).unwrap(), expected);
}

#[test]
fn idle_members_with_nothing_to_do_are_quiet() {
    let processes = Crew::new();
    assert_quiet(&processes, &[]);
    processes.start("alice", "sleepy");
    processes.start("bob", "sleepy");
    assert_quiet(&processes, &[]);
    // Mail for a lead that does not run keeps nobody waiting.
    let lead = protocol::Recipient::Lead;
    team::send(processes.team(), &Actor::user(), lead, "hello").unwrap();
    assert_quiet(&processes, &[]);
    let _lead = processes.team().join(&protocol::Recipient::Lead).unwrap();
    assert_eq!(why_not(&processes), "the lead has 1 unread");
}

#[test]
fn work_mail_deaths_and_questions_are_not_idle() {
    let processes = Crew::new();
    processes.start("alice", "busy sleepy");
    assert_eq!(why_not(&processes), "'alice' is working");
    processes.kill9("alice");
    assert!(why_not(&processes).contains("'alice' died"));
    processes.repair_until_reaped("alice");
    assert_quiet(&processes, &["alice"]);
    processes.start("bob", "sleepy");
    assert_quiet(&processes, &["alice"]);
    let wish = ShutdownOptions {
        to: name("bob"),
        reason: String::new(),
        timeout: Duration::from_secs(600),
        force: false,
        lead_leaves: false,
    };
    let incarnation = processes.process("bob").incarnation();
    ask_shutdown(processes.team(), &Actor::user(), &wish, incarnation).unwrap();
    // The request itself lies in his inbox.
    assert_eq!(why_not(&processes), "'bob' has 1 unread");
    processes.start("carol", "");
    team::send(processes.team(), &Actor::user(), recipient("bob"), "hello").unwrap();
    assert_eq!(why_not(&processes), "'bob' has 2 unread");
}

#[test]
fn a_task_is_not_idle_while_somebody_could_take_it() {
    let processes = Crew::new();
    let mut reader = MemberSpec::new(name("alice"), "sleepy");
    reader.no_claim = Some(true);
    spawn(
        processes.team(),
        &Actor::user(),
        &reader,
        &crate::support::programs(),
    )
    .unwrap();
    let task = NewTask {
        subject: "Mend it".to_owned(),
        ..NewTask::default()
    };
    team::create(processes.team(), &Actor::user(), &task).unwrap();
    assert_quiet(&processes, &[]);
    processes.start("bob", "sleepy");
    assert_eq!(why_not(&processes), "'bob' can take task #1");
}
