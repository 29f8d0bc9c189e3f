//! Appends lines to a file that many processes append to.
//!
//! The line goes in with one `write`, which the kernel never interleaves with another. It can
//! still be cut short: by a full disk, or by a kill in its middle. A full disk is met by
//! reserving the space first; what a killed writer left unfinished is ended by the next one with a
//! newline, so that it cannot damage the line after it. Nothing here ever shortens the file:
//! programs that take no lock append too.

use crate::Durability;
use crate::error::{Context, PathError};
use crate::files;
use crate::files::atomic;
use crate::locks::{FileLock, LockError};
use nix::errno::Errno;
use nix::fcntl::{FallocateFlags, FcntlArg, OFlag, fallocate, fcntl};
use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};
use protocol::JsonLine;
use safe_open::Opened;
use std::borrow::Cow;
use std::fs::{File, Metadata};
use std::io::{self, Seek, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

/// Space is reserved when a line reaches into another block of this size.
const BLOCK: u64 = 4 << 10;
/// How much is reserved at once for a file that has reached this size: who fills it fast reserves seldom.
const LARGE_BLOCK: u64 = 64 << 10;
/// The unit in which the system counts the space of a file.
const SECTOR: u64 = 512;

/// Whether the last line of a file has an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tail {
    Finished,
    /// It has to be looked at.
    Unknown,
}

impl Tail {
    pub(crate) const fn finished_if(is_finished: bool) -> Self {
        match is_finished {
            true => Self::Finished,
            false => Self::Unknown,
        }
    }
}

/// Where to append, and how.
pub(crate) struct Target<'a> {
    pub(crate) path: PathBuf,
    pub(crate) lock: PathBuf,
    pub(crate) lock_wait: Duration,
    pub(crate) durability: Durability,
    /// The size from which on nothing more is accepted.
    pub(crate) limit: Option<u64>,
    /// Written together or not at all.
    pub(crate) lines: &'a [JsonLine],
}

/// Why a line was not appended. The file is as it was.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// The lock could not be had.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The file could not be written or synced.
    #[error(transparent)]
    File(#[from] PathError),
    /// The file has reached its limit.
    #[error("{} is full: {size} bytes wait to be read", path.display())]
    Full {
        path: PathBuf,
        /// Its size.
        size: u64,
    },
}

/// Appends the lines. When this returns `Ok` they are there to stay, as far as `durability`
/// promises.
pub(crate) fn append_lines(target: &Target<'_>) -> Result<(), AppendError> {
    let path = target.path.as_path();
    let lock = FileLock::acquire_to_append(&target.lock, target.lock_wait)?;
    let Opened { mut file, metadata } = open_or_create(path, target.durability)?;
    let size = metadata.len();
    if target.limit.is_some_and(|limit| size >= limit) {
        let path = target.path.clone();
        return Err(AppendError::Full { path, size });
    }
    let found = (&metadata, Tail::Unknown);
    write_lines(&mut file, found, target.lines).context("append to", path)?;
    // Outside the lock, so that several senders share one commit of the file system's journal.
    drop(lock);
    if target.durability == Durability::PowerCut {
        file.sync_data().context("sync", path)?;
    }
    Ok(())
}

/// Appends the lines to an open file, which was as `metadata` says a moment ago. Returns what was written: a
/// line that has no end gets one first.
pub(crate) fn write_lines<'a>(
    file: &mut File,
    (metadata, tail): (&Metadata, Tail),
    lines: &'a [JsonLine],
) -> io::Result<Cow<'a, [u8]>> {
    let size = metadata.len();
    let is_unfinished = match tail {
        Tail::Unknown => size > 0 && !ends_with_newline(file, size)?,
        Tail::Finished => false,
    };
    let bytes = match lines {
        [line] if !is_unfinished => Cow::Borrowed(&**line),
        lines => {
            let start = if is_unfinished { b"\n".as_slice() } else { b"" };
            let parts = std::iter::once(start).chain(lines.iter().map(|line| &**line));
            Cow::Owned(parts.flatten().copied().collect::<Vec<u8>>())
        }
    };
    reserve(file, metadata, bytes.len() as u64)?;
    write_once(file, &bytes)?;
    Ok(bytes)
}

