//! Requests: asking, answering, deciding, and what happens to those that nobody answers.

mod plan;
mod shutdown;

pub use plan::{DecideError, SubmitError, decide_plan, record_plan, submit_plan};
pub use shutdown::{Answered, AskError, ShutdownWish, ask_shutdown, deliver_shutdown, take_answer};

use coordination::{Addressee, due, expire};
use protocol::{Recipient, Request, RequestId, RequestStatus, Timestamp};
use teamdir::{Liveness, PathError, RequestError, TeamDir, new_request_id};

/// Which life of a recipient runs, as the operating system says.
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
    alive: Addressee,
}

/// The requests that can no longer be answered: past their deadline, or asked of a life that is gone.
///
/// An answer may have been the last word of that life. So whoever ends requests looks for them first,
/// then takes in the answers that lie unread, and only then ends those that are still pending.
pub fn overdue(team: &TeamDir, now: Timestamp) -> Result<Vec<Overdue>, PathError> {
    let mut found = Vec::new();
    for request in pending(team)? {
        let alive = addressee(team, &request.to);
        if due(&request, alive, now).is_some() {
            let id = request.id;
            found.push(Overdue { id, alive });
        }
    }
    Ok(found)
}

/// Ends requests that nobody has answered since they were found overdue. Returns those that ended.
pub fn expire_overdue(team: &TeamDir, overdue: Vec<Overdue>, now: Timestamp) -> Vec<Request> {
    let mut ended = Vec::new();
    for Overdue { id, alive } in overdue {
        let changed = change(team, &id, |request| {
            let reason = due(request, alive, now)?;
            expire(request, reason, now).ok()
        });
        // What cannot be ended now is found by whoever looks next.
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
