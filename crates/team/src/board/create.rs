//! Creates and deletes tasks.

use super::BoardError;
use super::locked::Locked;
use crate::Actor;
use protocol::{Task, TaskId};
use rules::{Board, NewTask};
use teamdir::{TeamDir, now};

/// Creates a task, under a number that no task ever had.
pub fn create(team: &TeamDir, me: &Actor, new: &NewTask) -> Result<Task, BoardError> {
    let locked = Locked::take(team)?;
    let below = locked.closure(&new.blocked_by)?;
    let task = locked.files.try_create(|id| {
        let mut board = below.clone();
        let task = board.create(id, new.clone(), &me.party, now())?;
        Ok::<_, BoardError>(task)
    })?;
    Ok(task)
}

/// Deletes a task and returns it. A completed task is also removed from `blockedBy` of the others.
pub fn delete(team: &TeamDir, me: &Actor, id: TaskId) -> Result<Task, BoardError> {
    let locked = Locked::take(team)?;
    // Every file must be readable: a broken one may be of a task that waits for this one.
    let tasks = locked.files.all()?;
    let mut board: Board = tasks.into_iter().collect();
    let deleted = board.delete(id, &me.party, now())?;
    for task in &deleted.changed {
        let known = task.history.len().saturating_sub(1);
        locked.store(task, known)?;
    }
    locked.files.remove(id, &me.party)?;
    Ok(deleted.task)
}
