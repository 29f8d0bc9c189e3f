//! Removes the files of a member.

use crate::error::{Context, PathError};
use crate::files;
use crate::locks::{FileLock, LockError};
use crate::team_dir::TeamDir;
use protocol::Recipient;
use std::io;
use std::path::PathBuf;

/// Why files were not moved to the trash.
#[derive(Debug, thiserror::Error)]
pub enum TrashError {
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    File(#[from] PathError),
}

/// Keeps senders and the reader away from an inbox. Dropping it gives it up.
#[derive(Debug)]
pub struct InboxLock {
    _lock: FileLock,
}

impl TeamDir {
    /// Takes the lock of an inbox.
    pub fn lock_inbox(&self, owner: &Recipient) -> Result<InboxLock, LockError> {
        let path = self.layout.inbox_lock(owner);
        let lock = FileLock::acquire(&path, self.options.lock_wait)?;
        Ok(InboxLock { _lock: lock })
    }

    /// Removes the inbox and the files that were set aside for it, read or not.
    pub fn remove_inbox(&self, owner: &Recipient, _held: &InboxLock) -> Result<(), PathError> {
        let aside = self.segments(owner)?.into_iter();
        let aside = aside.map(|number| self.layout.segment(owner, number));
        for path in aside.chain([self.layout.inbox(owner)]) {
            match files::remove_file(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                removed => removed.context("delete", &path)?,
            }
        }
        Ok(())
    }

    /// Removes the folder of a member with all that is in it.
    pub fn remove_member_folder(&self, owner: &Recipient) -> Result<(), PathError> {
        let path = self.layout.member_dir(owner);
        files::remove_all(&path).context("delete", &path)
    }

    /// Moves the folder of a member and its mail to the trash. Returns where they are.
    pub fn trash_member(&self, owner: &Recipient) -> Result<Vec<PathBuf>, TrashError> {
        let mut kept = self.trash_mail(owner)?;
        kept.extend(self.to_trash(&self.layout.member_dir(owner))?);
        Ok(kept)
    }

    /// Moves the inbox and the files that were set aside for it to the trash, read or not.
    pub fn trash_mail(&self, owner: &Recipient) -> Result<Vec<PathBuf>, TrashError> {
        let _lock = self.lock_inbox(owner)?;
        let aside = self.segments(owner)?.into_iter();
        let aside = aside.map(|number| self.layout.segment(owner, number));
        let mut kept = Vec::new();
        for path in aside.chain([self.layout.inbox(owner)]) {
            kept.extend(self.to_trash(&path)?);
        }
        Ok(kept)
    }

    /// What is in the folder of all inboxes: names, and sizes where they can be told.
    pub fn inbox_files(&self) -> Result<Vec<(String, Option<u64>)>, PathError> {
        let folder = self.layout.inbox_dir();
        let mut found = Vec::new();
        for entry in files::list(&folder).context("list", &folder)? {
            let entry = entry.context("list", &folder)?;
            let size = match entry.metadata() {
                Ok(metadata) => Some(metadata.len()),
                // Deleted since the folder was read.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(_) => None,
            };
            if let Ok(name) = entry.file_name().into_string() {
                found.push((name, size));
            }
        }
        Ok(found)
    }
}
