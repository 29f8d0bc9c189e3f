//! Conversions from the errors of the libraries.

use super::{Failure, Kind};
use member::{FindError, TrustError};
use processes::{FollowError, ViewError};
use protocol::NameError;
use rules::WhyIgnored;
use team::{AnswerError, AskError, NoteError};
use teamdir::{
    JoinError, LockError, OpenError, PathError, ReceiveError, RequestError, RosterError, SendError,
    SessionError,
};
use trust::StoreError;

/// The text of an error with all its causes.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        // A transparent error repeats the text of its source.
        let message = error.to_string();
        if !text.ends_with(&message) {
            text.push_str(": ");
            text.push_str(&message);
        }
        cause = error.source();
    }
    text
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        let message = with_causes(&error);
        match error {
            OpenError::NotFound(_) => {
                Self::new(Kind::NoTeam, message).hint("team-lead spawn alice coder")
            }
            OpenError::Create(_) | OpenError::Roster(_) => Self::failed(message),
        }
    }
}

impl From<FindError> for Failure {
    fn from(error: FindError) -> Self {
        match error {
            FindError::Open(error) => error.into(),
            FindError::ForeignOwner { .. } => {
                Self::new(Kind::Refused, error.to_string()).hint("team-lead -C DIR status")
            }
        }
    }
}

impl From<TrustError> for Failure {
    fn from(error: TrustError) -> Self {
        match error {
            TrustError::Roster(error) => error.into(),
            TrustError::Folder { .. } => {
                Self::new(Kind::Failed, error.to_string()).hint("team-lead trust --show")
            }
        }
    }
}

impl From<SendError> for Failure {
    fn from(error: SendError) -> Self {
        let message = with_causes(&error);
        match error {
            SendError::UnknownRecipient { .. } => Self::unknown_member(message),
            SendError::NoRecipient
            | SendError::TooLong { .. }
            | SendError::Roster(_)
            | SendError::Append(_) => Self::failed(message),
        }
    }
}

impl From<NoteError> for Failure {
    fn from(error: NoteError) -> Self {
        match error {
            NoteError::Empty | NoteError::TooLong { .. } | NoteError::Tags => {
                Self::usage(error.to_string())
            }
            NoteError::Full { .. } | NoteError::Append(_) => Self::failed(with_causes(&error)),
        }
    }
}

impl From<NameError> for Failure {
    fn from(error: NameError) -> Self {
        Self::usage(error.to_string())
    }
}

impl From<JoinError> for Failure {
    fn from(error: JoinError) -> Self {
        let message = with_causes(&error);
        match error {
            JoinError::NotAMember(_) => Self::unknown_member(message),
            JoinError::LastIncarnation { path, .. } => {
                let hint = format!("${{EDITOR:-vi}} {}", path.display());
                Self::new(Kind::Refused, message).hint(hint)
            }
            JoinError::Held { .. } | JoinError::File(_) | JoinError::Roster(_) => {
                Self::failed(message).hint("team-lead status")
            }
        }
    }
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Join(error) => error.into(),
            SessionError::Journal(error) => error.into(),
            SessionError::Mailbox(error) => error.into(),
        }
    }
}

impl From<RequestError> for Failure {
    fn from(error: RequestError) -> Self {
        let message = with_causes(&error);
        match error {
            RequestError::Unknown(_) => {
                Self::new(Kind::UnknownRequest, message).hint("team-lead requests")
            }
            RequestError::Exists(_)
            | RequestError::Invalid { .. }
            | RequestError::Lock(_)
            | RequestError::File(_) => Self::failed(message),
        }
    }
}

impl From<AnswerError> for Failure {
    fn from(error: AnswerError) -> Self {
        let message = with_causes(&error);
        match error {
            AnswerError::Refused {
                id,
                why: WhyIgnored::AlreadyDecided { .. } | WhyIgnored::Late,
            } => {
                let hint = format!("team-lead requests {id}");
                Self::new(Kind::AlreadyAnswered, message).hint(hint)
            }
            AnswerError::Refused {
                id,
                why: WhyIgnored::Empty | WhyIgnored::NotAChoice { .. } | WhyIgnored::NothingToGrant,
            } => Self::new(Kind::Usage, message).hint(format!("team-lead requests {id}")),
            AnswerError::AlreadySent { id, .. } => {
                let hint = format!("team-lead requests {id}");
                Self::new(Kind::AlreadyAnswered, message).hint(hint)
            }
            AnswerError::WrongKind { id, .. }
            | AnswerError::NotForPerson { id }
            | AnswerError::Refused { id, .. } => {
                Self::new(Kind::Refused, message).hint(format!("team-lead requests {id}"))
            }
            AnswerError::Request(error) => error.into(),
            AnswerError::Send { .. } | AnswerError::FollowUp { .. } => Self::failed(message),
        }
    }
}

impl From<AskError> for Failure {
    fn from(error: AskError) -> Self {
        let message = with_causes(&error);
        match error {
            AskError::Refused(_) => Self::new(Kind::Refused, message),
            AskError::Request(error) => error.into(),
            AskError::Send { id, .. } => {
                Self::failed(message).hint(format!("team-lead requests {id}"))
            }
        }
    }
}

impl From<ViewError> for Failure {
    fn from(error: ViewError) -> Self {
        let message = with_causes(&error);
        match error {
            ViewError::NoSuchMember { .. } => Self::unknown_member(message),
            ViewError::Roster(_) | ViewError::File(_) | ViewError::TeamFile(_) => {
                Self::failed(message)
            }
        }
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::failed(format!("{error:#}"))
    }
}

/// Errors that need no hint of their own.
macro_rules! failed {
    ($($error:ty),*) => { $(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::failed(with_causes(&error))
            }
        }
    )* };
}

failed!(
    PathError,
    RosterError,
    LockError,
    ReceiveError,
    FollowError,
    StoreError
);
