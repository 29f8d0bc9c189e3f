//! Errors at the edge: an exit code, a kind for programs, and a hint for people.

use protocol::exit;
use serde_json::json;
use std::process::ExitCode;
use teamdir::{OpenError, SendError};

/// Why a command failed, and what to do about it.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    kind: &'static str,
    message: String,
    hint: Option<String>,
}

impl Failure {
    pub(crate) fn usage(message: String) -> Self {
        Self {
            code: exit::USAGE,
            kind: "usage",
            message,
            hint: Some("team-lead --help".to_owned()),
        }
    }

    pub(crate) fn unknown_member(message: String) -> Self {
        Self {
            code: exit::NOT_FOUND,
            kind: "unknown_member",
            message,
            hint: Some("team-lead status".to_owned()),
        }
    }

    fn failed(message: String) -> Self {
        Self {
            code: exit::FAILED,
            kind: "failed",
            message,
            hint: None,
        }
    }

    #[expect(clippy::print_stderr, reason = "this is the program's edge")]
    pub(crate) fn report(self, as_json: bool) -> ExitCode {
        let Self {
            code,
            kind,
            message,
            hint,
        } = self;
        if as_json {
            let error = json!({"error": {"kind": kind, "message": message, "hint": hint}});
            eprintln!("{error}");
        } else {
            eprintln!("error: {message}");
            if let Some(hint) = hint {
                eprintln!("next: {hint}");
            }
        }
        ExitCode::from(code)
    }
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        let message = error.to_string();
        match error {
            OpenError::NotFound(_) => Self {
                code: exit::NOT_FOUND,
                kind: "no_team",
                message,
                hint: Some("teammate --dir . --name alice --role coder".to_owned()),
            },
            OpenError::Create(_) | OpenError::Roster(_) => Self::failed(message),
        }
    }
}

impl From<SendError> for Failure {
    fn from(error: SendError) -> Self {
        let message = error.to_string();
        match error {
            SendError::UnknownRecipient { .. } => Self::unknown_member(message),
            SendError::NoRecipient
            | SendError::TooLong { .. }
            | SendError::Roster(_)
            | SendError::Append(_) => Self::failed(message),
        }
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::failed(format!("{error:#}"))
    }
}

impl From<teamdir::PathError> for Failure {
    fn from(error: teamdir::PathError) -> Self {
        Self::failed(error.to_string())
    }
}

impl From<teamdir::RosterError> for Failure {
    fn from(error: teamdir::RosterError) -> Self {
        Self::failed(error.to_string())
    }
}
