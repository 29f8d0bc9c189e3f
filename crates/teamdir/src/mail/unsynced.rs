//! Lines that were put into inboxes and are synced later, all with one sync for each file.

use crate::error::{Context, PathError};
use crate::files::shared_sync::{self, Appended, Mark, SyncedFile};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Inbox files with lines that may be lost in a power cut. Whoever has put them there has to put them there once
/// more, unless [`Self::sync`] says that they last.
///
/// Their readers may take them before: what is in a journal lasts by the journal's own sync.
#[derive(Debug, Default)]
pub struct UnsyncedInboxes {
    /// Open for a moment only: while somebody has a file open for writing its reader does not delete it.
    files: Vec<Unsynced>,
}

#[derive(Debug)]
struct Unsynced {
    file: File,
    id: SyncedFile,
    path: PathBuf,
    /// The folder of the file, unless its name is known to last.
    folder: Option<PathBuf>,
}

impl UnsyncedInboxes {
    pub const fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// A line was appended to a file.
    pub(super) fn add(&mut self, path: &Path, file: File, id: SyncedFile, folder: Option<&Path>) {
        // The earliest descriptor reports every error of writing to the disk since then.
        if !self.files.iter().any(|known| known.id == id) {
            self.files.push(Unsynced {
                file,
                id,
                path: path.to_path_buf(),
                folder: folder.map(Path::to_path_buf),
            });
        }
    }

    /// Makes all lines survive a power cut. If that fails, they count as lost.
    pub fn sync(&mut self) -> Result<(), PathError> {
        for unsynced in std::mem::take(&mut self.files) {
            let synced = shared_sync::sync_alone(&Appended {
                file: &unsynced.file,
                id: unsynced.id,
                start: 0,
                end: 0,
                before: Mark::default(),
                folder: unsynced.folder.as_deref(),
                path: &unsynced.path,
            });
            synced.context("sync", &unsynced.path)?;
        }
        Ok(())
    }
}
