//! Resolves a path without following links.
//!
//! The kernel does it in one call, `openat2`. Where that call is missing (Linux before 5.6) or
//! refused by a seccomp filter, such as that of this project's own sandbox, the path is walked
//! component by component, each opened relative to the one before.

use crate::Links;
use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, OFlag, OpenHow, ResolveFlag, openat, openat2};
use nix::sys::stat::Mode;
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Set when the kernel said that it does not have `openat2`, so that it is asked once.
static MISSING: AtomicBool = AtomicBool::new(false);

/// Opens `path`, from the folder `base` if it is relative.
pub(crate) fn open(
    base: Option<BorrowedFd<'_>>,
    path: &Path,
    flags: OFlag,
    mode: Mode,
    links: Links,
) -> nix::Result<OwnedFd> {
    let base = base.unwrap_or(AT_FDCWD);
    retry(|| match links {
        Links::Follow => openat(base, path, flags, mode),
        Links::Refuse => open_without_links(base, path, flags, mode),
    })
}

fn open_without_links(
    base: BorrowedFd<'_>,
    path: &Path,
    flags: OFlag,
    mode: Mode,
) -> nix::Result<OwnedFd> {
    if MISSING.load(Ordering::Relaxed) {
        return walk(base, path, flags, mode);
    }
    let how = OpenHow::new()
        .flags(flags)
        .mode(mode)
        .resolve(ResolveFlag::RESOLVE_NO_SYMLINKS);
    match openat2(base, path, how) {
        Err(Errno::ENOSYS) => {
            MISSING.store(true, Ordering::Relaxed);
            walk(base, path, flags, mode)
        }
        // Some container runtimes answer an unknown call with this. If it is about the file, the walk
        // gets the same answer.
        Err(Errno::EPERM) => walk(base, path, flags, mode),
        result => result,
    }
}

/// Opens a path without `openat2`, one component after the other.
pub(crate) fn walk(
    base: BorrowedFd<'_>,
    path: &Path,
    flags: OFlag,
    mode: Mode,
) -> nix::Result<OwnedFd> {
    let step = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let mut names = path.components().peekable();
    let mut folder: Option<OwnedFd> = None;
    while let Some(name) = names.next() {
        let at = folder.as_ref().map_or(base, AsFd::as_fd);
        let is_last = names.peek().is_none();
        let name = match name {
            Component::Prefix(_) => return Err(Errno::EINVAL),
            Component::RootDir => OsStr::new("/"),
            Component::CurDir => OsStr::new("."),
            Component::ParentDir => OsStr::new(".."),
            Component::Normal(name) => name,
        };
        if is_last {
            return openat(at, name, flags | OFlag::O_NOFOLLOW, mode);
        }
        // With these flags a link is reported as `ENOTDIR`.
        folder = Some(openat(at, name, step, Mode::empty()).map_err(|error| {
            let link = error == Errno::ENOTDIR && first_link(path).is_some();
            if link { Errno::ELOOP } else { error }
        })?);
    }
    Err(Errno::ENOENT)
}

/// The first symbolic link on the way, for the error that names it.
pub(crate) fn first_link(path: &Path) -> Option<PathBuf> {
    let mut at = PathBuf::new();
    path.components().find_map(|component| {
        at.push(component);
        at.symlink_metadata()
            .is_ok_and(|found| found.is_symlink())
            .then(|| at.clone())
    })
}

fn retry<T>(mut call: impl FnMut() -> nix::Result<T>) -> nix::Result<T> {
    loop {
        match call() {
            Err(Errno::EINTR) => {}
            result => return result,
        }
    }
}
