//! Requests: who sees a copy, whose answer counts, and that it is recorded once.

use super::{cross, host, inbox, open, pending, team, two_hosts};
use bridge::{Core, Refusal, admit_answer, admit_request};
use protocol::{
    Actor, AgentName, Frame, Incarnation, Party, Payload, QuestionAsk, Recipient, Request,
    RequestFile, RequestId, RequestKind, RequestState, RequestStatus, SentAnswer,
};
use std::time::Duration;
use team::{Ask, PersonAnswer};
use teamdir::TeamDir;

const ALICE: &str = "alice";

fn ask(team: &TeamDir, id: &str, timeout: Option<Duration>) -> RequestId {
    let actor = Actor::member(AgentName::new(ALICE).unwrap(), Incarnation(1));
    let id = RequestId::new(id).unwrap();
    let ask = Ask::Question(QuestionAsk {
        question: "Which port?".to_owned(),
        choices: vec!["8080".to_owned(), "3000".to_owned()],
        free_text: false,
        call_hash: String::new(),
        lead_decides: false,
    });
    let request = team::prepare_ask(&actor, &id, ask, timeout).unwrap();
    team::ask_person(team, request).unwrap();
    id
}

fn person<'a>(text: &'a str, name: &'a str) -> PersonAnswer<'a> {
    PersonAnswer {
        approve: true,
        text,
        scope: None,
        name: Some(name),
    }
}

/// Until nothing waits on either side.
fn settle(a: &mut Core, b: &mut Core) {
    for _ in 0..4 {
        cross(a, b);
        cross(b, a);
    }
}

fn decided(team: &TeamDir, id: &RequestId) -> (RequestStatus, Option<String>, String) {
    let request = team::find_request(team, id).unwrap();
    match &request.state {
        RequestState::Approved(answer) | RequestState::Rejected(answer) => {
            (request.status(), answer.name.clone(), answer.text.clone())
        }
        RequestState::Pending => (request.status(), None, String::new()),
        RequestState::Expired { reason, .. } => (request.status(), None, reason.clone()),
    }
}

#[test]
fn a_question_is_answered_on_the_host_of_the_lead_and_recorded_at_home() {
    let place = tempfile::tempdir().unwrap();
    let (laptop, gpu, mut a, mut b) = two_hosts(place.path(), &["bob"]);
    settle(&mut a, &mut b);
    let id = ask(&gpu, "11112222", None);
    settle(&mut a, &mut b);
    let copy = team::find_request(&laptop, &id).unwrap();
    assert_eq!(copy.host, Some(host("gpu1")));
    assert_eq!(team::waiting(&laptop).unwrap().len(), 1);
    assert_eq!(laptop.requests().unwrap().len(), 0, "it is a copy");

    let wrong = team::answer_person(&laptop, &Actor::user(), &id, &person("3", "anna"));
    assert!(
        wrong
            .unwrap_err()
            .to_string()
            .contains("not one of the choices")
    );
    let sent = team::answer_person(&laptop, &Actor::user(), &id, &person("2", "anna")).unwrap();
    assert_eq!(
        (sent.status(), sent.sent.unwrap().text),
        (RequestStatus::Pending, "3000".into())
    );
    let again = team::answer_person(&laptop, &Actor::user(), &id, &person("1", "ben"));
    assert!(
        again
            .unwrap_err()
            .to_string()
            .contains("an answer of anna (user) is on its way")
    );
    assert_eq!(decided(&gpu, &id).0, RequestStatus::Pending);
    settle(&mut a, &mut b);
    let by = Some("anna@laptop".to_owned());
    for team in [&gpu, &laptop] {
        assert_eq!(
            decided(team, &id),
            (RequestStatus::Approved, by.clone(), "3000".into())
        );
    }
    let copy = team::find_request(&laptop, &id).unwrap();
    assert!(team::was_recorded(&copy, &host("laptop")));
    assert_eq!(laptop.sent_answers().unwrap(), []);
    assert!(inbox(&laptop, "lead")[0].contains("answered alice's question"));
}

