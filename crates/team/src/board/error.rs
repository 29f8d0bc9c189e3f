//! Why something about the board could not be done.

use protocol::TaskId;
use rules::{
    ClaimRefusal, CompleteRefusal, CreateRefusal, DeleteRefusal, EdgeRefusal, EditRefusal,
    NoSuchTask, ReleaseRefusal, StatusRefusal,
};
use teamdir::{LockError, PathError, TaskError};

/// Why something about the board could not be done. The texts are for people and models.
#[derive(Debug, thiserror::Error)]
pub enum BoardError {
    /// There is no such task.
    #[error("Task {0} not found")]
    NotFound(TaskId),
    /// It cannot be claimed.
    #[error(transparent)]
    Claim(ClaimRefusal),
    /// It cannot be released.
    #[error(transparent)]
    Release(ReleaseRefusal),
    /// It cannot be completed.
    #[error(transparent)]
    Complete(CompleteRefusal),
    /// It cannot be edited.
    #[error(transparent)]
    Edit(EditRefusal),
    /// It cannot be created.
    #[error(transparent)]
    Create(#[from] CreateRefusal),
    /// What it waits for cannot be changed.
    #[error(transparent)]
    Edge(EdgeRefusal),
    /// It cannot be deleted.
    #[error(transparent)]
    Delete(DeleteRefusal),
    /// A result for a task that is not being completed.
    #[error("task {0} was not changed: a result goes with the status completed; else use a note")]
    ResultTooEarly(TaskId),
    /// A file is no task.
    #[error(transparent)]
    Task(TaskError),
    /// The lock could not be had.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// A file could not be read or written.
    #[error(transparent)]
    File(#[from] PathError),
}

impl BoardError {
    /// Whether the board is as it should be and the wish was not: a rule speaks against it.
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
            | Self::ResultTooEarly(_) => true,
            Self::Task(_) | Self::Lock(_) | Self::File(_) => false,
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

/// A task that is not there is the same failure whatever was to be done to it.
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
