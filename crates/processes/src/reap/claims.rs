//! Tasks whose owner has ended.

use protocol::{AgentName, Incarnation, Party, Task, TaskId, TaskStatus};
use std::sync::Arc;
use team::BoardError;
use teamdir::{PathError, TeamDir};

/// The tasks that a dead incarnation held, or that were released because of its death: the same list each
/// time while the death is being reaped.
pub(crate) fn left_by(
    team: &TeamDir,
    name: &AgentName,
    incarnation: Incarnation,
) -> Result<Vec<TaskId>, PathError> {
    let tasks = team.tasks()?.into_iter().flatten();
    let left = tasks.filter(|task| {
        is_held_by(task, name, incarnation) || was_released(task, name, incarnation)
    });
    Ok(left.map(|task| task.id).collect())
}

/// Whether an incarnation of the member up to this one holds the task.
fn is_held_by(task: &Task, name: &AgentName, up_to: Incarnation) -> bool {
    let owner = matches!(&task.owner.0, Some(Party::Member(owner)) if owner.same_as(name));
    let incarnation = task
        .owner_incarnation
        .is_none_or(|incarnation| incarnation <= up_to);
    task.status == TaskStatus::InProgress && owner && incarnation
}

/// Whether the task was released because this incarnation ended.
fn was_released(task: &Task, name: &AgentName, incarnation: Incarnation) -> bool {
    task.history.iter().any(|entry| {
        let is_owner = matches!(&entry.owner, Some(Party::Member(owner)) if owner.same_as(name));
        is_owner && entry.owner_incarnation == Some(incarnation)
    })
}

/// Releases the tasks of dead incarnations. Returns those that this call released.
pub(crate) fn release(
    team: &TeamDir,
    name: &AgentName,
    up_to: Incarnation,
    why: &str,
) -> Result<Vec<TaskId>, BoardError> {
    let released = team::release_all(team, name, up_to, why)?;
    Ok(released.iter().map(|task| task.id).collect())
}

/// The tasks in progress, each with its owner.
pub(crate) fn in_progress(team: &TeamDir) -> Result<Vec<(Arc<Task>, AgentName)>, PathError> {
    let tasks = team.tasks()?.into_iter().flatten();
    let held = tasks.filter_map(|task| match (&task.status, &task.owner.0) {
        (TaskStatus::InProgress, Some(Party::Member(owner))) => {
            let owner = owner.clone();
            Some((task, owner))
        }
        (TaskStatus::InProgress | TaskStatus::Pending | TaskStatus::Completed, _) => None,
    });
    Ok(held.collect())
}