#[test]
fn the_first_answer_counts_and_the_other_host_learns_whose_it_is() {
    let place = tempfile::tempdir().unwrap();
    let (laptop, gpu, mut a, mut b) = two_hosts(place.path(), &["bob"]);
    settle(&mut a, &mut b);
    let id = ask(&gpu, "11112222", None);
    settle(&mut a, &mut b);
    team::answer_person(&laptop, &Actor::user(), &id, &person("1", "anna")).unwrap();
    team::answer_person(&gpu, &Actor::user(), &id, &person("2", "ben")).unwrap();
    settle(&mut a, &mut b);
    let ben = (
        RequestStatus::Approved,
        Some("ben".to_owned()),
        "3000".to_owned(),
    );
    assert_eq!(decided(&gpu, &id), ben);
    assert_eq!(decided(&laptop, &id), ben);
    let copy = team::find_request(&laptop, &id).unwrap();
    assert!(!team::was_recorded(&copy, &host("laptop")));
    assert_eq!(
        copy.sent.unwrap().text,
        "8080",
        "what was said here can still be seen"
    );
}

#[test]
fn an_answer_that_comes_after_the_deadline_changes_nothing_and_the_copy_expires() {
    let place = tempfile::tempdir().unwrap();
    let (laptop, gpu, mut a, mut b) = two_hosts(place.path(), &["bob"]);
    settle(&mut a, &mut b);
    let id = ask(&gpu, "11112222", Some(Duration::ZERO));
    settle(&mut a, &mut b);
    // Its own clock does not count here.
    team::answer_person(&laptop, &Actor::user(), &id, &person("1", "anna")).unwrap();
    settle(&mut a, &mut b);
    assert_eq!(decided(&gpu, &id).0, RequestStatus::Expired);
    assert_eq!(decided(&laptop, &id).0, RequestStatus::Expired);
    assert_eq!(laptop.sent_answers().unwrap(), []);
}

#[test]
fn whichever_bridge_is_killed_a_copy_is_closed_and_an_answer_recorded_once() {
    let place = tempfile::tempdir().unwrap();
    let (laptop, gpu, mut a, mut b) = two_hosts(place.path(), &["bob"]);
    settle(&mut a, &mut b);
    for step in 0..6 {
        let id = ask(&gpu, &format!("1111222{step}"), None);
        b.collect().unwrap();
        if step == 0 {
            drop(b);
            b = open(&gpu, "gpu1", "laptop");
        }
        settle(&mut a, &mut b);
        team::answer_person(&laptop, &Actor::user(), &id, &person("1", "anna")).unwrap();
        if step == 1 {
            drop(a);
            a = open(&laptop, "laptop", "gpu1");
        }
        a.collect().unwrap();
        if step == 2 {
            drop(a);
            a = open(&laptop, "laptop", "gpu1");
        }
        // Applied, and the acknowledgement is lost.
        b.apply(&pending(&a, "gpu1")).unwrap();
        if step == 3 {
            drop(b);
            b = open(&gpu, "gpu1", "laptop");
        }
        b.collect().unwrap();
        if step == 4 {
            drop(b);
            b = open(&gpu, "gpu1", "laptop");
        }
        a.apply(&pending(&b, "laptop")).unwrap();
        if step == 5 {
            drop(a);
            a = open(&laptop, "laptop", "gpu1");
        }
        settle(&mut a, &mut b);
        for team in [&gpu, &laptop] {
            assert_eq!(decided(team, &id).0, RequestStatus::Approved, "step {step}");
        }
        assert_eq!(gpu.request(&id).unwrap().ignored, []);
    }
    assert_eq!(laptop.sent_answers().unwrap(), []);
    assert_eq!(gpu.told_requests().unwrap().len(), 0);
}

/// A frame that the host did not make by itself.
fn forged(core: &mut Core, peer: &str, payload: Payload) -> Vec<Frame> {
    core.outbox(&host(peer))
        .unwrap()
        .append(vec![payload])
        .unwrap();
    pending(core, peer)
}

fn forged_answer(id: &RequestId, by: Party) -> Payload {
    Payload::Answer {
        answer: SentAnswer {
            request_id: id.clone(),
            kind: RequestKind::Question,
            by,
            name: Some("root".to_owned()),
            approve: true,
            text: "1".to_owned(),
            scope: None,
            at: teamdir::now(),
            extra: protocol::Extra::new(),
        },
    }
}

