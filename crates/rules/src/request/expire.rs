//! Expires requests that get no answer.

use protocol::{Incarnation, Request, RequestId, RequestState, RequestStatus, Timestamp};
use std::fmt;

/// Which incarnation of the addressee runs, as the operating system says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Addressee {
    Unknown,
    /// No process runs.
    Gone,
    /// This incarnation runs.
    Alive(Incarnation),
}

/// Whether the author of a request waits for the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Author {
    /// It waits, or may be restarted and wait: a process that was killed or stopped finds its request when
    /// it is started again.
    Waits,
    /// It was removed from the team.
    Left,
    /// It approved its shutdown or was forced to end, and its process has ended.
    Ended,
    /// It died too often to be restarted.
    GivenUp,
}

/// Why a request can no longer be answered. Its text is stored in the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpireReason {
    DeadlinePassed,
    /// The addressed process has ended.
    AddresseeDied,
    /// A later incarnation runs.
    AddresseeReplaced {
        incarnation: Incarnation,
    },
    /// The author has submitted a newer request.
    Superseded,
    /// The author was removed from the team.
    AuthorLeft,
    /// The author was shut down.
    AuthorEnded,
    /// The author is not restarted any more.
    AuthorGivenUp,
    /// The author went on without the answer.
    Withdrawn,
    /// No person can answer: the lead was started in a mode that waits for nobody.
    NobodyThere,
}

/// Why a request cannot expire: it has been decided.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("request {id} is already {}, which is final", status.as_str())]
pub struct ExpireRefusal {
    pub id: RequestId,
    pub status: RequestStatus,
}

/// Ends a pending request without an answer.
pub fn expire(
    request: &Request,
    reason: ExpireReason,
    now: Timestamp,
) -> Result<Request, ExpireRefusal> {
    match request.state {
        RequestState::Pending => Ok(Request {
            state: RequestState::Expired {
                at: now,
                reason: reason.to_string(),
            },
            ..request.clone()
        }),
        RequestState::Approved(_) | RequestState::Rejected(_) | RequestState::Expired { .. } => {
            Err(ExpireRefusal {
                id: request.id.clone(),
                status: request.status(),
            })
        }
    }
}

/// Why a pending request must expire now, if it must.
///
/// A request that names no incarnation waits for any, so a death does not end it.
pub fn due(request: &Request, addressee: Addressee, now: Timestamp) -> Option<ExpireReason> {
    if request.status() != RequestStatus::Pending {
        return None;
    }
    if past_deadline(request, now) {
        return Some(ExpireReason::DeadlinePassed);
    }
    let asked = request.to_incarnation?;
    match addressee {
        Addressee::Unknown => None,
        Addressee::Gone => Some(ExpireReason::AddresseeDied),
        // An incarnation before the asked one is still ending. It has not replaced the asked one.
        Addressee::Alive(alive) => {
            (alive > asked).then_some(ExpireReason::AddresseeReplaced { incarnation: alive })
        }
    }
}

/// Why the author of a request to a person waits no longer, if it does not. A shutdown request is never
/// abandoned: it has a deadline, and its author need not be a process.
pub fn abandoned(request: &Request, author: Author) -> Option<ExpireReason> {
    if request.status() != RequestStatus::Pending || !request.kind().waits_for_person() {
        return None;
    }
    match author {
        Author::Waits => None,
        Author::Left => Some(ExpireReason::AuthorLeft),
        Author::Ended => Some(ExpireReason::AuthorEnded),
        Author::GivenUp => Some(ExpireReason::AuthorGivenUp),
    }
}

/// Whether `now` is at or past the request's deadline.
pub(super) fn past_deadline(request: &Request, now: Timestamp) -> bool {
    request.deadline.is_some_and(|deadline| now >= deadline)
}

impl fmt::Display for ExpireReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DeadlinePassed => f.write_str("no answer came before the deadline"),
            Self::AddresseeDied => f.write_str("the addressee died before it answered"),
            Self::Superseded => f.write_str("a later request took its place"),
            Self::AuthorLeft => f.write_str("its author was removed from the team"),
            Self::AuthorEnded => f.write_str("its author was shut down, so nobody waits for it"),
            Self::AuthorGivenUp => {
                f.write_str("its author is not restarted any more, so nobody waits for it")
            }
            Self::Withdrawn => f.write_str("its author went on without an answer"),
            Self::NobodyThere => f.write_str(
                "nobody could be asked: team-lead runs without a terminal, or with --on-ask deny",
            ),
            Self::AddresseeReplaced { incarnation } => {
                write!(f, "incarnation {incarnation} replaced the addressee")
            }
        }
    }
}
