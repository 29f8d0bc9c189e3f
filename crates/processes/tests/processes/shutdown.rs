//! Shutdowns to their end, whatever the member does.

use crate::support::{Crew, LIMIT, name, recipient};
use processes::{FollowError, ShutdownAllOptions, follow_shutdown, shut_down_all};
use protocol::{Incarnation, Line, MemberStatus, Recipient, Request, RequestStatus};
use rules::{ShutdownLimits, ShutdownOutcome};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use team::{Actor, ShutdownOptions, ask_shutdown, record_mailed_answer};
use test_support::wait_until;

/// Limits that a busy machine cannot reach by accident.
const PATIENT: ShutdownLimits = ShutdownLimits {
    grace: LIMIT,
    kill: LIMIT,
};
/// A time that may pass at once.
const SOON: Duration = Duration::from_millis(300);

fn ask(processes: &Crew, name_: &str, timeout: Duration, force: bool) -> Request {
    let wish = ShutdownOptions {
        to: name(name_),
        reason: "All is done.".to_owned(),
        timeout,
        force,
        lead_leaves: false,
    };
    let incarnation = processes.process(name_).incarnation();
    ask_shutdown(processes.team(), &Actor::user(), &wish, incarnation).unwrap()
}

fn follow(processes: &Crew, request: Request, limits: ShutdownLimits) -> ShutdownOutcome {
    follow_shutdown(processes.team(), request, limits, &|| false).unwrap()
}

fn status(processes: &Crew, request: &Request) -> RequestStatus {
    processes.team().request(&request.id).unwrap().status()
}

#[test]
fn approved() {
    is_approved("approves");
}

#[test]
fn approved_by_a_foreign_member_that_only_mails_it() {
    is_approved("approves foreign");
}

fn is_approved(role: &str) {
    let processes = Crew::new();
    processes.start("alice", role);
    let request = ask(&processes, "alice", LIMIT, false);
    let outcome = follow(&processes, request.clone(), PATIENT);
    assert_eq!(outcome, ShutdownOutcome::Left);
    assert_eq!(status(&processes, &request), RequestStatus::Approved);
    assert_eq!(
        (processes.state("alice"), processes.notices()),
        ("shutdown", vec![])
    );
    // The answer is still there for the lead to read.
    let mut unread = 0;
    let count = |_: &[u8], _| unread += 1;
    processes
        .team()
        .unread_mail(&Recipient::Lead, count)
        .unwrap();
    assert_eq!(unread, 1);
}

#[test]
fn a_member_that_says_yes_and_no_goodbye_is_not_reaped() {
    let processes = Crew::new();
    processes.start("alice", "rude");
    let request = ask(&processes, "alice", LIMIT, false);
    let outcome = follow(&processes, request, PATIENT);
    assert_eq!(outcome, ShutdownOutcome::Left);
    assert_eq!(processes.member("alice").status, MemberStatus::Shutdown);
    processes::repair(processes.team());
    assert_eq!(
        (processes.state("alice"), processes.notices()),
        ("shutdown", vec![])
    );
}

/// The answer is in the file whether or not anybody follows the shutdown or reads the mail.
#[test]
fn a_member_records_its_own_answer() {
    let processes = Crew::new();
    processes.start("alice", "approves");
    processes.start("bob", "rejects");
    let alice = ask(&processes, "alice", LIMIT, false);
    let bob = ask(&processes, "bob", LIMIT, false);
    wait_until("the answers", LIMIT, || {
        (status(&processes, &alice), status(&processes, &bob))
            == (RequestStatus::Approved, RequestStatus::Rejected)
    });
}

#[test]
fn rejected() {
    is_rejected("rejects");
}

#[test]
fn rejected_by_a_foreign_member_that_only_mails_it() {
    is_rejected("rejects foreign");
}

