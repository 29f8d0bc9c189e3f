//! Decides which answers count.

use super::ask::{chosen, is_as_asked, lead_may_answer};
use super::expire::{Addressee, past_deadline};
use crate::party::is_recipient;
use protocol::{
    Answer, Body, Extra, GrantScope, HostId, IgnoredAnswer, Incarnation, Message, Party, Recipient,
    Request, RequestId, RequestKind, RequestState, RequestStatus, Sender, Subject, Timestamp,
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
    /// The reason or the feedback, or the answer to a question; may be empty.
    pub text: String,
    /// The name of the person who answers, where it is known.
    pub name: Option<String>,
    /// For which calls the approval of a tool call counts.
    pub scope: Option<GrantScope>,
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
    #[error("the request is already {}{}", status.as_str(), by_whom(by.as_deref()))]
    AlreadyDecided {
        status: RequestStatus,
        /// Who decided it, as people read it; nobody has if it expired.
        by: Option<String>,
    },
    #[error("it came after the deadline")]
    Late,
    #[error("it answers a {} request, and this is a {} request", found.as_str(), expected.as_str())]
    WrongKind {
        expected: RequestKind,
        found: RequestKind,
    },
    /// What a person is asked cannot be decided by mail alone.
    #[error("a {} is decided in its request file, and the file does not say so", .0.as_str())]
    NotRecorded(RequestKind),
    #[error("the answer is empty")]
    Empty,
    #[error("{given:?} is not one of the choices: {}", choices.join(", "))]
    NotAChoice { given: String, choices: Vec<String> },
    #[error("no rule covers this call alone, so it can only be approved once")]
    NothingToGrant,
    /// The file shows something else than what would run.
    #[error("the request file was changed since the member wrote it")]
    Changed,
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
            name: None,
            scope: None,
            source: AnswerSource::Mail,
        })
    }
}

/// Decides whether an answer to `request` counts.
///
/// It counts only if it names this request, the request is pending and before its deadline, the kind fits,
/// and it comes from the addressed incarnation of the addressee. An answer that names no incarnation counts
/// if `addressee` says that the addressed one runs. A person may answer in the lead's place what a member
/// asks; whether the lead may answer a tool call or a question itself stands in the request. Any process can
/// forge mail, so mail alone decides nothing but a shutdown. An answer that does not count is listed as ignored.
pub fn answer(
    request: &Request,
    response: &Response,
    addressee: Addressee,
    now: Timestamp,
) -> Verdict {
    let author = author(request, response, addressee, now);
    match author.and_then(|by| Ok((by, answer_text(request, response)?))) {
        Ok((by, text)) => {
            let answer = Answer {
                by,
                at: now,
                text,
                name: response.name.clone(),
                scope: answer_scope(request, response),
            };
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
        return Err(already_decided(request));
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
    if response.kind.waits_for_person() && response.source == AnswerSource::Mail {
        return Err(WhyIgnored::NotRecorded(response.kind));
    }
    // A person has no incarnations.
    if *party != Party::User {
        check_incarnation(request, response.from_incarnation, addressee)?;
    }
    Ok(party.clone())
}

fn may_answer(request: &Request, party: &Party) -> bool {
    let is_for_person = request.kind().waits_for_person() && request.to == Recipient::Lead;
    match (&request.subject, party) {
        (_, Party::User) if is_for_person => true,
        (Subject::Permission(_) | Subject::Question(_), party) => {
            is_for_person && *party == Party::Lead && lead_may_answer(request)
        }
        (Subject::Plan { .. } | Subject::Shutdown { .. }, party) => {
            is_recipient(&request.to, party)
        }
    }
}

/// What is recorded as the text of an answer that comes from the right party.
fn answer_text(request: &Request, response: &Response) -> Result<String, WhyIgnored> {
    if !is_as_asked(&request.subject) {
        return Err(WhyIgnored::Changed);
    }
    match &request.subject {
        Subject::Question(ask) if response.approve => chosen(ask, &response.text),
        Subject::Permission(ask) if response.approve && ask.grants.is_none() => {
            match answer_scope(request, response) {
                Some(GrantScope::Member | GrantScope::Team) => Err(WhyIgnored::NothingToGrant),
                Some(GrantScope::Once) | None => Ok(response.text.clone()),
            }
        }
        Subject::Shutdown { .. }
        | Subject::Plan { .. }
        | Subject::Permission(_)
        | Subject::Question(_) => Ok(response.text.clone()),
    }
}

/// For which calls an approval counts; nothing for anything but the approval of a tool call.
fn answer_scope(request: &Request, response: &Response) -> Option<GrantScope> {
    let is_permission = request.kind() == RequestKind::Permission && response.approve;
    is_permission.then(|| response.scope.unwrap_or(GrantScope::Once))
}

/// That a request is decided, and by whom.
fn already_decided(request: &Request) -> WhyIgnored {
    let by = match &request.state {
        RequestState::Approved(answer) | RequestState::Rejected(answer) => Some(decider(answer)),
        RequestState::Pending | RequestState::Expired { .. } => None,
    };
    let status = request.status();
    WhyIgnored::AlreadyDecided { status, by }
}

/// Who gave an answer, as people and models read it.
pub fn decider(answer: &Answer) -> String {
    match &answer.name {
        Some(name) => format!("{name} ({})", answer.by),
        None => answer.by.to_string(),
    }
}

/// How a person of another host is called in what is recorded here.
pub fn name_elsewhere(name: Option<&str>, host: &HostId) -> String {
    let name = name.unwrap_or("user").chars();
    let name: String = name.filter(|c| !c.is_control() && *c != '@').collect();
    let name: String = name.chars().take(MAX_STRANGER_CHARS).collect();
    format!("{name}@{host}")
}

fn by_whom(by: Option<&str>) -> String {
    by.map_or_else(String::new, |by| format!(" by {by}"))
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
