//! Requests: `requests/<request_id>.json`, one file for each shutdown or plan that needs an answer.

use crate::{Incarnation, Party, Recipient, RequestId, Sender, Timestamp};
use serde::{Deserialize, Serialize};

/// A request and all that is known of its course.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Its identifier, and the stem of its file's name.
    pub id: RequestId,
    /// Who asks.
    pub from: Party,
    /// The incarnation of the one who asks, where that is a member.
    pub from_incarnation: Option<Incarnation>,
    /// Who must answer.
    pub to: Recipient,
    /// The incarnation of the one who must answer. No other incarnation's answer counts.
    pub to_incarnation: Option<Incarnation>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it expires unanswered.
    pub deadline: Option<Timestamp>,
    /// What is asked.
    pub subject: Subject,
    /// How far it has come.
    pub state: RequestState,
    /// Answers that came and had no effect.
    pub ignored: Vec<IgnoredAnswer>,
    /// Fields of the file that this version does not know.
    pub extra: crate::Extra,
}

/// What a request asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Subject {
    /// Please end.
    Shutdown {
        /// Why, as text; may be empty.
        reason: String,
        /// Whether the process is ended when the deadline passes.
        force: bool,
        /// Whether the lead asks because it leaves: the answer concerns no later lead.
        lead_leaves: bool,
    },
    /// May I do this?
    Plan {
        /// The plan.
        plan: String,
        /// Binds an approval to exactly this text.
        plan_hash: String,
    },
}

/// The two kinds of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestKind {
    /// A shutdown.
    Shutdown,
    /// A plan.
    Plan,
}

/// How far a request has come.
#[derive(Debug, Clone, PartialEq)]
pub enum RequestState {
    /// No answer that counts has come.
    Pending,
    /// The answer was yes.
    Approved(Answer),
    /// The answer was no.
    Rejected(Answer),
    /// It can no longer be answered.
    Expired {
        /// When that was noticed.
        at: Timestamp,
        /// Why: the deadline passed, the addressee died, or a later incarnation took its place.
        reason: String,
    },
}

/// The answer that decided a request.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Who gave it.
    pub by: Party,
    /// When it was recorded.
    pub at: Timestamp,
    /// The reason or the feedback; may be empty.
    pub text: String,
}

/// The word for a state, as stored in `status`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestStatus {
    /// See [`RequestState::Pending`].
    Pending,
    /// See [`RequestState::Approved`].
    Approved,
    /// See [`RequestState::Rejected`].
    Rejected,
    /// See [`RequestState::Expired`].
    Expired,
}

record! {
    /// An answer that was recorded without effect.
    pub struct IgnoredAnswer {
        /// Who says they gave it.
        opt from: Sender => "from",
        /// The incarnation of the one who gave it.
        opt from_incarnation: Incarnation => "from_incarnation",
        /// What it said.
        opt approve: bool => "approve",
        /// When it was recorded.
        req at: Timestamp => "at",
        /// Why it does not count.
        req why: String => "why",
    }
}

record! {
    /// The flat JSON form of a request.
    pub struct RequestFile {
        /// See [`Request::id`].
        req request_id: RequestId => "request_id",
        /// Which kind of request.
        req kind: RequestKind => "kind",
        /// See [`Request::from`].
        req from: Party => "from",
        /// See [`Request::to`].
        req to: Recipient => "to",
        /// The word for the state.
        req status: RequestStatus => "status",
        /// See [`Request::from_incarnation`].
        opt from_incarnation: Incarnation => "from_incarnation",
        /// See [`Request::to_incarnation`].
        opt to_incarnation: Incarnation => "to_incarnation",
        /// See [`Request::created_at`].
        req created_at: Timestamp => "created_at",
        /// See [`Request::deadline`].
        opt deadline: Timestamp => "deadline",
        /// Why a shutdown is asked for.
        opt reason: String => "reason",
        /// See [`Subject::Shutdown`].
        opt force: bool => "force",
        /// Left out when it is false.
        opt lead_leaves: bool => "lead_leaves",
        /// See [`Subject::Plan`].
        opt plan: String => "plan",
        /// See [`Subject::Plan`].
        opt plan_hash: String => "plan_hash",
        /// Who answered.
        opt resolved_by: Party => "resolved_by",
        /// When the state became final.
        opt resolved_at: Timestamp => "resolved_at",
        /// The text of the answer, or why it expired.
        opt resolution: String => "resolution",
        /// See [`Request::ignored`].
        def ignored: Vec<IgnoredAnswer> => "ignored",
    }
}

