//! Requests: asking, answering, deciding, and expiry.

mod answer;
mod ask;
mod elsewhere;
mod plan;
mod shutdown;

pub use answer::{
    AnswerError, MailedAnswer, PersonAnswer, answer_person, answer_shutdown, decide_plan,
    record_answer, record_before_commit, record_mailed_answer,
};
pub use ask::{
    Ask, AskPersonError, FollowUpError, ask_person, deny_unattended, expire_at_deadline, follow_up,
    notify_once, prepare_ask, waiting, withdraw_ask, withdraw_asks,
};
pub use elsewhere::{all_pending, all_requests, by_whom, find_request, was_recorded};
pub use plan::{SubmitError, record_plan, submit_plan};
pub use shutdown::{
    AskError, ShutdownOptions, ask_shutdown, deliver_unsent_shutdown, mail_unrecorded_answer,
};

use protocol::{
    AgentName, Incarnation, Party, Recipient, Request, RequestId, RequestState, RequestStatus,
    Subject, Timestamp,
};
use rules::{Addressee, Author, ExpireReason, abandoned, due, expire};
use teamdir::{Liveness, PathError, RequestError, TeamDir, new_request_id};

/// Which incarnation of a recipient runs, as the operating system says.
pub fn addressee(team: &TeamDir, recipient: &Recipient) -> Addressee {
    // The lock of somebody at home on another host is held here by the bridge.
    let roster = team.roster();
    if roster.is_ok_and(|roster| roster.host_of(recipient).is_some()) {
        return Addressee::Unknown;
    }
    match team.liveness(recipient) {
        Ok(Liveness::Alive(Some(holder))) => Addressee::Alive(holder.incarnation),
        Ok(Liveness::Gone(_)) => Addressee::Gone,
        // The holder has not written its identity yet, or the lock cannot be read.
        Ok(Liveness::Alive(None)) | Err(_) => Addressee::Unknown,
    }
}

/// All pending requests at home on this host, oldest first. Files that are not requests are skipped.
pub fn pending(team: &TeamDir) -> Result<Vec<Request>, PathError> {
    let requests = team.requests()?.into_iter().flatten();
    Ok(requests
        .filter(|request| request.status() == RequestStatus::Pending)
        .collect())
}

/// A request that was found to be unanswerable.
#[derive(Debug, Clone)]
pub struct Overdue {
    id: RequestId,
    observed: Observed,
}

/// The observed state of the two sides of a request.
#[derive(Debug, Clone, Copy)]
struct Observed {
    addressee: Addressee,
    author: Author,
}

impl Observed {
    fn why(self, request: &Request, now: Timestamp) -> Option<ExpireReason> {
        let due = due(request, self.addressee, now);
        due.or_else(|| abandoned(request, self.author))
    }
}

/// The requests that can no longer be answered: past their deadline, addressed to an incarnation that has
/// ended, or plans whose author no longer waits. Each with the reason.
pub fn unanswerable(
    team: &TeamDir,
    now: Timestamp,
) -> Result<Vec<(Request, ExpireReason)>, PathError> {
    let found = find_overdue(team, now)?.into_iter();
    Ok(found.map(|(request, _, why)| (request, why)).collect())
}

/// The requests that can no longer be answered, for [`expire_overdue`].
///
/// A foreign member may have mailed its answer right before its end. So a caller finds these requests
/// first, then records unread answers, and only then expires the requests that are still pending.
pub fn overdue(team: &TeamDir, now: Timestamp) -> Result<Vec<Overdue>, PathError> {
    let found = find_overdue(team, now)?.into_iter();
    let found = found.map(|(request, observed, _)| Overdue {
        id: request.id,
        observed,
    });
    Ok(found.collect())
}

fn find_overdue(
    team: &TeamDir,
    now: Timestamp,
) -> Result<Vec<(Request, Observed, ExpireReason)>, PathError> {
    let all: Vec<Request> = team.requests()?.into_iter().flatten().collect();
    let mut found = Vec::new();
    for request in &all {
        if request.status() != RequestStatus::Pending {
            continue;
        }
        let observed = Observed {
            addressee: addressee(team, &request.to),
            author: author(team, request, &all),
        };
        if let Some(why) = observed.why(request, now) {
            found.push((request.clone(), observed, why));
        }
    }
    Ok(found)
}

/// Whether the author of a request waits for a person's answer. A member that was killed or stopped may be
/// restarted and finds what it asked; one that was shut down, or whose restart policy has given up, does not
/// wait.
fn author(team: &TeamDir, request: &Request, all: &[Request]) -> Author {
    let Party::Member(name) = &request.from else {
        return Author::Waits;
    };
    if !request.kind().waits_for_person() {
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

/// Whether an incarnation of a member approved its shutdown or was forced to end.
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

/// Expires the requests that were not answered since they were found overdue. Returns the expired ones.
pub fn expire_overdue(team: &TeamDir, overdue: Vec<Overdue>, now: Timestamp) -> Vec<Request> {
    let mut ended = Vec::new();
    for Overdue { id, observed } in overdue {
        let changed = change(team, &id, |request| {
            let reason = observed.why(request, now)?;
            expire(request, reason, now).ok()
        });
        // The next repair finds what could not be expired now.
        ended.extend(changed.ok().flatten());
    }
    ended
}

/// Changes a request under the lock, if `rule` returns a change.
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

/// Stores a new request under a unique id.
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
