//! The error of a command: an exit code, a kind for programs, and a hint for people.

mod sources;

use crate::cli::Args;
use crate::output::print_stderr;
use protocol::exit;
use serde_json::json;
use std::path::Path;
use std::process::ExitCode;

/// Why a command failed, and what to do about it.
#[derive(Debug)]
pub(crate) struct Failure {
    kind: Kind,
    message: String,
    hint: Option<String>,
}

/// The kind of a failure. Its name in JSON and its exit code are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(dead_code, reason = "the list is complete; no command uses all of it")]
pub(crate) enum Kind {
    Failed,
    /// The rules or a member refused it.
    Refused,
    /// The workspace says things that the user has not trusted.
    Untrusted,
    /// A member is still running that should have ended.
    StillRunning,
    Usage,
    NoTeam,
    UnknownMember,
    UnknownRequest,
    UnknownTask,
    UnknownSession,
    TimedOut,
    /// The team has finished, but a teammate or a task failed.
    TeamFailed,
    Budget,
    /// Another process holds the lock.
    Held,
    /// Somebody else has answered the request, or it is closed.
    AlreadyAnswered,
    /// The user pressed Ctrl-C.
    Interrupted,
    /// The reader of the output closed the pipe, which is not an error.
    OutputClosed,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Refused => "refused",
            Self::Untrusted => "untrusted",
            Self::StillRunning => "still_running",
            Self::Usage => "usage",
            Self::NoTeam => "no_team",
            Self::UnknownMember => "unknown_member",
            Self::UnknownRequest => "unknown_request",
            Self::UnknownTask => "unknown_task",
            Self::UnknownSession => "unknown_session",
            Self::TimedOut => "timed_out",
            Self::TeamFailed => "team_failed",
            Self::Budget => "budget",
            Self::Held => "held",
            Self::AlreadyAnswered => "already_answered",
            Self::Interrupted => "interrupted",
            Self::OutputClosed => "output_closed",
        }
    }

    const fn code(self) -> u8 {
        match self {
            Self::Failed | Self::Refused | Self::Untrusted | Self::StillRunning => exit::FAILED,
            Self::Usage => exit::USAGE,
            Self::NoTeam
            | Self::UnknownMember
            | Self::UnknownRequest
            | Self::UnknownTask
            | Self::UnknownSession => exit::NOT_FOUND,
            Self::TimedOut => exit::TIMED_OUT,
            Self::TeamFailed => exit::TEAM_FAILED,
            Self::Budget => exit::BUDGET,
            Self::Held => exit::HELD,
            Self::AlreadyAnswered => exit::ALREADY_ANSWERED,
            Self::Interrupted => exit::INTERRUPTED,
            Self::OutputClosed => exit::DONE,
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl Failure {
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        let message = message.into();
        Self {
            kind,
            message,
            hint: None,
        }
    }

    /// Adds the command to type next.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) const fn kind(&self) -> Kind {
        self.kind
    }

    /// An unexpected failure. The hint is the command that diagnoses the team.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::new(Kind::Failed, message).hint("team-lead doctor")
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Kind::Usage, message).hint("team-lead --help")
    }

    /// The workspace is not trusted. The hint is the command that asks for it.
    pub(crate) fn untrusted(args: &Args, message: impl Into<String>) -> Self {
        let hint = match args.dir.as_path() {
            dir if dir == Path::new(".") => "team-lead trust".to_owned(),
            dir => format!("team-lead -C {} trust", dir.display()),
        };
        Self::new(Kind::Untrusted, message).hint(hint)
    }

    pub(crate) fn unknown_member(message: impl Into<String>) -> Self {
        Self::new(Kind::UnknownMember, message).hint("team-lead status")
    }

    /// What is wrong, for whoever is told by another way than this process.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Prints the failure to standard error, and returns its exit code.
    pub(crate) fn report(self, as_json: bool) -> ExitCode {
        let Self {
            kind,
            message,
            hint,
        } = self;
        if kind == Kind::OutputClosed {
            return ExitCode::from(kind.code());
        }
        if as_json {
            let error = json!({"error": {"kind": kind.name(), "message": message, "hint": hint}});
            print_stderr(&terminal_text::escape_json(&error.to_string()));
        } else {
            print_stderr(&format!("error: {message}"));
            if let Some(hint) = hint {
                print_stderr(&format!("next: {hint}"));
            }
        }
        ExitCode::from(kind.code())
    }
}
