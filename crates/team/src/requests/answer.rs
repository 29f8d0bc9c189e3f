//! Answers: the answering process records the answer in the request's file, then mails it to the asker.
//!
//! The request file is authoritative from the moment it is written, whether or not the mail is read. Mail
//! about an answer is built from the file, so it never claims more than the file says. A member that knows
//! nothing of request files only sends the mail; then the reader of the mail records the answer, by the
//! same rule.

use super::ask::{FollowUpError, follow_up};
use super::elsewhere::{find_request, send_answer};
use super::shutdown::shutdown_response;
use super::{addressee, change};
use crate::{Actor, send_message};
use protocol::{
    Answer, Body, GrantScope, HostId, Message, MessageId, Party, Recipient, Request, RequestId,
    RequestKind, RequestState, Sender,
};
use rules::{Addressee, AnswerSource, Response, Verdict, WhyIgnored, answer};
use teamdir::{CommitHook, RequestError, SendError, TeamDir, now};

/// Why a request was not answered.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    #[error("request {id} is a {} request, not a {} request", found.as_str(), expected.as_str())]
    WrongKind {
        id: RequestId,
        expected: RequestKind,
        found: RequestKind,
    },
    #[error("request {id} asks a member to shut down: only that member can answer it")]
    NotForPerson { id: RequestId },
    /// The answer does not count, and nothing was changed.
    #[error("the answer to request {id} has no effect: {why}")]
    Refused { id: RequestId, why: WhyIgnored },
    /// Somebody on this host has answered, and the home of the request has not said what became of it.
    #[error(
        "request {id} is at home on the host '{host}', and an answer{} is on its way there",
        by.as_ref().map_or_else(String::new, |by| format!(" of {by}"))
    )]
    AlreadySent {
        id: RequestId,
        host: HostId,
        by: Option<String>,
    },
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The answer is recorded and counts, but no mail about it was sent.
    #[error(
        "the answer to request {id} is recorded, but the mail about it was not sent; repeat it"
    )]
    Send { id: RequestId, source: SendError },
    /// The answer is recorded and counts.
    #[error("the answer to request {id} is recorded, and its author goes on")]
    FollowUp {
        id: RequestId,
        source: FollowUpError,
    },
}

/// What a person says to a request, or the lead in a person's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PersonAnswer<'a> {
    /// Yes to a plan or a tool call, or an answer to a question.
    pub approve: bool,
    /// The feedback, the reason or the answer; may be empty but for an answer.
    pub text: &'a str,
    /// For which calls the approval of a tool call counts; absent for this one alone.
    pub scope: Option<GrantScope>,
    /// The name of the person, where it is known.
    pub name: Option<&'a str>,
}

/// The result of recording a mailed answer.
#[derive(Debug, Clone, PartialEq)]
pub enum MailedAnswer {
    /// It counts, and was recorded now.
    Recorded(Box<Request>),
    /// It was recorded before.
    AlreadyRecorded(Box<Request>),
    /// It has no effect, and is listed in the file among the ignored answers.
    Ignored {
        request: Box<Request>,
        why: WhyIgnored,
    },
    /// There is no such request.
    Unknown(RequestId),
}

/// Answers a shutdown request: records the answer in its file under the lock of all requests, then mails it
/// to the lead. Answering the same way again only mails it again, which the recipient recognises as a repeat.
pub fn answer_shutdown(
    team: &TeamDir,
    me: &Actor,
    id: &RequestId,
    approve: bool,
    reason: &str,
) -> Result<Request, AnswerError> {
    let shutdown = own_answer(RequestKind::Shutdown, me, id);
    answer_request(
        team,
        Response {
            approve,
            text: reason.to_owned(),
            ..shutdown
        },
    )
}

/// Decides a plan: records the decision in its file under the lock of all requests, then mails it to the
/// plan's author. Deciding the same way again only mails it again.
pub fn decide_plan(
    team: &TeamDir,
    me: &Actor,
    id: &RequestId,
    approve: bool,
    feedback: &str,
) -> Result<Request, AnswerError> {
    let plan = own_answer(RequestKind::Plan, me, id);
    let decision = Response {
        approve,
        text: feedback.to_owned(),
        ..plan
    };
    match find_request(team, id)? {
        copy @ Request { host: Some(_), .. } => send_answer(team, copy, decision),
        Request { host: None, .. } => answer_request(team, decision),
    }
}

