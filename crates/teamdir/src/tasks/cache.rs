//! The board as last read: a file is read again when its stamp has changed, so that looking at
//! thousands of tasks costs a question to the system for each, and no parsing.

use super::{TaskError, decode};
use crate::error::PathError;
use crate::file;
use crate::paths::Layout;
use crate::stamp::Stamp;
use protocol::{Task, TaskId};
use std::collections::{HashMap, HashSet};
use std::io::{self, Read};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What this process has read of the board.
#[derive(Debug, Default)]
pub(crate) struct TaskCache {
    known: Mutex<Known>,
}

type Known = HashMap<TaskId, (Stamp, Arc<Task>)>;

impl TaskCache {
    /// One task as it is now.
    pub(super) fn get(&self, layout: &Layout, id: TaskId) -> Result<Option<Arc<Task>>, TaskError> {
        let path = layout.task(id);
        let stamp = match std::fs::symlink_metadata(&path) {
            Ok(metadata) => Stamp::of(&metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.known().remove(&id);
                return Ok(None);
            }
            Err(error) => return Err(PathError::new("look at", &path, error).into()),
        };
        let mut known = self.known();
        same(&known, id, stamp).map_or_else(|| read(&mut known, &path, id), |task| Ok(Some(task)))
    }

    /// All tasks by number as they are now, and an error for each file that is none.
    pub(super) fn all(
        &self,
        layout: &Layout,
    ) -> Result<Vec<Result<Arc<Task>, TaskError>>, PathError> {
        let mut known = self.known();
        let found = stamps(layout)?;
        let mut tasks = Vec::with_capacity(found.len());
        for (id, stamp) in &found {
            let task = match same(&known, *id, *stamp) {
                Some(task) => Ok(Some(task)),
                None => read(&mut known, &layout.task(*id), *id),
            };
            tasks.extend(task.transpose());
        }
        let kept = found.iter().filter(|(id, _)| known.contains_key(id));
        if known.len() > kept.count() {
            let found: HashSet<TaskId> = found.into_iter().map(|(id, _)| id).collect();
            known.retain(|id, _| found.contains(id));
        }
        Ok(tasks)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        // Each entry is put there whole: a panic elsewhere leaves nothing half done.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn same(known: &Known, id: TaskId, stamp: Stamp) -> Option<Arc<Task>> {
    let (then, task) = known.get(&id)?;
    (*then == stamp).then(|| Arc::clone(task))
}

/// The numbers of all task files in order, with their stamps.
fn stamps(layout: &Layout) -> Result<Vec<(TaskId, Stamp)>, PathError> {
    let dir = layout.tasks_dir();
    let fail = |error| PathError::new("list", &dir, error);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(&dir).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        let Some(id) = entry.file_name().to_str().and_then(Layout::task_id) else {
            continue;
        };
        match entry.metadata() {
            Ok(metadata) => found.push((id, Stamp::of(&metadata))),
            // Deleted since the folder was read.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(PathError::new("look at", &entry.path(), error)),
        }
    }
    found.sort_unstable_by_key(|(id, _)| *id);
    // A folder that changes while it is read may name a file twice.
    found.dedup_by_key(|(id, _)| *id);
    Ok(found)
}

fn read(known: &mut Known, path: &Path, id: TaskId) -> Result<Option<Arc<Task>>, TaskError> {
    known.remove(&id);
    let fail = |error| TaskError::from(PathError::new("read", path, error));
    let mut file = match file::options().read(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(fail(error)),
    };
    // The stamp of the file that is read, which need not be the one that was looked at.
    let stamp = Stamp::of(&file.metadata().map_err(fail)?);
    let is_settled = stamp.is_settled();
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(fail)?;
    let task = Arc::new(decode(path, id, &bytes)?);
    if is_settled {
        known.insert(id, (stamp, Arc::clone(&task)));
    }
    Ok(Some(task))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, TeamDir};
    use std::os::unix::fs::MetadataExt;

    fn team() -> (tempfile::TempDir, TeamDir) {
        let dir = tempfile::tempdir().unwrap();
        let team = TeamDir::create(dir.path(), "t", Options::default()).unwrap();
        (dir, team)
    }

    fn settle(team: &TeamDir, id: TaskId) {
        let stamp = || Stamp::of(&std::fs::metadata(team.layout.task(id)).unwrap());
        while !stamp().is_settled() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn what_has_not_changed_is_not_read_again() {
        let (_dir, team) = team();
        let board = team.lock_board().unwrap();
        let id = board.create(|id| Task::new(id, "one")).unwrap().id;
        // Fresh files may change within one tick of the clock, so they are not kept.
        settle(&team, id);
        let first = board.get(id).unwrap();
        assert!(Arc::ptr_eq(&first, &board.get(id).unwrap()));
        let looked = team.tasks().unwrap().remove(0).unwrap();
        assert!(Arc::ptr_eq(&first, &looked));
        let mut changed = Task::clone(&first);
        "two".clone_into(&mut changed.subject);
        board.put(&changed).unwrap();
        assert_eq!(board.get(id).unwrap().subject, "two");
        assert_eq!(team.tasks().unwrap().remove(0).unwrap().subject, "two");
    }

    #[test]
    fn a_file_changed_in_place_is_seen() {
        let (_dir, team) = team();
        let id = team.lock_board().unwrap();
        let id = id.create(|id| Task::new(id, "one")).unwrap().id;
        settle(&team, id);
        team.task(id).unwrap();
        let path = team.layout.task(id);
        let inode = std::fs::metadata(&path).unwrap().ino();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace("one", "two")).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().ino(), inode);
        assert_eq!(team.task(id).unwrap().subject, "two");
        assert_eq!(team.tasks().unwrap().remove(0).unwrap().subject, "two");
    }

    #[test]
    fn what_is_gone_is_forgotten_and_what_is_broken_is_said() {
        let (_dir, team) = team();
        let board = team.lock_board().unwrap();
        for subject in ["one", "two"] {
            let id = board.create(|id| Task::new(id, subject)).unwrap().id;
            settle(&team, id);
        }
        assert_eq!(team.tasks().unwrap().len(), 2);
        board.remove(TaskId(1)).unwrap();
        std::fs::write(team.layout.task(TaskId(2)), "{").unwrap();
        let looked = team.tasks().unwrap();
        assert!(matches!(
            looked.as_slice(),
            [Err(TaskError::Invalid { .. })]
        ));
        assert!(team.tasks.known().is_empty());
        assert!(matches!(team.task(TaskId(1)), Err(TaskError::Unknown(_))));
    }
}
