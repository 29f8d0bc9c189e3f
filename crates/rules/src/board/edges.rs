//! Changes that need the whole board: new tasks, dependencies and deletion.

use super::{Board, NoSuchTask, list, log};
use protocol::{Party, Priority, Task, TaskId, TaskStatus, Timestamp};
use std::fmt;
use std::sync::Arc;

/// How many tasks of a long cycle are shown before and after the gap.
const SHOWN_OF_CYCLE: usize = 6;

/// A task to create.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewTask {
    pub subject: String,
    pub description: String,
    pub priority: Priority,
    /// The only role that may claim it.
    pub role: Option<String>,
    pub blocked_by: Vec<TaskId>,
}

/// Tasks that wait for each other, shown as `1 -> 3 -> 1`; each waits for the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cycle(pub Vec<TaskId>);

/// Why a task cannot be created.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CreateRefusal {
    #[error("task {0} exists already")]
    Exists(TaskId),
    #[error("the subject is empty: say in a line what is to be done")]
    EmptySubject,
    #[error("task {0} not found: a task can only wait for tasks that exist")]
    UnknownDependency(TaskId),
    #[error("task {0} cannot wait for itself")]
    Itself(TaskId),
    #[error("tasks would wait for each other: {0}")]
    Cycle(Cycle),
}

/// Why dependencies cannot be changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EdgeRefusal {
    #[error(transparent)]
    NotFound(#[from] NoSuchTask),
    #[error("task {id} is {}: what it waits for can only change while it is pending", status.as_str())]
    Started { id: TaskId, status: TaskStatus },
    #[error("task {0} not found: a task can only wait for tasks that exist")]
    UnknownDependency(TaskId),
    #[error("task {0} cannot wait for itself")]
    Itself(TaskId),
    #[error("tasks would wait for each other: {0}")]
    Cycle(Cycle),
    #[error("task {id} does not wait for task {other}")]
    NotWaiting { id: TaskId, other: TaskId },
}

/// Why a task cannot be deleted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeleteRefusal {
    #[error(transparent)]
    NotFound(#[from] NoSuchTask),
    #[error("task {id} is in progress: release it first")]
    InProgress { id: TaskId },
    #[error("task {id} cannot be deleted: {} wait for it", list(dependents))]
    Needed { id: TaskId, dependents: Vec<TaskId> },
}

/// The result of a deletion.
#[derive(Debug, Clone, PartialEq)]
pub struct Deleted {
    /// The task, whose file is to be removed after the changed ones are stored.
    pub task: Task,
    /// Tasks that named it as a dependency and no longer do, to be stored first. It was completed, so a
    /// crash in between does not change which tasks are blocked.
    pub changed: Vec<Task>,
}

impl Board {
    /// Creates a task. The caller guarantees that the number `id` is free.
    pub fn create(
        &mut self,
        id: TaskId,
        new: NewTask,
        by: &Party,
        now: Timestamp,
    ) -> Result<Task, CreateRefusal> {
        if self.get(id).is_ok() {
            return Err(CreateRefusal::Exists(id));
        }
        if new.subject.trim().is_empty() {
            return Err(CreateRefusal::EmptySubject);
        }
        if new.blocked_by.contains(&id) {
            return Err(CreateRefusal::Itself(id));
        }
        if let Some(unknown) = new.blocked_by.iter().find(|id| self.get(**id).is_err()) {
            return Err(CreateRefusal::UnknownDependency(*unknown));
        }
        // A foreign program may have named this number as a dependency before it was in use.
        if let Some(path) = self.path(&new.blocked_by, id) {
            return Err(CreateRefusal::Cycle(Cycle::closed(id, path)));
        }
        let mut task = Task::new(id, &new.subject);
        task.description = new.description;
        task.priority = new.priority;
        task.role = new.role.filter(|role| !role.trim().is_empty());
        task.created_at = Some(now);
        add_new(&mut task.blocked_by, &new.blocked_by);
        log(&mut task, by, "created", None, now);
        Ok(self.put(task))
    }

