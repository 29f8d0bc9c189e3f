//! The board as last read. A file is read again only when its version has changed, so that listing
//! thousands of tasks costs one `stat` each and no parsing.

use super::{TaskError, decode};
use crate::error::PathError;
use crate::files;
use crate::files::version::FileVersion;
use crate::layout::Layout;
use protocol::{Task, TaskId};
use std::collections::{BTreeSet, HashMap};
use std::fs::Metadata;
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What this process has read of the board.
#[derive(Debug, Default)]
pub(crate) struct TaskCache {
    known: Mutex<Known>,
}

/// Task numbers are no enemy's choice, so the hash needs no secret, which would cost a call to
/// the system that can fail.
type Known = HashMap<TaskId, (FileVersion, Arc<Task>), BuildHasherDefault<DefaultHasher>>;

impl TaskCache {
    /// One task as it is now.
    pub(super) fn get(&self, folder: &Path, id: TaskId) -> Result<Option<Arc<Task>>, TaskError> {
        let path = Layout::task_in(folder, id);
        let metadata = match std::fs::symlink_metadata(&path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.known().remove(&id);
                return Ok(None);
            }
            Err(error) => return Err(PathError::new("look at", &path, error).into()),
        };
        see(&mut self.known(), folder, id, &metadata)
    }

    /// All tasks by number as they are now, and an error for each file that is none.
    pub(super) fn all(
        &self,
        folder: &Path,
    ) -> Result<Vec<Result<Arc<Task>, TaskError>>, PathError> {
        let mut known = self.known();
        let found = files(folder)?;
        let mut tasks = Vec::with_capacity(found.len());
        for (id, metadata) in &found {
            tasks.extend(see(&mut known, folder, *id, metadata).transpose());
        }
        let kept = found.iter().filter(|(id, _)| known.contains_key(id));
        if known.len() > kept.count() {
            let found: BTreeSet<TaskId> = found.into_iter().map(|(id, _)| id).collect();
            known.retain(|id, _| found.contains(id));
        }
        Ok(tasks)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        // Each entry is put there whole: a panic elsewhere leaves nothing half done.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The task in the file with this version, if the file still exists.
fn see(
    known: &mut Known,
    folder: &Path,
    id: TaskId,
    metadata: &Metadata,
) -> Result<Option<Arc<Task>>, TaskError> {
    if let Some((stamp, task)) = known.get(&id)
        && *stamp == FileVersion::of(metadata)
    {
        return Ok(Some(Arc::clone(task)));
    }
    known.remove(&id);
    let path = Layout::task_in(folder, id);
    // A link is not followed, and whoever opens a pipe waits for its other end.
    if !metadata.is_file() {
        let reason = "it is no regular file".to_owned();
        return Err(TaskError::Invalid { path, reason });
    }
    read(known, &path, id)
}

/// The numbers of all task files in order, with what the system says of them.
fn files(folder: &Path) -> Result<Vec<(TaskId, Metadata)>, PathError> {
    let fail = |error| PathError::new("list", folder, error);
    let mut found = Vec::new();
    for entry in files::list(folder).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        let Some(id) = entry.file_name().to_str().and_then(Layout::task_id) else {
            continue;
        };
        match entry.metadata() {
            Ok(metadata) => found.push((id, metadata)),
            // Deleted since the folder was read.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                return Err(PathError::new(
                    "look at",
                    &Layout::task_in(folder, id),
                    error,
                ));
            }
        }
    }
    found.sort_unstable_by_key(|(id, _)| *id);
    // A folder that changes while it is read may name a file twice.
    found.dedup_by_key(|(id, _)| *id);
    Ok(found)
}

fn read(known: &mut Known, path: &Path, id: TaskId) -> Result<Option<Arc<Task>>, TaskError> {
    let fail = |error| TaskError::from(PathError::new("read", path, error));
    let opened = match files::open_whole(path) {
        Ok(opened) => opened,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(fail(error)),
    };
    // The version of the open file, which need not be the one that was listed.
    let stamp = FileVersion::of(&opened.metadata);
    let is_settled = stamp.is_settled();
    let bytes = files::read_opened(&opened).map_err(fail)?;
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
        let stamp = || FileVersion::of(&std::fs::metadata(team.layout.task(id)).unwrap());
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
        board.put(&changed, 0).unwrap();
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
    fn removed_tasks_are_forgotten_and_invalid_ones_reported() {
        let (_dir, team) = team();
        let board = team.lock_board().unwrap();
        for subject in ["one", "two"] {
            let id = board.create(|id| Task::new(id, subject)).unwrap().id;
            settle(&team, id);
        }
        assert_eq!(team.tasks().unwrap().len(), 2);
        board.remove(TaskId(1), &protocol::Party::Lead).unwrap();
        std::fs::write(team.layout.task(TaskId(2)), "{").unwrap();
        let looked = team.tasks().unwrap();
        assert!(matches!(
            looked.as_slice(),
            [Err(TaskError::Invalid { .. })]
        ));
        assert!(team.tasks.known().is_empty());
        assert!(matches!(team.task(TaskId(1)), Err(TaskError::Unknown(_))));
    }

    #[test]
    fn a_link_is_no_task_and_is_not_followed() {
        let (dir, team) = team();
        let real = dir.path().join("elsewhere.json");
        std::fs::write(&real, r#"{"id":1,"subject":"x"}"#).unwrap();
        std::os::unix::fs::symlink(&real, team.layout.task(TaskId(1))).unwrap();
        let error = team.task(TaskId(1)).unwrap_err();
        assert!(error.to_string().contains("no regular file"), "{error}");
        assert!(team.tasks().unwrap().remove(0).is_err());
        // A number that bears a file is not given out.
        let board = team.lock_board().unwrap();
        assert_eq!(board.create(|id| Task::new(id, "x")).unwrap().id, TaskId(2));
    }
}
