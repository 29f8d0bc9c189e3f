//! Looking at the board, without a lock.

use super::BoardError;
use crate::Me;
use coordination::Board;
use protocol::{Task, TaskId};
use std::sync::Arc;
use teamdir::{PathError, TaskError, TeamDir};

/// The board as somebody sees it who takes no lock.
#[derive(Debug, Default)]
pub struct BoardLook {
    /// All tasks.
    pub board: Board,
    /// An error for each file that should be a task and is none.
    pub broken: Vec<TaskError>,
}

impl BoardLook {
    pub(super) fn of(tasks: Vec<Result<Arc<Task>, TaskError>>) -> Self {
        let mut broken = Vec::new();
        let sound = tasks
            .into_iter()
            .filter_map(|task| task.map_err(|error| broken.push(error)).ok());
        let board = sound.collect();
        Self { board, broken }
    }
}

/// All tasks as they are now.
pub fn list(team: &TeamDir) -> Result<BoardLook, PathError> {
    Ok(BoardLook::of(team.tasks()?))
}

/// One task as it is now.
pub fn get(team: &TeamDir, id: TaskId) -> Result<Task, BoardError> {
    Ok(Arc::unwrap_or_clone(team.task(id)?))
}

/// The tasks that this very life of somebody has in progress.
pub fn unfinished(team: &TeamDir, me: &Me) -> Result<Vec<Task>, PathError> {
    let look = list(team)?;
    let mine = look.board.in_progress_of(&me.party);
    let mine = mine.filter(|task| match (task.owner_incarnation, me.incarnation) {
        (Some(owner), Some(own)) => owner == own,
        (None, _) | (_, None) => true,
    });
    Ok(mine.cloned().collect())
}