fn is_rejected(role: &str) {
    let processes = Crew::new();
    processes.start("alice", role);
    let request = ask(&processes, "alice", LIMIT, false);
    let outcome = follow(&processes, request.clone(), PATIENT);
    let reason = "so be it".to_owned();
    assert_eq!(outcome, ShutdownOutcome::Vetoed { reason });
    assert_eq!(status(&processes, &request), RequestStatus::Rejected);
    assert_eq!(processes.state("alice"), "idle");
}

#[test]
fn ignored() {
    let processes = Crew::new();
    processes.start("alice", "");
    let request = ask(&processes, "alice", SOON, false);
    let outcome = follow(&processes, request.clone(), PATIENT);
    assert_eq!(outcome, ShutdownOutcome::NoAnswer);
    assert_eq!(status(&processes, &request), RequestStatus::Expired);
    assert!(processes.is_alive("alice"));
}

#[test]
fn forced_with_sigterm() {
    let processes = Crew::new();
    processes.start("alice", "breeds");
    let request = ask(&processes, "alice", SOON, true);
    let outcome = follow(&processes, request.clone(), PATIENT);
    assert_eq!(outcome, ShutdownOutcome::Terminated);
    assert_eq!(status(&processes, &request), RequestStatus::Expired);
    // It could not say so itself, and is not reaped all the same.
    assert_eq!(processes.member("alice").status, MemberStatus::Shutdown);
    processes::repair(processes.team());
    assert_eq!(
        (processes.state("alice"), processes.notices()),
        ("shutdown", vec![])
    );
    let mark = processes::mark_of(processes.team(), &recipient("alice"));
    wait_until("what it left behind to go", LIMIT, || {
        let left = command::survivors();
        !left.iter().any(|left| left.mark.starts_with(&mark))
    });
}

#[test]
fn forced_against_a_veto_and_a_deaf_ear() {
    let processes = Crew::new();
    processes.start("alice", "rejects deaf");
    // Long enough for the veto to come first on most machines; both ways end the same.
    let request = ask(&processes, "alice", Duration::from_secs(1), true);
    let limits = ShutdownLimits {
        grace: SOON,
        kill: LIMIT,
    };
    let outcome = follow(&processes, request, limits);
    assert_eq!(outcome, ShutdownOutcome::Killed);
    assert!(!processes.is_alive("alice"));
    assert_eq!(processes.state("alice"), "shutdown");
}

#[test]
fn approved_without_leaving() {
    let processes = Crew::new();
    processes.start("alice", "stays");
    let request = ask(&processes, "alice", Duration::from_secs(5), false);
    let limits = ShutdownLimits {
        grace: SOON,
        kill: LIMIT,
    };
    let outcome = follow(&processes, request.clone(), limits);
    // On a machine that is busy enough the answer does not come in time.
    let expected = match status(&processes, &request) {
        RequestStatus::Approved => ShutdownOutcome::StillRunning,
        RequestStatus::Pending | RequestStatus::Rejected | RequestStatus::Expired => {
            ShutdownOutcome::NoAnswer
        }
    };
    assert_eq!(outcome, expected);
    assert!(processes.is_alive("alice"));
    // Nobody has the right to end it any more.
    processes::kill(processes.team(), &name("alice")).unwrap();
}

#[test]
fn a_death_before_the_answer_is_a_death() {
    let processes = Crew::new();
    processes.start("alice", "");
    let request = ask(&processes, "alice", LIMIT, false);
    processes.kill9("alice");
    let outcome = follow(&processes, request.clone(), PATIENT);
    assert_eq!(outcome, ShutdownOutcome::Ended);
    assert_eq!(status(&processes, &request), RequestStatus::Expired);
    processes.repair_until_reaped("alice");
    assert_eq!(processes.notices().len(), 1);
}

#[test]
fn a_later_incarnation_is_never_touched() {
    let processes = Crew::new();
    processes.start("alice", "");
    let request = ask(&processes, "alice", SOON, true);
    processes.kill9("alice");
    processes.start("alice", "deaf");
    let outcome = follow(
        &processes,
        request.clone(),
        ShutdownLimits {
            grace: SOON,
            kill: SOON,
        },
    );
    // The request may have ended by its deadline before anybody looked at the process.
    assert!(outcome.is_gone(), "{outcome}");
    let living = processes.process("alice");
    assert_eq!(living.incarnation(), Incarnation(2));
    assert!(!living.is_gone());
    assert_eq!(processes.member("alice").status, MemberStatus::Idle);
}

