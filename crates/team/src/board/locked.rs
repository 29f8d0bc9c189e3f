//! The board under its lock: reads what a rule needs, and stores the result.

use super::{BoardError, BoardView};
use protocol::{HostId, Party, RequestId, Task, TaskId};
use rules::{Board, check_lease};
use std::collections::BTreeMap;
use std::sync::Arc;
use teamdir::{LockedBoard, TaskError, TeamDir};

/// The board, locked against changes by other processes.
pub(super) struct Locked<'a> {
    pub(super) files: LockedBoard<'a>,
    /// Who has asked for the change, if that is another host.
    asked: Option<Asked>,
}

/// A change that another host has asked for.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) id: RequestId,
    pub(super) host: HostId,
    pub(super) lease: Option<u64>,
}

type Found = BTreeMap<TaskId, Arc<Task>>;

impl<'a> Locked<'a> {
    pub(super) fn take(team: &'a TeamDir) -> Result<Self, BoardError> {
        let files = team.lock_board()?;
        Ok(Self { files, asked: None })
    }

    /// The same for a change that another host has asked for.
    pub(super) fn for_asked(team: &'a TeamDir, asked: Asked) -> Result<Self, BoardError> {
        let files = team.lock_board()?;
        Ok(Self {
            files,
            asked: Some(asked),
        })
    }

    /// Whether another host has asked for the change.
    pub(super) const fn is_asked(&self) -> bool {
        self.asked.is_some()
    }

    /// Refuses a change by a member of another host that does not hold the task, or not under the claim that it
    /// names.
    pub(super) fn check_lease(&self, task: &Task, by: &Party) -> Result<(), BoardError> {
        match (&self.asked, by) {
            (Some(asked), Party::Member(_)) => Ok(check_lease(task, by, asked.lease)?),
            (Some(_) | None, _) => Ok(()),
        }
    }

    /// Marks the lines of a task's history after the first `known` with what was asked.
    pub(super) fn marked(&self, mut task: Task, known: usize) -> Task {
        if let Some(asked) = &self.asked {
            for entry in task.history.iter_mut().skip(known) {
                entry.ask = Some(asked.id.clone());
                entry.host = Some(asked.host.clone());
            }
        }
        task
    }

    /// All valid tasks.
    pub(super) fn whole(&self) -> Result<Board, BoardError> {
        Ok(self.view()?.board)
    }

    /// All tasks, with the errors of invalid files.
    pub(super) fn view(&self) -> Result<BoardView, BoardError> {
        BoardView::for_decision(self.files.list()?)
    }

    /// A task and its dependencies.
    pub(super) fn around(&self, id: TaskId) -> Result<Board, BoardError> {
        self.reaching(id, &[])
    }

    /// A task and its dependencies, and everything that `more` depend on, directly or not: enough to decide
    /// whether the task may wait for `more`.
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

    /// The tasks `starts` and everything they depend on, directly or not.
    pub(super) fn closure(&self, starts: &[TaskId]) -> Result<Board, BoardError> {
        Ok(self.below(starts)?.into_values().collect())
    }

    fn below(&self, starts: &[TaskId]) -> Result<Found, BoardError> {
        let mut found = Found::new();
        for start in starts {
            match self.files.get(*start) {
                Ok(task) => found.insert(task.id, task),
                // The rule reports it.
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

    /// A dependency. One that is missing or invalid blocks, but is not an error here.
    fn sound(&self, id: TaskId) -> Result<Option<Arc<Task>>, BoardError> {
        match self.files.get(id) {
            Ok(task) => Ok(Some(task)),
            Err(TaskError::Unknown(_) | TaskError::Invalid { .. }) => Ok(None),
            Err(error @ (TaskError::Lock(_) | TaskError::File(_))) => Err(error.into()),
        }
    }

    /// Replaces a task's file, and logs the lines of its history after the first `known`.
    pub(super) fn store(&self, task: Task, known: usize) -> Result<Task, BoardError> {
        let task = self.marked(task, known);
        self.files.put(&task, known)?;
        Ok(task)
    }
}
