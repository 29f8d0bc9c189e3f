//! Task files: numbered once, changed under the board's lock, replaced whole.

mod cache;
mod elsewhere;

pub(crate) use cache::TaskCache;
pub use elsewhere::BoardPlace;

use crate::error::PathError;
use crate::events::pending::{PendingEvents, task_events};
use crate::files::{self, atomic};
use crate::layout::Layout;
use crate::locks::LockError;
use crate::team_dir::TeamDir;
use protocol::{EventKind, Party, Task, TaskId};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Why a task could not be stored, read or changed.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// There is no such task.
    #[error("there is no task {0}")]
    Unknown(TaskId),
    /// The file is not a task.
    #[error("{} is not a valid task: {reason}; mend or delete the file", path.display())]
    Invalid {
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The lock could not be had.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The file could not be read or written.
    #[error(transparent)]
    File(#[from] PathError),
}

/// The board under its lock: no other process changes a task until this is dropped.
#[derive(Debug)]
pub struct LockedBoard<'a> {
    team: &'a TeamDir,
    lock: PendingEvents<'a>,
}

impl TeamDir {
    /// The task `id` as it is now, or as it was when the copy of it came.
    pub fn task(&self, id: TaskId) -> Result<Arc<Task>, TaskError> {
        let (cache, folder) = self.readable_board();
        cache.get(&folder, id)?.ok_or(TaskError::Unknown(id))
    }

    /// The task `id` of the board that is at home here.
    pub(crate) fn own_task(&self, id: TaskId) -> Result<Arc<Task>, TaskError> {
        let task = self.tasks.get(&self.layout.tasks_dir(), id)?;
        task.ok_or(TaskError::Unknown(id))
    }

    /// All tasks by number, and an error for each file that is none. Files that have not changed
    /// since this process read them are not read again.
    pub fn tasks(&self) -> Result<Vec<Result<Arc<Task>, TaskError>>, PathError> {
        let (cache, folder) = self.readable_board();
        cache.all(&folder)
    }

    /// Takes the board's lock, to change tasks of the board that is at home here.
    pub fn lock_board(&self) -> Result<LockedBoard<'_>, LockError> {
        let path = self.layout.tasks_lock();
        let lock = PendingEvents::acquire(self, path, |noted| self.task_events_after(noted))?;
        Ok(LockedBoard { team: self, lock })
    }
}

