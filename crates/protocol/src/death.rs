//! How the process of a member ended, and why the next one was started.

use crate::Incarnation;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How a process ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeathCause {
    /// It exited with this code.
    Code(i32),
    /// This signal killed it.
    Signal(i32),
    /// The operating system tells the exit status to the parent of a process, and that was none of
    /// the team's processes.
    #[default]
    Unknown,
}

/// The exit status of an incarnation, recorded by the process that started it;
/// `members/<name>/exit.json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExitRecord {
    pub incarnation: Incarnation,
    #[serde(default, skip_serializing_if = "DeathCause::is_unknown")]
    pub cause: DeathCause,
}

/// Why a member was started again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum RestartReason {
    /// A person asked for it, such as with `team-lead restart`.
    Requested,
    /// Its restart policy brought it back after it died.
    Policy,
    /// It was spawned again under its name.
    Spawned,
    /// A reason of another program.
    Other(String),
}

impl DeathCause {
    pub const fn is_unknown(&self) -> bool {
        matches!(self, Self::Unknown)
    }
}

impl fmt::Display for DeathCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => match signal_name(*signal) {
                Some(name) => write!(f, "killed by signal {signal}, {name}"),
                None => write!(f, "killed by signal {signal}"),
            },
            Self::Unknown => f.write_str("the cause is unknown"),
        }
    }
}

/// The name of a signal that commonly ends a process. The numbers are the same on all architectures of
/// Linux but MIPS.
const fn signal_name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        15 => "SIGTERM",
        _ => return None,
    })
}

impl RestartReason {
    /// The word as stored.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Requested => "requested",
            Self::Policy => "policy",
            Self::Spawned => "spawned",
            Self::Other(text) => text,
        }
    }
}

impl fmt::Display for RestartReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Requested => "on request",
            Self::Policy => "by its restart policy",
            Self::Spawned => "spawned again",
            Self::Other(text) => text,
        })
    }
}

impl From<String> for RestartReason {
    fn from(text: String) -> Self {
        match text.as_str() {
            "requested" => Self::Requested,
            "policy" => Self::Policy,
            "spawned" => Self::Spawned,
            _ => Self::Other(text),
        }
    }
}

impl From<RestartReason> for String {
    fn from(reason: RestartReason) -> Self {
        reason.as_str().to_owned()
    }
}
