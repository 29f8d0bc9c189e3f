//! The steps of a shutdown, one by one.

use super::*;
use crate::request::{Addressee, AnswerSource, Opening, Response, Verdict, answer, open_shutdown};
use protocol::{AgentName, Party, RequestId, RequestKind, Sender};

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_secs(seconds)
}

fn request(force: bool) -> Request {
    let opening = Opening {
        id: RequestId::new("1a2b3c4d").unwrap(),
        from: Party::Lead,
        from_incarnation: None,
        to: AgentName::new("alice").unwrap().into(),
        to_incarnation: Some(Incarnation(3)),
        now: at(0),
    };
    open_shutdown(opening, at(60), "done", force).unwrap()
}

fn start(force: bool) -> Shutdown {
    let limits = ShutdownLimits::default();
    Shutdown::start(request(force), limits, at(0)).unwrap().0
}

/// The request's file after alice has answered it.
fn answered(shutdown: &Shutdown, approve: bool, now: Timestamp) -> Request {
    let response = Response {
        kind: RequestKind::Shutdown,
        request_id: RequestId::new("1a2b3c4d").unwrap(),
        from: Some(Sender::new("alice")),
        from_incarnation: Some(Incarnation(3)),
        approve,
        text: "busy".to_owned(),
        name: None,
        scope: None,
        source: AnswerSource::Answerer,
    };
    let alive = Addressee::Alive(Incarnation(3));
    match answer(shutdown.request(), &response, alive, now) {
        Verdict::Resolved(request) | Verdict::Ignored { request, .. } => request,
    }
}

/// Lets alice answer, and passes the stored answer to the shutdown.
fn reply(shutdown: &mut Shutdown, approve: bool, now: Timestamp) -> Vec<String> {
    let stored = answered(shutdown, approve, now);
    summary(&shutdown.handle(ShutdownEvent::Stored(Box::new(stored)), now))
}

const GONE: ShutdownEvent = ShutdownEvent::Gone {
    incarnation: Incarnation(3),
};

/// The actions without the stored requests, as short texts.
fn summary(actions: &[ShutdownAction]) -> Vec<String> {
    let text = |action: &ShutdownAction| match action {
        ShutdownAction::Record(request) => request.status().as_str().to_owned(),
        ShutdownAction::Deliver(_) => "deliver".to_owned(),
        ShutdownAction::Terminate => "TERM".to_owned(),
        ShutdownAction::Kill => "KILL".to_owned(),
        ShutdownAction::WakeAt(time) => format!("wake {}", time.as_secs_f64()),
        ShutdownAction::Finished(outcome) => outcome.to_string(),
    };
    actions.iter().map(text).collect()
}

#[test]
fn a_new_request_is_stored_before_it_is_delivered() {
    let (_, actions) = Shutdown::start(request(false), ShutdownLimits::default(), at(0)).unwrap();
    assert_eq!(summary(&actions), ["pending", "deliver", "wake 60"]);
}

#[test]
fn an_approved_shutdown_is_done_when_the_process_is_gone() {
    let mut shutdown = start(false);
    assert_eq!(reply(&mut shutdown, true, at(5)), ["wake 65"]);
    assert_eq!(shutdown.request().status(), RequestStatus::Approved);
    assert_eq!(shutdown.outcome(), None);
    let actions = shutdown.handle(GONE, at(7));
    assert_eq!(summary(&actions), ["agreed and is gone"]);
    for event in [GONE, ShutdownEvent::Tick] {
        assert!(shutdown.handle(event, at(99)).is_empty());
    }
}

#[test]
fn a_veto_holds_once_and_not_against_force() {
    let mut shutdown = start(false);
    assert_eq!(reply(&mut shutdown, false, at(5)), ["refused: busy"]);
    let again = answered(&shutdown, true, at(6));
    assert_eq!(
        (again.status(), again.ignored.len()),
        (RequestStatus::Rejected, 1)
    );
    assert!(reply(&mut shutdown, true, at(6)).is_empty());
    assert_eq!(shutdown.request().status(), RequestStatus::Rejected);

    let mut forced = start(true);
    assert_eq!(reply(&mut forced, false, at(5)), ["wake 60"]);
    let actions = forced.handle(ShutdownEvent::Tick, at(60));
    assert_eq!(summary(&actions), ["TERM", "wake 65"]);
    assert_eq!(forced.request().status(), RequestStatus::Rejected);
}

