//! Asks a member to end.

use super::answer::answer_id;
use super::create;
use crate::{Actor, LoggedMail, recently_logged, send_message};
use protocol::{
    AgentName, Body, Incarnation, Message, MessageId, Recipient, Request, RequestId, Subject,
};
use rules::{OpenShutdownRefusal, Opening, open_shutdown};
use std::time::Duration;
use teamdir::{RequestError, SendError, TeamDir, now};

/// The text of a shutdown request without a reason.
const DEFAULT_REASON: &str = "Please shut down gracefully.";

/// How a member is asked to end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShutdownOptions {
    pub to: AgentName,
    /// May be empty.
    pub reason: String,
    /// The time it has to answer.
    pub timeout: Duration,
    /// Whether its process is ended after the timeout.
    pub force: bool,
    /// Whether the lead asks because it leaves.
    pub lead_leaves: bool,
}

/// Why a member was not asked to end.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    #[error(transparent)]
    Refused(#[from] OpenShutdownRefusal),
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The request was stored but could not be sent. It expires at its deadline.
    #[error("request {id} was not delivered")]
    Send { id: RequestId, source: SendError },
}

/// Asks one incarnation of a member to end: stores the request, then sends it.
pub fn ask_shutdown(
    team: &TeamDir,
    me: &Actor,
    options: &ShutdownOptions,
    to_incarnation: Incarnation,
) -> Result<Request, AskError> {
    let made = now();
    let request = create(team, |id| {
        let opening = Opening {
            id,
            from: me.party.clone(),
            from_incarnation: me.incarnation,
            to: Recipient::Member(options.to.clone()),
            to_incarnation: Some(to_incarnation),
            now: made,
        };
        let deadline = made.plus(options.timeout);
        let mut request = open_shutdown(opening, deadline, &options.reason, options.force)?;
        if let Subject::Shutdown { lead_leaves, .. } = &mut request.subject {
            *lead_leaves = options.lead_leaves;
        }
        Ok::<_, AskError>(request)
    })?;
    deliver_shutdown(team, &request).map_err(|source| AskError::Send {
        id: request.id.clone(),
        source,
    })?;
    Ok(request)
}

/// Sends a shutdown request whose asker may have been killed before it was sent. If the event log says that it
/// was sent, nothing happens: a second copy has no effect, but the addressee may end without reading it.
pub fn deliver_unsent_shutdown(team: &TeamDir, request: &Request) -> Result<(), SendError> {
    let logged = recently_logged(team).unwrap_or_default();
    let sent = message_id(request).map(|id| LoggedMail::Sent(request.to.clone(), id));
    match sent {
        Some(sent) if logged.contains(&sent) => Ok(()),
        Some(_) | None => deliver_shutdown(team, request),
    }
}

/// Sends a shutdown request to its addressee. Sending it again has no effect.
fn deliver_shutdown(team: &TeamDir, request: &Request) -> Result<(), SendError> {
    let reason = match &request.subject {
        Subject::Shutdown { reason, .. } if !reason.is_empty() => reason.as_str(),
        Subject::Shutdown { .. }
        | Subject::Plan { .. }
        | Subject::Permission(_)
        | Subject::Question(_) => DEFAULT_REASON,
    };
    let asker = Actor {
        party: request.from.clone(),
        incarnation: request.from_incarnation,
    };
    let mut message = asker.sign(Message::new(Body::ShutdownRequest {
        request_id: request.id.clone(),
        content: reason.to_owned(),
    }));
    message.id = message_id(request);
    message.to = Some(request.to.clone());
    message.to_incarnation = request.to_incarnation;
    send_message(team, message).map(|_| ())
}

fn message_id(request: &Request) -> Option<MessageId> {
    MessageId::new(&format!("{}/ask", request.id)).ok()
}

/// Answers a shutdown request that has no file, such as a line that a person appended to an inbox. There
/// is nothing to record, so the lead gets the mail alone.
pub fn mail_unrecorded_answer(
    team: &TeamDir,
    me: &Actor,
    id: &RequestId,
    approve: bool,
    reason: &str,
) -> Result<(), SendError> {
    let mut message = me.sign(shutdown_response(id, approve, reason));
    message.id = answer_id(id);
    message.to = Some(Recipient::Lead);
    send_message(team, message).map(|_| ())
}

pub(super) fn shutdown_response(id: &RequestId, approve: bool, reason: &str) -> Message {
    Message::new(Body::ShutdownResponse {
        request_id: id.clone(),
        approve,
        reason: reason.to_owned(),
    })
}
