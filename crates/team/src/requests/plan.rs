//! Submits a plan.

use super::{change, create};
use crate::{Actor, send_message};
use protocol::{
    AgentName, Body, Incarnation, Message, MessageId, Party, Recipient, Request, RequestId,
    RequestKind, Sender,
};
use rules::{ExpireReason, OpenPlanRefusal, Opening, expire, open_plan};
use teamdir::{RequestError, SendError, TeamDir, now};

/// Why a plan was not submitted.
#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    #[error(transparent)]
    Refused(#[from] OpenPlanRefusal),
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The request was stored, but the lead could not be notified. It can still be decided.
    #[error("plan {id} is stored, but the lead could not be notified")]
    Send { id: RequestId, source: SendError },
}

/// Submits a member's plan to the lead: stores the request, then sends it. Undecided earlier plans of the
/// same member expire.
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
    mail_plan(team, &request).map_err(|source| SubmitError::Send {
        id: request.id.clone(),
        source,
    })?;
    Ok(request)
}

/// Expires the earlier plans of the same member. One that stays pending after an error has no effect: the
/// plan gate uses only the latest.
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

/// Mails a plan to the lead. Mailing it again has no effect.
fn mail_plan(team: &TeamDir, request: &Request) -> Result<(), SendError> {
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
    send_message(team, message).map(|_| ())
}

/// Stores a request for a plan that came by mail without one, as foreign programs send it. Returns the
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
    // One of another host is recorded there, and this host has a copy.
    if let Party::Member(name) = from
        && let Ok(roster) = team.roster()
        && roster.host_of(&Recipient::Member(name.clone())).is_some()
    {
        return Ok(None);
    }
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
