//! When there is nothing left to wait for.

use crate::support::{Crew, name, recipient};
use coordination::NewTask;
use crew::{Quiet, Recruit, quiet, spawn};
use dealings::{Me, ShutdownWish, ask_shutdown};
use std::time::Duration;

fn why_not(crew: &Crew) -> String {
    match quiet(crew.team()).unwrap() {
        Quiet::No { why } => why,
        yes @ Quiet::Yes { .. } => panic!("{yes:?}"),
    }
}

fn assert_quiet(crew: &Crew, expected_failed: &[&str]) {
    let failed: Vec<_> = expected_failed.iter().map(|text| name(text)).collect();
    let waiting_plan = Vec::new();
    let expected = Quiet::Yes {
        failed,
        waiting_plan,
    };
    assert_eq!(quiet(crew.team()).unwrap(), expected);
}

#[test]
fn idle_members_with_nothing_to_do_are_quiet() {
    let crew = Crew::new();
    assert_quiet(&crew, &[]);
    crew.start("alice", "sleepy");
    crew.start("bob", "sleepy");
    assert_quiet(&crew, &[]);
    // Mail for a lead that does not run keeps nobody waiting.
    let lead = protocol::Recipient::Lead;
    dealings::tell(crew.team(), &Me::user(), lead, "hello").unwrap();
    assert_quiet(&crew, &[]);
    let _lead = crew.team().join(&protocol::Recipient::Lead).unwrap();
    assert_eq!(why_not(&crew), "the lead has 1 unread");
}

#[test]
fn work_mail_deaths_and_questions_are_not_quiet() {
    let crew = Crew::new();
    crew.start("alice", "busy sleepy");
    assert_eq!(why_not(&crew), "'alice' is working");
    crew.kill9("alice");
    assert!(why_not(&crew).contains("the death of 'alice'"));
    crew.repair_until_mourned("alice");
    assert_quiet(&crew, &["alice"]);
    crew.start("bob", "sleepy");
    assert_quiet(&crew, &["alice"]);
    let wish = ShutdownWish {
        to: name("bob"),
        reason: String::new(),
        timeout: Duration::from_secs(600),
        force: false,
    };
    let life = crew.witness("bob").incarnation();
    ask_shutdown(crew.team(), &Me::user(), &wish, life).unwrap();
    // The request itself lies in his inbox.
    assert_eq!(why_not(&crew), "'bob' has 1 unread");
    crew.start("carol", "");
    dealings::tell(crew.team(), &Me::user(), recipient("bob"), "hello").unwrap();
    assert_eq!(why_not(&crew), "'bob' has 2 unread");
}

#[test]
fn a_task_is_not_quiet_while_somebody_could_take_it() {
    let crew = Crew::new();
    let mut reader = Recruit::new(name("alice"), "sleepy");
    reader.no_claim = Some(true);
    spawn(
        crew.team(),
        &Me::user(),
        &reader,
        &crate::support::programs(),
    )
    .unwrap();
    let task = NewTask {
        subject: "Mend it".to_owned(),
        ..NewTask::default()
    };
    dealings::create(crew.team(), &Me::user(), &task).unwrap();
    assert_quiet(&crew, &[]);
    crew.start("bob", "sleepy");
    assert_eq!(why_not(&crew), "'bob' can take task #1");
}
