//! The board under its lock: reading what a rule needs, and storing what comes out of it.

use super::{BoardError, BoardView};
use protocol::{Task, TaskId};
use rules::Board;
use std::collections::BTreeMap;
use std::sync::Arc;
use teamdir::{LockedBoard, TaskError, TeamDir};

/// The board while nobody else can change it.
pub(super) struct Locked<'a> {
    pub(super) files: LockedBoard<'a>,
}

/// Tasks on the way to a board.
type Found = BTreeMap<TaskId, Arc<Task>>;

impl<'a> Locked<'a> {
    pub(super) fn take(team: &'a TeamDir) -> Result<Self, BoardError> {
        let files = team.lock_board()?;
        Ok(Self { files })
    }

    /// Everything that is a task.
    pub(super) fn whole(&self) -> Result<Board, BoardError> {
        Ok(self.look()?.board)
    }

    /// The same, with what is no task.
    pub(super) fn look(&self) -> Result<BoardView, BoardError> {
        BoardView::to_decide(self.files.list()?)
    }

    /// A task and what it waits for.
    pub(super) fn around(&self, id: TaskId) -> Result<Board, BoardError> {
        self.reaching(id, &[])
    }

    /// A task and what it waits for, and everything that `more` wait for, directly or not: enough
    /// to tell whether the task may be made to wait for `more`.
    pub(super) fn reaching(&self, id: TaskId, more: &[TaskId]) -> Result<Board, BoardError> {
        let task = self.files.get(id)?;
        let mut found = self.below(more)?;
        for dependency in &task.blocked_by {
            if !found.contains_key(dependency) {
                found.extend(self.sound(*dependency)?.map(|task| (task.id, task)));
            }
        }
        found.insert(id, task);
        Ok(found.into_values().collect())
    }

    /// Everything that `starts` wait for, directly or not, with themselves.
    pub(super) fn closure(&self, starts: &[TaskId]) -> Result<Board, BoardError> {
        Ok(self.below(starts)?.into_values().collect())
    }

    fn below(&self, starts: &[TaskId]) -> Result<Found, BoardError> {
        let mut found = Found::new();
        for start in starts {
            match self.files.get(*start) {
                Ok(task) => found.insert(task.id, task),
                // The rule says it better.
                Err(TaskError::Unknown(_)) => None,
                Err(error) => return Err(error.into()),
            };
        }
        let next = found.values().flat_map(|task| task.blocked_by.clone());
        let mut next: Vec<TaskId> = next.collect();
        while let Some(id) = next.pop() {
            if found.contains_key(&id) {
                continue;
            }
            if let Some(task) = self.sound(id)? {
                next.extend(&task.blocked_by);
                found.insert(id, task);
            }
        }
        Ok(found)
    }

    /// A dependency: one that is missing or broken blocks, and is nobody's failure.
    fn sound(&self, id: TaskId) -> Result<Option<Arc<Task>>, BoardError> {
        match self.files.get(id) {
            Ok(task) => Ok(Some(task)),
            Err(TaskError::Unknown(_) | TaskError::Invalid { .. }) => Ok(None),
            Err(error @ (TaskError::Lock(_) | TaskError::File(_))) => Err(error.into()),
        }
    }

    /// Replaces a task's file and tells what was done to it since its history had `known` lines.
    pub(super) fn store(&self, task: &Task, known: usize) -> Result<(), BoardError> {
        Ok(self.files.put(task, known)?)
    }
}
