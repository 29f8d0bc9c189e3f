//! Repairs damaged files: what can be read stays in its place, and the rest goes to the trash.
//!
//! **Invariant:** nothing is destroyed, and each file is checked again and changed under the lock
//! that protects it.

pub(crate) mod old_files;
pub(crate) mod ownership;
pub(crate) mod stale_files;
mod trash;
pub(crate) mod unfinished_lines;

use crate::board::TaskError;
use crate::error::{Context, PathError};
use crate::files;
use crate::files::atomic;
use crate::layout::Layout;
use crate::locks::{FileLock, LockError};
use crate::members::journal_lines::JournalLines;
use crate::members::lock::JoinError;
use crate::requests::{self, RequestError};
use crate::submissions::SubmissionError;
use crate::team_dir::{Durability, TeamDir};
use protocol::{AgentName, JournalLine, Plain, Recipient, Submission, Task, TaskId};
use serde_json::{Map, Value};
use std::fs::{File, FileTimes};
use std::io::{self, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Fields that a repaired task must have kept: without one of them it could be done twice, too early
/// or by the wrong member.
const DECISIVE: [&str; 6] = [
    "subject",
    "status",
    "blockedBy",
    "owner",
    "owner_incarnation",
    "role",
];

/// What was done about a damaged file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repaired {
    /// The copy of the damaged file in the trash.
    pub kept_in: PathBuf,
    /// Whether a repaired file is in its place.
    pub is_in_place: bool,
}