/// Why a request file contradicts itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a {status} {kind} request needs the field `{field}`")]
pub struct InvalidRequest {
    kind: &'static str,
    status: &'static str,
    field: &'static str,
}

impl RequestKind {
    /// The word as stored.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Shutdown => "shutdown",
            Self::Plan => "plan",
        }
    }
}

impl RequestStatus {
    /// The word as stored.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Rejected => "rejected",
            Self::Expired => "expired",
        }
    }
}

impl Request {
    /// Which kind of request it is.
    pub const fn kind(&self) -> RequestKind {
        match self.subject {
            Subject::Shutdown { .. } => RequestKind::Shutdown,
            Subject::Plan { .. } => RequestKind::Plan,
        }
    }

    /// The word for its state.
    pub const fn status(&self) -> RequestStatus {
        match self.state {
            RequestState::Pending => RequestStatus::Pending,
            RequestState::Approved(_) => RequestStatus::Approved,
            RequestState::Rejected(_) => RequestStatus::Rejected,
            RequestState::Expired { .. } => RequestStatus::Expired,
        }
    }
}

impl From<Request> for RequestFile {
    fn from(request: Request) -> Self {
        let kind = request.kind();
        let status = request.status();
        let mut lead_leaves = None;
        let (reason, force, plan, plan_hash) = match request.subject {
            Subject::Shutdown {
                reason,
                force,
                lead_leaves: leaves,
            } => {
                lead_leaves = leaves.then_some(true);
                (Some(reason), Some(force), None, None)
            }
            Subject::Plan { plan, plan_hash } => (None, None, Some(plan), Some(plan_hash)),
        };
        let (resolved_by, resolved_at, resolution) = match request.state {
            RequestState::Pending => (None, None, None),
            RequestState::Approved(answer) | RequestState::Rejected(answer) => {
                (Some(answer.by), Some(answer.at), Some(answer.text))
            }
            RequestState::Expired { at, reason } => (None, Some(at), Some(reason)),
        };
        Self {
            request_id: request.id,
            kind,
            from: request.from,
            to: request.to,
            status,
            from_incarnation: request.from_incarnation,
            to_incarnation: request.to_incarnation,
            created_at: request.created_at,
            deadline: request.deadline,
            reason,
            force,
            lead_leaves,
            plan,
            plan_hash,
            resolved_by,
            resolved_at,
            resolution,
            ignored: request.ignored,
            extra: request.extra,
        }
    }
}

impl TryFrom<RequestFile> for Request {
    type Error = InvalidRequest;

    fn try_from(file: RequestFile) -> Result<Self, InvalidRequest> {
        let missing = |field| InvalidRequest {
            kind: file.kind.as_str(),
            status: file.status.as_str(),
            field,
        };
        let subject = match file.kind {
            RequestKind::Shutdown => Subject::Shutdown {
                reason: file.reason.unwrap_or_default(),
                force: file.force.unwrap_or_default(),
                lead_leaves: file.lead_leaves.unwrap_or_default(),
            },
            RequestKind::Plan => Subject::Plan {
                plan: file.plan.ok_or_else(|| missing("plan"))?,
                plan_hash: file.plan_hash.ok_or_else(|| missing("plan_hash"))?,
            },
        };
        let text = file.resolution.unwrap_or_default();
        let at = file.resolved_at.ok_or_else(|| missing("resolved_at"));
        let by = file.resolved_by.ok_or_else(|| missing("resolved_by"));
        let state = match file.status {
            RequestStatus::Pending => RequestState::Pending,
            RequestStatus::Approved => RequestState::Approved(Answer {
                by: by?,
                at: at?,
                text,
            }),
            RequestStatus::Rejected => RequestState::Rejected(Answer {
                by: by?,
                at: at?,
                text,
            }),
            RequestStatus::Expired => RequestState::Expired {
                at: at?,
                reason: text,
            },
        };
        Ok(Self {
            id: file.request_id,
            from: file.from,
            from_incarnation: file.from_incarnation,
            to: file.to,
            to_incarnation: file.to_incarnation,
            created_at: file.created_at,
            deadline: file.deadline,
            subject,
            state,
            ignored: file.ignored,
            extra: file.extra,
        })
    }
}
