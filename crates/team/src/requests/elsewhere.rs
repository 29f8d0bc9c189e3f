//! Requests that are at home on another host: people here see copies, and send their answers there.

use super::answer::AnswerError;
use protocol::{HostId, Request, RequestId, RequestState, RequestStatus, SentAnswer, Timestamp};
use rules::{Addressee, Response, Verdict, answer, decider};
use teamdir::{PathError, RequestError, TeamDir, now};

/// All requests that people see on this host, oldest first: its own, and the copies of others.
pub fn all_requests(team: &TeamDir) -> Result<Vec<Result<Request, RequestError>>, PathError> {
    let mut all = team.requests()?;
    let copies = team.request_copies()?;
    if copies.is_empty() {
        return Ok(all);
    }
    all.extend(copies.into_iter().map(Ok));
    all.sort_by_key(|request| request.as_ref().ok().map(|request| request.created_at));
    Ok(all)
}

/// Those of them that wait for an answer.
pub fn all_pending(team: &TeamDir) -> Result<Vec<Request>, PathError> {
    let mut all: Vec<Request> = all_requests(team)?.into_iter().flatten().collect();
    all.retain(|request| request.status() == RequestStatus::Pending);
    Ok(all)
}

/// A request of this host, or the copy of one of another host.
pub fn find_request(team: &TeamDir, id: &RequestId) -> Result<Request, RequestError> {
    match team.request(id) {
        Err(RequestError::Unknown(id)) => {
            let copy = team.request_copy(&id)?;
            copy.ok_or(RequestError::Unknown(id))
        }
        found => found,
    }
}

/// Sends an answer to the home of a request. It counts when it is recorded there. Returns the copy with what
/// was sent.
pub(super) fn send_answer(
    team: &TeamDir,
    copy: Request,
    response: Response,
) -> Result<Request, AnswerError> {
    let id = copy.id.clone();
    let Some(host) = copy.host.clone() else {
        return Err(AnswerError::Request(RequestError::Unknown(id)));
    };
    let sent = SentAnswer {
        text: checked_text(&copy, &response)?,
        ..as_sent(response, now())?
    };
    if !team.send_answer(&host, &sent).map_err(RequestError::File)? {
        return Err(AnswerError::AlreadySent {
            by: team.sent_answer(&host, &id).map(|sent| by_whom(&sent)),
            id,
            host,
        });
    }
    let sent = Some(sent);
    Ok(Request { sent, ..copy })
}

/// What is sent as the text of an answer, if nothing is wrong with it as far as the copy shows. The deadline is
/// a matter of the home's clock.
fn checked_text(copy: &Request, response: &Response) -> Result<String, AnswerError> {
    let without_deadline = Request {
        deadline: None,
        ..copy.clone()
    };
    match answer(&without_deadline, response, Addressee::Unknown, now()) {
        Verdict::Resolved(decided) => Ok(match decided.state {
            RequestState::Approved(answer) | RequestState::Rejected(answer) => answer.text,
            RequestState::Pending | RequestState::Expired { .. } => response.text.clone(),
        }),
        Verdict::Ignored { why, .. } => {
            let id = copy.id.clone();
            Err(AnswerError::Refused { id, why })
        }
    }
}

fn as_sent(response: Response, at: Timestamp) -> Result<SentAnswer, AnswerError> {
    let by = match response.from {
        Some(protocol::Sender::Party(party)) => party,
        Some(protocol::Sender::Stranger(_)) | None => {
            return Err(AnswerError::Refused {
                id: response.request_id,
                why: rules::WhyIgnored::Unsigned,
            });
        }
    };
    Ok(SentAnswer {
        request_id: response.request_id,
        kind: response.kind,
        by,
        name: response.name,
        approve: response.approve,
        text: response.text,
        scope: response.scope,
        at,
        extra: protocol::Extra::new(),
    })
}

/// Who gave an answer that is not recorded yet.
pub fn by_whom(sent: &SentAnswer) -> String {
    decider(&protocol::Answer {
        name: sent.name.clone(),
        ..protocol::Answer::new(sent.by.clone(), sent.at, String::new())
    })
}

/// Whether what a request was decided by is what was sent to its home from `host`.
pub fn was_recorded(copy: &Request, host: &HostId) -> bool {
    let (Some(sent), RequestState::Approved(answer) | RequestState::Rejected(answer)) =
        (&copy.sent, &copy.state)
    else {
        return false;
    };
    let approved = matches!(copy.state, RequestState::Approved(_));
    let is_by = match sent.by {
        protocol::Party::User => {
            answer.name == Some(rules::name_elsewhere(sent.name.as_deref(), host))
        }
        protocol::Party::Lead | protocol::Party::System | protocol::Party::Member(_) => true,
    };
    is_by && answer.by == sent.by && approved == sent.approve && answer.text == sent.text
}