/// Ends the last line of the file, if it has no end. Returns whether it had none.
pub(crate) fn close_tail(path: &Path, lock: &Path, wait: Duration) -> Result<bool, AppendError> {
    let _lock = FileLock::acquire(lock, wait)?;
    let Opened { mut file, metadata } = match files::open_to_append(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        opened => opened.context("open", path)?,
    };
    let size = metadata.len();
    if size == 0 || ends_with_newline(&file, size).context("read", path)? {
        return Ok(false);
    }
    write_once(&mut file, b"\n").context("append to", path)?;
    Ok(true)
}

/// Opens the file for appending. Called under the exclusive lock, so that whoever finds the file there finds
/// it there after a power cut too, and no sender but the first has to sync the folder. A file that
/// somebody created without the lock relies on the file system, which keeps a new file's name with
/// its first synced bytes (as ext4, XFS and btrfs do).
fn open_or_create(path: &Path, durability: Durability) -> Result<Opened, PathError> {
    match files::open_to_append(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let opened = files::open_or_create_to_append(path).context("create", path)?;
            atomic::sync_parent(path, durability)?;
            Ok(opened)
        }
        result => result.context("open", path),
    }
}

/// Whether the last of `size` bytes ends a line.
pub(crate) fn ends_with_newline(file: &File, size: u64) -> io::Result<bool> {
    let mut last = [0];
    file.read_exact_at(&mut last, size - 1)?;
    Ok(last == *b"\n")
}

/// Makes sure before the write that there is room for it, so that a full disk leaves no half of
/// a line behind.
fn reserve(file: &File, metadata: &Metadata, length: u64) -> io::Result<()> {
    let size = metadata.len();
    // Asked once: it costs a system call, and hardly ever changes.
    static FILE_SIZE_LIMIT: OnceLock<Option<u64>> = OnceLock::new();
    let limit = FILE_SIZE_LIMIT.get_or_init(|| {
        let (soft, _) = getrlimit(Resource::RLIMIT_FSIZE).ok()?;
        (soft != RLIM_INFINITY).then_some(soft)
    });
    if let Some(limit) = limit
        && size + length > *limit
    {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let fits_last_block =
        !size.is_multiple_of(BLOCK) && size / BLOCK == (size + length - 1) / BLOCK;
    let is_reserved = metadata.blocks().saturating_mul(SECTOR) >= size + length;
    if fits_last_block || is_reserved {
        return Ok(());
    }
    let block = if size < LARGE_BLOCK {
        BLOCK
    } else {
        LARGE_BLOCK
    };
    let whole_blocks = (size + length).next_multiple_of(block) - size;
    match allocate(file, size, whole_blocks) {
        Err(error) if error.kind() == io::ErrorKind::StorageFull => allocate(file, size, length),
        result => result,
    }
}

/// Reserves `length` bytes from `start` on. The size of the file stays as it is.
fn allocate(file: &File, start: u64, length: u64) -> io::Result<()> {
    let too_large = |_| io::Error::from(io::ErrorKind::FileTooLarge);
    let start = i64::try_from(start).map_err(too_large)?;
    let length = i64::try_from(length).map_err(too_large)?;
    loop {
        match fallocate(file, FallocateFlags::FALLOC_FL_KEEP_SIZE, start, length) {
            Err(Errno::EINTR) => {}
            // Where space cannot be reserved the write itself has to find out.
            Ok(()) | Err(Errno::EOPNOTSUPP | Errno::ENOSYS) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}

/// One `write` of everything, or an error with nothing readable left behind.
fn write_once(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    let written = loop {
        match file.write(bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => break result?,
        }
    };
    if written == bytes.len() {
        return Ok(());
    }
    let end = file.stream_position()?;
    blank(file, end - written as u64, written)?;
    Err(io::ErrorKind::StorageFull.into())
}

/// Turns the fragment of a failed write, which nobody else can have written into, into blank
/// lines. Cutting it off could cut off a stranger's line behind it.
fn blank(file: &File, start: u64, length: usize) -> io::Result<()> {
    // While the flag is set Linux appends, whatever the position says.
    let flags = OFlag::from_bits_retain(fcntl(file, FcntlArg::F_GETFL)?);
    fcntl(file, FcntlArg::F_SETFL(flags - OFlag::O_APPEND))?;
    file.write_all_at(&vec![b'\n'; length], start)
}
