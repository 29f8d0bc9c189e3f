//! Shutdowns to their end, whatever the member does.

use crate::support::{Crew, LIMIT, name, recipient};
use coordination::{ShutdownLimits, ShutdownOutcome};
use crew::{FollowError, LastWish, follow_shutdown, shut_down_all};
use dealings::{Me, ShutdownWish, ask_shutdown, take_answer};
use protocol::{Incarnation, Line, MemberStatus, Recipient, Request, RequestStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use test_support::wait_until;

/// Limits that a busy machine cannot reach by accident.
const PATIENT: ShutdownLimits = ShutdownLimits {
    grace: LIMIT,
    kill: LIMIT,
};
/// A time that may pass at once.
const SOON: Duration = Duration::from_millis(300);

fn ask(crew: &Crew, name_: &str, timeout: Duration, force: bool) -> Request {
    let wish = ShutdownWish {
        to: name(name_),
        reason: "All is done.".to_owned(),
        timeout,
        force,
    };
    let life = crew.witness(name_).incarnation();
    ask_shutdown(crew.team(), &Me::user(), &wish, life).unwrap()
}

fn follow(crew: &Crew, request: Request, limits: ShutdownLimits) -> ShutdownOutcome {
    follow_shutdown(crew.team(), request, limits, &|| false).unwrap()
}

fn status(crew: &Crew, request: &Request) -> RequestStatus {
    crew.team().request(&request.id).unwrap().status()
}

#[test]
fn approved() {
    let crew = Crew::new();
    crew.start("alice", "approves");
    let request = ask(&crew, "alice", LIMIT, false);
    let outcome = follow(&crew, request.clone(), PATIENT);
    assert_eq!(outcome, ShutdownOutcome::Left);
    assert_eq!(status(&crew, &request), RequestStatus::Approved);
    assert_eq!((crew.state("alice"), crew.notices()), ("shutdown", vec![]));
    // The answer is still there for the lead to read.
    let mut unread = 0;
    let count = |_: &[u8], _| unread += 1;
    crew.team().peek(&Recipient::Lead, count).unwrap();
    assert_eq!(unread, 1);
}

#[test]
fn a_member_that_says_yes_and_no_goodbye_is_not_mourned() {
    let crew = Crew::new();
    crew.start("alice", "rude");
    let request = ask(&crew, "alice", LIMIT, false);
    let outcome = follow(&crew, request, PATIENT);
    assert_eq!(outcome, ShutdownOutcome::Left);
    assert_eq!(crew.member("alice").status, MemberStatus::Shutdown);
    crew::repair(crew.team());
    assert_eq!((crew.state("alice"), crew.notices()), ("shutdown", vec![]));
}

#[test]
fn rejected() {
    let crew = Crew::new();
    crew.start("alice", "rejects");
    let request = ask(&crew, "alice", LIMIT, false);
    let outcome = follow(&crew, request.clone(), PATIENT);
    let reason = "so be it".to_owned();
    assert_eq!(outcome, ShutdownOutcome::Vetoed { reason });
    assert_eq!(status(&crew, &request), RequestStatus::Rejected);
    assert_eq!(crew.state("alice"), "idle");
}

#[test]
fn ignored() {
    let crew = Crew::new();
    crew.start("alice", "");
    let request = ask(&crew, "alice", SOON, false);
    let outcome = follow(&crew, request.clone(), PATIENT);
    assert_eq!(outcome, ShutdownOutcome::NoAnswer);
    assert_eq!(status(&crew, &request), RequestStatus::Expired);
    assert!(crew.is_alive("alice"));
}

#[test]
fn forced_with_sigterm() {
    let crew = Crew::new();
    crew.start("alice", "breeds");
    let request = ask(&crew, "alice", SOON, true);
    let outcome = follow(&crew, request.clone(), PATIENT);
    assert_eq!(outcome, ShutdownOutcome::Terminated);
    assert_eq!(status(&crew, &request), RequestStatus::Expired);
    // It could not say so itself, and is not mourned all the same.
    assert_eq!(crew.member("alice").status, MemberStatus::Shutdown);
    crew::repair(crew.team());
    assert_eq!((crew.state("alice"), crew.notices()), ("shutdown", vec![]));
    let mark = crew::mark_of(crew.team(), &recipient("alice"));
    wait_until("what it left behind to go", LIMIT, || {
        let left = supervisor::survivors();
        !left.iter().any(|left| left.mark.starts_with(&mark))
    });
}

#[test]
fn forced_against_a_veto_and_a_deaf_ear() {
    let crew = Crew::new();
    crew.start("alice", "rejects deaf");
    // Long enough for the veto to come first on most machines; both ways end the same.
    let request = ask(&crew, "alice", Duration::from_secs(1), true);
    let limits = ShutdownLimits {
        grace: SOON,
        kill: LIMIT,
    };
    let outcome = follow(&crew, request, limits);
    assert_eq!(outcome, ShutdownOutcome::Killed);
    assert!(!crew.is_alive("alice"));
    assert_eq!(crew.state("alice"), "shutdown");
}

#[test]
fn approved_without_leaving() {
    let crew = Crew::new();
    crew.start("alice", "stays");
    let request = ask(&crew, "alice", Duration::from_secs(5), false);
    let limits = ShutdownLimits {
        grace: SOON,
        kill: LIMIT,
    };
    let outcome = follow(&crew, request.clone(), limits);
    // On a machine that is busy enough the answer does not come in time.
    let expected = match status(&crew, &request) {
        RequestStatus::Approved => ShutdownOutcome::StillRunning,
        RequestStatus::Pending | RequestStatus::Rejected | RequestStatus::Expired => {
            ShutdownOutcome::NoAnswer
        }
    };
    assert_eq!(outcome, expected);
    assert!(crew.is_alive("alice"));
    // Nobody has the right to end it any more.
    crew::kill(crew.team(), &name("alice")).unwrap();
}

#[test]
fn a_death_before_the_answer_is_a_death() {
    let crew = Crew::new();
    crew.start("alice", "");
    let request = ask(&crew, "alice", LIMIT, false);
    crew.kill9("alice");
    let outcome = follow(&crew, request.clone(), PATIENT);
    assert_eq!(outcome, ShutdownOutcome::Ended);
    assert_eq!(status(&crew, &request), RequestStatus::Expired);
    crew.repair_until_mourned("alice");
    assert_eq!(crew.notices().len(), 1);
}

#[test]
fn a_later_life_is_never_touched() {
    let crew = Crew::new();
    crew.start("alice", "");
    let request = ask(&crew, "alice", SOON, true);
    crew.kill9("alice");
    crew.start("alice", "deaf");
    let outcome = follow(
        &crew,
        request.clone(),
        ShutdownLimits {
            grace: SOON,
            kill: SOON,
        },
    );
    // The request may have ended by its deadline before anybody looked at the process.
    assert!(outcome.is_gone(), "{outcome}");
    let living = crew.witness("alice");
    assert_eq!(living.incarnation(), Incarnation(2));
    assert!(!living.is_gone());
    assert_eq!(crew.member("alice").status, MemberStatus::Idle);
}

#[test]
fn a_life_that_is_replaced_while_it_is_followed_takes_nobody_with_it() {
    let crew = Crew::new();
    crew.start("alice", "");
    let request = ask(&crew, "alice", LIMIT, true);
    let outcome = std::thread::scope(|scope| {
        let follower = scope.spawn(|| follow(&crew, request.clone(), PATIENT));
        crew.kill9("alice");
        crew.start("alice", "");
        follower.join().unwrap()
    });
    assert!(outcome.is_gone(), "{outcome}");
    assert_eq!(crew.witness("alice").incarnation(), Incarnation(2));
}

#[test]
fn with_a_lead_that_reads_its_mail_and_one_that_does_not_get_to_it() {
    for reads in [true, false] {
        let crew = Crew::new();
        let team = crew.team();
        let _lead = team.join(&Recipient::Lead).unwrap();
        crew.start("alice", "approves");
        crew.start("bob", "rejects");
        let requests = ["alice", "bob"].map(|name| ask(&crew, name, LIMIT, false));
        let [alice, bob] = requests.clone();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // Stands for the lead's program.
                wait_until("the followers", LIMIT, || {
                    let mut mail = Vec::new();
                    let peeked = team.peek(&Recipient::Lead, |_, line| mail.push(line));
                    peeked.unwrap();
                    for line in mail {
                        if let Line::Message(message) = line
                            && (reads || message.from == Some(protocol::Sender::new("bob")))
                        {
                            take_answer(team, &message).unwrap();
                        }
                    }
                    done.load(Ordering::SeqCst)
                });
            });
            let left = follow(&crew, alice, PATIENT);
            let vetoed = follow(&crew, bob, PATIENT);
            done.store(true, Ordering::SeqCst);
            assert_eq!(left, ShutdownOutcome::Left, "{reads}");
            assert!(matches!(vetoed, ShutdownOutcome::Vetoed { .. }));
        });
        assert_eq!(status(&crew, &requests[0]), RequestStatus::Approved);
    }
}

