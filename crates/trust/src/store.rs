//! The records on disk, in the user's state folder.
//!
//! `trust/<hash of the workspace's path>.json`, private to the user. A record is replaced whole, under
//! a lock of its own, so that a kill leaves the old or the new one and no change is lost.

use crate::folder_id::FolderId;
use crate::lock::RecordLock;
use crate::risky::{Hash, RiskySetting, RiskySettings};
use crate::verdict::{Facts, Record, TrustedFolder};
use nix::fcntl::OFlag;
use nix::unistd::geteuid;
use safe_open::Links;
use serde::{Deserialize, Serialize};
use std::fs::{DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The folder of the records in the user's state folder.
const FOLDER: &str = "trust";
/// The largest record that is read. A workspace's files are limited to less.
const MAX_RECORD_BYTES: u64 = 16 << 20;

/// From this number on, a record forgets the settings that the folder does not have any more.
const MAX_KEPT_SETTINGS: usize = 256;

/// The records of a user.
#[derive(Debug, Clone)]
pub struct Store {
    /// Absent if the user has no state folder.
    state: Option<PathBuf>,
}

/// Why a record could not be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("there is no folder to keep it in: set HOME or XDG_STATE_HOME")]
    NoFolder,
    #[error("cannot resolve the folder {}: {cause}", path.display())]
    Workspace { path: PathBuf, cause: io::Error },
    #[error("{}: {cause}", path.display())]
    File { path: PathBuf, cause: io::Error },
    #[error("{} belongs to another user, so nothing in it is trusted", .0.display())]
    Foreign(PathBuf),
}

/// A record as stored. The path tells people which workspace it is about.
#[derive(Serialize, Deserialize)]
struct Stored {
    workspace: PathBuf,
    #[serde(flatten)]
    record: Record,
}

impl Store {
    /// The store in the program's folder for the user's state, as in `~/.local/state/team-lead`.
    pub fn new(state: Option<PathBuf>) -> Self {
        Self { state }
    }

    /// What the user has trusted in a workspace. Without a record, and where the record is damaged,
    /// that is nothing.
    pub fn record(&self, workspace: &Path) -> Result<Record, StoreError> {
        if self.state.is_none() {
            return Ok(Record::default());
        }
        let (workspace, path) = self.place(workspace)?;
        read(&workspace, &path)
    }

    /// Trusts everything that was found.
    pub fn trust(&self, workspace: &Path, facts: &Facts) -> Result<(), StoreError> {
        self.update(workspace, |record| *record = Record::trusting(facts))
    }

    /// Forgets the workspace. Returns whether anything was known of it.
    pub fn revoke(&self, workspace: &Path) -> Result<bool, StoreError> {
        let mut was_known = false;
        self.update(workspace, |record| {
            was_known = *record != Record::default();
            *record = Record::default();
        })?;
        Ok(was_known)
    }

    /// Trusts settings of the folder that the user has typed. `present` are the settings that the folder
    /// has now: once a record has `MAX_KEPT_SETTINGS`, the others are forgotten, so that it does not grow
    /// without limit.
    pub fn allow(
        &self,
        workspace: &Path,
        id: &FolderId,
        typed: &[RiskySetting],
        present: &RiskySettings,
    ) -> Result<(), StoreError> {
        self.update(workspace, |record| {
            let Some(folder) = record.folder.as_mut().filter(|folder| folder.id == *id) else {
                return;
            };
            // Below the limit nothing is forgotten: a setting that was just typed for another process is
            // not in the folder yet.
            if folder.settings.iter().count() >= MAX_KEPT_SETTINGS {
                let kept = folder
                    .settings
                    .iter()
                    .filter(|setting| present.contains(setting));
                folder.settings = kept.cloned().collect();
            }
            folder.settings.extend(typed.iter().cloned());
        })
    }

    /// Locks the record of a workspace while a folder is made there. Others wait for it in
    /// [`Self::wait_for_creation`], so that they do not find a folder that is not recorded yet.
    pub fn lock(&self, workspace: &Path) -> Result<LockedRecord, StoreError> {
        let (workspace, path) = self.place(workspace)?;
        let lock = lock(&path)?;
        Ok(LockedRecord {
            workspace,
            path,
            _lock: lock,
        })
    }

