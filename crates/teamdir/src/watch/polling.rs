//! Looking at files again and again, where the system does not tell.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Files, and what the last look at each has shown.
#[derive(Debug, Default)]
pub(super) struct Looks {
    files: BTreeMap<PathBuf, Option<Look>>,
}

/// What a look at a file shows. Times have a grain of some milliseconds, within which two appends
/// look like one, so the size is looked at too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Look {
    inode: u64,
    size: u64,
    modified: (i64, i64),
}

impl Looks {
    pub(super) fn add(&mut self, path: &Path) {
        self.files.insert(path.to_path_buf(), look(path));
    }

    pub(super) fn remove(&mut self, path: &Path) {
        self.files.remove(path);
    }

    /// Whether anything has changed since the last time.
    pub(super) fn changed(&mut self) -> bool {
        let mut changed = false;
        for (path, last) in &mut self.files {
            let now = look(path);
            changed |= now != *last;
            *last = now;
        }
        changed
    }
}

fn look(path: &Path) -> Option<Look> {
    let metadata = std::fs::symlink_metadata(path).ok()?;
    Some(Look {
        inode: metadata.ino(),
        size: metadata.size(),
        modified: (metadata.mtime(), metadata.mtime_nsec()),
    })
}