/// A host without the lead neither sees nor answers what is asked on the others, unless they let it.
#[test]
fn a_host_that_may_not_answer_changes_nothing_and_is_told_why() {
    let place = tempfile::tempdir().unwrap();
    let laptop = team(&place.path().join("a"), &["alice"]);
    let gpu = team(&place.path().join("b"), &["bob"]);
    let (mut a, mut b) = (
        open(&laptop, "laptop", "gpu1"),
        open(&gpu, "gpu1", "laptop"),
    );
    settle(&mut a, &mut b);
    let id = ask(&laptop, "11112222", None);
    settle(&mut a, &mut b);
    assert_eq!(team::waiting(&gpu).unwrap(), [], "it is not shown there");
    let before = laptop.request(&id).unwrap();
    let frames = forged(&mut b, "laptop", forged_answer(&id, Party::User));
    a.apply(&frames).unwrap();
    assert_eq!(laptop.request(&id).unwrap(), before);
    let reply = pending(&a, "gpu1");
    assert!(matches!(
        &reply.last().unwrap().payload,
        Payload::AnswerRefused { reason, .. } if reason.contains("--accept-answers")
    ));

    a.accept_answers();
    settle(&mut a, &mut b);
    assert_eq!(team::waiting(&gpu).unwrap().len(), 1);
    let frames = forged(&mut b, "laptop", forged_answer(&id, Party::Lead));
    a.apply(&frames).unwrap();
    assert_eq!(
        laptop.request(&id).unwrap(),
        before,
        "the lead is not at home there"
    );
    team::answer_person(&gpu, &Actor::user(), &id, &person("2", "ben@laptop")).unwrap();
    settle(&mut a, &mut b);
    let (status, name, _) = decided(&laptop, &id);
    assert_eq!(
        (status, name),
        (RequestStatus::Approved, Some("benlaptop@gpu1".to_owned()))
    );
}

#[test]
fn a_host_shows_only_what_those_at_home_there_ask_a_person() {
    let place = tempfile::tempdir().unwrap();
    let (laptop, gpu, mut a, mut b) = two_hosts(place.path(), &["bob"]);
    settle(&mut a, &mut b);
    let id = ask(&gpu, "11112222", None);
    let own = gpu.request(&id).unwrap();
    let roster = laptop.roster().unwrap();
    let admitted = |request: &Request| {
        admit_request(&roster, &host("gpu1"), &RequestFile::from(request.clone()))
    };
    assert!(admitted(&own).is_ok());
    for from in [
        Party::Member(AgentName::new("bob").unwrap()),
        Party::Lead,
        Party::User,
    ] {
        let other = Request {
            from,
            ..own.clone()
        };
        assert!(matches!(admitted(&other), Err(Refusal::OtherSender { .. })));
    }
    let to_bob = Request {
        to: Recipient::Member(AgentName::new("bob").unwrap()),
        ..own.clone()
    };
    assert!(matches!(admitted(&to_bob), Err(Refusal::NotForPeople(_))));
    // Of two with one id, the one that is known stays.
    let taken = ask(&laptop, "33334444", None);
    let other = Request {
        id: taken.clone(),
        ..own
    };
    let request = Box::new(RequestFile::from(other));
    let frames = forged(&mut b, "laptop", Payload::Request { request });
    a.apply(&frames).unwrap();
    assert_eq!(team::find_request(&laptop, &taken).unwrap().host, None);
}

#[test]
fn only_people_and_the_lead_at_home_answer() {
    let place = tempfile::tempdir().unwrap();
    let (_, gpu, mut a, mut b) = two_hosts(place.path(), &["bob"]);
    settle(&mut a, &mut b);
    let roster = gpu.roster().unwrap();
    let id = RequestId::new("11112222").unwrap();
    let admitted = |from: &str, by: Party, kind: RequestKind| {
        let Payload::Answer { answer } = forged_answer(&id, by) else {
            unreachable!();
        };
        admit_answer(&roster, &host(from), false, &SentAnswer { kind, ..answer })
    };
    let kind = RequestKind::Question;
    assert_eq!(
        admitted("laptop", Party::User, kind)
            .unwrap()
            .name
            .as_deref(),
        Some("root@laptop")
    );
    assert!(admitted("laptop", Party::Lead, kind).is_ok());
    assert!(admitted("other", Party::User, kind).is_err());
    assert!(admitted("laptop", Party::System, kind).is_err());
    let bob = Party::Member(AgentName::new("bob").unwrap());
    assert!(admitted("laptop", bob, kind).is_err());
    assert!(admitted("laptop", Party::User, RequestKind::Shutdown).is_err());
}

