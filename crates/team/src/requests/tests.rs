use super::*;
use crate::Actor;
use protocol::{AgentName, Body, Incarnation, Message, Party, RequestKind, RequestState};
use rules::WhyIgnored;
use std::time::Duration;
use teamdir::Options;
use test_support::TempTeam;

fn alice() -> AgentName {
    AgentName::new("alice").unwrap()
}

fn ask(temp: &TempTeam, timeout: u64) -> Request {
    let options = ShutdownOptions {
        to: alice(),
        reason: String::new(),
        timeout: Duration::from_secs(timeout),
        force: false,
        lead_leaves: false,
    };
    ask_shutdown(
        temp.team(),
        &Actor::lead(Incarnation(1)),
        &options,
        Incarnation(1),
    )
    .unwrap()
}

fn answer_of(request: &Request, from: &str, incarnation: u64, approve: bool) -> Message {
    let mut message = Message::new(Body::ShutdownResponse {
        request_id: request.id.clone(),
        approve,
        reason: "done".to_owned(),
    });
    message.from = Some(from.parse::<Party>().unwrap().into());
    message.from_incarnation = Some(Incarnation(incarnation));
    message
}

#[test]
fn an_answer_counts_once_and_only_from_the_incarnation_that_was_asked() {
    let temp = TempTeam::new(&["alice", "bob"], Options::default());
    let request = ask(&temp, 60);
    assert_eq!(temp.unread(&request.to), 1);
    for (from, incarnation) in [("bob", 1), ("alice", 2)] {
        let answered =
            record_mailed_answer(temp.team(), &answer_of(&request, from, incarnation, true))
                .unwrap();
        assert!(
            matches!(answered, Some(MailedAnswer::Ignored { .. })),
            "{answered:?}"
        );
    }
    let yes = answer_of(&request, "alice", 1, true);
    let answered = record_mailed_answer(temp.team(), &yes).unwrap();
    assert!(
        matches!(answered, Some(MailedAnswer::Recorded(_))),
        "{answered:?}"
    );
    let again = record_mailed_answer(temp.team(), &yes).unwrap();
    assert!(
        matches!(again, Some(MailedAnswer::AlreadyRecorded(_))),
        "{again:?}"
    );
    let no = record_mailed_answer(temp.team(), &answer_of(&request, "alice", 1, false)).unwrap();
    let Some(MailedAnswer::Ignored { why, .. }) = no else {
        panic!("{no:?}");
    };
    assert!(matches!(why, WhyIgnored::AlreadyDecided { .. }));
    let stored = temp.team().request(&request.id).unwrap();
    assert!(matches!(stored.state, RequestState::Approved(_)));
    assert_eq!(stored.ignored.len(), 3);
}

#[test]
fn a_request_past_its_deadline_or_to_a_dead_member_expires() {
    let temp = TempTeam::new(&["alice"], Options::default());
    let late = ask(&temp, 0);
    let dead = ask(&temp, 60);
    let found = overdue(temp.team(), teamdir::now()).unwrap();
    let ended = expire_overdue(temp.team(), found, teamdir::now());
    let ids: Vec<_> = ended.iter().map(|request| &request.id).collect();
    assert!(
        ids.contains(&&late.id) && ids.contains(&&dead.id),
        "{ids:?}"
    );
    assert_eq!(pending(temp.team()).unwrap(), []);
    let answered = record_mailed_answer(temp.team(), &answer_of(&late, "alice", 1, true)).unwrap();
    assert!(matches!(answered, Some(MailedAnswer::Ignored { .. })));
}

#[test]
fn a_plan_is_decided_once_and_its_author_is_notified_once() {
    let temp = TempTeam::new(&["alice"], Options::default());
    let team = temp.team();
    let first = submit_plan(team, &alice(), Incarnation(1), "1. Read.").unwrap();
    let second = submit_plan(team, &alice(), Incarnation(1), "1. Write.").unwrap();
    let waiting = pending(team).unwrap();
    assert_eq!(
        waiting.iter().map(|r| &r.id).collect::<Vec<_>>(),
        [&second.id]
    );
    let expired = decide_plan(team, &Actor::user(), &first.id, true, "").unwrap_err();
    assert!(expired.to_string().contains("expired"), "{expired}");

    let yes = decide_plan(team, &Actor::user(), &second.id, true, "go").unwrap();
    assert!(matches!(yes.state, RequestState::Approved(_)));
    decide_plan(team, &Actor::user(), &second.id, true, "go").unwrap();
    let other = decide_plan(team, &Actor::user(), &second.id, false, "").unwrap_err();
    assert!(other.to_string().contains("already approved"), "{other}");
    let mut session =
        teamdir::MemberSession::open(team, &alice().into(), teamdir::WatchChoice::Poll).unwrap();
    let mail = session.try_next().unwrap().unwrap().mail;
    assert_eq!(mail.len(), 1, "the repeat is recognised by its id");
}

