//! Replaces a file atomically.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat, renameat};
use nix::sys::stat::{FileStat, Mode, fchmod, fstat, fstatat};
use nix::unistd::{AccessFlags, Gid, Uid, UnlinkatFlags, faccessat, fchown, fsync, unlinkat};

use super::walk::{Target, Walk};
use super::{PathError, Version, Workspace, must_be_regular};

/// The permissions that are kept. As usual, setuid and setgid bits are lost on a write.
const KEPT: u32 = 0o1777;

/// See [`Workspace::replace_file`].
pub(super) fn replace(
    workspace: &Workspace,
    path: &str,
    content: &[u8],
    version: Option<Version>,
) -> Result<(), PathError> {
    let target = Walk::along(workspace, path)?.target(workspace, path)?;
    if let Some(existing) = &target.existing {
        must_be_regular(existing, path)?;
        must_be_writable(&target, path)?;
    }
    let temporary = OsString::from(format!(".tmp-{:016x}", fastrand::u64(..)));
    let written = write(&target, &temporary, content)
        .map_err(|error| PathError::io(path, error))
        .and_then(|()| put(&target, &temporary, path, version));
    if written.is_err() {
        // The temporary file is removed after a failure.
        let _ = unlinkat(
            &target.folder,
            temporary.as_os_str(),
            UnlinkatFlags::NoRemoveDir,
        );
    }
    written
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
    version: Option<Version>,
) -> Result<(), PathError> {
    let folder = target.folder.as_fd();
    if let Some(version) = version {
        let now = fstatat(
            folder,
            target.name.as_os_str(),
            AtFlags::AT_SYMLINK_NOFOLLOW,
        );
        if now.as_ref().map(Version::of) != Ok(version) {
            return Err(PathError::Changed(path.to_owned()));
        }
    }
    renameat(
        folder,
        temporary.as_os_str(),
        folder,
        target.name.as_os_str(),
    )
    .map_err(PathError::errno(path))?;
    // The handle of the walk cannot be synced. A folder that cannot be synced does not undo the
    // rename.
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    if let Ok(folder) = openat(folder, c".", flags, Mode::empty()) {
        let _ = fsync(folder);
    }
    Ok(())
}