/// What a program that knows nothing of request files mails as its plan is recorded at home, and once.
#[test]
fn a_plan_that_is_only_mailed_gets_its_request_at_home() {
    let place = tempfile::tempdir().unwrap();
    let (laptop, gpu, mut a, mut b) = two_hosts(place.path(), &["bob"]);
    settle(&mut a, &mut b);
    let line = r#"{"type":"plan_approval_request","id":"1","from":"alice","request_id":"abc","plan":"Read."}"#;
    std::fs::write(gpu.layout().inbox(&Recipient::Lead), format!("{line}\n")).unwrap();
    settle(&mut a, &mut b);
    let id = RequestId::new("abc").unwrap();
    assert_eq!(gpu.request(&id).unwrap().status(), RequestStatus::Pending);
    let copy = team::find_request(&laptop, &id).unwrap();
    assert_eq!(copy.host, Some(host("gpu1")));
    team::decide_plan(
        &laptop,
        &Actor::lead(Incarnation(1)),
        &id,
        false,
        "Say more.",
    )
    .unwrap();
    settle(&mut a, &mut b);
    let plan = gpu.request(&id).unwrap();
    assert!(matches!(&plan.state, RequestState::Rejected(answer) if answer.by == Party::Lead));
    assert_eq!(inbox(&gpu, ALICE), ["Say more."]);
    assert_eq!(laptop.requests().unwrap().len(), 0);
}

#[test]
fn an_answer_to_a_member_that_has_left_is_recorded_and_does_not_stop_the_link() {
    let place = tempfile::tempdir().unwrap();
    let (laptop, gpu, mut a, mut b) = two_hosts(place.path(), &["bob"]);
    settle(&mut a, &mut b);
    let line = r#"{"type":"plan_approval_request","id":"1","from":"alice","request_id":"abc","plan":"Read."}"#;
    std::fs::write(gpu.layout().inbox(&Recipient::Lead), format!("{line}\n")).unwrap();
    settle(&mut a, &mut b);
    let id = RequestId::new("abc").unwrap();
    team::decide_plan(&laptop, &Actor::lead(Incarnation(1)), &id, false, "No.").unwrap();
    gpu.update_roster(|roster| {
        roster.members.clear();
        Ok::<_, teamdir::RosterError>(())
    })
    .unwrap();
    settle(&mut a, &mut b);
    assert_eq!(gpu.request(&id).unwrap().status(), RequestStatus::Rejected);
    // Its copy is closed too.
    assert_eq!(decided(&laptop, &id).0, RequestStatus::Rejected);
    assert_eq!(gpu.told_requests().unwrap().len(), 0);
    assert_eq!(laptop.frames_waiting(&host("gpu1")).unwrap(), 0);
}

#[test]
fn after_a_restart_without_the_option_other_hosts_are_told_of_no_request() {
    let place = tempfile::tempdir().unwrap();
    let laptop = team(&place.path().join("a"), &["alice"]);
    let gpu = team(&place.path().join("b"), &["bob"]);
    let mut a = open(&laptop, "laptop", "gpu1");
    let mut b = open(&gpu, "gpu1", "laptop");
    a.accept_answers();
    settle(&mut a, &mut b);
    let first = ask(&laptop, "11112222", None);
    settle(&mut a, &mut b);
    assert_eq!(team::waiting(&gpu).unwrap().len(), 1);
    drop(a);
    let mut a = open(&laptop, "laptop", "gpu1");
    let second = ask(&laptop, "33334444", None);
    team::answer_person(&laptop, &Actor::user(), &first, &person("1", "anna")).unwrap();
    settle(&mut a, &mut b);
    assert!(team::find_request(&gpu, &second).is_err());
    // Nor of the answer to what it was told of before.
    assert_eq!(decided(&gpu, &first).0, RequestStatus::Pending);
    // An answer of that host counts no more, and it is told so.
    let frames = forged(&mut b, "laptop", forged_answer(&second, Party::User));
    a.apply(&frames).unwrap();
    assert_eq!(
        laptop.request(&second).unwrap().status(),
        RequestStatus::Pending
    );
    assert!(matches!(
        &pending(&a, "gpu1").last().unwrap().payload,
        Payload::AnswerRefused { reason, .. } if reason.contains("--accept-answers")
    ));
}
