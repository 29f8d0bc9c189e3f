//! Takes over files of another user in a folder of ours: the owner of a folder may replace a file in
//! it by a copy of its own.

use crate::error::{Context, PathError};
use crate::files;
use crate::files::atomic;
use crate::locks::{FileLock, LockError};
use crate::members::lock::{JoinError, MemberGuard};
use crate::team_dir::{Durability, TeamDir};
use protocol::Recipient;
use std::io;
use std::path::{Path, PathBuf};

/// Why a file was not taken over. It is as it was.
#[derive(Debug, thiserror::Error)]
pub enum OwnershipError {
    /// Others may have the file open to append to it or to lock it, and would go on with the
    /// original.
    #[error("{} is a file that others may hold open, and only its owner or root can give it away", .0.display())]
    InUse(PathBuf),
    /// Its member runs.
    #[error("it belongs to '{0}', which runs")]
    Runs(Recipient),
    /// The member's place could not be taken.
    #[error(transparent)]
    Join(JoinError),
    /// A lock could not be had.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The file could not be read or written.
    #[error(transparent)]
    File(#[from] PathError),
}

/// What keeps others from changing a file meanwhile.
enum Hold {
    /// It is only ever replaced whole, and by nobody who reads it first.
    Nothing,
    Lock(#[expect(dead_code, reason = "held, not read")] FileLock),
    MemberLock(#[expect(dead_code, reason = "held, not read")] MemberGuard),
}

impl TeamDir {
    /// Whether [`TeamDir::take_ownership`] can replace the file.
    pub fn can_take_ownership(&self, path: &Path) -> bool {
        let is_file = std::fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
        is_file && self.protection(path).is_some()
    }

    /// Replaces a file by a copy that belongs to this user. Returns whether there was a file.
    pub fn take_ownership(&self, path: &Path) -> Result<bool, OwnershipError> {
        let protection = self.protection(path);
        let _hold = match protection {
            None => return Err(OwnershipError::InUse(path.to_path_buf())),
            Some(protection) => self.hold_for(protection)?,
        };
        let mut original = match files::open_to_read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            opened => opened.context("read", path)?.file,
        };
        let mut copy = atomic::write_beside(path, b"", Durability::ProcessDeath)?;
        io::copy(&mut original, copy.file()).context("copy", path)?;
        copy.file().sync_all().context("sync", path)?;
        copy.persist().context("replace", path)?;
        copy.sync_name(path, self.options.durability)?;
        Ok(true)
    }

    fn hold_for(&self, protection: Protection) -> Result<Hold, OwnershipError> {
        match protection {
            Protection::None => Ok(Hold::Nothing),
            Protection::Lock(path) => {
                let lock = FileLock::acquire(&path, self.options.lock_wait)?;
                Ok(Hold::Lock(lock))
            }
            Protection::MemberLock(owner) => match self.lock_dead_member(&owner) {
                Ok(guard) => Ok(Hold::MemberLock(guard)),
                Err(JoinError::NotAMember(_)) => Ok(Hold::Nothing),
                Err(JoinError::Held { owner, .. }) => Err(OwnershipError::Runs(owner)),
                Err(
                    error @ (JoinError::LastIncarnation { .. }
                    | JoinError::File(_)
                    | JoinError::Roster(_)),
                ) => Err(OwnershipError::Join(error)),
            },
        }
    }

    /// What protects a file that is replaced whole or belongs to one member; `None` for those that
    /// many append to, for locks and for folders.
    fn protection(&self, path: &Path) -> Option<Protection> {
        let layout = &self.layout;
        let name = path.file_name()?.to_str()?;
        let is_lock = name == "lock" || name.starts_with('.') && name.ends_with("lock");
        if is_lock {
            return None;
        }
        let parent = path.parent()?;
        if parent == layout.requests_dir() {
            return Some(Protection::Lock(layout.requests_lock()));
        }
        if parent == layout.tasks_dir() {
            return Some(Protection::Lock(layout.tasks_lock()));
        }
        if let Ok(inside) = path.strip_prefix(layout.members_dir()) {
            let owner = inside.components().next()?.as_os_str().to_str()?;
            return owner.parse().ok().map(Protection::MemberLock);
        }
        let known = [
            (layout.roster(), Protection::Lock(layout.roster_lock())),
            (layout.budget(), Protection::Lock(layout.budget_lock())),
            (layout.traffic(), Protection::Lock(layout.traffic_lock())),
            (layout.limits(), Protection::None),
            (layout.gitignore(), Protection::None),
        ];
        let mut known = known.into_iter();
        let found = known.find(|(known, _)| known == path);
        found.map(|(_, protection)| protection)
    }
}

enum Protection {
    None,
    Lock(PathBuf),
    MemberLock(Recipient),
}
