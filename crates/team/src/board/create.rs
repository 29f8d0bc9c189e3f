//! Creates and deletes tasks.

use super::BoardError;
use super::elsewhere;
use super::locked::Locked;
use crate::Actor;
use protocol::{BoardChange, Task, TaskId};
use rules::{Board, NewTask};
use teamdir::{TeamDir, now};

/// Creates a task, under a number that no task ever had.
pub fn create(team: &TeamDir, me: &Actor, new: &NewTask) -> Result<Task, BoardError> {
    if let Some(home) = elsewhere::home(team)? {
        let new = new.clone();
        let change = BoardChange::Create {
            subject: new.subject,
            description: new.description,
            priority: new.priority,
            role: new.role,
            blocked_by: new.blocked_by,
        };
        return home.ask_for_one(team, me, change);
    }
    create_in(&Locked::take(team)?, me, new)
}

pub(super) fn create_in(
    locked: &Locked<'_>,
    me: &Actor,
    new: &NewTask,
) -> Result<Task, BoardError> {
    let below = locked.closure(&new.blocked_by)?;
    let task = locked.files.try_create(|id| {
        let mut board = below.clone();
        let task = board.create(id, new.clone(), &me.party, now())?;
        Ok::<_, BoardError>(locked.marked(task, 0))
    })?;
    Ok(task)
}

/// Deletes a task and returns it. A completed task is also removed from `blockedBy` of the others.
pub fn delete(team: &TeamDir, me: &Actor, id: TaskId) -> Result<Task, BoardError> {
    if let Some(home) = elsewhere::home(team)? {
        return home.ask_for_one(team, me, BoardChange::Delete { task: id });
    }
    delete_in(&Locked::take(team)?, me, id)
}

pub(super) fn delete_in(locked: &Locked<'_>, me: &Actor, id: TaskId) -> Result<Task, BoardError> {
    // Every file must be readable: a broken one may be of a task that waits for this one.
    let tasks = locked.files.all()?;
    let mut board: Board = tasks.into_iter().collect();
    let deleted = board.delete(id, &me.party, now())?;
    for task in &deleted.changed {
        let known = task.history.len().saturating_sub(1);
        locked.store(task.clone(), known)?;
    }
    locked.files.remove(id, &me.party)?;
    Ok(deleted.task)
}