/// Answers whatever waits for a person: a plan, a tool call or a question. The first answer counts, and
/// whoever comes later gets an error that says who was first.
pub fn answer_person(
    team: &TeamDir,
    me: &Actor,
    id: &RequestId,
    answer: &PersonAnswer<'_>,
) -> Result<Request, AnswerError> {
    let found = find_request(team, id)?;
    if found.kind() == RequestKind::Shutdown {
        return Err(AnswerError::NotForPerson { id: id.clone() });
    }
    let response = Response {
        approve: answer.approve,
        text: answer.text.to_owned(),
        name: answer.name.map(str::to_owned),
        scope: answer.scope,
        ..own_answer(found.kind(), me, id)
    };
    match found.host {
        Some(_) => send_answer(team, found, response),
        None => record_answer(team, response),
    }
}

/// Records an answer to a plan, a tool call or a question that is at home here, and does what follows from it.
pub fn record_answer(team: &TeamDir, response: Response) -> Result<Request, AnswerError> {
    let id = &response.request_id;
    match response.kind {
        RequestKind::Shutdown => return Err(AnswerError::NotForPerson { id: id.clone() }),
        RequestKind::Plan => return answer_request(team, response),
        RequestKind::Permission | RequestKind::Question => {}
    }
    let recorded = record(team, &response);
    if let Err(AnswerError::Refused { .. }) = &recorded {
        // Whoever answered first may have been killed before this.
        let _ = team.request(id).map(|request| follow_up(team, &request));
    }
    let request = recorded?;
    follow_up(team, &request).map_err(|source| AnswerError::FollowUp {
        id: id.clone(),
        source,
    })?;
    Ok(request)
}

fn own_answer(kind: RequestKind, me: &Actor, id: &RequestId) -> Response {
    Response {
        kind,
        request_id: id.clone(),
        from: Some(me.party.clone().into()),
        from_incarnation: me.incarnation,
        approve: false,
        text: String::new(),
        name: None,
        scope: None,
        source: AnswerSource::Answerer,
    }
}

fn answer_request(team: &TeamDir, response: Response) -> Result<Request, AnswerError> {
    let id = &response.request_id;
    let (expected, found) = (response.kind, team.request(id)?.kind());
    if found != expected {
        let id = id.clone();
        return Err(AnswerError::WrongKind {
            id,
            expected,
            found,
        });
    }
    let request = record(team, &response)?;
    mail_answer(team, &request).map_err(|source| AnswerError::Send {
        id: id.clone(),
        source,
    })?;
    Ok(request)
}

/// Records the caller's own answer. An answer that does not count changes nothing.
fn record(team: &TeamDir, response: &Response) -> Result<Request, AnswerError> {
    let id = &response.request_id;
    let alive = addressee(team, &team.request(id)?.to);
    let mut outcome = Err(WhyIgnored::Unsigned);
    change(team, id, |request| {
        let (recorded, judged) = match answer(request, response, alive, now()) {
            Verdict::Resolved(resolved) => (Some(resolved.clone()), Ok(resolved)),
            Verdict::Ignored { .. } if is_repeated(request, response) => {
                (None, Ok(request.clone()))
            }
            Verdict::Ignored { why, .. } => (None, Err(why)),
        };
        outcome = judged;
        recorded
    })?;
    outcome.map_err(|why| AnswerError::Refused {
        id: id.clone(),
        why,
    })
}

/// Whether the caller decided the request in this way before. The lead and a person may both decide a plan,
/// so either of them may confirm the other's decision. Several people may answer a tool call or a question,
/// and all but the first are told so.
fn is_repeated(request: &Request, response: &Response) -> bool {
    match request.kind() {
        RequestKind::Shutdown | RequestKind::Plan => {}
        RequestKind::Permission | RequestKind::Question => return false,
    }
    recorded_answer(request).is_some_and(|(recorded, approve)| {
        let by_the_same = response.from == Some(Sender::Party(recorded.by.clone()));
        response.approve == approve && (by_the_same || request.kind() == RequestKind::Plan)
    })
}

