//! Events: `events.jsonl`, what happened in the team, one object per line.

use crate::{
    AgentName, CommitId, DeathCause, HostId, Incarnation, MessageId, Money, Party, Phase,
    Recipient, RequestId, RequestKind, RequestStatus, RestartReason, Sender, SubmissionId,
    SubmissionStatus, TaskId, TaskStatus, Timestamp,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Something that happened. Events are appended and never rewritten.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// When, by the clock of the one who reports it.
    pub time: Timestamp,
    #[serde(flatten)]
    pub kind: EventKind,
    /// The person who caused it, where a program knows who that is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<String>,
}

/// What happened, by its `event`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventKind {
    /// A member joined the team, or was started again.
    Spawn {
        member: Recipient,
        incarnation: Incarnation,
        role: String,
    },
    /// A member's process said it is ready.
    Ready {
        member: Recipient,
        incarnation: Incarnation,
        /// Its process.
        pid: u32,
        /// Its role, if it has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        role: Option<String>,
    },
    /// A member entered a phase.
    State {
        member: Recipient,
        incarnation: Incarnation,
        /// The phase.
        phase: Phase,
        /// Why, where there is something to say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A member that another host is to start: it was asked for, or the ask has ended.
    HostSpawn {
        /// The ask.
        request_id: RequestId,
        host: HostId,
        name: String,
        /// `asked`, `started`, `refused` or `failed`.
        action: String,
        /// Why it was not started.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A message was accepted into an inbox.
    Send {
        id: MessageId,
        /// Who sent it.
        from: Sender,
        /// Whose inbox.
        to: Recipient,
        /// Its type.
        #[serde(rename = "type")]
        kind: String,
        /// How its text begins, for people who watch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        preview: Option<String>,
    },
    /// A message was recorded in its recipient's journal.
    Deliver {
        id: MessageId,
        /// Whose journal.
        to: Recipient,
    },
    /// A line could not be delivered.
    DeadLetter {
        /// The identifier of the dead letter.
        id: String,
        /// Whose inbox.
        inbox: Recipient,
        reason: String,
    },
    /// A request was made.
    Request {
        request_id: RequestId,
        /// Its kind.
        kind: RequestKind,
        /// Who asks.
        from: Party,
        /// Who must answer.
        to: Recipient,
    },
    /// A request reached its end.
    Resolve {
        request_id: RequestId,
        /// How it ended.
        status: RequestStatus,
    },
    /// A task changed.
    Task {
        task: TaskId,
        /// What was done: `created`, `claimed`, `released`, `completed`, ...
        action: String,
        /// Who did it.
        by: Party,
        /// How far it has come with this; absent if it is on the board no more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<TaskStatus>,
        /// Who has it now; absent for nobody.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        owner: Option<Party>,
    },
    /// A submission was made, or has come further.
    Submission {
        submission: SubmissionId,
        /// Whose work it is.
        member: AgentName,
        status: SubmissionStatus,
        /// The commit that was submitted or, once it is merged, that of the merge.
        commit: CommitId,
        /// The task that it is for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// The host that it came from. Absent if it was made here.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        host: Option<HostId>,
        /// Its number at that host.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<SubmissionId>,
    },
    /// A member's tree was made or removed.
    Tree {
        member: AgentName,
        /// `created`, `removed` or `kept`, if it was removed and its content kept.
        action: String,
        /// The commit that the tree was at.
        commit: CommitId,
    },
    /// The team's branch was brought into a branch of the user's.
    Land {
        branch: String,
        /// The commit that the branch is at now.
        commit: CommitId,
    },
    /// Somebody wrote a note for the team.
    Note {
        id: String,
        /// Who wrote it.
        from: Sender,
        /// How its text begins.
        preview: String,
    },
    /// A member's process is gone without having said so.
    Death {
        member: Recipient,
        /// Which incarnation ended.
        incarnation: Incarnation,
        #[serde(default, skip_serializing_if = "DeathCause::is_unknown")]
        cause: DeathCause,
    },
    /// The restart policy of a dead member brings it back no more, until somebody restarts it.
    GaveUp {
        member: Recipient,
        /// Which incarnation was the last.
        incarnation: Incarnation,
        reason: String,
    },
    /// A member that had ended was started again.
    Restart {
        member: Recipient,
        /// Which incarnation began.
        incarnation: Incarnation,
        reason: RestartReason,
    },
    /// A member is in the team no more.
    Leave { member: Recipient, reason: String },
    /// A member's tool is over.
    Tool {
        /// Who used it.
        member: Recipient,
        incarnation: Incarnation,
        name: String,
        /// How long it took, in milliseconds.
        millis: u64,
        /// Whether it did what was asked.
        ok: bool,
    },
    /// A file tool of a member has replaced a file of the workspace.
    File {
        /// Who.
        member: Recipient,
        /// Which incarnation.
        incarnation: Incarnation,
        /// The file, from the workspace, behind all links.
        path: String,
    },
    /// A call of a member's model is over.
    Model {
        /// Whose model.
        member: Recipient,
        incarnation: Incarnation,
        /// The model, by its server's word.
        model: String,
        /// Input tokens that were neither read from a cache nor written to it.
        input: u64,
        /// Output tokens.
        output: u64,
        /// Input tokens that were read from a cache.
        cache_read: u64,
        /// Input tokens that were written to a cache.
        cache_write: u64,
        /// How long it took, in milliseconds, with all tries.
        millis: u64,
        /// How many tries failed before.
        retries: u32,
        /// What it cost, if the price is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<Money>,
    },
    /// A member asks another model of its list.
    ModelSwitched {
        /// Whose model.
        member: Recipient,
        incarnation: Incarnation,
        /// The model that was asked before.
        from: String,
        /// The model that is asked now.
        to: String,
        /// Why the one before could not be reached; absent if a preferred one is tried again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A member's conversation was made shorter.
    Compaction {
        /// Whose.
        member: Recipient,
        incarnation: Incarnation,
        /// Where the whole conversation can be read.
        archive: String,
        /// Whether the model summarised it; if not, only its newest part was kept.
        summarised: bool,
    },
    /// A budget was reached, or its limits were changed.
    Budget {
        /// Whose; absent for the budget of the whole team.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        member: Option<Recipient>,
        /// What happened: `spent` or `changed`.
        action: String,
        /// The limits that are meant, in words.
        limits: String,
    },
    /// A hook has failed. What it was run for went on.
    HookFailed {
        /// For whom it was run.
        member: Recipient,
        incarnation: Incarnation,
        /// What it was run for, as in `PreToolUse`.
        hook: String,
        /// How its command begins.
        command: String,
        reason: String,
    },
    /// Somebody watches by polling, because notifications do not work here.
    Polling { member: Recipient, reason: String },
}

/// One line of the event log.
#[derive(Debug, Clone, PartialEq)]
pub enum EventLine {
    /// An event this version knows.
    Known(Event),
    /// An event of another version.
    Unknown(Map<String, Value>),
    /// A line that is no event.
    Corrupt {
        /// What is wrong with it.
        reason: String,
    },
}

impl Event {
    /// An event that no person is known to have caused.
    pub const fn new(time: Timestamp, kind: EventKind) -> Self {
        Self {
            time,
            kind,
            person: None,
        }
    }

    /// The line that goes into the log.
    pub fn to_line(&self) -> crate::JsonLine {
        crate::JsonLine::encode(self).expect("an event is an object of text and finite numbers")
    }
}

impl EventLine {
    /// Decodes one line of the log, given without its newline.
    pub fn decode(bytes: &[u8]) -> Self {
        if let Ok(event) = serde_json::from_slice(bytes) {
            return Self::Known(event);
        }
        match serde_json::from_slice(bytes) {
            Ok(object) => Self::Unknown(object),
            Err(error) => Self::Corrupt {
                reason: error.to_string(),
            },
        }
    }
}
