//! Why a bridge cannot begin or go on.

use crate::judge::StreamError;
use protocol::{HostId, Recipient};
use team::{AnswerError, BoardError};
use teamdir::{
    AppendError, CutError, LockError, OutboxError, PathError, ReceiveError, RosterError, SendError,
    SessionError, SubmissionError, TeamFileError,
};

/// Why a bridge could not be started.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("another bridge runs for this team: {0}")]
    Lock(#[from] LockError),
    #[error(transparent)]
    Roster(#[from] RosterError),
    #[error(transparent)]
    Outbox(#[from] OutboxError),
    #[error(transparent)]
    File(#[from] PathError),
    #[error(transparent)]
    Told(#[from] TeamFileError),
    #[error(
        "both hosts are called '{0}'; give this one another name with `team-lead bridge --name NAME ...`"
    )]
    SameName(HostId),
    #[error(
        "this host is called '{known}' in this team, not '{wanted}': other hosts know it by that name"
    )]
    Renamed { known: HostId, wanted: HostId },
}

/// Why something could not be moved into an outbox. It is where it was.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    #[error(transparent)]
    Roster(#[from] RosterError),
    #[error(transparent)]
    Outbox(#[from] PathError),
    #[error(transparent)]
    Told(#[from] TeamFileError),
    #[error(transparent)]
    Receive(#[from] ReceiveError),
    #[error(transparent)]
    Board(#[from] BoardError),
    #[error(
        "'{owner}' is at home on the host '{host}', but runs here too: {error}; end it here with \
         `team-lead shutdown {owner}`"
    )]
    Runs {
        owner: Recipient,
        host: HostId,
        error: SessionError,
    },
}

/// Why frames could not be applied.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// The other host does not follow the rules.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// This host cannot store it now.
    #[error(transparent)]
    Roster(#[from] RosterError),
    #[error(transparent)]
    Send(#[from] SendError),
    #[error(transparent)]
    DeadLetter(#[from] AppendError),
    #[error(transparent)]
    Mark(#[from] TeamFileError),
    #[error(transparent)]
    File(#[from] PathError),
    #[error(transparent)]
    Board(#[from] BoardError),
    #[error(transparent)]
    Answer(#[from] AnswerError),
    #[error(transparent)]
    Submission(#[from] SubmissionError),
    #[error(transparent)]
    Settle(#[from] SettleError),
    #[error("the host '{0}' takes no answers, and is told nothing more until it does")]
    TooMuchWaits(HostId),
}

/// Why what was applied or read could not be made to last. It is done again.
#[derive(Debug, thiserror::Error)]
pub enum SettleError {
    #[error(transparent)]
    File(#[from] PathError),
    #[error(transparent)]
    Mark(#[from] TeamFileError),
    #[error(transparent)]
    Journal(#[from] CutError),
}
