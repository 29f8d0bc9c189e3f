//! Recognizes a folder again.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::UNIX_EPOCH;

/// The identity of a folder on its file system. A folder that is removed and made again, a copy and a
/// clone have other ones; it cannot be chosen by whoever fills the folder.
///
/// It is the number of its inode and the time of its creation. Where the file system does not keep that
/// time, the inode alone counts: a copy and a clone beside the folder still differ from it, but a
/// folder that is made after it was removed may get its number, and so its trust.
///
/// The number of the device is not part of it: it may change when the machine starts again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FolderId(String);

impl FolderId {
    /// The identity of the folder at `path`.
    pub fn of(path: &Path) -> io::Result<Self> {
        let metadata = path.metadata()?;
        let created = metadata.created().ok();
        let created = created.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let created = created.map_or(0, |time| time.as_nanos());
        Ok(Self(format!("{}-{created}", metadata.ino())))
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let is_part = |byte: u8| byte.is_ascii_digit() || byte == b'-';
        (!text.is_empty() && text.bytes().all(is_part)).then(|| Self(text.to_owned()))
    }
}

impl fmt::Display for FolderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_takes_the_place_of_another_is_another() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("folder");
        std::fs::create_dir(&path).unwrap();
        let first = FolderId::of(&path).unwrap();
        std::fs::write(path.join("file"), "").unwrap();
        assert_eq!(FolderId::of(&path).unwrap(), first);
        assert_eq!(FolderId::parse(&first.to_string()), Some(first.clone()));
        std::fs::rename(&path, place.path().join("old")).unwrap();
        std::fs::create_dir(&path).unwrap();
        assert_ne!(FolderId::of(&path).unwrap(), first);
    }
}
