//! Putting right what is damaged: what can be read stays in its place, and the rest goes to the
//! trash whole. **Invariant:** nothing is destroyed, and each file is changed under the lock that
//! protects it, after another look.

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
use crate::members::lock::JoinError;
use crate::requests::{self, RequestError};
use crate::team_dir::{Durability, TeamDir};
use protocol::{JournalLine, Recipient, Task, TaskId};
use serde_json::{Map, Value};
use std::fs::{File, FileTimes};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use tempfile::NamedTempFile;

/// Without these a task is another one than it was: it would be done twice, too early or by the
/// wrong one.
const DECISIVE: [&str; 6] = [
    "subject",
    "status",
    "blockedBy",
    "owner",
    "owner_incarnation",
    "role",
];

/// What was done about something damaged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repaired {
    /// Where that is kept which was damaged.
    pub kept_in: PathBuf,
    /// Whether what could be read is still in its place.
    pub is_in_place: bool,
}

/// Why something was not mended. It is as it was.
#[derive(Debug, thiserror::Error)]
pub enum RepairError {
    /// The member runs, and its files are its own.
    #[error(
        "'{0}' runs, and nobody else may write to its journal; end it first with \
         `team-lead shutdown {0} --wait`"
    )]
    Runs(Recipient),
    /// The member's place could not be taken.
    #[error(transparent)]
    Join(JoinError),
    /// A task could not be looked at or stored.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// A request could not be looked at.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// A lock could not be had.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// A file could not be read or written.
    #[error(transparent)]
    File(#[from] PathError),
}

impl TeamDir {
    /// Puts the dead letters into the trash. New ones begin a new file.
    pub fn trash_dead_letters(&self) -> Result<Option<Repaired>, RepairError> {
        let path = self.layout.dead_letters();
        let lock = self.layout.dead_letters_lock();
        let _lock = FileLock::acquire(&lock, self.options.lock_wait)?;
        Ok(self.to_trash(&path)?.map(gone_from_its_place))
    }

    /// Mends a task file that is none. A task whose decisive words can be read stays on the board
    /// with all of it that can be; any other leaves it, and its number is not given out again.
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
        let is_file = std::fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
        let bytes = is_file.then(|| std::fs::read(path)).and_then(Result::ok);
        let Some(task) = bytes.as_deref().and_then(|bytes| readable(id, bytes)) else {
            return Ok(board.set_aside(id)?.map(gone_from_its_place));
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

    /// Puts a request file that is none into the trash. A part of a request decides nothing, so
    /// none of it stays.
    pub fn trash_request(&self, path: &Path) -> Result<Option<Repaired>, RepairError> {
        let _lock = self.lock_requests()?;
        match requests::read(path) {
            Err(RequestError::Invalid { .. }) => Ok(self.to_trash(path)?.map(gone_from_its_place)),
            Ok(_) | Err(RequestError::Unknown(_) | RequestError::Exists(_)) => Ok(None),
            Err(error @ (RequestError::Lock(_) | RequestError::File(_))) => Err(error.into()),
        }
    }

    /// Takes the lines that are no records out of a journal whose member does not run. They are kept
    /// in the trash; the records stay, in their order.
    pub fn repair_journal(&self, owner: &Recipient) -> Result<Option<Repaired>, RepairError> {
        // While we sit in its place nobody becomes the member and appends.
        let _seat = self.lock_dead_member(owner).map_err(|error| match error {
            JoinError::Held { owner, .. } => RepairError::Runs(owner),
            error => RepairError::Join(error),
        })?;
        let path = self.layout.transcript(owner);
        let file = match files::options().read(true).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.context("read the journal", &path)?,
        };
        let mut mended = atomic::write_beside(&path, b"", Durability::ProcessDeath)?;
        let bad = sort_out(file, &mut mended).context("read the journal", &path)?;
        if bad.is_empty() {
            return Ok(None);
        }
        if self.options.durability == Durability::PowerCut {
            mended.as_file().sync_all().context("sync", &path)?;
        }
        // First kept, then taken out: whoever is killed in between leaves it in both places.
        let kept_in = self.keep(&path, |copy| copy.write_all(&bad))?;
        let persisted = mended.persist(&path).map_err(|error| error.error);
        persisted.context("replace", &path)?;
        atomic::sync_parent(&path, self.options.durability)?;
        Ok(Some(Repaired {
            kept_in,
            is_in_place: true,
        }))
    }

    /// Puts a folder into the trash that stands where a file should be. Nobody can have written to
    /// it as to a file.
    pub fn trash_folder(&self, path: &Path) -> Result<Option<Repaired>, RepairError> {
        let is_folder = std::fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
        match is_folder && path.starts_with(self.layout.root()) && path != self.layout.root() {
            true => Ok(self.to_trash(path)?.map(gone_from_its_place)),
            false => Ok(None),
        }
    }

    /// Wakes the process of a member, without a word: it looks at its files and its clock again.
    pub fn wake_member(&self, owner: &Recipient) -> Result<(), PathError> {
        let path = self.layout.inbox(owner);
        let mut options = files::options();
        options.append(true).create(true);
        let inbox = options.open(&path).context("open", &path)?;
        let times = FileTimes::new().set_modified(SystemTime::now());
        inbox.set_times(times).context("touch", &path)
    }
}

const fn gone_from_its_place(kept_in: PathBuf) -> Repaired {
    Repaired {
        kept_in,
        is_in_place: false,
    }
}

/// The task in a text that is none, if everything that decides about it can be read. The name of
/// the file says which one it is.
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

/// Copies the records of a journal, and returns the lines that are none. What stands behind the last
/// newline is copied too: the next life cuts it off, as always.
fn sort_out(journal: File, records: &mut NamedTempFile) -> io::Result<Vec<u8>> {
    let mut reader = BufReader::with_capacity(1 << 16, journal);
    let mut writer = BufWriter::new(records);
    let (mut line, mut bad) = (Vec::new(), Vec::new());
    while reader.read_until(b'\n', &mut line)? > 0 {
        let record = line.strip_suffix(b"\n");
        let decoded = record.map(JournalLine::decode);
        match decoded {
            Some(JournalLine::Corrupt { .. }) => bad.extend_from_slice(&line),
            Some(JournalLine::Known(_) | JournalLine::Other { .. }) | None => {
                writer.write_all(&line)?;
            }
        }
        line.clear();
    }
    writer.flush()?;
    Ok(bad)
}

#[cfg(test)]
mod tests;
