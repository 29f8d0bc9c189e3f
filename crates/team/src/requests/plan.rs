//! Plans: submitting and deciding.

use super::{change, create};
use crate::{Actor, post};
use protocol::{
    AgentName, Body, Incarnation, Message, MessageId, Party, Recipient, Request, RequestId,
    RequestKind, RequestState, RequestStatus, Sender,
};
use rules::{
    Addressee, ExpireReason, OpenPlanRefusal, Opening, Response, Verdict, WhyIgnored, answer,
    expire, open_plan,
};
use teamdir::{RequestError, SendError, TeamDir, now};

/// Why a plan was not submitted.
#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    /// The rules say no.
    #[error(transparent)]
    Refused(#[from] OpenPlanRefusal),
    /// The request could not be stored.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The request was stored, and the lead could not be told. It can be decided all the same.
    #[error("plan {id} is stored, but the lead could not be told")]
    Send {
        /// The request.
        id: RequestId,
        /// Why.
        source: SendError,
    },
}

/// Why a plan was not decided.
#[derive(Debug, thiserror::Error)]
pub enum DecideError {
    /// It is no plan.
    #[error("request {0} is no plan: only plans are approved or rejected")]
    NotAPlan(RequestId),
    /// The decision does not count.
    #[error("the decision on plan {id} has no effect: {why}")]
    Refused {
        /// The request.
        id: RequestId,
        /// Why.
        why: WhyIgnored,
    },
    /// The request could not be read or stored.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The decision is stored, and its member could not be told.
    #[error("plan {id} is decided, but its author could not be told; repeat the command")]
    Send {
        /// The request.
        id: RequestId,
        /// Why.
        source: SendError,
    },
}

/// Submits a member's plan to the lead: stores the request, then sends it. Plans of the same member
/// that were not decided yet can no longer be.
pub fn submit_plan(
    team: &TeamDir,
    name: &AgentName,
    incarnation: Incarnation,
    plan: &str,
) -> Result<Request, SubmitError> {
    let made = now();
    let request = create(team, |id| {
        let opening = Opening {
            id,
            from: Party::Member(name.clone()),
            from_incarnation: Some(incarnation),
            to: Recipient::Lead,
            to_incarnation: None,
            now: made,
        };
        Ok::<_, SubmitError>(open_plan(opening, None, plan)?)
    })?;
    supersede(team, &request);
    announce(team, &request).map_err(|source| SubmitError::Send {
        id: request.id.clone(),
        source,
    })?;
    Ok(request)
}

/// Ends the earlier plans of the same member. One that stays by mischance has no effect: the gate
/// looks at the latest alone.
fn supersede(team: &TeamDir, newest: &Request) {
    let earlier = super::pending(team).unwrap_or_default().into_iter();
    let earlier = earlier.filter(|other| {
        other.kind() == RequestKind::Plan && other.from == newest.from && other.id != newest.id
    });
    for request in earlier {
        let _ = change(team, &request.id, |request| {
            expire(request, ExpireReason::Superseded, now()).ok()
        });
    }
}

/// Tells the lead of a plan. PendingEvents it again has no effect.
fn announce(team: &TeamDir, request: &Request) -> Result<(), SendError> {
    let protocol::Subject::Plan { plan, .. } = &request.subject else {
        return Ok(());
    };
    let author = Actor {
        party: request.from.clone(),
        incarnation: request.from_incarnation,
    };
    let mut message = author.sign(Message::new(Body::PlanApprovalRequest {
        request_id: request.id.clone(),
        plan: plan.clone(),
        content: String::new(),
    }));
    message.id = MessageId::new(&format!("{}/ask", request.id)).ok();
    message.to = Some(Recipient::Lead);
    post(team, message).map(|_| ())
}

/// Makes a request of a plan that came by mail without one, as other programs send it. Returns the
/// request if it is new.
pub fn record_plan(team: &TeamDir, message: &Message) -> Result<Option<Request>, SubmitError> {
    let Body::PlanApprovalRequest {
        request_id, plan, ..
    } = &message.body
    else {
        return Ok(None);
    };
    let Some(Sender::Party(from)) = &message.from else {
        return Ok(None);
    };
    match team.request(request_id) {
        Err(RequestError::Unknown(_)) => {}
        Ok(_) => return Ok(None),
        Err(error) => return Err(error.into()),
    }
    let opening = Opening {
        id: request_id.clone(),
        from: from.clone(),
        from_incarnation: message.from_incarnation,
        to: Recipient::Lead,
        to_incarnation: None,
        now: now(),
    };
    let request = open_plan(opening, None, plan)?;
    match team.create_request(&request) {
        Ok(()) => Ok(Some(request)),
        Err(RequestError::Exists(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Decides a plan: stores the decision, then tells the member. Deciding the same way again only
/// tells the member again, which has no effect if it knows.
pub fn decide_plan(
    team: &TeamDir,
    me: &Actor,
    id: &RequestId,
    approve: bool,
    feedback: &str,
) -> Result<Request, DecideError> {
    if team.request(id)?.kind() != RequestKind::Plan {
        return Err(DecideError::NotAPlan(id.clone()));
    }
    let response = Response {
        kind: RequestKind::Plan,
        request_id: id.clone(),
        from: Some(me.party.clone().into()),
        from_incarnation: me.incarnation,
        approve,
        words: feedback.to_owned(),
    };
    let mut refused = None;
    let changed = change(team, id, |request| {
        match answer(request, &response, Addressee::Unknown, now()) {
            Verdict::Resolved(request) => Some(request),
            Verdict::Ignored { why, .. } => {
                refused = Some(why);
                None
            }
        }
    })?;
    let request = match (changed, refused) {
        (Some(request), _) => request,
        (None, Some(WhyIgnored::AlreadyDecided(status))) if status == wanted(approve) => {
            team.request(id)?
        }
        (None, why) => {
            let why = why.unwrap_or(WhyIgnored::Unsigned);
            return Err(DecideError::Refused {
                id: id.clone(),
                why,
            });
        }
    };
    tell_decision(team, &request).map_err(|source| DecideError::Send {
        id: id.clone(),
        source,
    })?;
    Ok(request)
}

const fn wanted(approve: bool) -> RequestStatus {
    if approve {
        RequestStatus::Approved
    } else {
        RequestStatus::Rejected
    }
}

/// Tells the author of a plan how it was decided. PendingEvents it again has no effect.
fn tell_decision(team: &TeamDir, request: &Request) -> Result<(), SendError> {
    let (answer, approve) = match &request.state {
        RequestState::Approved(answer) => (answer, true),
        RequestState::Rejected(answer) => (answer, false),
        RequestState::Pending | RequestState::Expired { .. } => return Ok(()),
    };
    let Party::Member(author) = &request.from else {
        return Ok(());
    };
    let mut message = Message::new(Body::PlanApprovalResponse {
        request_id: request.id.clone(),
        approve,
        feedback: answer.words.clone(),
    });
    message.from = Some(answer.by.clone().into());
    message.id = MessageId::new(&format!("{}/answer", request.id)).ok();
    message.to = Some(Recipient::Member(author.clone()));
    post(team, message).map(|_| ())
}
