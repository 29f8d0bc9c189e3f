//! Asking a member to end, and taking its answer.

use super::{addressee, change, create};
use crate::{Actor, post};
use protocol::{
    AgentName, Body, Incarnation, Message, MessageId, Recipient, Request, RequestId, RequestState,
    Subject,
};
use rules::{OpenShutdownRefusal, Opening, Response, Verdict, WhyIgnored, answer, open_shutdown};
use std::time::Duration;
use teamdir::{RequestError, SendError, TeamDir, now};

/// What a shutdown request says if nobody says anything else.
const PLEASE: &str = "Please shut down gracefully.";

/// The wish that a member may end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShutdownWish {
    /// Who should end.
    pub to: AgentName,
    /// Why, in words; may be empty.
    pub reason: String,
    /// How long it has to answer.
    pub timeout: Duration,
    /// Whether its process is ended when that has passed.
    pub force: bool,
}

/// Why a member was not asked to end.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// The rules say no.
    #[error(transparent)]
    Refused(#[from] OpenShutdownRefusal),
    /// The request could not be stored.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The request was stored, and could not be sent. It expires at its deadline.
    #[error("request {id} was not delivered")]
    Send {
        /// The request.
        id: RequestId,
        /// Why.
        source: SendError,
    },
}

/// What became of an answer that came by mail.
#[derive(Debug, Clone, PartialEq)]
pub enum Answered {
    /// It decided the request.
    Counts(Box<Request>),
    /// It is the answer that decided the request before.
    Repeated(Box<Request>),
    /// It was recorded and has no effect.
    Ignored {
        /// The request.
        request: Box<Request>,
        /// Why.
        why: WhyIgnored,
    },
    /// There is no such request.
    Unknown(RequestId),
}

/// Asks one certain life of a member to end: stores the request, then sends it.
pub fn ask_shutdown(
    team: &TeamDir,
    me: &Actor,
    wish: &ShutdownWish,
    to_incarnation: Incarnation,
) -> Result<Request, AskError> {
    let made = now();
    let request = create(team, |id| {
        let opening = Opening {
            id,
            from: me.party.clone(),
            from_incarnation: me.incarnation,
            to: Recipient::Member(wish.to.clone()),
            to_incarnation: Some(to_incarnation),
            now: made,
        };
        let deadline = made.plus(wish.timeout);
        Ok::<_, AskError>(open_shutdown(opening, deadline, &wish.reason, wish.force)?)
    })?;
    deliver_shutdown(team, &request).map_err(|source| AskError::Send {
        id: request.id.clone(),
        source,
    })?;
    Ok(request)
}

/// Sends a shutdown request to its addressee. Sending it again has no effect: whoever asked may have
/// been killed before.
pub fn deliver_shutdown(team: &TeamDir, request: &Request) -> Result<(), SendError> {
    let reason = match &request.subject {
        Subject::Shutdown { reason, .. } if !reason.is_empty() => reason.as_str(),
        Subject::Shutdown { .. } | Subject::Plan { .. } => PLEASE,
    };
    let asker = Actor {
        party: request.from.clone(),
        incarnation: request.from_incarnation,
    };
    let mut message = asker.sign(Message::new(Body::ShutdownRequest {
        request_id: request.id.clone(),
        content: reason.to_owned(),
    }));
    message.id = MessageId::new(&format!("{}/ask", request.id)).ok();
    message.to = Some(request.to.clone());
    message.to_incarnation = request.to_incarnation;
    post(team, message).map(|_| ())
}

/// Judges an answer that came by mail, and stores what comes of it. Nothing comes of a message that
/// is no answer.
pub fn take_answer(team: &TeamDir, message: &Message) -> Result<Option<Answered>, RequestError> {
    let Some(response) = Response::of(message) else {
        return Ok(None);
    };
    let id = response.request_id.clone();
    let known = match team.request(&id) {
        Err(RequestError::Unknown(_)) => return Ok(Some(Answered::Unknown(id))),
        result => result?,
    };
    let alive = addressee(team, &known.to);
    let mut answered = None;
    change(team, &id, |request| {
        if is_repeat(request, &response) {
            answered = Some(Answered::Repeated(Box::new(request.clone())));
            return None;
        }
        let (changed, outcome) = match answer(request, &response, alive, now()) {
            Verdict::Resolved(request) => (request.clone(), Answered::Counts(Box::new(request))),
            Verdict::Ignored { request, why } => {
                let recorded = Box::new(request.clone());
                (
                    request,
                    Answered::Ignored {
                        request: recorded,
                        why,
                    },
                )
            }
        };
        answered = Some(outcome);
        Some(changed)
    })?;
    Ok(answered)
}

/// Whether this is the very answer that decided the request: several may find it in the mail.
fn is_repeat(request: &Request, response: &Response) -> bool {
    let (answer, approve) = match &request.state {
        RequestState::Approved(answer) => (answer, true),
        RequestState::Rejected(answer) => (answer, false),
        RequestState::Pending | RequestState::Expired { .. } => return false,
    };
    let by = protocol::Sender::Party(answer.by.clone());
    response.kind == request.kind()
        && response.approve == approve
        && response.words == answer.words
        && response.from.as_ref() == Some(&by)
        && (response.from_incarnation.is_none()
            || response.from_incarnation == request.to_incarnation)
}