    /// Waits until nobody is making a folder of this workspace.
    pub fn wait_for_creation(&self, workspace: &Path) -> Result<(), StoreError> {
        self.lock(workspace).map(drop)
    }

    fn update(&self, workspace: &Path, change: impl FnOnce(&mut Record)) -> Result<(), StoreError> {
        let (workspace, path) = self.place(workspace)?;
        let _lock = lock(&path)?;
        let before = read(&workspace, &path)?;
        let mut record = before.clone();
        change(&mut record);
        if record == before {
            return Ok(());
        }
        write(&workspace, &path, record)
    }

    /// The canonical path of the workspace, and the file of its record.
    fn place(&self, workspace: &Path) -> Result<(PathBuf, PathBuf), StoreError> {
        let state = self.state.as_ref().ok_or(StoreError::NoFolder)?;
        let workspace = workspace.canonicalize().map_err(|cause| {
            let path = workspace.to_path_buf();
            StoreError::Workspace { path, cause }
        })?;
        let name = Hash::of_bytes(workspace.as_os_str().as_encoded_bytes());
        let path = state.join(FOLDER).join(format!("{name}.json"));
        Ok((workspace, path))
    }
}

/// A record that nobody else changes.
pub struct LockedRecord {
    workspace: PathBuf,
    path: PathBuf,
    _lock: RecordLock,
}

impl LockedRecord {
    /// Records that this user's program has made a folder.
    pub fn made(&self, id: FolderId) -> Result<(), StoreError> {
        let mut record = read(&self.workspace, &self.path)?;
        record.folder = Some(TrustedFolder {
            id,
            settings: RiskySettings::default(),
        });
        write(&self.workspace, &self.path, record)
    }
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_path_buf();
    move |cause| StoreError::File { path, cause }
}

fn lock(record: &Path) -> Result<RecordLock, StoreError> {
    let folder = record.parent().unwrap_or(record);
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(failed(folder))?;
    let metadata = folder.symlink_metadata().map_err(failed(folder))?;
    if metadata.uid() != geteuid().as_raw() {
        return Err(StoreError::Foreign(folder.to_path_buf()));
    }
    let path = record.with_extension("lock");
    RecordLock::acquire(&path).map_err(failed(&path))
}

fn read(workspace: &Path, path: &Path) -> Result<Record, StoreError> {
    let contents = match safe_open::read(path, Links::Follow, MAX_RECORD_BYTES) {
        Ok(contents) => contents,
        Err(error) if error.is_not_found() => return Ok(Record::default()),
        Err(error) => return Err(failed(path)(error.into())),
    };
    if contents.owner() != geteuid().as_raw() {
        return Err(StoreError::Foreign(path.to_path_buf()));
    }
    // A record that cannot be parsed counts as none, so the user is asked again.
    let stored = serde_json::from_slice::<Stored>(&contents.bytes).ok();
    let stored = stored.filter(|stored| stored.workspace == workspace);
    Ok(stored.map(|stored| stored.record).unwrap_or_default())
}

fn write(workspace: &Path, path: &Path, record: Record) -> Result<(), StoreError> {
    if record == Record::default() {
        return match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(path)(error)),
            _ => Ok(()),
        };
    }
    let stored = Stored {
        workspace: workspace.to_path_buf(),
        record,
    };
    let replace = || -> io::Result<()> {
        let mut bytes = serde_json::to_vec_pretty(&stored)?;
        bytes.push(b'\n');
        // The name can be fixed, because the lock is held. What a killed process left under it is
        // overwritten.
        let new = path.with_extension("new");
        let mut file = File::options()
            .create(true)
            .write(true)
            .truncate(true)
            .mode(0o600)
            .custom_flags(OFlag::O_NOFOLLOW.bits())
            .open(&new)?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        std::fs::rename(&new, path)?;
        File::open(path.parent().unwrap_or(path))?.sync_all()
    };
    replace().map_err(failed(path))
}

#[cfg(test)]
mod tests;
