//! When a team has nothing left to do.

use crate::support::{Members, name, recipient};
use processes::{IdleCheck, check_idle, spawn};
use protocol::MemberSpec;
use rules::NewTask;
use std::time::Duration;
use team::{Actor, ShutdownOptions, ask_shutdown};

fn busy_reason(members: &Members) -> String {
    match check_idle(members.team()).unwrap() {
        IdleCheck::Busy { why } => why,
        yes @ IdleCheck::Idle { .. } => panic!("{yes:?}"),
    }
}

fn assert_idle(members: &Members, expected_failed: &[&str]) {
    let failed: Vec<_> = expected_failed.iter().map(|text| name(text)).collect();
    let waiting_plan = Vec::new();
    let expected = IdleCheck::Idle {
        failed,
        waiting_plan,
    };
    assert_eq!(check_idle(members.team()).unwrap(), expected);
}

#[test]
fn idle_members_with_nothing_to_do_make_an_idle_team() {
    let members = Members::new();
    assert_idle(&members, &[]);
    members.start("alice", "sleepy");
    members.start("bob", "sleepy");
    assert_idle(&members, &[]);
    // Mail for a lead that does not run keeps nobody waiting.
    let lead = protocol::Recipient::Lead;
    team::send(members.team(), &Actor::user(), lead, "hello").unwrap();
    assert_idle(&members, &[]);
    let _lead = members.team().join(&protocol::Recipient::Lead).unwrap();
    assert_eq!(busy_reason(&members), "the lead has 1 unread");
}

#[test]
fn work_mail_deaths_and_pending_requests_keep_the_team_busy() {
    let members = Members::new();
    members.start("alice", "busy sleepy");
    assert_eq!(busy_reason(&members), "'alice' is working");
    members.kill9("alice");
    assert!(busy_reason(&members).contains("'alice' died"));
    members.repair_until_reaped("alice");
    assert_idle(&members, &["alice"]);
    members.start("bob", "sleepy");
    assert_idle(&members, &["alice"]);
    let options = ShutdownOptions {
        to: name("bob"),
        reason: String::new(),
        timeout: Duration::from_secs(600),
        force: false,
        lead_leaves: false,
    };
    let incarnation = members.process("bob").incarnation();
    ask_shutdown(members.team(), &Actor::user(), &options, incarnation).unwrap();
    // The request itself is in its inbox.
    assert_eq!(busy_reason(&members), "'bob' has 1 unread");
    members.start("carol", "");
    team::send(members.team(), &Actor::user(), recipient("bob"), "hello").unwrap();
    assert_eq!(busy_reason(&members), "'bob' has 2 unread");
}

#[test]
fn a_task_that_a_member_can_claim_keeps_the_team_busy() {
    let members = Members::new();
    let mut reader = MemberSpec::new(name("alice"), "sleepy");
    reader.no_claim = Some(true);
    spawn(
        members.team(),
        &Actor::user(),
        &reader,
        &crate::support::programs(),
    )
    .unwrap();
    let task = NewTask {
        subject: "Mend it".to_owned(),
        ..NewTask::default()
    };
    team::create(members.team(), &Actor::user(), &task).unwrap();
    assert_idle(&members, &[]);
    members.start("bob", "sleepy");
    assert_eq!(busy_reason(&members), "'bob' can take task #1");
}