#[test]
fn without_an_answer_the_request_expires_and_only_force_ends_the_process() {
    let mut shutdown = start(false);
    let actions = shutdown.handle(ShutdownEvent::Tick, at(60));
    let last = "gave no answer; repeat with --force to end it";
    assert_eq!(summary(&actions), ["expired", last]);

    let mut forced = start(true);
    let actions = forced.handle(ShutdownEvent::Tick, at(60));
    assert_eq!(summary(&actions), ["expired", "TERM", "wake 65"]);
    let actions = forced.handle(ShutdownEvent::Tick, at(65));
    assert_eq!(summary(&actions), ["KILL", "wake 70"]);
    let mut killed = forced.clone();
    let actions = killed.handle(GONE, at(66));
    assert_eq!(summary(&actions), ["was ended by SIGKILL"]);
    let actions = forced.handle(ShutdownEvent::Tick, at(70));
    assert_eq!(summary(&actions), ["is still running after SIGKILL"]);
}

#[test]
fn an_approved_shutdown_ends_even_if_the_process_does_not() {
    let mut shutdown = start(false);
    let _ = reply(&mut shutdown, true, at(59));
    let _ = shutdown.handle(ShutdownEvent::Tick, at(65));
    assert_eq!(shutdown.outcome(), Some(&ShutdownOutcome::StillRunning));

    let mut forced = start(true);
    let _ = reply(&mut forced, true, at(59));
    let actions = forced.handle(ShutdownEvent::Tick, at(60));
    assert_eq!(summary(&actions), ["TERM", "wake 65"]);
}

#[test]
fn a_later_incarnation_is_never_signalled() {
    let later = ShutdownEvent::Replaced {
        incarnation: Incarnation(4),
    };
    let mut forced = start(true);
    let actions = forced.handle(later, at(5));
    assert_eq!(actions.len(), 2, "{actions:?}");
    let incarnation = Incarnation(4);
    let outcome = ShutdownOutcome::Replaced { incarnation };
    assert_eq!(forced.outcome(), Some(&outcome));
    assert!(forced.handle(ShutdownEvent::Tick, at(999)).is_empty());
}

#[test]
fn the_end_of_an_earlier_incarnation_has_no_effect() {
    let mut shutdown = start(true);
    for incarnation in [Incarnation(1), Incarnation(2)] {
        let _ = shutdown.handle(ShutdownEvent::Gone { incarnation }, at(1));
        let _ = shutdown.handle(ShutdownEvent::Replaced { incarnation }, at(1));
    }
    assert_eq!(shutdown.outcome(), None);
    let actions = shutdown.handle(GONE, at(2));
    assert_eq!(
        summary(&actions),
        ["expired", "is gone without having agreed"]
    );
}

#[test]
fn a_late_wake_up_still_leaves_time_between_the_signals() {
    let mut forced = start(true);
    let actions = forced.handle(ShutdownEvent::Tick, at(500));
    assert_eq!(summary(&actions), ["expired", "TERM", "wake 505"]);
}

#[test]
fn an_answer_stored_in_the_file_counts() {
    let mut shutdown = start(false);
    let stored = Box::new(answered(&shutdown, true, at(5)));
    let actions = shutdown.handle(ShutdownEvent::Stored(stored), at(6));
    assert_eq!(summary(&actions), ["wake 65"]);
    let _ = shutdown.handle(GONE, at(7));
    assert_eq!(shutdown.outcome(), Some(&ShutdownOutcome::Left));
}

#[test]
fn a_restarted_lead_continues_a_shutdown() {
    let again = |request: &Request, now| {
        let limits = ShutdownLimits::default();
        let (_, actions) = Shutdown::start(request.clone(), limits, at(now)).unwrap();
        summary(&actions)
    };
    let mut forced = start(true);
    assert_eq!(
        again(forced.request(), 10),
        ["pending", "deliver", "wake 60"]
    );
    let mut approved = forced.clone();
    let _ = reply(&mut approved, true, at(5));
    assert_eq!(again(approved.request(), 10), ["wake 60"]);
    let _ = forced.handle(ShutdownEvent::Tick, at(60));
    assert_eq!(again(forced.request(), 90), ["TERM", "wake 95"]);
}

#[test]
fn requests_that_could_end_the_wrong_process_are_refused() {
    let incomplete = Request {
        to_incarnation: None,
        ..request(true)
    };
    let refusal = Shutdown::start(incomplete, ShutdownLimits::default(), at(0)).unwrap_err();
    assert!(matches!(refusal, StartRefusal::Incomplete { .. }));
}