#[test]
fn a_plan_that_came_without_a_request_gets_one() {
    let temp = TempTeam::new(&["alice"], Options::default());
    let mut message = Message::new(Body::PlanApprovalRequest {
        request_id: "abc".parse().unwrap(),
        plan: "Read.".to_owned(),
        content: String::new(),
    });
    assert_eq!(record_plan(temp.team(), &message).unwrap(), None);
    message.from = Some(Party::Member(alice()).into());
    assert!(record_plan(temp.team(), &message).unwrap().is_some());
    assert_eq!(record_plan(temp.team(), &message).unwrap(), None);
    decide_plan(
        temp.team(),
        &Actor::user(),
        &"abc".parse().unwrap(),
        false,
        "no",
    )
    .unwrap();
}

#[test]
fn an_answer_that_came_after_the_request_was_found_overdue_still_counts() {
    let temp = TempTeam::new(&["alice"], Options::default());
    // No process runs as alice, so the request is found overdue.
    let request = ask(&temp, 60);
    let found = overdue(temp.team(), teamdir::now()).unwrap();
    assert_eq!(found.len(), 1);
    let answered =
        record_mailed_answer(temp.team(), &answer_of(&request, "alice", 1, true)).unwrap();
    assert!(matches!(answered, Some(MailedAnswer::Recorded(_))));
    assert_eq!(expire_overdue(temp.team(), found, teamdir::now()), []);
    let stored = temp.team().request(&request.id).unwrap();
    assert!(matches!(stored.state, RequestState::Approved(_)));
}

/// The number of pending plans, after the overdue requests expired.
fn waiting_plans(temp: &TempTeam) -> usize {
    let found = overdue(temp.team(), teamdir::now()).unwrap();
    expire_overdue(temp.team(), found, teamdir::now());
    let left = pending(temp.team()).unwrap();
    left.iter()
        .filter(|r| r.kind() == RequestKind::Plan)
        .count()
}

#[test]
fn a_plan_stays_pending_while_its_author_may_be_restarted() {
    let temp = TempTeam::new(&["alice"], Options::default());
    let team = temp.team();
    let guard = team.join(&alice().into()).unwrap();
    submit_plan(team, &alice(), Incarnation(1), "1. Read.").unwrap();
    let request = ask(&temp, 60);
    assert_eq!(waiting_plans(&temp), 1, "it runs");
    record_mailed_answer(team, &answer_of(&request, "alice", 1, true)).unwrap();
    assert_eq!(waiting_plans(&temp), 1, "it has approved, and still runs");
    drop(guard);
    assert_eq!(waiting_plans(&temp), 0, "it has ended");
    // Its next incarnation makes a plan and is merely killed.
    let guard = team.join(&alice().into()).unwrap();
    submit_plan(team, &alice(), Incarnation(2), "1. Write.").unwrap();
    drop(guard);
    assert_eq!(waiting_plans(&temp), 1, "it may be restarted");
    let changed = team.update_roster(|roster| {
        roster.member_mut(&alice()).unwrap().gave_up = Some("too often".to_owned());
        Ok::<_, teamdir::RosterError>(())
    });
    changed.unwrap();
    assert_eq!(waiting_plans(&temp), 0, "it is not restarted any more");
}

#[test]
fn a_plan_of_a_removed_member_expires() {
    let temp = TempTeam::new(&["alice"], Options::default());
    let team = temp.team();
    let plan = submit_plan(team, &alice(), Incarnation(1), "1. Read.").unwrap();
    let changed = team.update_roster(|roster| {
        roster.members.clear();
        Ok::<_, teamdir::RosterError>(())
    });
    changed.unwrap();
    let (_, why) = unanswerable(team, teamdir::now()).unwrap().remove(0);
    assert_eq!(why, ExpireReason::AuthorLeft);
    assert_eq!(waiting_plans(&temp), 0);
    let stored = team.request(&plan.id).unwrap();
    assert!(matches!(stored.state, RequestState::Expired { .. }));
}

