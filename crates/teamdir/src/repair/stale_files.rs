//! Files that are no longer needed: temporary files of killed writers, inbox files that were read, what
//! killed processes have left of checkouts, and logs and outputs of members that have left the roster.
//!
//! **Invariant:** unread mail and journals are never among them, and each file is checked again just
//! before it is removed.

use crate::MemberGuard;
use crate::error::{Context, PathError};
use crate::files;
use crate::files::atomic;
use crate::layout::Layout;
use crate::locks::{LockError, has_no_writer, is_at};
use crate::mail::segment::Segment;
use crate::members::lock::{JoinError, Liveness};
use crate::roster::RosterError;
use crate::submissions::IntegrationGuard;
use crate::team_dir::TeamDir;
use protocol::Recipient;
use safe_open::Opened;
use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A temporary file is renamed or deleted within milliseconds. One of this age has no writer.
const ABANDONED_AFTER: Duration = Duration::from_secs(60);

/// A file or folder that is no longer needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaleFile {
    /// Where it is.
    pub path: PathBuf,
    /// What it is.
    pub kind: StaleFileKind,
    /// How many bytes it takes.
    pub bytes: u64,
}

/// Why it is no longer needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StaleFileKind {
    /// Its writer was killed before the rename.
    Temporary,
    /// An inbox file that was set aside and read to its end, of a member that does not run.
    ReadMail(Recipient),
    /// The log or the outputs of a member that has left the roster.
    LogOrOutput(Recipient),
    /// A checkout for a check, of a process that was killed.
    CheckTree,
    /// The beginning of a member's tree, of a process that was killed.
    UnfinishedTree(Recipient),
    /// A part of the event log that is older than this.
    OldEvents(Duration),
    /// Dead letters that are older than this.
    OldDeadLetters(Duration),
    /// Something in the trash that is older than this.
    OldTrash(Duration),
    /// The log or an output of a member that does not run, older than this.
    OldLog(Recipient, Duration),
    /// A conversation that a member has left, older than this.
    OldConversation(Recipient, Duration),
}

