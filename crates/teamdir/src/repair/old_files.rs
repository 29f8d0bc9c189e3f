//! Files that are older than people want to keep them: parts of the event log, dead letters, the trash, logs
//! and outputs, and conversations that were left.
//!
//! **Invariant:** nothing of a member that runs, no unread mail, no tree and no submission is among them, also
//! not where they lie in the trash.

use super::stale_files::{StaleFile, StaleFileError, StaleFileKind, age, delete, entries};
use super::trash::time_name;
use crate::clock::now;
use crate::error::{Context, PathError};
use crate::events;
use crate::files::{self, atomic};
use crate::locks::{FileLock, LockError};
use crate::members::lock::Liveness;
use crate::team_dir::TeamDir;
use protocol::{DeadLetter, Recipient, Timestamp};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What in the trash may be somebody's only copy of work or of mail that nobody has read.
const KEPT_IN_TRASH: [&str; 3] = ["trees", "inbox", "submissions"];

/// How long files are kept. What is absent is kept for ever.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retention {
    pub events: Option<Duration>,
    pub dead_letters: Option<Duration>,
    pub trash: Option<Duration>,
    /// Logs, and outputs of tools.
    pub logs: Option<Duration>,
    /// Conversations that were left or made shorter.
    pub sessions: Option<Duration>,
}

impl Retention {
    /// The same for everything.
    pub const fn all(duration: Duration) -> Self {
        let all = Some(duration);
        Self {
            events: all,
            dead_letters: all,
            trash: all,
            logs: all,
            sessions: all,
        }
    }
}

impl TeamDir {
    /// What is older than it is to be kept.
    pub fn old_files(&self, retention: &Retention) -> Result<Vec<StaleFile>, StaleFileError> {
        let mut found = Vec::new();
        if let Some(keep) = retention.events {
            self.old_events(keep, &mut found)?;
        }
        if let Some(keep) = retention.dead_letters {
            let bytes = self.split_dead_letters(keep)?.old_bytes;
            let path = self.layout.dead_letters();
            let kind = StaleFileKind::OldDeadLetters(keep);
            found.extend((bytes > 0).then_some(StaleFile { path, kind, bytes }));
        }
        if let Some(keep) = retention.trash {
            self.old_trash(keep, &mut found)?;
        }
        for owner in self.known_folders()? {
            if let Liveness::Alive(_) = self.liveness(&owner)? {
                continue;
            }
            self.old_files_of(&owner, retention, &mut found)?;
        }
        Ok(found)
    }

    /// The parts of the event log that nothing was added to for so long. The last one that was set aside
    /// stays, because the next one takes its number from it.
    fn old_events(&self, keep: Duration, found: &mut Vec<StaleFile>) -> Result<(), PathError> {
        let mut parts = events::parts(&self.layout)?;
        parts.pop();
        let parts = parts.iter().map(|number| self.layout.events_part(*number));
        for path in parts.chain([self.layout.events()]) {
            found.extend(old_file(path, keep, StaleFileKind::OldEvents(keep))?);
        }
        Ok(())
    }

    fn old_trash(&self, keep: Duration, found: &mut Vec<StaleFile>) -> Result<(), PathError> {
        for (_, folder) in entries(&self.layout.trash())? {
            if !is_old_trash(&folder, keep) {
                continue;
            }
            for (name, path) in entries(&folder)? {
                if !KEPT_IN_TRASH.contains(&name.as_str()) {
                    let bytes = super::stale_files::size(&path)?;
                    let kind = StaleFileKind::OldTrash(keep);
                    found.push(StaleFile { path, kind, bytes });
                }
            }
        }
        Ok(())
    }

    fn old_files_of(
        &self,
        owner: &Recipient,
        retention: &Retention,
        found: &mut Vec<StaleFile>,
    ) -> Result<(), PathError> {
        let inside = |folder: PathBuf| -> Result<Vec<PathBuf>, PathError> {
            let inside = entries(&folder)?.into_iter();
            Ok(inside.map(|(_, path)| path).collect())
        };
        if let Some(keep) = retention.logs {
            let outputs = inside(self.layout.member_outputs(owner))?;
            for path in [self.layout.member_log(owner)].into_iter().chain(outputs) {
                let kind = StaleFileKind::OldLog(owner.clone(), keep);
                found.extend(old_file(path, keep, kind)?);
            }
        }
        if let Some(keep) = retention.sessions {
            let sessions = inside(self.layout.member_sessions(owner))?;
            let archives = inside(self.layout.member_archives(owner))?;
            for path in sessions.into_iter().chain(archives) {
                let kind = StaleFileKind::OldConversation(owner.clone(), keep);
                found.extend(old_file(path, keep, kind)?);
            }
        }
        Ok(())
    }

