//! Shutdowns are followed until they are over, whatever the member does.

use crate::support::{LIMIT, Members, name, recipient};
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
/// A timeout that is meant to pass.
const SOON: Duration = Duration::from_millis(300);

fn ask(members: &Members, name_: &str, timeout: Duration, force: bool) -> Request {
    let options = ShutdownOptions {
        to: name(name_),
        reason: "All is done.".to_owned(),
        timeout,
        force,
        lead_leaves: false,
    };
    let incarnation = members.process(name_).incarnation();
    ask_shutdown(members.team(), &Actor::user(), &options, incarnation).unwrap()
}

fn follow(members: &Members, request: Request, limits: ShutdownLimits) -> ShutdownOutcome {
    follow_shutdown(members.team(), request, limits, &|| false).unwrap()
}

fn status(members: &Members, request: &Request) -> RequestStatus {
    members.team().request(&request.id).unwrap().status()
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
    let members = Members::new();
    members.start("alice", role);
    let request = ask(&members, "alice", LIMIT, false);
    let outcome = follow(&members, request.clone(), PATIENT);
    assert_eq!(outcome, ShutdownOutcome::Left);
    assert_eq!(status(&members, &request), RequestStatus::Approved);
    assert_eq!(
        (members.state("alice"), members.notices()),
        ("shutdown", vec![])
    );
    // The answer is still there for the lead to read.
    let mut unread = 0;
    let count = |_: &[u8], _| unread += 1;
    members.team().unread_mail(&Recipient::Lead, count).unwrap();
    assert_eq!(unread, 1);
}

#[test]
fn a_member_that_approves_and_does_not_update_the_roster_is_not_reaped() {
    let members = Members::new();
    members.start("alice", "rude");
    let request = ask(&members, "alice", LIMIT, false);
    let outcome = follow(&members, request, PATIENT);
    assert_eq!(outcome, ShutdownOutcome::Left);
    assert_eq!(members.member("alice").status, MemberStatus::Shutdown);
    processes::repair(members.team());
    assert_eq!(
        (members.state("alice"), members.notices()),
        ("shutdown", vec![])
    );
}