/// Why stale files could not be listed or removed.
#[derive(Debug, thiserror::Error)]
pub enum StaleFileError {
    /// A file or folder could not be read or removed.
    #[error(transparent)]
    File(#[from] PathError),
    /// The roster could not be read.
    #[error(transparent)]
    Roster(#[from] RosterError),
}

impl TeamDir {
    /// The temporary files of killed writers.
    pub fn abandoned_files(&self) -> Result<Vec<StaleFile>, PathError> {
        let layout = &self.layout;
        let mut folders = vec![
            layout.root().to_path_buf(),
            layout.requests_dir(),
            layout.tasks_dir(),
            layout.submissions_dir(),
            layout.commands_dir(),
        ];
        for owner in self.known_folders()? {
            folders.push(layout.member_dir(&owner));
            folders.push(layout.member_sessions(&owner));
        }
        let mut found = Vec::new();
        for folder in folders {
            for (name, path) in entries(&folder)? {
                if is_temporary(&name) && is_abandoned(&path)? {
                    found.push(stale_file(path, StaleFileKind::Temporary)?);
                }
            }
        }
        found.extend(self.abandoned_checkouts()?);
        Ok(found)
    }

    /// What killed processes have left in the folder of the trees.
    fn abandoned_checkouts(&self) -> Result<Vec<StaleFile>, PathError> {
        let mut found = Vec::new();
        for (name, path) in entries(&self.layout.trees_dir())? {
            let Some(checkout) = Checkout::of(&name) else {
                continue;
            };
            let (kind, is_used) = match checkout {
                Checkout::Check => (StaleFileKind::CheckTree, self.is_integrating()),
                Checkout::Member(owner) => {
                    let is_used = matches!(self.liveness(&owner)?, Liveness::Alive(_));
                    (StaleFileKind::UnfinishedTree(owner), is_used)
                }
            };
            if !is_used {
                found.push(stale_file(path, kind)?);
            }
        }
        Ok(found)
    }

    /// Removes what checks of killed processes have left. Only the process that integrates may call this.
    pub fn remove_check_trees(&self, _: &IntegrationGuard) -> Result<(), PathError> {
        for (name, path) in entries(&self.layout.trees_dir())? {
            if matches!(Checkout::of(&name), Some(Checkout::Check)) {
                delete(&path)?;
            }
        }
        Ok(())
    }

    /// All files that are no longer needed.
    pub fn stale_files(&self) -> Result<Vec<StaleFile>, StaleFileError> {
        let mut found = self.abandoned_files()?;
        let roster = self.roster()?;
        for owner in self.known_folders()? {
            if let Liveness::Alive(_) = self.liveness(&owner)? {
                continue;
            }
            for number in self.segments(&owner)? {
                if self.is_read(&owner, number)? {
                    let path = self.layout.segment(&owner, number);
                    found.push(stale_file(path, StaleFileKind::ReadMail(owner.clone()))?);
                }
            }
            let Recipient::Member(name) = &owner else {
                continue;
            };
            if roster.member(name).is_some() {
                continue;
            }
            let paths = [
                self.layout.member_log(&owner),
                self.layout.member_outputs(&owner),
            ];
            for path in paths.into_iter().filter(|path| files::is_there(path)) {
                found.push(stale_file(path, StaleFileKind::LogOrOutput(owner.clone()))?);
            }
        }
        Ok(found)
    }

    /// Removes a stale file if it still is one. Returns whether it was removed.
    pub fn remove_stale_file(&self, stale_file: &StaleFile) -> Result<bool, StaleFileError> {
        let path = &stale_file.path;
        match &stale_file.kind {
            StaleFileKind::Temporary => Ok(is_abandoned(path)? && delete(path)?),
            StaleFileKind::ReadMail(owner) => self.remove_read_mail(owner, path),
            StaleFileKind::LogOrOutput(owner) => {
                let Recipient::Member(name) = owner else {
                    return Ok(false);
                };
                let is_back = self.roster()?.member(name).is_some();
                let is_alive = matches!(self.liveness(owner)?, Liveness::Alive(_));
                Ok(!is_back && !is_alive && delete(path)?)
            }
            StaleFileKind::CheckTree => match self.try_integrate() {
                Ok(Some(_guard)) => Ok(delete(path)?),
                Ok(None) | Err(LockError::Busy { .. }) => Ok(false),
                Err(LockError::File(error)) => Err(error.into()),
            },
            StaleFileKind::UnfinishedTree(owner) => match self.lock_absent_member(owner)? {
                Some(_guard) => Ok(delete(path)?),
                None => Ok(false),
            },
            StaleFileKind::OldEvents(keep) => self.remove_old_events(path, *keep),
            StaleFileKind::OldDeadLetters(keep) => self.remove_old_dead_letters(*keep),
            StaleFileKind::OldTrash(keep) => Ok(self.remove_old_trash(path, *keep)?),
            StaleFileKind::OldLog(owner, keep) | StaleFileKind::OldConversation(owner, keep) => {
                self.remove_old_file_of(owner, path, *keep)
            }
        }
    }

    /// Keeps a member that does not run from being started. `None` if it runs. The guard is empty for
    /// one that is not in the roster, because nobody can start that.
    pub fn lock_absent_member(
        &self,
        owner: &Recipient,
    ) -> Result<Option<Option<MemberGuard>>, StaleFileError> {
        match self.lock_dead_member(owner) {
            Ok(guard) => Ok(Some(Some(guard))),
            Err(JoinError::NotAMember(_)) => match self.liveness(owner)? {
                Liveness::Alive(_) => Ok(None),
                Liveness::Gone(_) => Ok(Some(None)),
            },
            Err(JoinError::Held { .. } | JoinError::LastIncarnation { .. }) => Ok(None),
            Err(JoinError::File(error)) => Err(error.into()),
            Err(JoinError::Roster(error)) => Err(error.into()),
        }
    }

    fn remove_read_mail(&self, owner: &Recipient, path: &Path) -> Result<bool, StaleFileError> {
        // While we sit in its place nobody becomes the member and reads the file.
        let Some(_guard) = self.lock_absent_member(owner)? else {
            return Ok(false);
        };
        let name = path.file_name().and_then(|name| name.to_str());
        let number = name.and_then(|name| Layout::segment_number(owner, name));
        let Some(number) = number else {
            return Ok(false);
        };
        if !self.is_read(owner, number)? {
            return Ok(false);
        }
        // The record that says the number is used up must outlast the file.
        let journal = self.layout.transcript(owner);
        let synced = files::open_to_read(&journal).and_then(|journal| journal.file.sync_data());
        synced.context("sync the journal", &journal)?;
        let deleted = delete(path)?;
        atomic::sync_parent(path, self.options.durability)?;
        Ok(deleted)
    }

    /// Whether a file that was set aside is done with: its journal has all of it, nobody can write
    /// to it, and whoever was about to has had his time.
    fn is_read(&self, owner: &Recipient, number: u64) -> Result<bool, PathError> {
        let path = self.layout.segment(owner, number);
        let state = self.recover_mail_state(owner)?;
        let Some(position) = state.positions.get(&number) else {
            return Ok(false);
        };
        if number > state.sealed {
            return Ok(false);
        }
        let mut segment = match Segment::open(&path, number) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            result => result.context("open", &path)?,
        };
        let is_old = segment.age().context("look at", &path)? >= self.options.segment_grace;
        // First nobody may be able to write any more, then the size is final.
        let is_final = is_old && has_no_writer(&segment.file);
        let is_ours = segment.is_file_of(position);
        let intact = is_final && is_ours && segment.resume(position).context("read", &path)?;
        Ok(intact && segment.size().context("look at", &path)? == segment.end)
    }

    /// Everybody who has a folder of his own, in the team or not.
    pub(super) fn known_folders(&self) -> Result<Vec<Recipient>, PathError> {
        let entries = entries(&self.layout.members_dir())?;
        let names = entries.into_iter().map(|(name, _)| name);
        let mut owners: Vec<Recipient> = names.filter_map(|name| name.parse().ok()).collect();
        owners.sort_by(|a, b| a.as_str().cmp(b.as_str()));
        Ok(owners)
    }
}

/// Something in the folder of the trees that is there only while a process works on it.
enum Checkout {
    /// Of the process that integrates.
    Check,
    /// Of the process of a member that starts.
    Member(Recipient),
}

impl Checkout {
    /// By its name: a tree has the name of its member, and no such name has a dot.
    fn of(name: &str) -> Option<Self> {
        let bare = name.trim_start_matches('.');
        let bare = bare.strip_suffix(".new").unwrap_or(bare);
        let bare = bare.strip_suffix(".setup.log").unwrap_or(bare);
        match bare.strip_prefix("check-") {
            Some(_) if name.starts_with('.') => Some(Self::Check),
            _ if bare == name => None,
            _ => bare.parse().ok().map(Self::Member),
        }
    }
}

/// The names and paths in a folder; none if there is no such folder.
pub(super) fn entries(folder: &Path) -> Result<Vec<(String, PathBuf)>, PathError> {
    let listed = match files::list(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        listed => listed.context("list", folder)?,
    };
    let mut found = Vec::new();
    for entry in listed {
        let entry = entry.context("list", folder)?;
        if let Ok(name) = entry.file_name().into_string() {
            let path = folder.join(&name);
            found.push((name, path));
        }
    }
    found.sort();
    Ok(found)
}

/// Whether a name is one that is given to files before they get their own.
fn is_temporary(name: &str) -> bool {
    let middle = name
        .strip_prefix('.')
        .and_then(|rest| rest.strip_suffix(".tmp"));
    middle.is_some_and(|middle| middle.contains('.'))
}

fn is_abandoned(path: &Path) -> Result<bool, PathError> {
    let Opened { file, metadata } = match files::open_to_read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        opened => opened.context("open", path)?,
    };
    let age = age(&metadata);
    Ok(age >= ABANDONED_AFTER && is_at(&file, path)?)
}

/// How long ago a file was written, by the wall clock.
pub(crate) fn age(metadata: &Metadata) -> Duration {
    let written = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
    written.elapsed().unwrap_or_default()
}

fn stale_file(path: PathBuf, kind: StaleFileKind) -> Result<StaleFile, PathError> {
    let bytes = size(&path)?;
    Ok(StaleFile { path, kind, bytes })
}

pub(super) fn size(path: &Path) -> Result<u64, PathError> {
    let metadata = std::fs::symlink_metadata(path).context("look at", path)?;
    if !metadata.is_dir() {
        return Ok(metadata.len());
    }
    let inside = entries(path)?.into_iter();
    inside.map(|(_, path)| size(&path)).sum()
}

pub(super) fn delete(path: &Path) -> Result<bool, PathError> {
    match files::remove_all(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        result => result.context("delete", path).map(|()| true),
    }
}

#[cfg(test)]
mod tests;
