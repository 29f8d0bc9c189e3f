//! Decides which answers count.

use super::expire::{Addressee, past_deadline};
use crate::who::is_recipient;
use protocol::{
    Answer, Body, Extra, IgnoredAnswer, Incarnation, Message, Party, Recipient, Request, RequestId,
    RequestKind, RequestState, RequestStatus, Sender, Timestamp,
};

/// How many ignored answers a request keeps in full. The others are only counted, so that the file cannot
/// grow without limit.
pub const MAX_IGNORED: usize = 20;

/// The field of the last entry that counts the answers not kept in full.
const TALLY: &str = "more";

/// How much of an unknown sender's name is kept.
const MAX_STRANGER_CHARS: usize = 80;

/// An answer as it came; its sender is only a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    pub kind: RequestKind,
    pub request_id: RequestId,
    /// The sender it names.
    pub from: Option<Sender>,
    /// The incarnation that gave it; a foreign program may leave it out.
    pub from_incarnation: Option<Incarnation>,
    pub approve: bool,
    /// The reason or the feedback; may be empty.
    pub text: String,
    pub source: AnswerSource,
}

/// Which process records an answer in the request's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerSource {
    /// The process that answers.
    Answerer,
    /// The process that read the mail of a sender which had not recorded its answer.
    Mail,
}

/// The effect of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// It decided the request, which is to be stored.
    Resolved(Request),
    /// It had no effect but to be listed in the request, which is to be stored.
    Ignored {
        /// The request, with the answer listed as ignored.
        request: Request,
        why: WhyIgnored,
    },
}

/// Why an answer does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WhyIgnored {
    #[error("it answers request {0}")]
    OtherRequest(RequestId),
    /// A decided request is final.
    #[error("the request is already {}", .0.as_str())]
    AlreadyDecided(RequestStatus),
    #[error("it came after the deadline")]
    Late,
    #[error("it answers a {} request, and this is a {} request", found.as_str(), expected.as_str())]
    WrongKind {
        expected: RequestKind,
        found: RequestKind,
    },
    /// Mail alone decides no plan.
    #[error("a plan is decided in its request file, and the file does not say so")]
    NotRecorded,
    #[error("it does not say who it is from")]
    Unsigned,
    #[error("it is from '{found}', and only '{expected}' can answer")]
    WrongSender { expected: Recipient, found: String },
    #[error("it is from incarnation {found}, and incarnation {expected} was asked")]
    WrongIncarnation {
        expected: Incarnation,
        found: Incarnation,
    },
    /// It names no incarnation, and the asked one is not known to run.
    #[error("it names no incarnation, and incarnation {expected}, which was asked, is not running")]
    NoIncarnation { expected: Incarnation },
}

impl Response {
    /// The answer that `message` carries, if it is one.
    pub fn of(message: &Message) -> Option<Self> {
        let (kind, request_id, approve, text) = match &message.body {
            Body::ShutdownResponse {
                request_id,
                approve,
                reason,
            } => (RequestKind::Shutdown, request_id, approve, reason),
            Body::PlanApprovalResponse {
                request_id,
                approve,
                feedback,
            } => (RequestKind::Plan, request_id, approve, feedback),
            Body::Message { .. }
            | Body::Broadcast { .. }
            | Body::ShutdownRequest { .. }
            | Body::PlanApprovalRequest { .. }
            | Body::IdleNotification { .. }
            | Body::Notice { .. } => return None,
        };
        Some(Self {
            kind,
            request_id: request_id.clone(),
            from: message.from.clone(),
            from_incarnation: message.from_incarnation,
            approve: *approve,
            text: text.clone(),
            source: AnswerSource::Mail,
        })
    }
}

