//! Errors of the board.

use protocol::{AgentName, HostId, Party, TaskId};
use rules::{
    ClaimRefusal, CompleteRefusal, CreateRefusal, DeleteRefusal, EdgeRefusal, EditRefusal,
    LeaseOver, NoSuchTask, ReleaseRefusal, StatusRefusal,
};
use teamdir::{LockError, PathError, RosterError, SendError, TaskError, TeamFileError};

/// Why an operation on the board failed. The texts are for people and models.
#[derive(Debug, thiserror::Error)]
pub enum BoardError {
    #[error("Task {0} not found")]
    NotFound(TaskId),
    #[error(transparent)]
    Claim(ClaimRefusal),
    #[error(transparent)]
    Release(ReleaseRefusal),
    #[error(transparent)]
    Complete(CompleteRefusal),
    #[error(transparent)]
    Edit(EditRefusal),
    #[error(transparent)]
    Create(#[from] CreateRefusal),
    /// Its dependencies cannot be changed.
    #[error(transparent)]
    Edge(EdgeRefusal),
    #[error(transparent)]
    Delete(DeleteRefusal),
    /// A result for a task that is not being completed.
    #[error("task {0} was not changed: a result goes with the status completed; else use a note")]
    ResultTooEarly(TaskId),
    #[error(transparent)]
    Lease(#[from] LeaseOver),
    #[error("'{name}' is not at home on the host '{host}'")]
    NotAtHome { name: AgentName, host: HostId },
    #[error("the host '{host}' does not speak for {party}")]
    NotSpokenFor { host: HostId, party: Party },
    /// The home of the board, which is another host, has refused it.
    #[error("{reason}")]
    RefusedThere { reason: String, is_lease_over: bool },
    #[error(
        "nothing was claimed: the board is at home on the host '{home}', {why}, and only that host can grant a claim"
    )]
    Unreachable { home: HostId, why: String },
    /// The home of the board has not answered yet.
    #[error(
        "queued: the board is at home on the host '{home}', {why}; it decides when it gets this, and what it \
         decides comes by mail"
    )]
    Queued { home: HostId, why: String },
    #[error("the task is too long for another host: {bytes} bytes, where {most} are allowed")]
    TooLong { bytes: usize, most: usize },
    /// What is kept of a board on another host.
    #[error(transparent)]
    Kept(#[from] TeamFileError),
    #[error(transparent)]
    Roster(#[from] RosterError),
    /// A file is not a valid task.
    #[error(transparent)]
    Task(TaskError),
    #[error("what was written under a claim that has ended is not sent to the lead yet: {0}")]
    Words(SendError),
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    File(#[from] PathError),
}

impl BoardError {
    /// Whether a rule refused the operation, as opposed to a failure of the storage.
    pub const fn is_refusal(&self) -> bool {
        match self {
            Self::NotFound(_)
            | Self::Claim(_)
            | Self::Release(_)
            | Self::Complete(_)
            | Self::Edit(_)
            | Self::Create(_)
            | Self::Edge(_)
            | Self::Delete(_)
            | Self::Lease(_)
            | Self::NotAtHome { .. }
            | Self::NotSpokenFor { .. }
            | Self::RefusedThere { .. }
            | Self::Unreachable { .. }
            | Self::Queued { .. }
            | Self::TooLong { .. }
            | Self::ResultTooEarly(_) => true,
            Self::Task(_)
            | Self::Words(_)
            | Self::Lock(_)
            | Self::File(_)
            | Self::Kept(_)
            | Self::Roster(_) => false,
        }
    }
}

impl From<TaskError> for BoardError {
    fn from(error: TaskError) -> Self {
        match error {
            TaskError::Unknown(id) => Self::NotFound(id),
            TaskError::Lock(error) => Self::Lock(error),
            TaskError::File(error) => Self::File(error),
            error @ TaskError::Invalid { .. } => Self::Task(error),
        }
    }
}

/// A missing task is the same error for every operation.
macro_rules! from_refusal {
    ($($refusal:ident => $variant:ident),* $(,)?) => {$(
        impl From<$refusal> for BoardError {
            fn from(refusal: $refusal) -> Self {
                match refusal {
                    $refusal::NotFound(NoSuchTask(id)) => Self::NotFound(id),
                    refusal => Self::$variant(refusal),
                }
            }
        }
    )*};
}

from_refusal! {
    ClaimRefusal => Claim,
    ReleaseRefusal => Release,
    CompleteRefusal => Complete,
    EditRefusal => Edit,
    EdgeRefusal => Edge,
    DeleteRefusal => Delete,
}

impl From<NoSuchTask> for BoardError {
    fn from(NoSuchTask(id): NoSuchTask) -> Self {
        Self::NotFound(id)
    }
}

impl From<StatusRefusal> for BoardError {
    fn from(refusal: StatusRefusal) -> Self {
        match refusal {
            StatusRefusal::Claim(refusal) => refusal.into(),
            StatusRefusal::Release(refusal) => refusal.into(),
            StatusRefusal::Complete(refusal) => refusal.into(),
        }
    }
}
