//! Task files: numbered once, changed under the board's lock, replaced whole.

use crate::Durability;
use crate::atomic;
use crate::error::PathError;
use crate::lock::{FileLock, LockError};
use crate::paths::Layout;
use crate::team::TeamDir;
use protocol::{Task, TaskId};
use std::io;
use std::path::{Path, PathBuf};

/// Why a task could not be stored, read or changed.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// There is no such task.
    #[error("there is no task {0}")]
    Unknown(TaskId),
    /// The file is not a task.
    #[error("{} is not a valid task: {reason}", path.display())]
    Invalid {
        /// The file.
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

/// The board under its lock: nobody else changes a task while this lives.
#[derive(Debug)]
pub struct LockedBoard<'a> {
    layout: &'a Layout,
    durability: Durability,
    _lock: FileLock,
}

impl TeamDir {
    /// The task `id` as it is now.
    pub fn task(&self, id: TaskId) -> Result<Task, TaskError> {
        read(&self.layout, id)?.ok_or(TaskError::Unknown(id))
    }

    /// All tasks by number, and an error for each file that is none.
    pub fn tasks(&self) -> Result<Vec<Result<Task, TaskError>>, PathError> {
        let ids = ids(&self.layout)?;
        let tasks = ids
            .into_iter()
            .filter_map(|id| read(&self.layout, id).transpose());
        Ok(tasks.collect())
    }

    /// Takes the board's lock, to change tasks.
    pub fn lock_board(&self) -> Result<LockedBoard<'_>, LockError> {
        let lock = FileLock::acquire(&self.layout.tasks_lock(), self.options.lock_wait)?;
        Ok(LockedBoard {
            layout: &self.layout,
            durability: self.options.durability,
            _lock: lock,
        })
    }
}

impl LockedBoard<'_> {
    /// The task `id`.
    pub fn get(&self, id: TaskId) -> Result<Task, TaskError> {
        read(self.layout, id)?.ok_or(TaskError::Unknown(id))
    }

    /// All tasks by number. A file that is no task is an error: what cannot be read cannot be
    /// reasoned about.
    pub fn all(&self) -> Result<Vec<Task>, TaskError> {
        let ids = ids(self.layout)?;
        let tasks = ids
            .into_iter()
            .filter_map(|id| read(self.layout, id).transpose());
        tasks.collect()
    }

    /// Stores a new task under a number no task ever had. `make` gets the number.
    pub fn create(&self, make: impl FnOnce(TaskId) -> Task) -> Result<Task, TaskError> {
        let mut id = TaskId(self.last_id()?.0 + 1);
        // The number is used up before the file exists: a crash in between leaves a gap, and
        // never the same number twice.
        self.write_last(id)?;
        let mut task = make(id);
        loop {
            task.id = id;
            let path = self.layout.task(id);
            if atomic::create(&path, &encode(&task), self.durability)? {
                return Ok(task);
            }
            // Somebody created the file by hand.
            id = TaskId(id.0 + 1);
            self.write_last(id)?;
        }
    }

    /// Stores a changed task.
    pub fn put(&self, task: &Task) -> Result<(), TaskError> {
        let path = self.layout.task(task.id);
        Ok(atomic::replace(&path, &encode(task), self.durability)?)
    }

    /// Removes a task's file. Its number is not given out again.
    pub fn remove(&self, id: TaskId) -> Result<(), TaskError> {
        let path = self.layout.task(id);
        std::fs::remove_file(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => TaskError::Unknown(id),
            _ => PathError::new("delete", &path, error).into(),
        })?;
        Ok(atomic::sync_parent(&path, self.durability)?)
    }

    /// The highest number given out so far. The note of it spares a look at every file; without
    /// a readable note the files are counted.
    fn last_id(&self) -> Result<TaskId, TaskError> {
        let path = self.layout.last_task();
        let noted = match std::fs::read_to_string(&path) {
            Ok(text) => text.trim().parse().ok(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(PathError::new("read", &path, error).into()),
        };
        match noted {
            Some(last) => Ok(TaskId(last)),
            None => Ok(ids(self.layout)?.pop().unwrap_or(TaskId(0))),
        }
    }

    fn write_last(&self, id: TaskId) -> Result<(), TaskError> {
        let text = format!("{id}\n");
        let path = self.layout.last_task();
        Ok(atomic::replace(&path, text.as_bytes(), self.durability)?)
    }
}

fn encode(task: &Task) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(task).expect("text keys and finite numbers encode");
    bytes.push(b'\n');
    bytes
}

fn ids(layout: &Layout) -> Result<Vec<TaskId>, PathError> {
    let dir = layout.tasks_dir();
    let fail = |error| PathError::new("list", &dir, error);
    let mut ids = Vec::new();
    for entry in std::fs::read_dir(&dir).map_err(fail)? {
        let name = entry.map_err(fail)?.file_name();
        ids.extend(name.to_str().and_then(Layout::task_id));
    }
    ids.sort_unstable();
    Ok(ids)
}

fn read(layout: &Layout, id: TaskId) -> Result<Option<Task>, TaskError> {
    let path = layout.task(id);
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(PathError::new("read", &path, error).into()),
    };
    decode(&path, id, &bytes).map(Some)
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
