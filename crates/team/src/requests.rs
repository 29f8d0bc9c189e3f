//! Requests: asking, answering, deciding, and what happens to those that nobody answers.

mod answer;
mod plan;
mod shutdown;

pub use answer::{
    AnswerError, MailedAnswer, answer_shutdown, decide_plan, mail_unrecorded_answer,
    record_before_commit, record_mailed_answer,
};
pub use plan::{SubmitError, record_plan, submit_plan};
pub use shutdown::{AskError, ShutdownOptions, ask_shutdown, deliver_shutdown};

use protocol::{
    AgentName, Incarnation, Party, Recipient, Request, RequestId, RequestKind, RequestState,
    RequestStatus, Subject, Timestamp,
};
use rules::{Addressee, Author, ExpireReason, abandoned, due, expire};
use teamdir::{Liveness, PathError, RequestError, TeamDir, new_request_id};

/// Which incarnation of a recipient runs, as the operating system says.
pub fn addressee(team: &TeamDir, recipient: &Recipient) -> Addressee {
    match team.liveness(recipient) {
        Ok(Liveness::Alive(Some(holder))) => Addressee::Alive(holder.incarnation),
        Ok(Liveness::Gone(_)) => Addressee::Gone,
        // The holder is about to write who it is, or nobody can look.
        Ok(Liveness::Alive(None)) | Err(_) => Addressee::Unknown,
    }
}

/// All requests that wait for an answer, oldest first. Files that are no requests are passed over.
pub fn pending(team: &TeamDir) -> Result<Vec<Request>, PathError> {
    let requests = team.requests()?.into_iter().flatten();
    Ok(requests
        .filter(|request| request.status() == RequestStatus::Pending)
        .collect())
}

/// A request that can no longer be answered, as far as could be seen.
#[derive(Debug, Clone)]
pub struct Overdue {
    id: RequestId,
    seen: Seen,
}

/// What was seen of the two sides of a request.
#[derive(Debug, Clone, Copy)]
struct Seen {
    addressee: Addressee,
    author: Author,
}

impl Seen {
    fn why(self, request: &Request, now: Timestamp) -> Option<ExpireReason> {
        let due = due(request, self.addressee, now);
        due.or_else(|| abandoned(request, self.author))
    }
}

/// The requests that can no longer be answered: past their deadline, asked of an incarnation that is gone, or
/// plans that nobody waits for. Each with the reason.
pub fn unanswerable(
    team: &TeamDir,
    now: Timestamp,
) -> Result<Vec<(Request, ExpireReason)>, PathError> {
    let found = find_overdue(team, now)?.into_iter();
    Ok(found.map(|(request, _, why)| (request, why)).collect())
}

/// The requests that can no longer be answered, to end them.
///
/// A foreign member may have mailed its answer right before its end. So whoever ends requests finds them first,
/// then takes in the answers that lie unread, and only then ends those that are still pending.
pub fn overdue(team: &TeamDir, now: Timestamp) -> Result<Vec<Overdue>, PathError> {
    let found = find_overdue(team, now)?.into_iter();
    let found = found.map(|(request, seen, _)| Overdue {
        id: request.id,
        seen,
    });
    Ok(found.collect())
}

fn find_overdue(
    team: &TeamDir,
    now: Timestamp,
) -> Result<Vec<(Request, Seen, ExpireReason)>, PathError> {
    let all: Vec<Request> = team.requests()?.into_iter().flatten().collect();
    let mut found = Vec::new();
    for request in &all {
        if request.status() != RequestStatus::Pending {
            continue;
        }
        let seen = Seen {
            addressee: addressee(team, &request.to),
            author: author(team, request, &all),
        };
        if let Some(why) = seen.why(request, now) {
            found.push((request.clone(), seen, why));
        }
    }
    Ok(found)
}

/// Whether the member that made a plan waits for the decision. One that was merely killed or stopped
/// may come back and finds its plan; one that was shut down, or whose restart policy has given up,
/// is not expected back.
fn author(team: &TeamDir, request: &Request, all: &[Request]) -> Author {
    let Party::Member(name) = &request.from else {
        return Author::Waits;
    };
    if request.kind() != RequestKind::Plan {
        return Author::Waits;
    }
    match team.liveness(&Recipient::Member(name.clone())) {
        Ok(Liveness::Gone(_)) => {}
        Ok(Liveness::Alive(_)) | Err(_) => return Author::Waits,
    }
    // Read after the lock: an incarnation that begins in between is then not the one that was shut down.
    let Ok(roster) = team.roster() else {
        return Author::Waits;
    };
    match roster.member(name) {
        None => Author::Left,
        Some(member) if member.gave_up.is_some() => Author::GivenUp,
        Some(member) if was_shut_down(all, name, member.incarnation) => Author::Ended,
        Some(_) => Author::Waits,
    }
}

/// Whether an incarnation of a member agreed to end, or was made to.
fn was_shut_down(all: &[Request], name: &AgentName, incarnation: Incarnation) -> bool {
    all.iter().any(|request| {
        let Subject::Shutdown { force, .. } = request.subject else {
            return false;
        };
        let is_for = matches!(&request.to, Recipient::Member(to) if to.same_as(name))
            && request.to_incarnation == Some(incarnation);
        let is_over = match request.state {
            RequestState::Approved(_) => true,
            RequestState::Expired { .. } => force,
            RequestState::Pending | RequestState::Rejected(_) => false,
        };
        is_for && is_over
    })
}

/// Ends requests that nobody has answered since they were found overdue. Returns those that ended.
pub fn expire_overdue(team: &TeamDir, overdue: Vec<Overdue>, now: Timestamp) -> Vec<Request> {
    let mut ended = Vec::new();
    for Overdue { id, seen } in overdue {
        let changed = change(team, &id, |request| {
            let reason = seen.why(request, now)?;
            expire(request, reason, now).ok()
        });
        // What cannot be ended now is found by the next repair.
        ended.extend(changed.ok().flatten());
    }
    ended
}

/// Changes a request under the lock, if there is something to change.
fn change(
    team: &TeamDir,
    id: &RequestId,
    rule: impl FnOnce(&Request) -> Option<Request>,
) -> Result<Option<Request>, RequestError> {
    team.update_request(id, |request| {
        let changed = rule(&request);
        let stored = changed.clone().unwrap_or(request);
        Ok::<_, RequestError>((stored, changed))
    })
}

/// Stores a new request under an id that nobody else has.
fn create<E: From<RequestError>>(
    team: &TeamDir,
    make: impl Fn(RequestId) -> Result<Request, E>,
) -> Result<Request, E> {
    loop {
        let request = make(new_request_id())?;
        match team.create_request(&request) {
            Ok(()) => return Ok(request),
            Err(RequestError::Exists(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests;
