//! A change of status asked for by its word.

use super::{ClaimRefusal, Claimant, CompleteRefusal, ReleaseRefusal, claim, complete, release};
use protocol::{Task, TaskId, TaskStatus, Timestamp};

/// A word that is no status.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown status {0:?}: use pending, in_progress or completed")]
pub struct UnknownStatus(pub String);

/// Why a status cannot be set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StatusRefusal {
    /// `in_progress` was asked for.
    #[error(transparent)]
    Claim(#[from] ClaimRefusal),
    /// `pending` was asked for.
    #[error(transparent)]
    Release(#[from] ReleaseRefusal),
    /// `completed` was asked for.
    #[error(transparent)]
    Complete(#[from] CompleteRefusal),
}

/// The status that a word means.
pub fn parse_status(word: &str) -> Result<TaskStatus, UnknownStatus> {
    let all = [
        TaskStatus::Pending,
        TaskStatus::InProgress,
        TaskStatus::Completed,
    ];
    let status = all.into_iter().find(|status| status.as_str() == word);
    status.ok_or_else(|| UnknownStatus(word.chars().take(80).collect()))
}

/// Brings a task to a status by the one operation that leads there: `in_progress` is a claim,
/// `pending` a release, `completed` a completion, each with its own rules.
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