impl LockedBoard<'_> {
    /// The task `id`.
    pub fn get(&self, id: TaskId) -> Result<Arc<Task>, TaskError> {
        self.team.own_task(id)
    }

    /// All tasks by number. A file that is no task is an error.
    pub fn all(&self) -> Result<Vec<Arc<Task>>, TaskError> {
        self.list()?.into_iter().collect()
    }

    /// All tasks by number, and an error for each file that is none.
    pub fn list(&self) -> Result<Vec<Result<Arc<Task>, TaskError>>, PathError> {
        self.team.tasks.all(&self.team.layout.tasks_dir())
    }

    /// Stores a new task under a number no task ever had. `make` gets the number.
    pub fn create(&self, mut make: impl FnMut(TaskId) -> Task) -> Result<Task, TaskError> {
        self.try_create(|id| Ok(make(id)))
    }

    /// The same where `make` may refuse, which uses no number up. It is asked again with another
    /// number if the file is created by another program at this moment.
    pub fn try_create<E: From<TaskError>>(
        &self,
        mut make: impl FnMut(TaskId) -> Result<Task, E>,
    ) -> Result<Task, E> {
        let mut last = self.last_id()?;
        loop {
            let id = self.free_after(last)?;
            let task = Task { id, ..make(id)? };
            // The number is used up before the file exists: a crash in between leaves a gap, and
            // never the same number twice.
            self.write_last(id)?;
            let path = self.team.layout.task(id);
            let events = task_events(&task, 0);
            self.prepare(&events)?;
            let created = atomic::create(&path, &encode(&task), self.team.options.durability);
            if created.map_err(TaskError::from)? {
                self.lock.publish(events);
                return Ok(task);
            }
            last = id;
        }
    }

    /// Stores a changed task, and logs the events of its history after the first `known` lines.
    pub fn put(&self, task: &Task, known: usize) -> Result<(), TaskError> {
        let path = self.team.layout.task(task.id);
        let events = task_events(task, known);
        self.prepare(&events)?;
        atomic::replace(&path, &encode(task), self.team.options.durability)?;
        self.lock.publish(events);
        Ok(())
    }

    /// Removes a task's file. Its number is not given out again.
    pub fn remove(&self, id: TaskId, by: &Party) -> Result<(), TaskError> {
        let event = gone(id, "deleted", by.clone());
        self.prepare(std::slice::from_ref(&event))?;
        let path = self.team.layout.task(id);
        files::remove_file(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => TaskError::Unknown(id),
            _ => PathError::new("delete", &path, error).into(),
        })?;
        atomic::sync_parent(&path, self.team.options.durability)?;
        self.lock.publish(vec![event]);
        Ok(())
    }

    /// Puts a task's file into the trash, and returns where it is now. Its number is not given out
    /// again.
    pub(crate) fn set_aside(&self, id: TaskId) -> Result<Option<PathBuf>, TaskError> {
        let event = gone(id, "set_aside", Party::System);
        self.prepare(std::slice::from_ref(&event))?;
        let kept = self.team.to_trash(&self.team.layout.task(id))?;
        self.lock.publish(vec![event]);
        Ok(kept)
    }

    /// The last of the events is enough: recovery reads the task itself.
    fn prepare(&self, events: &[EventKind]) -> Result<(), TaskError> {
        if let Some(event) = events.last() {
            self.lock.prepare(event)?;
        }
        Ok(())
    }

    /// Sees to it that a number is never given out again, whatever becomes of its file.
    pub(crate) fn use_up(&self, id: TaskId) -> Result<(), TaskError> {
        let last = self.last_id()?;
        self.write_last(last.max(id))
    }

    /// The first number after `last` that no file bears: one may have been made by hand.
    fn free_after(&self, last: TaskId) -> Result<TaskId, TaskError> {
        let mut id = last;
        loop {
            let next = id.0.checked_add(1).ok_or_else(|| TaskError::Invalid {
                path: self.team.layout.last_task(),
                reason: format!("there is no number after {id}"),
            })?;
            id = TaskId(next);
            let path = self.team.layout.task(id);
            match std::fs::symlink_metadata(&path) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(id),
                Err(error) => return Err(PathError::new("look at", &path, error).into()),
            }
        }
    }

    /// The highest number given out so far. The file `.last` spares listing all files; without
    /// a readable note the files are counted.
    fn last_id(&self) -> Result<TaskId, TaskError> {
        let path = self.team.layout.last_task();
        let noted = match files::read_whole(&path) {
            Ok(noted) => String::from_utf8_lossy(&noted).trim().parse().ok(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(PathError::new("read", &path, error).into()),
        };
        match noted {
            Some(last) => Ok(TaskId(last)),
            None => Ok(ids(&self.team.layout)?.pop().unwrap_or(TaskId(0))),
        }
    }

    fn write_last(&self, id: TaskId) -> Result<(), TaskError> {
        let text = format!("{id}\n");
        let path = self.team.layout.last_task();
        Ok(atomic::replace(
            &path,
            text.as_bytes(),
            self.team.options.durability,
        )?)
    }
}

/// The event that a task is on the board no more.
fn gone(id: TaskId, action: &str, by: Party) -> EventKind {
    EventKind::Task {
        task: id,
        action: action.to_owned(),
        by,
        status: None,
        owner: None,
    }
}

fn encode(task: &Task) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(task).expect("text keys and finite numbers encode");
    bytes.push(b'\n');
    bytes
}

fn ids(layout: &Layout) -> Result<Vec<TaskId>, PathError> {
    ids_in(&layout.tasks_dir())
}

fn ids_in(dir: &Path) -> Result<Vec<TaskId>, PathError> {
    let fail = |error| PathError::new("list", dir, error);
    let mut ids = Vec::new();
    for entry in files::list(dir).map_err(fail)? {
        let name = entry.map_err(fail)?.file_name();
        ids.extend(name.to_str().and_then(Layout::task_id));
    }
    ids.sort_unstable();
    Ok(ids)
}

fn decode(path: &Path, id: TaskId, bytes: &[u8]) -> Result<Task, TaskError> {
    let invalid = |reason: String| TaskError::Invalid {
        path: path.to_path_buf(),
        reason,
    };
    let task: Task = serde_json::from_slice(bytes).map_err(|error| invalid(error.to_string()))?;
    if task.id != id {
        return Err(invalid(format!("it calls itself task {}", task.id)));
    }
    Ok(task)
}
