//! Requests: `requests/<request_id>.json`, one file for each shutdown, plan, tool call or question that needs
//! an answer.

mod file;

pub use file::{InvalidRequest, RequestFile};

use crate::{GrantScope, HostId, Incarnation, Party, Recipient, RequestId, Sender, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

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
    /// When the user's `notify` command was started for it.
    pub notified_at: Option<Timestamp>,
    /// What is asked.
    pub subject: Subject,
    /// How far it has come.
    pub state: RequestState,
    /// Answers that came and had no effect.
    pub ignored: Vec<IgnoredAnswer>,
    /// The host that it is at home on, where its answer is recorded. Then this is a copy for reading; without a
    /// host it is at home here.
    pub host: Option<HostId>,
    /// What was answered on this host to a copy.
    pub sent: Option<SentAnswer>,
    /// Why the last answer of this host to a copy has no effect, as its home says.
    pub refused: Option<String>,
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
    /// May I run this tool call?
    Permission(PermissionAsk),
    /// What do you say?
    Question(QuestionAsk),
}

/// A tool call that a person has to allow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionAsk {
    pub tool: String,
    pub arguments: Value,
    /// Binds an approval to exactly this tool with exactly these arguments.
    pub call_hash: String,
    /// The folder in which the call would run.
    pub cwd: String,
    /// Why it is not allowed by itself: the rule, or what it needs.
    pub why: String,
    /// The rule that an approval for the member or the team grants; without one only this call can be
    /// approved.
    pub grants: Option<String>,
    /// Whether the lead's model may answer.
    pub lead_decides: bool,
}

/// A question of a model to a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuestionAsk {
    pub question: String,
    /// The answers to choose from; may be empty.
    pub choices: Vec<String>,
    /// Whether any other text is an answer too.
    pub free_text: bool,
    /// Binds the answer to exactly this question, as for a tool call.
    pub call_hash: String,
    /// Whether the lead's model may answer.
    pub lead_decides: bool,
}

/// The kinds of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestKind {
    /// A shutdown.
    Shutdown,
    /// A plan.
    Plan,
    /// A tool call.
    Permission,
    /// A question.
    Question,
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Who gave it.
    pub by: Party,
    /// When it was recorded.
    pub at: Timestamp,
    /// The reason or the feedback, or the answer to a question; may be empty.
    pub text: String,
    /// The name of the person who gave it, where it is known.
    pub name: Option<String>,
    /// For which calls an approved tool call counts.
    pub scope: Option<GrantScope>,
}

impl Answer {
    /// An answer with nothing but who gave it, when, and what it says.
    pub const fn new(by: Party, at: Timestamp, text: String) -> Self {
        Self {
            by,
            at,
            text,
            name: None,
            scope: None,
        }
    }
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
    /// An answer to a request that is at home on another host, which records it there.
    pub struct SentAnswer {
        req request_id: RequestId => "request_id",
        req kind: RequestKind => "kind",
        /// A person, or the lead in a person's place.
        req by: Party => "by",
        /// See [`Answer::name`].
        opt name: String => "name",
        req approve: bool => "approve",
        /// The feedback, the reason or the answer; may be empty.
        def text: String => "text",
        /// See [`Answer::scope`].
        opt scope: GrantScope => "scope",
        /// When it was given, by the clock of its host.
        req at: Timestamp => "at",
    }
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

impl RequestKind {
    /// The word as stored.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Shutdown => "shutdown",
            Self::Plan => "plan",
            Self::Permission => "permission",
            Self::Question => "question",
        }
    }

    /// Whether it waits for a person, or for the lead in a person's place.
    pub const fn waits_for_person(self) -> bool {
        match self {
            Self::Shutdown => false,
            Self::Plan | Self::Permission | Self::Question => true,
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
            Subject::Permission(_) => RequestKind::Permission,
            Subject::Question(_) => RequestKind::Question,
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
