//! File operations that all modules share: opening, syncing, renaming, identity of files.

pub(crate) mod append;
pub(crate) mod atomic;
pub(crate) mod shared_sync;
pub(crate) mod version;
mod wait_word;

use crate::error::{Context, PathError};
use nix::errno::Errno;
use safe_open::{Folder, Links, Opened, Options, Refusal};
use std::ffi::OsStr;
use std::fs::{Metadata, ReadDir};
use std::io::{self, BufRead, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::SystemTime;

/// The most that a file may hold which is read and replaced whole: the roster, a task, a request, a live
/// state, the budget.
pub(crate) const WHOLE_LIMIT: u64 = 16 << 20;

// Whoever can write to the folder may have put anything in the place of a file: no link is followed
// on the way to it, only a regular file is opened, and opening never waits.

pub(crate) fn open_to_read(path: &Path) -> io::Result<Opened> {
    Ok(Options::read(Links::Refuse).keep_access_time().open(path)?)
}

pub(crate) fn open_to_append(path: &Path) -> io::Result<Opened> {
    let options = Options::append(Links::Refuse).keep_access_time();
    one_name(options.open(path)?)
}

pub(crate) fn open_or_create_to_append(path: &Path) -> io::Result<Opened> {
    one_name(Options::append(Links::Refuse).create().open(path)?)
}

pub(crate) fn open_or_create_to_write(path: &Path) -> io::Result<Opened> {
    let options = Options::write(Links::Refuse).keep_access_time();
    one_name(options.create().open(path)?)
}

pub(crate) fn create_new(path: &Path) -> io::Result<Opened> {
    Ok(Options::write(Links::Refuse).create_new().open(path)?)
}

/// Reads a file whole that the team replaces whole.
pub(crate) fn read_whole(path: &Path) -> io::Result<Vec<u8>> {
    read_opened(&open_whole(path)?)
}

/// Opens a file that is read whole.
pub(crate) fn open_whole(path: &Path) -> io::Result<Opened> {
    one_name(open_to_read(path)?)
}

/// Reads an opened file whole.
pub(crate) fn read_opened(opened: &Opened) -> io::Result<Vec<u8>> {
    Ok(safe_open::read_opened(opened, WHOLE_LIMIT)?)
}

/// A second name of a file may lie anywhere: through it somebody else would change what is trusted
/// here, or get what is written here.
fn one_name(opened: Opened) -> io::Result<Opened> {
    Ok(opened.with_one_name()?)
}

/// The next line with its newline, if it has one. A longer one than `limit` is an error, before it fills the
/// memory.
pub(crate) fn read_line(reader: &mut impl BufRead, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let read = reader
        .by_ref()
        .take(limit + 1)
        .read_until(b'\n', &mut line)?;
    if line.len() as u64 > limit {
        let text = format!("it has a line of more than {limit} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
    }
    Ok((read > 0).then_some(line))
}

/// Refuses to write what [`read_whole`] would refuse to read.
pub(crate) fn check_size(bytes: &[u8]) -> io::Result<()> {
    let size = bytes.len() as u64;
    match size > WHOLE_LIMIT {
        true => Err(Refusal::TooLarge {
            size,
            limit: WHOLE_LIMIT,
        }
        .into()),
        false => Ok(()),
    }
}

/// Opens a folder of the team. A link in its place is refused.
pub(crate) fn open_folder(path: &Path) -> io::Result<Folder> {
    Ok(Folder::open(path, Links::Refuse)?)
}

/// The folder that a file is in, and the file's name in it.
pub(crate) fn split(path: &Path) -> io::Result<(Folder, &OsStr)> {
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) if parent == Path::new("") => {
            Ok((open_folder(Path::new("."))?, name))
        }
        (Some(parent), Some(name)) => Ok((open_folder(parent)?, name)),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// What is in a folder of the team.
pub(crate) fn list(path: &Path) -> io::Result<Listing> {
    let folder = open_folder(path)?;
    Ok(Listing {
        entries: folder.list()?,
        _folder: folder,
    })
}

/// The entries of a folder, which stays open until all of them were seen.
pub(crate) struct Listing {
    entries: ReadDir,
    _folder: Folder,
}

impl Iterator for Listing {
    type Item = <ReadDir as Iterator>::Item;

    fn next(&mut self) -> Option<Self::Item> {
        self.entries.next()
    }
}

/// Whether anything has this name.
pub(crate) fn is_there(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok()
}

/// Creates a folder private to the user; one that exists is fine.
pub(crate) fn create_dir(path: &Path) -> Result<(), PathError> {
    let create = || -> io::Result<()> {
        let (parent, name) = split(path)?;
        match parent.create_folder(name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                open_folder(path).map(|_| ())
            }
            result => result,
        }
    };
    create().context("create the folder", path)
}

/// Makes the entries of a folder survive a power cut.
pub(crate) fn sync_dir(path: &Path) -> Result<(), PathError> {
    open_folder(path)
        .and_then(|folder| folder.sync())
        .context("sync the folder", path)
}

/// Removes a file. No link is followed.
pub(crate) fn remove_file(path: &Path) -> io::Result<()> {
    let (folder, name) = split(path)?;
    folder.remove_file(name)
}

/// Removes a file, or a folder with all that is in it. No link is followed.
pub(crate) fn remove_all(path: &Path) -> io::Result<()> {
    let (folder, name) = split(path)?;
    folder.remove_all(name)
}

/// Renames, and replaces a file that has the new name.
pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    let ((from, name), (to, new_name)) = (split(from)?, split(to)?);
    from.rename(name, &to, new_name)
}

/// Renames, and never replaces a file that has the new name.
pub(crate) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    let ((from, name), (folder, new_name)) = (split(from)?, split(to)?);
    match from.rename_new(name, &folder, new_name) {
        // Some file systems cannot do this in one step. The name is free but for two who take it at once.
        Err(error) if is_unsupported(&error) => match std::fs::symlink_metadata(to) {
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
            Err(_) => from.rename(name, &folder, new_name),
        },
        result => result,
    }
}

/// Whether the file system does not know how to rename in a special way.
fn is_unsupported(error: &io::Error) -> bool {
    let code = error.raw_os_error().map(Errno::from_raw);
    matches!(
        code,
        Some(Errno::EINVAL | Errno::ENOSYS | Errno::EOPNOTSUPP)
    )
}

/// Exchanges the names of two files of one folder.
pub(crate) fn exchange_names(one: &Path, other: &Path) -> io::Result<()> {
    let ((one, name), other) = (split(one)?, other.file_name().unwrap_or_default());
    one.exchange(name, &one, other)
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
