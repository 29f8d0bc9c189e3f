//! Asks a person: may this tool call run, and what do you say?
//!
//! The author chooses the id and records it in its journal before the file exists. So it can be killed at any
//! point and asks once: whoever goes on with the call finds the id, and then the file or none.

use super::change;
use crate::{Actor, notice};
use protocol::{
    NoticeCause, Party, PermissionAsk, QuestionAsk, Recipient, Request, RequestId, RequestState,
    Subject,
};
use rules::{
    AdoptRefusal, ExpireReason, OpenAskRefusal, Opening, adopt, asked_hash, call_text, decider,
    due, expire, granted, lead_may_answer, notified, open_permission, open_question, request_line,
};
use std::time::Duration;
use teamdir::{PathError, RequestError, SendError, TeamDir, TeamFileError, now};

/// What a person is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    Permission(PermissionAsk),
    Question(QuestionAsk),
}

/// Why a person was not asked.
#[derive(Debug, thiserror::Error)]
pub enum AskPersonError {
    #[error(transparent)]
    Refused(#[from] OpenAskRefusal),
    /// The id belongs to another request.
    #[error("request {id} cannot be used: {why}")]
    Taken { id: RequestId, why: AdoptRefusal },
    #[error(transparent)]
    Request(#[from] RequestError),
}

/// Why what follows from an answer was not done. The answer counts all the same.
#[derive(Debug, thiserror::Error)]
pub enum FollowUpError {
    #[error("the rule that it grants was not stored")]
    Grant(#[from] TeamFileError),
    #[error("the lead was not told")]
    Send(#[from] SendError),
}

/// The request for this, checked, and with the hash that binds an answer to it. Stores nothing.
pub fn prepare_ask(
    me: &Actor,
    id: &RequestId,
    ask: Ask,
    timeout: Option<Duration>,
) -> Result<Request, OpenAskRefusal> {
    let made = now();
    let opening = Opening {
        id: id.clone(),
        from: me.party.clone(),
        from_incarnation: me.incarnation,
        to: Recipient::Lead,
        to_incarnation: None,
        now: made,
    };
    let deadline = timeout.map(|timeout| made.plus(timeout));
    match ask {
        Ask::Permission(ask) => open_permission(opening, deadline, ask),
        Ask::Question(ask) => open_question(opening, deadline, ask),
    }
}

/// Stores a prepared request. If an earlier incarnation has stored it, this one takes it over, with the
/// answer if there is one.
pub fn ask_person(team: &TeamDir, request: Request) -> Result<Request, AskPersonError> {
    match team.create_request(&request) {
        Ok(()) => {
            tell_lead(team, &request);
            Ok(request)
        }
        Err(RequestError::Exists(_)) => take_over(team, &request),
        Err(error) => Err(error.into()),
    }
}

/// Lets the lead's model know that it may answer. If this fails, the request is still in the state of the
/// team that the model is given.
fn tell_lead(team: &TeamDir, request: &Request) {
    if !lead_may_answer(request) {
        return;
    }
    let id = &request.id;
    let text = format!(
        "{}. Answer with answer_request, request_id {id}.",
        request_line(request)
    );
    let cause = NoticeCause::AnswerNeeded;
    let _ = notice(team, Recipient::Lead, cause, &format!("{id}/ask"), &text);
}

fn take_over(team: &TeamDir, wanted: &Request) -> Result<Request, AskPersonError> {
    let me = Actor {
        party: wanted.from.clone(),
        incarnation: wanted.from_incarnation,
    };
    let hash = asked_hash(&wanted.subject).cloned().unwrap_or_default();
    let taken = team.update_request(&wanted.id, |stored| {
        let adopted = adopt(&stored, &me, &hash);
        let stored = adopted.as_ref().map_or(stored, Request::clone);
        Ok::<_, RequestError>((stored, adopted))
    })?;
    taken.map_err(|why| AskPersonError::Taken {
        id: wanted.id.clone(),
        why,
    })
}

/// Everything that waits for a person here, oldest first: what is at home here, and the copies of what is at home
/// on other hosts.
pub fn waiting(team: &TeamDir) -> Result<Vec<Request>, PathError> {
    let mut pending = super::all_pending(team)?;
    pending.retain(|request| request.kind().waits_for_person());
    Ok(pending)
}

/// Those of them that are at home here.
fn waiting_here(team: &TeamDir) -> Result<Vec<Request>, PathError> {
    let mut pending = super::pending(team)?;
    pending.retain(|request| request.kind().waits_for_person());
    Ok(pending)
}

/// Expires a request of the caller whose deadline has passed. Returns it as it is then.
pub fn expire_at_deadline(team: &TeamDir, id: &RequestId) -> Result<Request, RequestError> {
    let time = now();
    let expired = change(team, id, |request| {
        let reason = due(request, rules::Addressee::Unknown, time)?;
        expire(request, reason, time).ok()
    })?;
    expired.map_or_else(|| team.request(id), Ok)
}

/// Ends what `party` asked and waits for no more: all its pending tool calls and questions but `kept`.
pub fn withdraw_asks(team: &TeamDir, party: &Party, kept: &[RequestId]) -> Result<(), PathError> {
    for request in waiting_here(team)? {
        if is_ask(&request) && request.from == *party && !kept.contains(&request.id) {
            // The next start finds what could not be expired now.
            let _ = change(team, &request.id, |request| {
                expire(request, ExpireReason::Withdrawn, now()).ok()
            });
        }
    }
    Ok(())
}

/// Ends one such request. Returns whether it was pending.
pub fn withdraw_ask(team: &TeamDir, id: &RequestId) -> Result<bool, RequestError> {
    let ended = change(team, id, |request| {
        expire(request, ExpireReason::Withdrawn, now()).ok()
    })?;
    Ok(ended.is_some())
}

/// Ends all that only a person could answer, because there is none. Returns what was ended.
pub fn deny_unattended(team: &TeamDir) -> Result<Vec<Request>, PathError> {
    let mut ended = Vec::new();
    for request in waiting_here(team)? {
        if is_ask(&request) && !lead_may_answer(&request) {
            let changed = change(team, &request.id, |request| {
                expire(request, ExpireReason::NobodyThere, now()).ok()
            });
            ended.extend(changed.ok().flatten());
        }
    }
    Ok(ended)
}

fn is_ask(request: &Request) -> bool {
    match request.subject {
        Subject::Permission(_) | Subject::Question(_) => true,
        Subject::Shutdown { .. } | Subject::Plan { .. } => false,
    }
}

/// Tells the user of a request with `tell`, unless that was done before, and marks it as done.
///
/// The mark follows the telling, so that a process that is killed between the two tells the user twice rather
/// than never. The lock of the request is held meanwhile, so that of several processes one tells the user; it
/// is free again if that process is killed. Therefore `tell` must not wait for anything.
pub fn notify_once<E>(
    team: &TeamDir,
    id: &RequestId,
    tell: impl FnOnce(&Request) -> Result<(), E>,
) -> Result<Result<(), E>, RequestError> {
    let mut told = Ok(());
    change(team, id, |request| {
        let marked = notified(request, now())?;
        told = tell(request);
        told.is_ok().then_some(marked)
    })?;
    Ok(told)
}

/// Does what follows from an answered tool call or question: stores the rule that it grants, and tells the
/// lead. Whoever answers does this, and the author does it again before it acts on the answer, so it happens
/// if either of them is killed. Doing it twice has no effect.
pub fn follow_up(team: &TeamDir, request: &Request) -> Result<(), FollowUpError> {
    if let Some(grant) = granted(request) {
        team.update_grants(|grants| grants.add(grant))?;
    }
    match answer_notice(request) {
        Some(text) => {
            let id = format!("{}/answered", request.id);
            notice(team, Recipient::Lead, NoticeCause::Answered, &id, &text)?;
            Ok(())
        }
        None => Ok(()),
    }
}

/// What the lead is told about an answer to a member: every refusal, and whatever a person said. A bare
/// permission is no news.
fn answer_notice(request: &Request) -> Option<String> {
    let (answer, approved) = match &request.state {
        RequestState::Approved(answer) => (answer, true),
        RequestState::Rejected(answer) => (answer, false),
        RequestState::Pending | RequestState::Expired { .. } => return None,
    };
    let Party::Member(member) = &request.from else {
        return None;
    };
    if answer.by == Party::Lead {
        return None;
    }
    let (who, text) = (decider(answer), &answer.text);
    let said = match text.is_empty() {
        true => String::new(),
        false => format!(": {text}"),
    };
    match &request.subject {
        Subject::Permission(ask) => {
            let call = call_text(ask);
            match approved {
                true if text.is_empty() => None,
                true => Some(format!("{who} allowed {member} to run {call:?}{said}")),
                false => Some(format!(
                    "{who} did not allow {member} to run {call:?}{said}"
                )),
            }
        }
        Subject::Question(ask) => {
            let question = &ask.question;
            Some(match approved {
                true => format!("{who} answered {member}'s question {question:?}{said}"),
                false => format!("{who} did not answer {member}'s question {question:?}{said}"),
            })
        }
        Subject::Shutdown { .. } | Subject::Plan { .. } => None,
    }
}