/// Compares a mailed answer with the request's file, and records it if its sender has not. Returns `None`
/// for a message that is not an answer.
///
/// It counts under the same rule as an answer that its sender records. One that has no effect is listed
/// in the file once, and changes nothing else.
pub fn record_mailed_answer(
    team: &TeamDir,
    message: &Message,
) -> Result<Option<MailedAnswer>, RequestError> {
    let Some(response) = Response::of(message) else {
        return Ok(None);
    };
    let id = &response.request_id;
    let known = match team.request(id) {
        Err(RequestError::Unknown(_)) => return Ok(Some(MailedAnswer::Unknown(id.clone()))),
        result => result?,
    };
    let alive = addressee(team, &known.to);
    let (changed, mut outcome) = judge(&known, &response, alive);
    // Several processes may find the same mail. Those that come later need no lock.
    if changed.is_some() {
        change(team, id, |request| {
            let (changed, judged) = judge(request, &response, alive);
            outcome = judged;
            changed
        })?;
    }
    Ok(Some(outcome))
}

/// The result for a mailed answer, and the request to store if it changes.
fn judge(
    request: &Request,
    response: &Response,
    alive: Addressee,
) -> (Option<Request>, MailedAnswer) {
    if is_recorded(request, response) {
        let recorded = Box::new(request.clone());
        return (None, MailedAnswer::AlreadyRecorded(recorded));
    }
    match answer(request, response, alive, now()) {
        Verdict::Resolved(resolved) => {
            let recorded = Box::new(resolved.clone());
            (Some(resolved), MailedAnswer::Recorded(recorded))
        }
        Verdict::Ignored {
            request: listed,
            why,
        } => {
            let is_new = !is_listed(request, response, &why);
            let request = Box::new(if is_new {
                listed.clone()
            } else {
                request.clone()
            });
            (
                is_new.then_some(listed),
                MailedAnswer::Ignored { request, why },
            )
        }
    }
}

/// Whether the file lists this answer among the ignored ones.
fn is_listed(request: &Request, response: &Response, why: &WhyIgnored) -> bool {
    let why = why.to_string();
    request.ignored.iter().any(|ignored| {
        ignored.why == why
            && ignored.approve == Some(response.approve)
            && ignored.from == response.from
            && ignored.from_incarnation == response.from_incarnation
    })
}

/// A hook that records mailed answers before the mail that holds them is committed as read. So a mailed
/// answer is either unread or recorded: a process that checks both in this order misses none.
pub fn record_before_commit(team: &TeamDir) -> CommitHook {
    let team = team.clone();
    Box::new(move |message| {
        // A failure is retried when the message is handled.
        let _ = record_mailed_answer(&team, message);
    })
}

/// Whether the file records exactly this mailed answer.
fn is_recorded(request: &Request, response: &Response) -> bool {
    recorded_answer(request).is_some_and(|(recorded, approve)| {
        response.kind == request.kind()
            && response.approve == approve
            && response.text == recorded.text
            && response.from == Some(Sender::Party(recorded.by.clone()))
            && (response.from_incarnation.is_none()
                || response.from_incarnation == request.to_incarnation)
    })
}

/// The recorded answer of a request, and whether it is an approval.
fn recorded_answer(request: &Request) -> Option<(&Answer, bool)> {
    match &request.state {
        RequestState::Approved(answer) => Some((answer, true)),
        RequestState::Rejected(answer) => Some((answer, false)),
        RequestState::Pending | RequestState::Expired { .. } => None,
    }
}

/// Mails the recorded answer to the asker. Sending it again has no effect, because its id is derived from
/// the request's.
fn mail_answer(team: &TeamDir, request: &Request) -> Result<(), SendError> {
    let Some((recorded, approve)) = recorded_answer(request) else {
        return Ok(());
    };
    let message = match request.kind() {
        RequestKind::Shutdown => shutdown_response(&request.id, approve, &recorded.text),
        RequestKind::Plan => Message::new(Body::PlanApprovalResponse {
            request_id: request.id.clone(),
            approve,
            feedback: recorded.text.clone(),
        }),
        // Their authors read the file, and the result of the call says what became of it.
        RequestKind::Permission | RequestKind::Question => return Ok(()),
    };
    let answerer = Actor {
        party: recorded.by.clone(),
        incarnation: request.to_incarnation,
    };
    let mut message = answerer.sign(message);
    message.id = answer_id(&request.id);
    message.to = Some(match &request.from {
        Party::Member(name) => Recipient::Member(name.clone()),
        // A person and the program have no inbox; the lead receives it instead.
        Party::Lead | Party::User | Party::System => Recipient::Lead,
    });
    send_message(team, message).map(|_| ())
}

pub(super) fn answer_id(id: &RequestId) -> Option<MessageId> {
    MessageId::new(&format!("{id}/answer")).ok()
}