#[test]
fn an_incarnation_that_is_replaced_while_it_is_followed_takes_nobody_with_it() {
    let processes = Crew::new();
    processes.start("alice", "");
    let request = ask(&processes, "alice", LIMIT, true);
    let outcome = std::thread::scope(|scope| {
        let follower = scope.spawn(|| follow(&processes, request.clone(), PATIENT));
        processes.kill9("alice");
        processes.start("alice", "");
        follower.join().unwrap()
    });
    assert!(outcome.is_gone(), "{outcome}");
    assert_eq!(processes.process("alice").incarnation(), Incarnation(2));
}

#[test]
fn with_a_lead_that_reads_its_mail_and_one_that_does_not_get_to_it() {
    for reads in [true, false] {
        let processes = Crew::new();
        let team = processes.team();
        let _lead = team.join(&Recipient::Lead).unwrap();
        processes.start("alice", "approves foreign");
        processes.start("bob", "rejects foreign");
        let requests = ["alice", "bob"].map(|name| ask(&processes, name, LIMIT, false));
        let [alice, bob] = requests.clone();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // Stands for the lead's program.
                wait_until("the followers", LIMIT, || {
                    let mut mail = Vec::new();
                    let peeked = team.unread_mail(&Recipient::Lead, |_, line| mail.push(line));
                    peeked.unwrap();
                    for line in mail {
                        if let Line::Message(message) = line
                            && (reads || message.from == Some(protocol::Sender::new("bob")))
                        {
                            record_mailed_answer(team, &message).unwrap();
                        }
                    }
                    done.load(Ordering::SeqCst)
                });
            });
            let left = follow(&processes, alice, PATIENT);
            let vetoed = follow(&processes, bob, PATIENT);
            done.store(true, Ordering::SeqCst);
            assert_eq!(left, ShutdownOutcome::Left, "{reads}");
            assert!(matches!(vetoed, ShutdownOutcome::Vetoed { .. }));
        });
        assert_eq!(status(&processes, &requests[0]), RequestStatus::Approved);
    }
}

#[test]
fn a_follower_can_be_stopped_and_nothing_is_lost_by_it() {
    let processes = Crew::new();
    processes.start("alice", "");
    let request = ask(&processes, "alice", LIMIT, false);
    let stopped = follow_shutdown(processes.team(), request.clone(), PATIENT, &|| true);
    assert!(matches!(stopped, Err(FollowError::Stopped)));
    assert_eq!(status(&processes, &request), RequestStatus::Pending);
    assert!(processes.is_alive("alice"));
}

#[test]
fn everybody_at_once() {
    let processes = Crew::new();
    processes.start("alice", "approves");
    processes.start("bob", "deaf");
    processes.start("carol", "");
    processes.start("dora", "");
    processes.kill9("dora");
    let wish = ShutdownAllOptions {
        reason: String::new(),
        timeout: Duration::from_secs(3),
        force: true,
        lead_leaves: false,
    };
    let limits = ShutdownLimits {
        grace: Duration::from_secs(3),
        kill: LIMIT,
    };
    let ended = shut_down_all(processes.team(), &Actor::user(), &wish, limits, &|| false).unwrap();
    for end in &ended {
        let outcome = end.outcome.as_ref().unwrap();
        match end.name.as_str() {
            "dora" => assert_eq!(*outcome, None),
            "bob" => assert_eq!(*outcome, Some(ShutdownOutcome::Killed)),
            _ => assert!(outcome.as_ref().is_some_and(ShutdownOutcome::is_gone)),
        }
        assert!(!processes.is_alive(end.name.as_str()));
    }
    assert_eq!(ended.len(), 4);
    let states = ["alice", "bob", "carol"].map(|name| processes.state(name));
    assert_eq!(states, ["shutdown"; 3]);
}
