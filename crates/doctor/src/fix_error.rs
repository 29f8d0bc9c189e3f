//! Why a fix failed.

use crate::clock::Dated;
use crate::fix::chown_command;
use integration::IntegrationError;
use nix::errno::Errno;
use protocol::Recipient;
use std::io;
use std::path::PathBuf;
use teamdir::{
    AppendError, JoinError, LockError, OwnershipError, PathError, RepairError, RequestError,
    StaleFileError, TaskError,
};

/// Why a fix failed. What it should have changed is as before.
#[derive(Debug, thiserror::Error)]
pub enum FixError {
    #[error(transparent)]
    File(#[from] PathError),
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    Member(#[from] JoinError),
    #[error(transparent)]
    Append(#[from] AppendError),
    #[error(transparent)]
    StaleFile(#[from] StaleFileError),
    #[error(transparent)]
    Repair(#[from] RepairError),
    #[error(transparent)]
    Request(#[from] RequestError),
    #[error(transparent)]
    Task(#[from] TaskError),
    #[error(transparent)]
    Tree(Box<IntegrationError>),
    #[error("the members' own trees cannot be used now")]
    NoTrees,
    #[error("cannot change {}: {cause}", path.display())]
    Change { path: PathBuf, cause: io::Error },
    #[error("{cause}; {}", chown_command(path))]
    TakeOver {
        path: PathBuf,
        cause: OwnershipError,
    },
    #[error("cannot end process {pid}: {cause}")]
    EndProcess { pid: i32, cause: Errno },
    #[error("process {0} does not end")]
    StillRuns(i32),
    #[error("'{0}' is busy; it corrects its state after its current work")]
    Busy(Recipient),
    /// The repair of what dead members left met these problems.
    #[error("{}", .0.join("; "))]
    Unrepaired(Vec<String>),
    /// These things still have a time in the future.
    #[error("{}", list(.0))]
    StillAhead(Vec<(Dated, Self)>),
}

impl From<IntegrationError> for FixError {
    fn from(error: IntegrationError) -> Self {
        Self::Tree(Box::new(error))
    }
}

fn list(errors: &[(Dated, FixError)]) -> String {
    let lines = errors
        .iter()
        .map(|(about, error)| format!("{about}: {error}"));
    lines.collect::<Vec<_>>().join("; ")
}
