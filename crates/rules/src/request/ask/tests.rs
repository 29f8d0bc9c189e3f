//! Each rule about tool calls and questions, one by one.

use super::*;
use crate::request::{
    Addressee, AnswerSource, Author, ExpireReason, OpenAskRefusal, Opening, Response, Verdict,
    abandoned, answer, due, expire, open_permission, open_question,
};
use protocol::{
    Incarnation, PermissionAsk, Recipient, RequestFile, RequestId, RequestKind, RequestStatus,
    Sender,
};
use serde_json::json;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_secs(seconds)
}

fn alice() -> Actor {
    Actor::member(
        "alice".parse::<protocol::AgentName>().unwrap(),
        Incarnation(3),
    )
}

fn opening(me: &Actor) -> Opening {
    Opening {
        id: RequestId::new("1a2b3c4d").unwrap(),
        from: me.party.clone(),
        from_incarnation: me.incarnation,
        to: Recipient::Lead,
        to_incarnation: None,
        now: at(0),
    }
}

fn push(lead_decides: bool) -> PermissionAsk {
    PermissionAsk {
        tool: "bash".to_owned(),
        arguments: json!({"command": "git push"}),
        call_hash: String::new(),
        cwd: "/work".to_owned(),
        why: "it needs the network".to_owned(),
        grants: Some("Bash(git push)".to_owned()),
        lead_decides,
    }
}

fn permission(lead_decides: bool) -> Request {
    open_permission(opening(&alice()), Some(at(60)), push(lead_decides)).unwrap()
}

fn question(choices: &[&str], free_text: bool) -> Result<Request, OpenAskRefusal> {
    let ask = QuestionAsk {
        question: "Which port?".to_owned(),
        choices: choices.iter().map(|choice| (*choice).to_owned()).collect(),
        free_text,
        call_hash: String::new(),
        lead_decides: false,
    };
    open_question(opening(&alice()), None, ask)
}

fn hash(request: &Request) -> String {
    asked_hash(&request.subject).unwrap().clone()
}

fn response(request: &Request, from: Party, approve: bool) -> Response {
    Response {
        kind: request.kind(),
        request_id: request.id.clone(),
        from: Some(Sender::Party(from)),
        from_incarnation: None,
        approve,
        text: "as you like".to_owned(),
        name: Some("anna".to_owned()),
        scope: None,
        source: AnswerSource::Answerer,
    }
}

fn decide(request: &Request, response: &Response) -> Result<Request, WhyIgnored> {
    match answer(request, response, Addressee::Unknown, at(10)) {
        Verdict::Resolved(request) => Ok(request),
        Verdict::Ignored { why, .. } => Err(why),
    }
}

#[test]
fn a_person_answers_and_the_lead_only_where_it_may() {
    for lead_decides in [false, true] {
        let request = permission(lead_decides);
        assert!(decide(&request, &response(&request, Party::User, true)).is_ok());
        let by_lead = decide(&request, &response(&request, Party::Lead, true));
        assert_eq!(by_lead.is_ok(), lead_decides, "{by_lead:?}");
        for other in [Party::System, alice().party, "bob".parse().unwrap()] {
            let refused = decide(&request, &response(&request, other, true));
            assert!(matches!(refused, Err(WhyIgnored::WrongSender { .. })));
        }
    }
    let lead = Actor::lead(Incarnation(1));
    let own = open_permission(opening(&lead), None, push(true)).unwrap();
    let refused = decide(&own, &response(&own, Party::Lead, true));
    assert!(matches!(refused, Err(WhyIgnored::WrongSender { .. })));
    assert!(decide(&own, &response(&own, Party::User, true)).is_ok());
}

#[test]
fn the_first_answer_counts_and_the_next_learns_whose_it_was() {
    let request = permission(false);
    let decided = decide(&request, &response(&request, Party::User, false)).unwrap();
    assert_eq!(decided.status(), RequestStatus::Rejected);
    let late = decide(&decided, &response(&decided, Party::User, true)).unwrap_err();
    assert_eq!(
        late.to_string(),
        "the request is already rejected by anna (user)"
    );
}

#[test]
fn mail_alone_allows_nothing() {
    let request = permission(true);
    let mailed = Response {
        source: AnswerSource::Mail,
        ..response(&request, Party::User, true)
    };
    let why = decide(&request, &mailed).unwrap_err();
    assert_eq!(why, WhyIgnored::NotRecorded(RequestKind::Permission));
}

#[test]
fn an_answer_to_something_that_was_changed_since_does_not_count() {
    let mut request = permission(false);
    if let Subject::Permission(ask) = &mut request.subject {
        ask.arguments = json!({"command": "ls"});
    }
    let why = decide(&request, &response(&request, Party::User, true)).unwrap_err();
    assert_eq!(why, WhyIgnored::Changed);
    assert_eq!(
        ask_state(&request, &alice(), &hash(&request)),
        AskState::Void
    );
}

#[test]
fn an_approval_counts_for_one_incarnation_and_one_call() {
    let request = permission(false);
    let (me, hash) = (alice(), hash(&request));
    assert_eq!(ask_state(&request, &me, &hash), AskState::Pending);
    let decided = decide(&request, &response(&request, Party::User, true)).unwrap();
    assert!(matches!(
        ask_state(&decided, &me, &hash),
        AskState::Approved(_)
    ));
    let other = call_hash("bash", &json!({"command": "git push --force"}));
    assert_eq!(ask_state(&decided, &me, &other), AskState::Void);
    let next = Actor {
        incarnation: Some(Incarnation(4)),
        ..alice()
    };
    assert_eq!(ask_state(&decided, &next, &hash), AskState::Void);
    let adopted = adopt(&decided, &next, &hash).unwrap();
    assert!(matches!(
        ask_state(&adopted, &next, &hash),
        AskState::Approved(_)
    ));
    assert_eq!(
        adopt(&adopted, &me, &hash),
        Err(AdoptRefusal::LaterIncarnation)
    );
    assert_eq!(adopt(&decided, &next, &other), Err(AdoptRefusal::OtherCall));
    let bob: Party = "bob".parse().unwrap();
    let bob = Actor {
        party: bob.clone(),
        ..next
    };
    assert!(matches!(
        adopt(&decided, &bob, &hash),
        Err(AdoptRefusal::NotOwn(_))
    ));
}