/// Why a file was not repaired. It is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum RepairError {
    /// The member runs, and its files are its own.
    #[error(
        "'{0}' runs, and nobody else may write to its journal; end it first with \
         `team-lead shutdown {0} --wait`"
    )]
    Runs(Recipient),
    /// The member could not be locked.
    #[error(transparent)]
    Join(JoinError),
    /// A task could not be read or stored.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// A request could not be read.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// A submission could not be read or stored.
    #[error(transparent)]
    Submission(#[from] SubmissionError),
    /// A lock could not be had.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// A file could not be read or written.
    #[error(transparent)]
    File(#[from] PathError),
}

impl TeamDir {
    /// Moves the dead letters to the trash. New ones start a new file.
    pub fn trash_dead_letters(&self) -> Result<Option<Repaired>, RepairError> {
        let path = self.layout.dead_letters();
        let lock = self.layout.dead_letters_lock();
        let _lock = FileLock::acquire(&lock, self.options.lock_wait)?;
        Ok(self.to_trash(&path)?.map(moved_to_trash))
    }

    /// Repairs a task file that is not a valid task. A task whose decisive fields can be read stays on
    /// the board with every field that is valid; any other leaves it, and its number is not reused.
    pub fn repair_task(&self, path: &Path) -> Result<Option<Repaired>, RepairError> {
        let name = path.file_name().and_then(|name| name.to_str());
        let Some(id) = name.and_then(Layout::task_id) else {
            return Ok(None);
        };
        let board = self.lock_board()?;
        match board.get(id) {
            Err(TaskError::Invalid { .. }) => {}
            Ok(_) | Err(TaskError::Unknown(_)) => return Ok(None),
            Err(error @ (TaskError::Lock(_) | TaskError::File(_))) => return Err(error.into()),
        }
        board.use_up(id)?;
        let bytes = files::read_whole(path).ok();
        let Some(task) = bytes.and_then(|bytes| readable(id, &bytes)) else {
            return Ok(board.set_aside(id)?.map(moved_to_trash));
        };
        let Some(kept_in) = self.keep_copy(path)? else {
            return Ok(None);
        };
        board.put(&task, task.history.len())?;
        Ok(Some(Repaired {
            kept_in,
            is_in_place: true,
        }))
    }

    /// Moves a request file that is not a valid request to the trash. A part of a request decides
    /// nothing, so none of it stays.
    pub fn trash_request(&self, path: &Path) -> Result<Option<Repaired>, RepairError> {
        let _lock = self.lock_requests()?;
        match requests::read(path) {
            Err(RequestError::Invalid { .. }) => Ok(self.to_trash(path)?.map(moved_to_trash)),
            Ok(_) | Err(RequestError::Unknown(_) | RequestError::Exists(_)) => Ok(None),
            Err(error @ (RequestError::Lock(_) | RequestError::File(_))) => Err(error.into()),
        }
    }

    /// Replaces a submission file that is not a valid submission by what is known about it from elsewhere.
    pub fn replace_submission(
        &self,
        submission: &Submission,
    ) -> Result<Option<Repaired>, RepairError> {
        let lock = self.lock_submissions()?;
        match self.submission(submission.id) {
            Err(SubmissionError::Invalid { .. }) => {}
            Ok(_) | Err(SubmissionError::Unknown(_)) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        let Some(kept_in) = self.keep_copy(&self.layout.submission(submission.id))? else {
            return Ok(None);
        };
        self.put_submission(&lock, submission)?;
        Ok(Some(Repaired {
            kept_in,
            is_in_place: true,
        }))
    }

    /// Moves the own tree of a member to the trash, as it is. The caller keeps the member from being
    /// started.
    pub fn trash_tree(&self, name: &AgentName) -> Result<Option<Repaired>, PathError> {
        let kept = self.to_trash(&self.layout.tree(name))?;
        Ok(kept.map(moved_to_trash))
    }

    /// Takes the lines that are no records out of a journal whose member does not run, and joins records
    /// that were written over several lines. The lines are kept in the trash; the records stay, in
    /// their order.
    pub fn repair_journal(&self, owner: &Recipient) -> Result<Option<Repaired>, RepairError> {
        // While this process holds the lock no other becomes the member and appends.
        let _guard = self.lock_dead_member(owner).map_err(|error| match error {
            JoinError::Held { owner, .. } => RepairError::Runs(owner),
            error => RepairError::Join(error),
        })?;
        let path = self.layout.transcript(owner);
        let file = match files::open_to_read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.context("read the journal", &path)?.file,
        };
        let mut repaired = atomic::write_beside(&path, b"", Durability::ProcessDeath)?;
        let bad = split_records(file, repaired.file()).context("read the journal", &path)?;
        if bad.is_empty() {
            return Ok(None);
        }
        if self.options.durability == Durability::PowerCut {
            repaired.file().sync_all().context("sync", &path)?;
        }
        // First kept, then removed: a process that is killed in between leaves both copies.
        let kept_in = self.keep(&path, |copy| copy.write_all(&bad))?;
        repaired.persist().context("replace", &path)?;
        repaired.sync_name(&path, self.options.durability)?;
        Ok(Some(Repaired {
            kept_in,
            is_in_place: true,
        }))
    }

    /// Moves something to the trash that stands in the place of a file, such as a folder or a FIFO, or a
    /// link in the place of a folder. A link is moved itself. A folder that every team has is made anew.
    pub fn trash_misplaced(&self, path: &Path) -> Result<Option<Repaired>, RepairError> {
        let is_file = std::fs::symlink_metadata(path).map_or(true, |found| found.is_file());
        if is_file || !path.starts_with(self.layout.root()) || path == self.layout.root() {
            return Ok(None);
        }
        // Without these everything would be allowed.
        if [self.layout.budget(), self.layout.limits()].contains(&path.to_path_buf()) {
            return Ok(None);
        }
        let kept = self.to_trash(path)?;
        if self.layout.folders().iter().any(|folder| folder == path) {
            files::create_dir(path)?;
        }
        Ok(kept.map(moved_to_trash))
    }

    /// Wakes the process of a member without sending mail: it checks its files and timers again.
    pub fn wake_member(&self, owner: &Recipient) -> Result<(), PathError> {
        let path = self.layout.inbox(owner);
        let opened = files::open_or_create_to_append(&path);
        let inbox = opened.context("open", &path)?.file;
        let times = FileTimes::new().set_modified(SystemTime::now());
        inbox.set_times(times).context("touch", &path)
    }
}

const fn moved_to_trash(kept_in: PathBuf) -> Repaired {
    Repaired {
        kept_in,
        is_in_place: false,
    }
}

/// The task in a damaged file, if all its decisive fields can be read. Its id is the number in the
/// name of the file.
fn readable(id: TaskId, bytes: &[u8]) -> Option<Task> {
    let mut found: Map<String, Value> = serde_json::from_slice(bytes).ok()?;
    found.remove("id");
    let subject = found.remove("subject")?;
    let mut kept = Map::new();
    kept.insert("id".to_owned(), Value::from(id.0));
    kept.insert("subject".to_owned(), subject);
    let is_task = |fields: &Map<String, Value>| {
        serde_json::from_value::<Task>(Value::Object(fields.clone())).ok()
    };
    is_task(&kept)?;
    for (key, value) in found {
        kept.insert(key.clone(), value);
        if is_task(&kept).is_some() {
            continue;
        }
        if DECISIVE.contains(&key.as_str()) {
            return None;
        }
        kept.remove(&key);
    }
    is_task(&kept)
}

/// Copies the records of a journal, each on one line, and returns the lines that were no records or
/// only parts of one. What stands behind the last newline is copied too: the next process of the member
/// cuts it off, as always.
fn split_records(journal: File, records: &mut File) -> io::Result<Vec<u8>> {
    let mut lines = JournalLines::new(BufReader::with_capacity(1 << 16, journal));
    let mut writer = BufWriter::new(records);
    let mut bad = Vec::new();
    while let Some(found) = lines.next::<Plain>()? {
        let mut found = match found {
            Ok(found) => found,
            Err(unfinished) => {
                writer.write_all(&unfinished)?;
                break;
            }
        };
        bad.append(&mut found.parts);
        found.bytes.push(b'\n');
        match found.line {
            JournalLine::Corrupt { .. } => bad.extend_from_slice(&found.bytes),
            JournalLine::Known(_) | JournalLine::Other { .. } => writer.write_all(&found.bytes)?,
        }
    }
    writer.flush()?;
    Ok(bad)
}

#[cfg(test)]
mod tests;