/// The answer is in the file whether or not a process follows the shutdown or reads the mail.
#[test]
fn a_member_records_its_own_answer() {
    let members = Members::new();
    members.start("alice", "approves");
    members.start("bob", "rejects");
    let alice = ask(&members, "alice", LIMIT, false);
    let bob = ask(&members, "bob", LIMIT, false);
    wait_until("the answers", LIMIT, || {
        (status(&members, &alice), status(&members, &bob))
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
    let members = Members::new();
    members.start("alice", role);
    let request = ask(&members, "alice", LIMIT, false);
    let outcome = follow(&members, request.clone(), PATIENT);
    let reason = "so be it".to_owned();
    assert_eq!(outcome, ShutdownOutcome::Vetoed { reason });
    assert_eq!(status(&members, &request), RequestStatus::Rejected);
    assert_eq!(members.state("alice"), "idle");
}

#[test]
fn ignored() {
    let members = Members::new();
    members.start("alice", "");
    let request = ask(&members, "alice", SOON, false);
    let outcome = follow(&members, request.clone(), PATIENT);
    assert_eq!(outcome, ShutdownOutcome::NoAnswer);
    assert_eq!(status(&members, &request), RequestStatus::Expired);
    assert!(members.is_alive("alice"));
}

#[test]
fn forced_with_sigterm() {
    let members = Members::new();
    members.start("alice", "breeds");
    let request = ask(&members, "alice", SOON, true);
    let outcome = follow(&members, request.clone(), PATIENT);
    assert_eq!(outcome, ShutdownOutcome::Terminated);
    assert_eq!(status(&members, &request), RequestStatus::Expired);
    // It could not update the roster itself, and is still not reaped.
    assert_eq!(members.member("alice").status, MemberStatus::Shutdown);
    processes::repair(members.team());
    assert_eq!(
        (members.state("alice"), members.notices()),
        ("shutdown", vec![])
    );
    let mark = processes::mark_of(members.team(), &recipient("alice"));
    wait_until("its leftover processes to end", LIMIT, || {
        let left = command::marked_processes();
        !left.iter().any(|left| left.mark.starts_with(&mark))
    });
}

#[test]
fn forced_against_a_veto_with_sigterm_ignored() {
    let members = Members::new();
    members.start("alice", "rejects deaf");
    // Long enough for the veto to come first on most machines; the outcome is the same.
    let request = ask(&members, "alice", Duration::from_secs(1), true);
    let limits = ShutdownLimits {
        grace: SOON,
        kill: LIMIT,
    };
    let outcome = follow(&members, request, limits);
    assert_eq!(outcome, ShutdownOutcome::Killed);
    assert!(!members.is_alive("alice"));
    assert_eq!(members.state("alice"), "shutdown");
}

#[test]
fn approved_without_leaving() {
    let members = Members::new();
    members.start("alice", "stays");
    let request = ask(&members, "alice", Duration::from_secs(5), false);
    let limits = ShutdownLimits {
        grace: SOON,
        kill: LIMIT,
    };
    let outcome = follow(&members, request.clone(), limits);
    // On a machine that is busy enough the answer does not come in time.
    let expected = match status(&members, &request) {
        RequestStatus::Approved => ShutdownOutcome::StillRunning,
        RequestStatus::Pending | RequestStatus::Rejected | RequestStatus::Expired => {
            ShutdownOutcome::NoAnswer
        }
    };
    assert_eq!(outcome, expected);
    assert!(members.is_alive("alice"));
    // No start lock is left behind.
    processes::kill(members.team(), &name("alice")).unwrap();
}

#[test]
fn a_death_before_the_answer_is_a_death() {
    let members = Members::new();
    members.start("alice", "");
    let request = ask(&members, "alice", LIMIT, false);
    members.kill9("alice");
    let outcome = follow(&members, request.clone(), PATIENT);
    assert_eq!(outcome, ShutdownOutcome::Ended);
    assert_eq!(status(&members, &request), RequestStatus::Expired);
    members.repair_until_reaped("alice");
    assert_eq!(members.notices().len(), 1);
}

#[test]
fn a_later_incarnation_is_never_touched() {
    let members = Members::new();
    members.start("alice", "");
    let request = ask(&members, "alice", SOON, true);
    members.kill9("alice");
    members.start("alice", "deaf");
    let outcome = follow(
        &members,
        request.clone(),
        ShutdownLimits {
            grace: SOON,
            kill: SOON,
        },
    );
    // The request may have ended by its deadline before the process was checked.
    assert!(outcome.is_gone(), "{outcome}");
    let running = members.process("alice");
    assert_eq!(running.incarnation(), Incarnation(2));
    assert!(!running.is_gone());
    assert_eq!(members.member("alice").status, MemberStatus::Idle);
}

#[test]
fn an_incarnation_replaced_while_it_is_followed_leaves_its_successor_running() {
    let members = Members::new();
    members.start("alice", "");
    let request = ask(&members, "alice", LIMIT, true);
    let outcome = std::thread::scope(|scope| {
        let follower = scope.spawn(|| follow(&members, request.clone(), PATIENT));
        members.kill9("alice");
        members.start("alice", "");
        follower.join().unwrap()
    });
    assert!(outcome.is_gone(), "{outcome}");
    assert_eq!(members.process("alice").incarnation(), Incarnation(2));
}

#[test]
fn with_a_lead_that_reads_its_mail_and_one_that_does_not() {
    for reads in [true, false] {
        let members = Members::new();
        let team = members.team();
        let _lead = team.join(&Recipient::Lead).unwrap();
        members.start("alice", "approves foreign");
        members.start("bob", "rejects foreign");
        let requests = ["alice", "bob"].map(|name| ask(&members, name, LIMIT, false));
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
            let left = follow(&members, alice, PATIENT);
            let vetoed = follow(&members, bob, PATIENT);
            done.store(true, Ordering::SeqCst);
            assert_eq!(left, ShutdownOutcome::Left, "{reads}");
            assert!(matches!(vetoed, ShutdownOutcome::Vetoed { .. }));
        });
        assert_eq!(status(&members, &requests[0]), RequestStatus::Approved);
    }
}

#[test]
fn a_follower_can_be_stopped_and_nothing_is_lost_by_it() {
    let members = Members::new();
    members.start("alice", "");
    let request = ask(&members, "alice", LIMIT, false);
    let stopped = follow_shutdown(members.team(), request.clone(), PATIENT, &|| true);
    assert!(matches!(stopped, Err(FollowError::Stopped)));
    assert_eq!(status(&members, &request), RequestStatus::Pending);
    assert!(members.is_alive("alice"));
}

#[test]
fn all_members_at_once() {
    let members = Members::new();
    members.start("alice", "approves");
    members.start("bob", "deaf");
    members.start("carol", "");
    members.start("dora", "");
    members.kill9("dora");
    let options = ShutdownAllOptions {
        reason: String::new(),
        timeout: Duration::from_secs(3),
        force: true,
        lead_leaves: false,
    };
    let limits = ShutdownLimits {
        grace: Duration::from_secs(3),
        kill: LIMIT,
    };
    let ended = shut_down_all(members.team(), &Actor::user(), &options, limits, &|| false).unwrap();
    for end in &ended {
        let outcome = end.outcome.as_ref().unwrap();
        match end.name.as_str() {
            "dora" => assert_eq!(*outcome, None),
            "bob" => assert_eq!(*outcome, Some(ShutdownOutcome::Killed)),
            _ => assert!(outcome.as_ref().is_some_and(ShutdownOutcome::is_gone)),
        }
        assert!(!members.is_alive(end.name.as_str()));
    }
    assert_eq!(ended.len(), 4);
    let states = ["alice", "bob", "carol"].map(|name| members.state(name));
    assert_eq!(states, ["shutdown"; 3]);
}
