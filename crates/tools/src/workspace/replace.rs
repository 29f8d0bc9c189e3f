//! Replaces a file atomically.

use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat, renameat};
use nix::sys::stat::{FileStat, Mode, fchmod, fstat, fstatat};
use nix::unistd::{AccessFlags, Gid, Uid, UnlinkatFlags, faccessat, fchown, fsync, unlinkat};

use super::walk::{Target, Walk};
use super::{Expected, PathError, Version, Workspace, must_be_regular};

/// The permissions that are kept. As usual, setuid and setgid bits are lost on a write.
const KEPT: u32 = 0o1777;
/// How long another process may keep the folder of a file locked.
const LOCK_WAIT: Duration = Duration::from_secs(5);
const LOCK_INTERVAL: Duration = Duration::from_millis(1);

/// See [`Workspace::replace_file`].
pub(super) fn replace(
    workspace: &Workspace,
    path: &str,
    content: &[u8],
    expected: Expected,
) -> Result<PathBuf, PathError> {
    let target = Walk::along(workspace, path)?.target(workspace, path)?;
    if let Some(existing) = &target.existing {
        must_be_regular(existing, path)?;
        must_be_writable(&target, path)?;
    }
    let temporary = OsString::from(format!(".tmp-{:016x}", fastrand::u64(..)));
    let written = write(&target, &temporary, content)
        .map_err(|error| PathError::io(path, error))
        .and_then(|()| put(&target, &temporary, path, expected));
    if written.is_err() {
        // The temporary file is removed after a failure.
        let _ = unlinkat(
            &target.folder,
            temporary.as_os_str(),
            UnlinkatFlags::NoRemoveDir,
        );
    }
    written.map(|()| workspace.name(&target.location))
}

/// A read-only file is not replaced, although a rename could do it.
fn must_be_writable(target: &Target, path: &str) -> Result<(), PathError> {
    let access = faccessat(
        &target.folder,
        target.name.as_os_str(),
        AccessFlags::W_OK,
        AtFlags::AT_EACCESS,
    );
    match access {
        Err(error @ (Errno::EACCES | Errno::EPERM | Errno::EROFS)) => {
            Err(PathError::io(path, error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

fn write(target: &Target, temporary: &OsString, content: &[u8]) -> io::Result<()> {
    let flags =
        OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let mode = if target.existing.is_some() {
        0o600
    } else {
        0o666
    };
    let file = openat(
        &target.folder,
        temporary.as_os_str(),
        flags,
        Mode::from_bits_truncate(mode),
    )?;
    let mut file = File::from(file);
    file.write_all(content)?;
    if let Some(existing) = &target.existing {
        keep_owner(&file, existing)?;
        fchmod(&file, Mode::from_bits_truncate(existing.st_mode & KEPT))?;
    }
    file.sync_all()
}

/// Gives the file to the owner of the one it replaces, if permitted.
fn keep_owner(file: &File, existing: &FileStat) -> io::Result<()> {
    let own = fstat(file)?;
    if (own.st_uid, own.st_gid) != (existing.st_uid, existing.st_gid) {
        let owner = Uid::from_raw(existing.st_uid);
        let group = Gid::from_raw(existing.st_gid);
        let _ = fchown(file, Some(owner), Some(group));
    }
    Ok(())
}

fn put(
    target: &Target,
    temporary: &OsString,
    path: &str,
    expected: Expected,
) -> Result<(), PathError> {
    let folder = target.folder.as_fd();
    // The handle of the walk can be neither locked nor synced.
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    let opened = openat(folder, c".", flags, Mode::empty());
    // A folder that may be written but not read can be used all the same.
    let opened = opened.ok().map(File::from);
    if let Some(opened) = &opened {
        lock(opened, path)?;
    }
    must_be(target, path, expected)?;
    renameat(
        folder,
        temporary.as_os_str(),
        folder,
        target.name.as_os_str(),
    )
    .map_err(PathError::errno(path))?;
    if let Some(opened) = &opened {
        // Closing the folder frees the lock too. A folder that cannot be synced does not undo the rename.
        let _ = opened.unlock();
        let _ = fsync(opened);
    }
    Ok(())
}

/// Keeps other agents from replacing files of the folder until the rename is done. It takes
/// microseconds, so whoever waits longer waits for something else that locked the folder.
fn lock(folder: &File, path: &str) -> Result<(), PathError> {
    let start = Instant::now();
    loop {
        match folder.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if start.elapsed() < LOCK_WAIT => {
                std::thread::sleep(LOCK_INTERVAL);
            }
            Err(TryLockError::WouldBlock) => return Err(PathError::Busy(path.to_owned())),
            // Some file systems have no locks. There the comparison alone has to do.
            Err(TryLockError::Error(_)) => return Ok(()),
        }
    }
}

fn must_be(target: &Target, path: &str, expected: Expected) -> Result<(), PathError> {
    let now = fstatat(
        &target.folder,
        target.name.as_os_str(),
        AtFlags::AT_SYMLINK_NOFOLLOW,
    );
    match (expected, now) {
        (Expected::Nothing, Err(Errno::ENOENT)) => Ok(()),
        (Expected::Nothing, Ok(_)) => Err(PathError::Exists(path.to_owned())),
        (Expected::Nothing, Err(error)) => Err(PathError::io(path, error)),
        (Expected::File(version), Ok(now)) if Version::of(&now) == version => Ok(()),
        (Expected::File(_), Ok(_) | Err(_)) => Err(PathError::Changed(path.to_owned())),
    }
}
