//! A request is decided at most once, and only by the one who was asked.

use proptest::prelude::*;
use protocol::{
    AgentName, Incarnation, Party, Request, RequestId, RequestKind, RequestState, RequestStatus,
    Sender, Timestamp,
};
use rules::{
    Addressee, AnswerSource, ExpireReason, Opening, Response, Verdict, answer, expire,
    open_shutdown,
};

#[derive(Debug, Clone)]
enum Step {
    Answer(Response, Addressee),
    Expire(ExpireReason),
}

fn addressee() -> impl Strategy<Value = Addressee> {
    prop_oneof![
        Just(Addressee::Unknown),
        Just(Addressee::Gone),
        (1..5_u64).prop_map(|incarnation| Addressee::Alive(Incarnation(incarnation))),
    ]
}

pub(crate) fn response() -> impl Strategy<Value = Response> {
    let from = prop::sample::select(vec!["alice", "ALICE", "bob", "lead", "user", "a program"]);
    (
        prop::sample::select(vec!["1a2b3c4d", "00000000"]),
        prop::option::weighted(0.9, from),
        prop::option::of(2..5_u64),
        any::<bool>(),
        prop::bool::weighted(0.9),
    )
        .prop_map(|(id, from, incarnation, approve, shutdown)| Response {
            kind: if shutdown {
                RequestKind::Shutdown
            } else {
                RequestKind::Plan
            },
            request_id: RequestId::new(id).expect("a valid id"),
            from: from.map(Sender::new),
            from_incarnation: incarnation.map(Incarnation),
            approve,
            text: String::new(),
            name: None,
            scope: None,
            source: AnswerSource::Answerer,
        })
}

fn step() -> impl Strategy<Value = Step> {
    let reason = prop_oneof![
        Just(ExpireReason::DeadlinePassed),
        Just(ExpireReason::AddresseeDied),
        Just(ExpireReason::AddresseeReplaced {
            incarnation: Incarnation(4)
        }),
    ];
    prop_oneof![
        9 => (response(), addressee()).prop_map(|(response, alive)| Step::Answer(response, alive)),
        1 => reason.prop_map(Step::Expire),
    ]
}

/// A shutdown of incarnation 3 of alice with a deadline at second 60.
pub(crate) fn shutdown_request(force: bool) -> Request {
    let opening = Opening {
        id: RequestId::new("1a2b3c4d").expect("a valid id"),
        from: Party::Lead,
        from_incarnation: None,
        to: AgentName::new("alice").expect("a valid name").into(),
        to_incarnation: Some(Incarnation(3)),
        now: Timestamp::from_secs(0),
    };
    let deadline = Timestamp::from_secs(60);
    open_shutdown(opening, deadline, "", force).expect("the lead may ask")
}

/// Whether the answer may decide a pending request: the same rule, written independently of the code.
fn counts(response: &Response, alive: Addressee, now: i64) -> bool {
    let is_same_incarnation = match response.from_incarnation {
        Some(incarnation) => incarnation == Incarnation(3),
        None => alive == Addressee::Alive(Incarnation(3)),
    };
    let from = response.from.as_ref().map(Sender::as_str);
    now < 60
        && response.request_id.as_str() == "1a2b3c4d"
        && response.kind == RequestKind::Shutdown
        && from.is_some_and(|name| name.eq_ignore_ascii_case("alice"))
        && is_same_incarnation
}

proptest! {
    #[test]
    fn a_request_is_decided_at_most_once(
        steps in prop::collection::vec((step(), 0..5_i64), 0..60),
    ) {
        let mut request = shutdown_request(false);
        let mut now = 0;
        let mut decisions = 0;
        for (step, wait) in steps {
            now += wait;
            let at = Timestamp::from_secs(now);
            let before = request.clone();
            let pending = before.status() == RequestStatus::Pending;
            match step {
                Step::Answer(response, alive) => match answer(&before, &response, alive, at) {
                    Verdict::Resolved(after) => {
                        prop_assert!(pending && counts(&response, alive, now));
                        request = after;
                    }
                    Verdict::Ignored { request: after, .. } => {
                        prop_assert!(!pending || !counts(&response, alive, now));
                        prop_assert!(after.ignored.len() <= rules::MAX_IGNORED + 1);
                        request = after;
                    }
                },
                Step::Expire(reason) => match expire(&before, reason, at) {
                    Ok(after) => {
                        prop_assert!(pending);
                        request = after;
                    }
                    Err(_) => prop_assert!(!pending),
                },
            }
            if request.state != before.state {
                prop_assert_eq!(&before.state, &RequestState::Pending);
                decisions += 1;
            }
        }
        prop_assert!(decisions <= 1);
    }
}
