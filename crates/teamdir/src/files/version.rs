//! The version of a file: shows a change since it was read, without reading it again.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime};

/// A file changed more recently than this when it was read may change again without its time
/// stamp showing it, so what was read is not kept.
const TIME_GRAIN: Duration = Duration::from_millis(50);

/// Changes whenever the file does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileVersion {
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

impl FileVersion {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self {
            inode: metadata.ino(),
            size: metadata.size(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Whether every later change must show in the stamp. To be asked before the file is read.
    pub(crate) fn is_settled(self) -> bool {
        let (seconds, nanos) = self.changed;
        let (Ok(seconds), Ok(nanos)) = (u64::try_from(seconds), u32::try_from(nanos)) else {
            return false;
        };
        let changed = SystemTime::UNIX_EPOCH + Duration::new(seconds, nanos);
        changed.elapsed().is_ok_and(|age| age > TIME_GRAIN)
    }
}
