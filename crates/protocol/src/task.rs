//! Tasks: `tasks/task_<n>.json`, one file for each task on the board.

use crate::{HostId, Incarnation, Party, RequestId, TaskId, Timestamp};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

record! {
    /// One task.
    pub struct Task {
        /// Its number, also in its file's name.
        req id: TaskId => "id",
        /// What is to be done, in a line.
        req subject: String => "subject",
        /// What is to be done, in full.
        def description: String => "description",
        /// How far it has come.
        def status: TaskStatus => "status",
        /// The tasks that must be completed before this one can be claimed.
        def blocked_by: Vec<TaskId> => "blockedBy",
        /// Who works on it. Stored as an empty text when nobody does.
        def owner: Owner => "owner",
        /// The incarnation of the owner. A claim does not outlive it.
        opt owner_incarnation: Incarnation => "owner_incarnation",
        /// The number of the last claim, counted once somebody on another host has claimed it. A claim ends
        /// when its host is silent, and what is then still done under its number has no effect.
        opt lease: u64 => "lease",
        /// From 0 to 10; the highest ready task is taken first.
        def priority: Priority => "priority",
        /// Who may claim it: only members of this role.
        opt role: String => "role",
        /// What came of it.
        opt result: String => "result",
        /// When it was created.
        opt created_at: Timestamp => "created_at",
        /// When it was last changed.
        opt updated_at: Timestamp => "updated_at",
        /// Who did what when, oldest first.
        def history: Vec<TaskHistory> => "history",
    }
}

record! {
    /// One line of a task's history.
    pub struct TaskHistory {
        /// When.
        req at: Timestamp => "at",
        /// Who.
        req by: Party => "by",
        /// What: `created`, `claimed`, `released`, `completed`, ...
        req action: String => "action",
        /// A remark.
        opt note: String => "note",
        /// Whose claim ended with its process, if that is why the task was released.
        opt owner: Party => "owner",
        /// Up to which incarnation the claims of that owner ended.
        opt owner_incarnation: Incarnation => "owner_incarnation",
        /// The other host that it was asked for on.
        opt host: HostId => "host",
        /// What that host has asked for, so that it is done once.
        opt ask: RequestId => "ask",
    }
}

/// How far a task has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// Nobody works on it.
    #[default]
    Pending,
    /// Its owner works on it.
    InProgress,
    /// It is done.
    Completed,
}

/// The owner of a task, if it has one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Owner(pub Option<Party>);

/// A priority from 0 to 10, 5 unless said otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Priority(u8);

impl Priority {
    /// A priority, if `value` is at most 10.
    pub const fn new(value: u8) -> Option<Self> {
        if value > 10 { None } else { Some(Self(value)) }
    }

    /// The number.
    pub const fn get(self) -> u8 {
        self.0
    }
}

impl Default for Priority {
    fn default() -> Self {
        Self(5)
    }
}

impl<'de> Deserialize<'de> for Priority {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = u8::deserialize(deserializer)?;
        Self::new(value).ok_or_else(|| {
            serde::de::Error::custom(format_args!("a priority is 0 to 10, not {value}"))
        })
    }
}

impl Serialize for Owner {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.as_ref().map_or("", Party::as_str))
    }
}

impl<'de> Deserialize<'de> for Owner {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?.unwrap_or_default();
        if text.is_empty() {
            return Ok(Self(None));
        }
        let owner = text.parse().map_err(serde::de::Error::custom)?;
        Ok(Self(Some(owner)))
    }
}

impl TaskStatus {
    /// The word as stored.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
        }
    }
}

impl Task {
    /// A pending task with nothing but its subject.
    pub fn new(id: TaskId, subject: &str) -> Self {
        Self {
            id,
            subject: subject.to_owned(),
            description: String::new(),
            status: TaskStatus::Pending,
            blocked_by: Vec::new(),
            owner: Owner(None),
            owner_incarnation: None,
            lease: None,
            priority: Priority::default(),
            role: None,
            result: None,
            created_at: None,
            updated_at: None,
            history: Vec::new(),
            extra: crate::Extra::new(),
        }
    }
}

impl TaskHistory {
    /// An entry without a note.
    pub fn new(at: Timestamp, by: Party, action: &str) -> Self {
        Self {
            at,
            by,
            action: action.to_owned(),
            note: None,
            owner: None,
            owner_incarnation: None,
            host: None,
            ask: None,
            extra: crate::Extra::new(),
        }
    }
}