#[test]
fn a_file_that_says_a_member_or_the_lead_has_answered_allows_nothing() {
    let request = permission(false);
    for by in [Party::System, alice().party, Party::Lead] {
        let forged = Request {
            state: RequestState::Approved(Answer::new(by, at(1), String::new())),
            ..request.clone()
        };
        assert_eq!(
            ask_state(&forged, &alice(), &hash(&request)),
            AskState::Void
        );
    }
}

#[test]
fn nobody_answered_is_not_a_refusal() {
    let request = permission(false);
    assert_eq!(
        due(&request, Addressee::Gone, at(60)),
        Some(ExpireReason::DeadlinePassed)
    );
    assert_eq!(
        due(&request, Addressee::Gone, at(59)),
        None,
        "any lead will do"
    );
    for reason in [ExpireReason::DeadlinePassed, ExpireReason::NobodyThere] {
        let expired = expire(&request, reason, at(60)).unwrap();
        let state = ask_state(&expired, &alice(), &hash(&request));
        assert!(matches!(state, AskState::Unanswered { .. }), "{state:?}");
    }
    assert_eq!(abandoned(&request, Author::Waits), None);
    assert!(abandoned(&request, Author::Ended).is_some());
}

#[test]
fn what_is_granted_follows_from_the_answer() {
    let request = permission(false);
    let approve = |scope| {
        let response = Response {
            scope,
            ..response(&request, Party::User, true)
        };
        granted(&decide(&request, &response).unwrap())
    };
    assert_eq!(approve(None), None);
    assert_eq!(approve(Some(GrantScope::Once)), None);
    let member = approve(Some(GrantScope::Member)).unwrap();
    assert_eq!(member.member, Some(alice().party));
    assert_eq!(member.by_name.as_deref(), Some("anna"));
    assert_eq!(approve(Some(GrantScope::Team)).unwrap().member, None);

    let ask = PermissionAsk {
        grants: None,
        ..push(false)
    };
    let narrow = open_permission(opening(&alice()), None, ask).unwrap();
    let response = Response {
        scope: Some(GrantScope::Team),
        ..response(&narrow, Party::User, true)
    };
    assert_eq!(decide(&narrow, &response), Err(WhyIgnored::NothingToGrant));
}

#[test]
fn a_choice_is_named_by_its_text_or_its_number() {
    let say = |request: &Request, text: &str| {
        let response = Response {
            text: text.to_owned(),
            ..response(request, Party::User, true)
        };
        decide(request, &response).map(|request| match request.state {
            RequestState::Approved(answer) => answer.text,
            other => panic!("{other:?}"),
        })
    };
    let closed = question(&["8080", "3000", "1"], false).unwrap();
    assert_eq!(say(&closed, " 3000\n").unwrap(), "3000");
    assert_eq!(say(&closed, "2").unwrap(), "3000");
    assert_eq!(
        say(&closed, "1").unwrap(),
        "1",
        "a text comes before a number"
    );
    let refusal = say(&closed, "9000").unwrap_err();
    assert!(
        matches!(refusal, WhyIgnored::NotAChoice { .. }),
        "{refusal}"
    );
    assert!(say(&closed, "0").is_err() && say(&closed, "4").is_err());
    let open = question(&["8080"], true).unwrap();
    assert_eq!(say(&open, "9000").unwrap(), "9000");
    assert_eq!(say(&open, "  "), Err(WhyIgnored::Empty));
}

#[test]
fn a_question_can_be_answered() {
    assert_eq!(question(&[], false), Err(OpenAskRefusal::NoAnswer));
    assert_eq!(question(&["a", "a"], true), Err(OpenAskRefusal::Choices));
    assert_eq!(question(&["a", " "], true), Err(OpenAskRefusal::Choices));
    assert_eq!(question(&["a"; 10], true), Err(OpenAskRefusal::Choices));
    let user = Opening {
        from: Party::User,
        ..opening(&alice())
    };
    let refusal = open_permission(user, None, push(false));
    assert!(matches!(refusal, Err(OpenAskRefusal::NotAnAgent { .. })));
}

#[test]
fn the_user_is_told_once() {
    let request = permission(false);
    let told = notified(&request, at(5)).unwrap();
    assert_eq!(told.notified_at, Some(at(5)));
    assert_eq!(notified(&told, at(6)), None);
    let decided = decide(&request, &response(&request, Party::User, true)).unwrap();
    assert_eq!(notified(&decided, at(6)), None);
}

#[test]
fn the_hash_survives_storage() {
    for request in [permission(true), question(&["a", "b"], true).unwrap()] {
        let text = serde_json::to_string_pretty(&RequestFile::from(request.clone())).unwrap();
        let file: RequestFile = serde_json::from_str(&text).unwrap();
        let read = Request::try_from(file).unwrap();
        assert_eq!(read, request);
        assert_eq!(
            ask_state(&read, &alice(), &hash(&request)),
            AskState::Pending
        );
    }
}
