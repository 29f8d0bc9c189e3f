//! Each rule of requests, one by one.

use super::*;
use protocol::{
    AgentName, Incarnation, Party, Recipient, Request, RequestFile, RequestId, RequestKind,
    RequestState, RequestStatus, Sender, Timestamp,
};

const ALIVE: Addressee = Addressee::Alive(Incarnation(3));

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_secs(seconds)
}

fn member(name: &str) -> AgentName {
    AgentName::new(name).unwrap()
}

fn opening(from: Party, to: Recipient) -> Opening {
    Opening {
        id: RequestId::new("1a2b3c4d").unwrap(),
        from,
        from_incarnation: None,
        to,
        to_incarnation: Some(Incarnation(3)),
        now: at(0),
    }
}

fn shutdown() -> Request {
    let opening = opening(Party::Lead, member("alice").into());
    open_shutdown(opening, at(60), "done", false).unwrap()
}

fn plan() -> Request {
    let opening = Opening {
        to_incarnation: None,
        ..opening(member("alice").into(), Recipient::Lead)
    };
    open_plan(opening, None, "first this, then that").unwrap()
}

fn yes(from: &str) -> Response {
    Response {
        kind: RequestKind::Shutdown,
        request_id: RequestId::new("1a2b3c4d").unwrap(),
        from: Some(Sender::new(from)),
        from_incarnation: Some(Incarnation(3)),
        approve: true,
        text: "ok".to_owned(),
        name: None,
        scope: None,
        source: AnswerSource::Answerer,
    }
}

/// Expects the answer to be recorded without effect, and returns why.
fn ignored(request: &Request, response: &Response, addressee: Addressee, now: i64) -> WhyIgnored {
    match answer(request, response, addressee, at(now)) {
        Verdict::Resolved(request) => panic!("the answer counted: {request:?}"),
        Verdict::Ignored {
            request: recorded,
            why,
        } => {
            assert_eq!(recorded.state, request.state);
            assert_eq!(recorded.ignored.len(), request.ignored.len() + 1);
            let last = recorded.ignored.last().unwrap();
            assert_eq!(last.why, why.to_string());
            why
        }
    }
}

fn resolved(request: &Request, response: &Response, addressee: Addressee) -> Request {
    match answer(request, response, addressee, at(10)) {
        Verdict::Resolved(request) => request,
        Verdict::Ignored { why, .. } => panic!("the answer did not count: {why}"),
    }
}

