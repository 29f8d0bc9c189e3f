//! What crosses of the task board. It has one home, the host that the lead is at home on; every other host has
//! a copy for reading, and asks the home for changes.

use crate::{HostId, Incarnation, Party, Priority, RequestId, Task, TaskId, TaskStatus, Timestamp};
use serde::{Deserialize, Serialize};

/// What a frame carries of the board.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum BoardFrame {
    /// To the home: the bridge of a host has begun, and wants to know all tasks.
    Want,
    /// To the home: a change that is asked for.
    Ask(BoardAsk),
    /// From the home: what became of it.
    Answer(BoardAnswer),
    /// From the home: tasks as they are now.
    Tasks(BoardTasks),
}

/// A change of the board that is asked of its home; also the file `board/asks/<id>.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BoardAsk {
    /// Random. The home does what is asked once for each.
    pub id: RequestId,
    pub by: Party,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incarnation: Option<Incarnation>,
    /// The number of the claim under which it is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<u64>,
    pub change: BoardChange,
}

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum BoardChange {
    Create {
        subject: String,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        description: String,
        #[serde(default)]
        priority: Priority,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        role: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        blocked_by: Vec<TaskId>,
    },
    Update(Box<TaskChange>),
    Claim {
        task: TaskId,
        /// Although another one is in progress.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        another: bool,
    },
    /// The next task for whoever asks.
    ClaimNext,
    /// The task that whoever asks lost by its last death.
    Resume,
    Release {
        task: TaskId,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        why: String,
    },
    Complete {
        task: TaskId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<String>,
    },
    Delete {
        task: TaskId,
    },
    /// The claim under which it is asked was granted when nobody waited for it any more.
    GiveBack {
        task: TaskId,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        why: String,
    },
    /// Incarnations of whoever asks, up to this one, have ended: their claims go back to the board.
    ReleaseEnded {
        up_to: Incarnation,
        why: String,
    },
}

/// What to change in a task; what is absent stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TaskChange {
    pub task: TaskId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<TaskStatus>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub add_blocked_by: Vec<TaskId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remove_blocked_by: Vec<TaskId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
}

/// What became of what was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BoardAnswer {
    /// That of the [`BoardAsk`].
    pub id: RequestId,
    pub outcome: BoardOutcome,
}

/// How the home has decided.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum BoardOutcome {
    /// It was done. These are the tasks that it changed, as they are now; none if there was nothing to do.
    Done { tasks: Vec<Task> },
    Refused {
        reason: String,
        /// Whether there is no such task.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        missing: Option<TaskId>,
        /// Whether the claim under which it was asked has ended.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_lease_over: bool,
        /// Whether nobody looked at it, because the host asks for too much.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_too_many: bool,
    },
}

/// Tasks as they are now, for the copy of another host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BoardTasks {
    /// Those that are new or have changed.
    pub tasks: Vec<Task>,
    /// All that there are; absent if none is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numbers: Option<Vec<TaskId>>,
}

record! {
    /// `board/copy.json`: of whose board the tasks beside it are a copy.
    pub struct BoardCopy {
        /// The host that the board is at home on.
        req of: HostId => "of",
        /// When the last news of it came, by the clock of this host.
        req at: Timestamp => "at",
        /// Whether that host could be reached then.
        def linked: bool => "linked",
    }
}

record! {
    /// `board/claims/task_<n>.json`: a claim of somebody on this host, as the home granted it.
    pub struct BoardClaim {
        req task: TaskId => "task",
        req owner: Party => "owner",
        opt owner_incarnation: Incarnation => "owner_incarnation",
        /// The number of the claim.
        req lease: u64 => "lease",
    }
}

/// `board/asks/<id>.end`: how an ask has ended for whoever waited for it. The first to say it decides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum AskEnd {
    /// The home has answered.
    Answered(BoardOutcome),
    /// Nobody waits any more: the outcome is told by mail.
    ByMail,
    /// Nobody waits any more, and a claim that is granted later is given back.
    Withdrawn,
}

impl BoardChange {
    /// The task that it is about, if that is known before.
    pub const fn task(&self) -> Option<TaskId> {
        match self {
            Self::Create { .. } | Self::ClaimNext | Self::Resume | Self::ReleaseEnded { .. } => {
                None
            }
            Self::Update(change) => Some(change.task),
            Self::Claim { task, .. }
            | Self::Release { task, .. }
            | Self::Complete { task, .. }
            | Self::GiveBack { task, .. }
            | Self::Delete { task } => Some(*task),
        }
    }

    /// Whether it asks for a claim.
    pub fn is_claim(&self) -> bool {
        match self {
            Self::Claim { .. } | Self::ClaimNext | Self::Resume => true,
            Self::Update(change) => change.status == Some(TaskStatus::InProgress),
            Self::Create { .. }
            | Self::Release { .. }
            | Self::Complete { .. }
            | Self::Delete { .. }
            | Self::GiveBack { .. }
            | Self::ReleaseEnded { .. } => false,
        }
    }

    /// Whether the claim of whoever asks is over when it is done.
    pub fn ends_claim(&self) -> bool {
        match self {
            Self::Release { .. }
            | Self::Complete { .. }
            | Self::Delete { .. }
            | Self::GiveBack { .. }
            | Self::ReleaseEnded { .. } => true,
            Self::Update(change) => matches!(
                change.status,
                Some(TaskStatus::Pending | TaskStatus::Completed)
            ),
            Self::Create { .. } | Self::Claim { .. } | Self::ClaimNext | Self::Resume => false,
        }
    }

    /// What somebody has written in it, for people.
    pub fn words(&self) -> Option<&str> {
        let words = match self {
            Self::Update(change) => change.result.as_deref().or(change.note.as_deref()),
            Self::Complete { result, .. } => result.as_deref(),
            Self::Release { why, .. } => Some(why.as_str()),
            Self::Create { .. }
            | Self::Claim { .. }
            | Self::ClaimNext
            | Self::Resume
            | Self::Delete { .. }
            | Self::GiveBack { .. }
            | Self::ReleaseEnded { .. } => None,
        };
        words.filter(|words| !words.trim().is_empty())
    }
}
