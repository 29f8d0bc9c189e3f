//! What a hook can be run for.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Something that happens to a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum HookEvent {
    /// A tool is about to be called.
    PreToolUse,
    /// A tool has ended, and its result is in the journal.
    PostToolUse,
    /// A turn is about to begin with new input.
    UserPromptSubmit,
    /// The model would end its turn.
    Stop,
    /// The first turn of a process is about to begin.
    SessionStart,
    /// A person is about to be asked about a call.
    PermissionRequest,
    /// A model is about to put a task on the board.
    TaskCreated,
    /// A model is about to complete a task.
    TaskCompleted,
    /// A teammate is about to become idle.
    TeammateIdle,
    /// Something has begun to wait for a person.
    Notification,
}

impl HookEvent {
    pub const ALL: [Self; 10] = [
        Self::PreToolUse,
        Self::PostToolUse,
        Self::UserPromptSubmit,
        Self::Stop,
        Self::SessionStart,
        Self::PermissionRequest,
        Self::TaskCreated,
        Self::TaskCompleted,
        Self::TeammateIdle,
        Self::Notification,
    ];

    /// The name in files and in the input of hooks.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PreToolUse => "PreToolUse",
            Self::PostToolUse => "PostToolUse",
            Self::UserPromptSubmit => "UserPromptSubmit",
            Self::Stop => "Stop",
            Self::SessionStart => "SessionStart",
            Self::PermissionRequest => "PermissionRequest",
            Self::TaskCreated => "TaskCreated",
            Self::TaskCompleted => "TaskCompleted",
            Self::TeammateIdle => "TeammateIdle",
            Self::Notification => "Notification",
        }
    }

    /// Whether exit code 2 keeps from happening what is about to happen, or tells the model something.
    pub(crate) const fn can_block(self) -> bool {
        match self {
            Self::PreToolUse
            | Self::PostToolUse
            | Self::UserPromptSubmit
            | Self::Stop
            | Self::PermissionRequest
            | Self::TaskCreated
            | Self::TaskCompleted
            | Self::TeammateIdle => true,
            Self::SessionStart | Self::Notification => false,
        }
    }

    /// Whether plain text on the standard output is meant for the model.
    pub(crate) const fn takes_plain_text(self) -> bool {
        match self {
            Self::UserPromptSubmit | Self::SessionStart => true,
            Self::PreToolUse
            | Self::PostToolUse
            | Self::Stop
            | Self::PermissionRequest
            | Self::TaskCreated
            | Self::TaskCompleted
            | Self::TeammateIdle
            | Self::Notification => false,
        }
    }
}

impl fmt::Display for HookEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
