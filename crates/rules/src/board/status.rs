//! Changes the status of a task by the status's name.

use super::{ClaimRefusal, Claimant, CompleteRefusal, ReleaseRefusal, claim, complete, release};
use protocol::{Task, TaskId, TaskStatus, Timestamp};

/// A text that is not a status.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown status {0:?}: use pending, in_progress or completed")]
pub struct UnknownStatus(pub String);

/// Why a status cannot be set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StatusRefusal {
    /// `in_progress` was requested.
    #[error(transparent)]
    Claim(#[from] ClaimRefusal),
    /// `pending` was requested.
    #[error(transparent)]
    Release(#[from] ReleaseRefusal),
    /// `completed` was requested.
    #[error(transparent)]
    Complete(#[from] CompleteRefusal),
}

/// Parses the name of a status.
pub fn parse_status(name: &str) -> Result<TaskStatus, UnknownStatus> {
    let all = [
        TaskStatus::Pending,
        TaskStatus::InProgress,
        TaskStatus::Completed,
    ];
    let status = all.into_iter().find(|status| status.as_str() == name);
    status.ok_or_else(|| UnknownStatus(name.chars().take(80).collect()))
}

/// Sets the status of a task by the one operation that leads there: `in_progress` is a claim, `pending` a
/// release, `completed` a completion, each with its own rules.
pub fn set_status(
    task: &Task,
    dependencies: &[(TaskId, Option<TaskStatus>)],
    status: TaskStatus,
    claimant: &Claimant,
    now: Timestamp,
) -> Result<Task, StatusRefusal> {
    match status {
        TaskStatus::Pending => Ok(release(task, &claimant.actor, "", now)?),
        TaskStatus::InProgress => Ok(claim(task, dependencies, claimant, now)?),
        TaskStatus::Completed => Ok(complete(task, dependencies, &claimant.actor, None, now)?),
    }
}
