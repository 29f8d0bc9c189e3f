//! File operations that all modules share: opening, syncing, renaming, identity of files.

pub(crate) mod append;
pub(crate) mod atomic;
pub(crate) mod version;

use crate::error::{Context, PathError};
use nix::fcntl::{AT_FDCWD, OFlag, RenameFlags, renameat2};
use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::SystemTime;

/// Options that do not follow a symbolic link in the last component: a link in the place of an inbox
/// must not redirect a write. Files are private to the user.
pub(crate) fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600).custom_flags(OFlag::O_NOFOLLOW.bits());
    options
}

/// Creates a folder private to the user; one that exists is fine.
pub(crate) fn create_dir(path: &Path) -> Result<(), PathError> {
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    match builder.create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        result => result.context("create the folder", path),
    }
}

/// Makes the entries of a folder survive a power cut.
pub(crate) fn sync_dir(path: &Path) -> Result<(), PathError> {
    File::open(path)
        .and_then(|dir| dir.sync_all())
        .context("sync the folder", path)
}

/// Renames, and never replaces a file that has the new name.
pub(crate) fn rename_new(from: &Path, to: &Path) -> nix::Result<()> {
    renameat2(AT_FDCWD, from, AT_FDCWD, to, RenameFlags::RENAME_NOREPLACE)
}

/// Exchanges the names of two files.
pub(crate) fn exchange_names(one: &Path, other: &Path) -> nix::Result<()> {
    renameat2(AT_FDCWD, one, AT_FDCWD, other, RenameFlags::RENAME_EXCHANGE)
}

/// The identity of a file, to distinguish it from another that has the same name later.
///
/// An inode number alone is given out again at once by some file systems, so the time of birth
/// goes with it where the system knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileId {
    pub(crate) inode: u64,
    pub(crate) born: i64,
}

impl FileId {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        let born = metadata.created().ok();
        let born = born.and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
        let born = born.and_then(|age| i64::try_from(age.as_micros()).ok());
        Self {
            inode: metadata.ino(),
            born: born.unwrap_or(0),
        }
    }
}

/// FNV-1a: stable across versions, which the standard library's hasher is not. Cut to 53 bits,
/// the longest number that every JSON reader keeps exact.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash ^ (hash >> 53)) & ((1 << 53) - 1)
}

/// Bytes as hex digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