/// Decides whether an answer to `request` counts.
///
/// It counts only if it names this request, the request is pending and before its deadline, the kind fits,
/// and it comes from the addressed incarnation of the addressee. An answer that names no incarnation counts
/// if `addressee` says that the addressed one runs. A person may decide a plan in the lead's place. Any
/// process can forge mail, so mail alone decides no plan. An answer that does not count is listed as
/// ignored.
pub fn answer(
    request: &Request,
    response: &Response,
    addressee: Addressee,
    now: Timestamp,
) -> Verdict {
    match author(request, response, addressee, now) {
        Ok(by) => {
            let text = response.text.clone();
            let answer = Answer { by, at: now, text };
            let state = if response.approve {
                RequestState::Approved(answer)
            } else {
                RequestState::Rejected(answer)
            };
            Verdict::Resolved(Request {
                state,
                ..request.clone()
            })
        }
        Err(why) => {
            let mut request = request.clone();
            record_ignored(&mut request.ignored, response, &why, now);
            Verdict::Ignored { request, why }
        }
    }
}

/// The party that gave the answer, if it counts.
fn author(
    request: &Request,
    response: &Response,
    addressee: Addressee,
    now: Timestamp,
) -> Result<Party, WhyIgnored> {
    if response.request_id != request.id {
        return Err(WhyIgnored::OtherRequest(response.request_id.clone()));
    }
    if request.status() != RequestStatus::Pending {
        return Err(WhyIgnored::AlreadyDecided(request.status()));
    }
    if past_deadline(request, now) {
        return Err(WhyIgnored::Late);
    }
    if response.kind != request.kind() {
        return Err(WhyIgnored::WrongKind {
            expected: request.kind(),
            found: response.kind,
        });
    }
    let party = match response.from.as_ref().ok_or(WhyIgnored::Unsigned)? {
        Sender::Party(party) if may_answer(request, party) => party,
        other @ (Sender::Party(_) | Sender::Stranger(_)) => {
            return Err(WhyIgnored::WrongSender {
                expected: request.to.clone(),
                found: shortened(other).to_string(),
            });
        }
    };
    if response.kind == RequestKind::Plan && response.source == AnswerSource::Mail {
        return Err(WhyIgnored::NotRecorded);
    }
    // A person has no incarnations.
    if *party != Party::User {
        check_incarnation(request, response.from_incarnation, addressee)?;
    }
    Ok(party.clone())
}

fn may_answer(request: &Request, party: &Party) -> bool {
    let in_place_of_lead = request.kind() == RequestKind::Plan
        && request.to == Recipient::Lead
        && *party == Party::User;
    in_place_of_lead || is_recipient(&request.to, party)
}

fn check_incarnation(
    request: &Request,
    given: Option<Incarnation>,
    addressee: Addressee,
) -> Result<(), WhyIgnored> {
    let Some(expected) = request.to_incarnation else {
        return Ok(());
    };
    match given {
        Some(found) if found == expected => Ok(()),
        Some(found) => Err(WhyIgnored::WrongIncarnation { expected, found }),
        None if addressee == Addressee::Alive(expected) => Ok(()),
        None => Err(WhyIgnored::NoIncarnation { expected }),
    }
}

fn record_ignored(
    ignored: &mut Vec<IgnoredAnswer>,
    response: &Response,
    why: &WhyIgnored,
    now: Timestamp,
) {
    if ignored.len() < MAX_IGNORED {
        ignored.push(IgnoredAnswer {
            from: response.from.as_ref().map(shortened),
            from_incarnation: response.from_incarnation,
            approve: Some(response.approve),
            at: now,
            why: why.to_string(),
            extra: Extra::new(),
        });
        return;
    }
    let beyond = ignored.get(MAX_IGNORED..).unwrap_or_default();
    let counted = |entry: &IgnoredAnswer| {
        let tally = entry.extra.get(TALLY).and_then(|count| count.as_u64());
        tally.unwrap_or(1)
    };
    let more = beyond.iter().map(counted).fold(1, u64::saturating_add);
    let mut extra = Extra::new();
    extra.insert(TALLY.to_owned(), more.into());
    ignored.truncate(MAX_IGNORED);
    ignored.push(IgnoredAnswer {
        from: None,
        from_incarnation: None,
        approve: None,
        at: now,
        why: format!("{more} more answers had no effect and are only counted"),
        extra,
    });
}

fn shortened(sender: &Sender) -> Sender {
    match sender {
        Sender::Party(party) => Sender::Party(party.clone()),
        Sender::Stranger(text) => Sender::Stranger(text.chars().take(MAX_STRANGER_CHARS).collect()),
    }
}