#[test]
fn a_follower_can_be_stopped_and_nothing_is_lost_by_it() {
    let crew = Crew::new();
    crew.start("alice", "");
    let request = ask(&crew, "alice", LIMIT, false);
    let stopped = follow_shutdown(crew.team(), request.clone(), PATIENT, &|| true);
    assert!(matches!(stopped, Err(FollowError::Stopped)));
    assert_eq!(status(&crew, &request), RequestStatus::Pending);
    assert!(crew.is_alive("alice"));
}

#[test]
fn everybody_at_once() {
    let crew = Crew::new();
    crew.start("alice", "approves");
    crew.start("bob", "deaf");
    crew.start("carol", "");
    crew.start("dora", "");
    crew.kill9("dora");
    let wish = LastWish {
        reason: String::new(),
        timeout: Duration::from_secs(3),
        force: true,
    };
    let limits = ShutdownLimits {
        grace: Duration::from_secs(3),
        kill: LIMIT,
    };
    let ended = shut_down_all(crew.team(), &Me::user(), &wish, limits, &|| false).unwrap();
    for end in &ended {
        let outcome = end.outcome.as_ref().unwrap();
        match end.name.as_str() {
            "dora" => assert_eq!(*outcome, None),
            "bob" => assert_eq!(*outcome, Some(ShutdownOutcome::Killed)),
            _ => assert!(outcome.as_ref().is_some_and(ShutdownOutcome::is_gone)),
        }
        assert!(!crew.is_alive(end.name.as_str()));
    }
    assert_eq!(ended.len(), 4);
    let states = ["alice", "bob", "carol"].map(|name| crew.state(name));
    assert_eq!(states, ["shutdown"; 3]);
}