    /// Makes a pending task wait for more tasks: for all of them or, if one is refused, for none.
    pub fn add_blocked_by(
        &mut self,
        id: TaskId,
        more: &[TaskId],
        by: &Party,
        now: Timestamp,
    ) -> Result<Task, EdgeRefusal> {
        let task = self.pending(id)?;
        if more.contains(&id) {
            return Err(EdgeRefusal::Itself(id));
        }
        if let Some(unknown) = more.iter().find(|id| self.get(**id).is_err()) {
            return Err(EdgeRefusal::UnknownDependency(*unknown));
        }
        if let Some(path) = self.path(more, id) {
            return Err(EdgeRefusal::Cycle(Cycle::closed(id, path)));
        }
        let mut changed = task.clone();
        add_new(&mut changed.blocked_by, more);
        let note = format!("waits for {}", list(more));
        log(&mut changed, by, "blocked", Some(&note), now);
        Ok(self.put(changed))
    }

    /// Makes a pending task no longer wait for these tasks, which need not exist.
    pub fn remove_blocked_by(
        &mut self,
        id: TaskId,
        fewer: &[TaskId],
        by: &Party,
        now: Timestamp,
    ) -> Result<Task, EdgeRefusal> {
        let task = self.pending(id)?;
        if let Some(other) = fewer.iter().find(|id| !task.blocked_by.contains(id)) {
            let other = *other;
            return Err(EdgeRefusal::NotWaiting { id, other });
        }
        let mut changed = task.clone();
        changed.blocked_by.retain(|id| !fewer.contains(id));
        let note = format!("no longer waits for {}", list(fewer));
        log(&mut changed, by, "unblocked", Some(&note), now);
        Ok(self.put(changed))
    }

    /// Takes a task off the board.
    ///
    /// One that is not completed stays while others wait for it. One that is completed goes, and
    /// is taken out of `blockedBy` of the tasks that named it, since a missing dependency blocks.
    pub fn delete(
        &mut self,
        id: TaskId,
        by: &Party,
        now: Timestamp,
    ) -> Result<Deleted, DeleteRefusal> {
        let task = self.get(id)?;
        let dependents = self.tasks().filter(|task| task.blocked_by.contains(&id));
        let dependents: Vec<TaskId> = dependents.map(|task| task.id).collect();
        match task.status {
            TaskStatus::InProgress => return Err(DeleteRefusal::InProgress { id }),
            TaskStatus::Pending if !dependents.is_empty() => {
                return Err(DeleteRefusal::Needed { id, dependents });
            }
            TaskStatus::Pending | TaskStatus::Completed => {}
        }
        let mut changed = Vec::new();
        for dependent in dependents {
            let mut task = self.get(dependent)?.clone();
            task.blocked_by.retain(|other| *other != id);
            let note = format!("task {id} was completed and deleted");
            log(&mut task, by, "unblocked", Some(&note), now);
            changed.push(self.put(task));
        }
        let task = self.tasks.remove(&id).ok_or(NoSuchTask(id))?;
        let task = Arc::unwrap_or_clone(task);
        Ok(Deleted { task, changed })
    }

    fn pending(&self, id: TaskId) -> Result<&Task, EdgeRefusal> {
        let task = self.get(id)?;
        match task.status {
            TaskStatus::Pending => Ok(task),
            status @ (TaskStatus::InProgress | TaskStatus::Completed) => {
                Err(EdgeRefusal::Started { id, status })
            }
        }
    }
}

fn add_new(ids: &mut Vec<TaskId>, more: &[TaskId]) {
    for id in more {
        if !ids.contains(id) {
            ids.push(*id);
        }
    }
}

impl Cycle {
    /// The cycle that arises when `id` is made to wait for the start of `path`, which ends in `id`.
    fn closed(id: TaskId, path: Vec<TaskId>) -> Self {
        Self(std::iter::once(id).chain(path).collect())
    }
}

impl fmt::Display for Cycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |ids: &[TaskId]| {
            let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
            ids.join(" -> ")
        };
        let long = 2 * SHOWN_OF_CYCLE;
        match (
            self.0.first_chunk::<SHOWN_OF_CYCLE>(),
            self.0.last_chunk::<SHOWN_OF_CYCLE>(),
        ) {
            (Some(head), Some(tail)) if self.0.len() > long => {
                write!(f, "{} -> ... -> {}", shown(head), shown(tail))
            }
            _ => f.write_str(&shown(&self.0)),
        }
    }
}
