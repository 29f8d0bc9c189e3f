//! Errors at the edge: an exit code, a kind for programs, and a hint for people.

mod sources;

use crate::out::say;
use protocol::exit;
use serde_json::json;
use std::process::ExitCode;

/// Why a command failed, and what to do about it.
#[derive(Debug)]
pub(crate) struct Failure {
    kind: Kind,
    message: String,
    hint: Option<String>,
}

/// What kind of failure it is: a word for programs, and an exit code. Both are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    dead_code,
    reason = "the table is whole; not every verb fails in every way"
)]
pub(crate) enum Kind {
    /// Something went wrong.
    Failed,
    /// The rules or a member say no.
    Refused,
    /// A member still runs that should not.
    StillRunning,
    /// The command line is wrong.
    Usage,
    /// There is no team folder.
    NoTeam,
    /// There is no such member.
    UnknownMember,
    /// There is no such request.
    UnknownRequest,
    /// There is no such task.
    UnknownTask,
    /// A deadline passed first.
    TimedOut,
    /// All is finished, but a teammate or a task failed.
    TeamFailed,
    /// A budget was reached.
    Budget,
    /// Another process holds the place.
    Held,
    /// The person at the terminal has had enough.
    Interrupted,
    /// Whoever read our output has seen enough, which is no failure at all.
    ReaderGone,
}

impl Kind {
    const fn word(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Refused => "refused",
            Self::StillRunning => "still_running",
            Self::Usage => "usage",
            Self::NoTeam => "no_team",
            Self::UnknownMember => "unknown_member",
            Self::UnknownRequest => "unknown_request",
            Self::UnknownTask => "unknown_task",
            Self::TimedOut => "timed_out",
            Self::TeamFailed => "team_failed",
            Self::Budget => "budget",
            Self::Held => "held",
            Self::Interrupted => "interrupted",
            Self::ReaderGone => "reader_gone",
        }
    }

    const fn code(self) -> u8 {
        match self {
            Self::Failed | Self::Refused | Self::StillRunning => exit::FAILED,
            Self::Usage => exit::USAGE,
            Self::NoTeam | Self::UnknownMember | Self::UnknownRequest | Self::UnknownTask => {
                exit::NOT_FOUND
            }
            Self::TimedOut => exit::TIMED_OUT,
            Self::TeamFailed => exit::TEAM_FAILED,
            Self::Budget => exit::BUDGET,
            Self::Held => exit::HELD,
            Self::Interrupted => exit::INTERRUPTED,
            Self::ReaderGone => exit::DONE,
        }
    }
}

impl Failure {
    /// A failure without a hint.
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        let message = message.into();
        Self {
            kind,
            message,
            hint: None,
        }
    }

    /// The same with the command to type next.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// What kind of failure it is.
    pub(crate) const fn kind(&self) -> Kind {
        self.kind
    }

    /// Something went wrong of which nothing better is known than who might find out.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::new(Kind::Failed, message).hint("team-lead doctor")
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Kind::Usage, message).hint("team-lead --help")
    }

    pub(crate) fn unknown_member(message: impl Into<String>) -> Self {
        Self::new(Kind::UnknownMember, message).hint("team-lead status")
    }

    /// Says what went wrong on standard error, and returns the exit code for it.
    pub(crate) fn report(self, as_json: bool) -> ExitCode {
        let Self {
            kind,
            message,
            hint,
        } = self;
        if kind == Kind::ReaderGone {
            return ExitCode::from(kind.code());
        }
        if as_json {
            let error = json!({"error": {"kind": kind.word(), "message": message, "hint": hint}});
            say(&error.to_string());
        } else {
            say(&format!("error: {message}"));
            if let Some(hint) = hint {
                say(&format!("next: {hint}"));
            }
        }
        ExitCode::from(kind.code())
    }
}