#[test]
fn the_addressee_decides() {
    let approved = resolved(&shutdown(), &yes("alice"), Addressee::Gone);
    assert_eq!(approved.status(), RequestStatus::Approved);
    let no = Response {
        approve: false,
        text: "still testing".to_owned(),
        ..yes("Alice")
    };
    match resolved(&shutdown(), &no, ALIVE).state {
        RequestState::Rejected(answer) => assert_eq!(answer.text, "still testing"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn forged_and_misdirected_answers_have_no_effect() {
    let request = shutdown();
    for from in ["bob", "lead", "user", "system", "some program"] {
        let why = ignored(&request, &yes(from), ALIVE, 10);
        assert!(
            matches!(why, WhyIgnored::WrongSender { .. }),
            "{from}: {why}"
        );
    }
    let unsigned = Response {
        from: None,
        ..yes("alice")
    };
    assert_eq!(
        ignored(&request, &unsigned, ALIVE, 10),
        WhyIgnored::Unsigned
    );
    let id = RequestId::new("00000000").unwrap();
    let other = Response {
        request_id: id.clone(),
        ..yes("alice")
    };
    assert_eq!(
        ignored(&request, &other, ALIVE, 10),
        WhyIgnored::OtherRequest(id)
    );
    let wrong_kind = Response {
        kind: RequestKind::Plan,
        ..yes("alice")
    };
    let why = ignored(&request, &wrong_kind, ALIVE, 10);
    assert_eq!(
        why.to_string(),
        "it answers a plan request, and this is a shutdown request"
    );
}

#[test]
fn late_and_repeated_answers_have_no_effect() {
    assert_eq!(
        ignored(&shutdown(), &yes("alice"), ALIVE, 60),
        WhyIgnored::Late
    );
    let approved = resolved(&shutdown(), &yes("alice"), ALIVE);
    let no = Response {
        approve: false,
        ..yes("alice")
    };
    let why = ignored(&approved, &no, ALIVE, 11);
    assert_eq!(
        why,
        WhyIgnored::AlreadyDecided {
            status: RequestStatus::Approved,
            by: Some("alice".to_owned())
        }
    );
}

#[test]
fn only_the_addressed_incarnation_answers() {
    let request = shutdown();
    for incarnation in [2, 4] {
        let other = Response {
            from_incarnation: Some(Incarnation(incarnation)),
            ..yes("alice")
        };
        let why = ignored(&request, &other, ALIVE, 10);
        assert!(
            matches!(why, WhyIgnored::WrongIncarnation { .. }),
            "{incarnation}: {why}"
        );
    }
    let foreign = Response {
        from_incarnation: None,
        ..yes("alice")
    };
    resolved(&request, &foreign, ALIVE);
    for addressee in [
        Addressee::Unknown,
        Addressee::Gone,
        Addressee::Alive(Incarnation(4)),
    ] {
        let why = ignored(&request, &foreign, addressee, 10);
        assert!(matches!(why, WhyIgnored::NoIncarnation { .. }), "{why}");
    }
}

#[test]
fn the_lead_of_any_incarnation_or_a_person_decides_a_plan() {
    for from in ["lead", "user"] {
        let response = Response {
            kind: RequestKind::Plan,
            from_incarnation: None,
            ..yes(from)
        };
        let request = resolved(&plan(), &response, Addressee::Unknown);
        assert_eq!(request.status(), RequestStatus::Approved);
    }
    let pinned = Request {
        to_incarnation: Some(Incarnation(3)),
        ..plan()
    };
    let person = Response {
        kind: RequestKind::Plan,
        from_incarnation: None,
        ..yes("user")
    };
    resolved(&pinned, &person, Addressee::Gone);
    // Such a request cannot be opened, but a file may say anything.
    let odd = Request {
        to: Recipient::Lead,
        ..shutdown()
    };
    let why = ignored(&odd, &yes("user"), ALIVE, 10);
    assert!(matches!(why, WhyIgnored::WrongSender { .. }), "{why}");
    let own = Response {
        kind: RequestKind::Plan,
        ..yes("alice")
    };
    let why = ignored(&plan(), &own, ALIVE, 10);
    assert!(matches!(why, WhyIgnored::WrongSender { .. }), "{why}");
}

#[test]
fn ignored_answers_are_counted_after_the_first_twenty() {
    let mut request = shutdown();
    let forged = yes(&"long name ".repeat(1000));
    for _ in 0..1000 {
        match answer(&request, &forged, ALIVE, at(10)) {
            Verdict::Ignored { request: next, .. } => {
                // Through the file and back: the count must survive storage.
                let text = serde_json::to_string(&RequestFile::from(next)).unwrap();
                assert!(text.len() < 10_000, "{} bytes", text.len());
                let file: RequestFile = serde_json::from_str(&text).unwrap();
                request = file.try_into().unwrap();
            }
            Verdict::Resolved(_) => panic!("a forged answer counted"),
        }
    }
    assert_eq!(request.ignored.len(), MAX_IGNORED + 1);
    let tally = request.ignored.last().unwrap();
    assert!(tally.why.starts_with("980 more answers"), "{}", tally.why);
}

#[test]
fn only_the_lead_and_the_user_ask_for_a_shutdown() {
    let ask = |from, to| open_shutdown(opening(from, to), at(60), "", false);
    assert!(ask(Party::User, member("alice").into()).is_ok());
    assert_eq!(
        ask(Party::User, Recipient::Lead),
        Err(OpenShutdownRefusal::TheLead)
    );
    let refusal = ask(member("bob").into(), member("alice").into()).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "'bob' may not ask 'alice' to shut down: only the lead or the user may"
    );
    let nobody = Opening {
        to_incarnation: None,
        ..opening(Party::Lead, member("alice").into())
    };
    let refusal = open_shutdown(nobody, at(60), "", false).unwrap_err();
    assert!(matches!(refusal, OpenShutdownRefusal::NotRunning { .. }));
}

#[test]
fn a_plan_is_a_teammates_and_goes_to_the_lead() {
    let alice = || Party::from(member("alice"));
    let submit = |from, to, text| open_plan(opening(from, to), None, text);
    assert!(submit(alice(), Recipient::Lead, "x").is_ok());
    assert_eq!(
        submit(alice(), Recipient::Lead, " \n"),
        Err(OpenPlanRefusal::Empty)
    );
    let refusal = submit(Party::User, Recipient::Lead, "x").unwrap_err();
    assert!(matches!(refusal, OpenPlanRefusal::NotAMember { .. }));
    let refusal = submit(alice(), member("bob").into(), "x").unwrap_err();
    assert_eq!(refusal.to_string(), "a plan goes to the lead, not to 'bob'");
}

#[test]
fn a_request_expires_by_deadline_death_or_replacement() {
    let request = shutdown();
    assert_eq!(due(&request, ALIVE, at(59)), None);
    assert_eq!(
        due(&request, ALIVE, at(60)),
        Some(ExpireReason::DeadlinePassed)
    );
    assert_eq!(due(&request, Addressee::Unknown, at(1)), None);
    assert_eq!(
        due(&request, Addressee::Gone, at(1)),
        Some(ExpireReason::AddresseeDied)
    );
    let incarnation = Incarnation(4);
    assert_eq!(
        due(&request, Addressee::Alive(incarnation), at(1)),
        Some(ExpireReason::AddresseeReplaced { incarnation })
    );
    assert_eq!(due(&request, Addressee::Alive(Incarnation(2)), at(1)), None);
    // The lead may be restarted while a plan is pending.
    assert_eq!(due(&plan(), Addressee::Gone, at(999)), None);
}

#[test]
fn what_is_decided_does_not_expire() {
    let expired = expire(&shutdown(), ExpireReason::DeadlinePassed, at(60)).unwrap();
    assert_eq!(expired.status(), RequestStatus::Expired);
    let refusal = expire(&expired, ExpireReason::AddresseeDied, at(61)).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "request 1a2b3c4d is already expired, which is final"
    );
    assert_eq!(due(&expired, Addressee::Gone, at(99)), None);
}

#[test]
fn only_plans_expire_when_their_author_no_longer_waits() {
    let reason = |request: &Request, author| abandoned(request, author);
    for author in [Author::Waits, Author::Left, Author::Ended, Author::GivenUp] {
        assert_eq!(reason(&shutdown(), author), None);
        let decided = expire(&plan(), ExpireReason::Superseded, at(1)).unwrap();
        assert_eq!(reason(&decided, author), None);
        assert_eq!(reason(&plan(), author).is_some(), author != Author::Waits);
    }
}
