//! Files that are no longer needed: temporary files of killed writers, inbox files that were read,
//! and logs and outputs of members that have left the roster.
//!
//! **Invariant:** unread mail and journals are never among them, and each file is checked again just
//! before it is removed.

use crate::error::{Context, PathError};
use crate::files;
use crate::files::atomic;
use crate::layout::Layout;
use crate::locks::has_no_writer;
use crate::locks::is_at;
use crate::mail::segment::Segment;
use crate::members::lock::{JoinError, Liveness};
use crate::roster::RosterError;
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
            layout.commands_dir(),
        ];
        let members = self.known_folders()?.into_iter();
        folders.extend(members.map(|owner| layout.member_dir(&owner)));
        let mut found = Vec::new();
        for folder in folders {
            for (name, path) in entries(&folder)? {
                if is_temporary(&name) && is_abandoned(&path)? {
                    found.push(stale_file(path, StaleFileKind::Temporary)?);
                }
            }
        }
        Ok(found)
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
        }
    }

    fn remove_read_mail(&self, owner: &Recipient, path: &Path) -> Result<bool, StaleFileError> {
        // While we sit in its place nobody becomes the member and reads the file. For one that is
        // not in the roster nobody can.
        let _guard = match self.lock_dead_member(owner) {
            Ok(guard) => Some(guard),
            Err(JoinError::NotAMember(_)) => None,
            Err(JoinError::Held { .. } | JoinError::LastIncarnation { .. }) => return Ok(false),
            Err(JoinError::File(error)) => return Err(error.into()),
            Err(JoinError::Roster(error)) => return Err(error.into()),
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
    fn known_folders(&self) -> Result<Vec<Recipient>, PathError> {
        let entries = entries(&self.layout.members_dir())?;
        let names = entries.into_iter().map(|(name, _)| name);
        let mut owners: Vec<Recipient> = names.filter_map(|name| name.parse().ok()).collect();
        owners.sort_by(|a, b| a.as_str().cmp(b.as_str()));
        Ok(owners)
    }
}

/// The names and paths in a folder; none if there is no such folder.
fn entries(folder: &Path) -> Result<Vec<(String, PathBuf)>, PathError> {
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

fn size(path: &Path) -> Result<u64, PathError> {
    let metadata = std::fs::symlink_metadata(path).context("look at", path)?;
    if !metadata.is_dir() {
        return Ok(metadata.len());
    }
    let inside = entries(path)?.into_iter();
    inside.map(|(_, path)| size(&path)).sum()
}

fn delete(path: &Path) -> Result<bool, PathError> {
    match files::remove_all(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        result => result.context("delete", path).map(|()| true),
    }
}

#[cfg(test)]
mod tests;