    /// Removes a part of the event log if it is still old.
    pub(super) fn remove_old_events(
        &self,
        path: &Path,
        keep: Duration,
    ) -> Result<bool, StaleFileError> {
        let _lock = match FileLock::acquire(&self.layout.events_lock(), self.options.lock_wait) {
            Ok(lock) => lock,
            Err(LockError::Busy { .. }) => return Ok(false),
            Err(LockError::File(error)) => return Err(error.into()),
        };
        Ok(is_old(path, keep)? && delete(path)?)
    }

    /// Removes the dead letters that are old, and keeps the others.
    pub(super) fn remove_old_dead_letters(&self, keep: Duration) -> Result<bool, StaleFileError> {
        let lock = self.layout.dead_letters_lock();
        let _lock = match FileLock::acquire(&lock, self.options.lock_wait) {
            Ok(lock) => lock,
            Err(LockError::Busy { .. }) => return Ok(false),
            Err(LockError::File(error)) => return Err(error.into()),
        };
        let split = self.split_dead_letters(keep)?;
        if split.old_bytes == 0 {
            return Ok(false);
        }
        let path = self.layout.dead_letters();
        match split.kept.is_empty() {
            true => Ok(delete(&path)?),
            false => {
                atomic::replace(&path, &split.kept, self.options.durability)?;
                atomic::sync_parent(&path, self.options.durability)?;
                Ok(true)
            }
        }
    }

    /// What would stay of the dead letters. Lines that nobody can read stay.
    fn split_dead_letters(&self, keep: Duration) -> Result<DeadLetters, PathError> {
        let path = self.layout.dead_letters();
        let bytes = match files::read_whole(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            read => read.context("read", &path)?,
        };
        let oldest = before(keep);
        let mut split = DeadLetters::default();
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let time = serde_json::from_slice::<DeadLetter>(line).map(|dead| dead.time);
            match time {
                Ok(time) if time < oldest && line.ends_with(b"\n") => {
                    split.old_bytes += line.len() as u64;
                }
                Ok(_) | Err(_) => split.kept.extend_from_slice(line),
            }
        }
        Ok(split)
    }

    /// Removes something from the trash, and the folder around it if it was the last.
    pub(super) fn remove_old_trash(&self, path: &Path, keep: Duration) -> Result<bool, PathError> {
        let folder = path.parent().unwrap_or(path);
        let is_removed = is_old_trash(folder, keep) && delete(path)?;
        if is_removed && entries(folder)?.is_empty() {
            delete(folder)?;
        }
        Ok(is_removed)
    }

    /// Removes a file of a member if it is still old and the member does not run.
    pub(super) fn remove_old_file_of(
        &self,
        owner: &Recipient,
        path: &Path,
        keep: Duration,
    ) -> Result<bool, StaleFileError> {
        // While we sit in its place nobody becomes the member.
        let Some(_guard) = self.lock_absent_member(owner)? else {
            return Ok(false);
        };
        Ok(is_old(path, keep)? && delete(path)?)
    }
}

#[derive(Default)]
struct DeadLetters {
    kept: Vec<u8>,
    old_bytes: u64,
}

/// So long ago.
fn before(keep: Duration) -> Timestamp {
    let micros = i64::try_from(keep.as_micros()).unwrap_or(i64::MAX);
    Timestamp::from_micros(now().as_micros().saturating_sub(micros))
}

/// Whether a folder of the trash was made so long ago, by its name.
fn is_old_trash(folder: &Path, keep: Duration) -> bool {
    let name = folder.file_name().and_then(|name| name.to_str());
    let oldest = time_name(before(keep));
    name.is_some_and(|name| name.len() == oldest.len() && *name < *oldest)
}

fn is_old(path: &Path, keep: Duration) -> Result<bool, PathError> {
    match std::fs::symlink_metadata(path) {
        Ok(metadata) => Ok(age(&metadata) >= keep),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(PathError::new("look at", path, error)),
    }
}

fn old_file(
    path: PathBuf,
    keep: Duration,
    kind: StaleFileKind,
) -> Result<Option<StaleFile>, PathError> {
    if !is_old(&path, keep)? {
        return Ok(None);
    }
    let bytes = super::stale_files::size(&path)?;
    Ok(Some(StaleFile { path, kind, bytes }))
}

#[cfg(test)]
mod tests;