#[test]
fn an_answer_is_recorded_before_it_is_mailed_and_only_by_the_incarnation_that_was_asked() {
    let temp = TempTeam::new(&["alice", "bob"], Options::default());
    let team = temp.team();
    let request = ask(&temp, 60);
    let member = |name: &str, incarnation| {
        Actor::member(AgentName::new(name).unwrap(), Incarnation(incarnation))
    };
    let wrong_kind = decide_plan(team, &Actor::user(), &request.id, true, "");
    assert!(matches!(wrong_kind, Err(AnswerError::WrongKind { .. })));
    for wrong in [member("bob", 1), member("alice", 2), Actor::user()] {
        let refused = answer_shutdown(team, &wrong, &request.id, true, "");
        assert!(
            matches!(refused, Err(AnswerError::Refused { .. })),
            "{refused:?}"
        );
    }
    assert_eq!(team.request(&request.id).unwrap(), request);
    assert_eq!(temp.unread(&Recipient::Lead), 0, "nothing was mailed");

    let alice = member("alice", 1);
    let answered = answer_shutdown(team, &alice, &request.id, true, "fine").unwrap();
    assert_eq!(team.request(&request.id).unwrap(), answered);
    assert!(matches!(answered.state, RequestState::Approved(_)));
    assert_eq!(temp.unread(&Recipient::Lead), 1);
    // The same answer is mailed again; another one has no effect.
    answer_shutdown(team, &alice, &request.id, true, "fine").unwrap();
    let other = answer_shutdown(team, &alice, &request.id, false, "no");
    assert!(
        matches!(other, Err(AnswerError::Refused { .. })),
        "{other:?}"
    );
    assert_eq!(team.request(&request.id).unwrap(), answered);
    let mut lead =
        teamdir::MemberSession::open(team, &Recipient::Lead, teamdir::WatchChoice::Poll).unwrap();
    let mail = lead.try_next().unwrap().unwrap().mail;
    let [only] = mail.as_slice() else {
        panic!("{mail:?}");
    };
    let protocol::Line::Message(message) = only.decode() else {
        panic!("{only:?}");
    };
    let read = record_mailed_answer(team, &message).unwrap();
    assert!(
        matches!(read, Some(MailedAnswer::AlreadyRecorded(_))),
        "{read:?}"
    );
    assert_eq!(team.request(&request.id).unwrap(), answered);
}

#[test]
fn a_late_answer_is_not_recorded_by_its_sender() {
    let temp = TempTeam::new(&["alice"], Options::default());
    let request = ask(&temp, 0);
    let alice = Actor::member(alice(), Incarnation(1));
    let late = answer_shutdown(temp.team(), &alice, &request.id, true, "");
    let Err(AnswerError::Refused { why, .. }) = late else {
        panic!("{late:?}");
    };
    assert_eq!(why, WhyIgnored::Late);
    assert_eq!(temp.unread(&Recipient::Lead), 0);
}

/// Any process can write to an inbox, so mail alone opens no plan gate.
#[test]
fn mail_alone_decides_no_plan() {
    let temp = TempTeam::new(&["alice"], Options::default());
    let plan = submit_plan(temp.team(), &alice(), Incarnation(1), "1. Read.").unwrap();
    for from in [Party::Lead, Party::User] {
        let mut message = Message::new(Body::PlanApprovalResponse {
            request_id: plan.id.clone(),
            approve: true,
            feedback: String::new(),
        });
        message.from = Some(from.into());
        let read = record_mailed_answer(temp.team(), &message).unwrap();
        let Some(MailedAnswer::Ignored { why, .. }) = read else {
            panic!("{read:?}");
        };
        assert_eq!(why, WhyIgnored::NotRecorded(RequestKind::Plan));
    }
    let stored = temp.team().request(&plan.id).unwrap();
    assert_eq!(
        (stored.status(), stored.ignored.len()),
        (RequestStatus::Pending, 2)
    );
}

/// Between the commit of the mail and its handling, another process may expire overdue requests.
#[test]
fn an_answer_that_was_only_mailed_is_recorded_before_its_mail_counts_as_read() {
    let temp = TempTeam::new(&["alice"], Options::default());
    let team = temp.team();
    let request = ask(&temp, 60);
    let alice = Actor::member(alice(), Incarnation(1));
    mail_unrecorded_answer(team, &alice, &request.id, true, "").unwrap();
    let mut lead =
        teamdir::MemberSession::open(team, &Recipient::Lead, teamdir::WatchChoice::Poll).unwrap();
    lead.before_commit(record_before_commit(team));
    // No process runs as alice, so the request is found overdue.
    let found = overdue(team, teamdir::now()).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(lead.try_next().unwrap().unwrap().mail.len(), 1);
    assert_eq!(expire_overdue(team, found, teamdir::now()), []);
    let stored = team.request(&request.id).unwrap();
    assert!(matches!(stored.state, RequestState::Approved(_)));
}

#[test]
fn a_shutdown_request_is_sent_again_only_if_it_may_not_have_been_sent() {
    let temp = TempTeam::new(&["alice"], Options::default());
    let team = temp.team();
    let request = ask(&temp, 600);
    let inbox = team.layout().inbox(&request.to);
    let copies = || std::fs::read_to_string(&inbox).unwrap().lines().count();
    deliver_unsent_shutdown(team, &request).unwrap();
    assert_eq!(copies(), 1);
    // As if its author had been killed between the file of the request and the mail.
    std::fs::remove_file(team.layout().events()).unwrap();
    deliver_unsent_shutdown(team, &request).unwrap();
    assert_eq!(copies(), 2);
}
