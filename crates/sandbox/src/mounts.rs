//! The file tree of a sandbox as a list of operations, which are carried out between fork and exec.
//!
//! The root is an empty file system in memory. Only what is listed is mounted into it; then it becomes the
//! root and the machine's own tree is detached. A second mount of the same folder, a working folder or a
//! descriptor from before therefore gives no access.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::fcntl::{OFlag, open, openat};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::stat::{Mode, fstat, mkdirat};
use nix::unistd::{UnlinkatFlags, chdir, fchdir, pivot_root, symlinkat, unlinkat};

use crate::error::Step;
use crate::syscalls::{attach, clone_tree, identity, reference, set_attributes};

/// The attributes of everything visible: no set-id programs and no device nodes.
pub(crate) const VISIBLE: u64 = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
/// The attributes of everything that must not be changed.
pub(crate) const FROZEN: u64 = VISIBLE | libc::MOUNT_ATTR_RDONLY;
/// The attributes of device nodes, which have to work as such.
pub(crate) const DEVICE: u64 = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NOEXEC;

/// The place where the new root is put together. Nothing is taken from the machine's `/proc`.
const SCAFFOLD: &CStr = c"/proc";
/// A file and a folder without content in the new root, which cover what is hidden. Their names are
/// removed before anybody sees them.
const EMPTY_FILE: &CStr = c".empty-file";
const EMPTY_FOLDER: &CStr = c".empty-folder";

/// One operation. Targets are relative to the new root.
#[derive(Debug)]
pub(crate) enum Mount {
    /// A folder in a file system in memory. It may exist.
    Folder(CString),
    /// An empty file in a file system in memory, as a mount point.
    File(CString),
    Link {
        target: CString,
        to: CString,
    },
    Memory {
        target: CString,
        options: CString,
    },
    /// A tree of the machine, which must still be the one that was planned.
    Tree {
        source: CString,
        identity: (u64, u64),
        target: CString,
        attributes: u64,
    },
    /// The same place once more, as a mount of its own, so that it cannot be moved or removed.
    Again {
        target: CString,
        attributes: u64,
    },
    /// An empty folder or file over what is there.
    Cover(CString),
    Terminals(CString),
    Processes(CString),
}

impl Mount {
    pub(crate) const fn target(&self) -> &CString {
        match self {
            Self::Folder(target)
            | Self::File(target)
            | Self::Cover(target)
            | Self::Terminals(target)
            | Self::Processes(target)
            | Self::Link { target, .. }
            | Self::Memory { target, .. }
            | Self::Tree { target, .. }
            | Self::Again { target, .. } => target,
        }
    }
}

/// Where a build stopped: the step, the number of the operation, and why.
pub(crate) type Failed = (Step, u16, Errno);

/// Builds the tree and makes it the root of this process, which needs a mount namespace of its own
/// and all capabilities in it.
pub(crate) fn build(mounts: &[Mount], folder: &CStr) -> Result<(), Failed> {
    let at = |step| move |errno| (step, 0, errno);
    let root = scaffold().map_err(at(Step::Root))?;
    for (number, mount) in (0..=u16::MAX).zip(mounts) {
        let step = match mount {
            Mount::Processes(_) => Step::Proc,
            Mount::Folder(_)
            | Mount::File(_)
            | Mount::Link { .. }
            | Mount::Memory { .. }
            | Mount::Tree { .. }
            | Mount::Again { .. }
            | Mount::Cover(_)
            | Mount::Terminals(_) => Step::Path,
        };
        make(root.as_fd(), mount).map_err(|errno| (step, number, errno))?;
    }
    enter(root.as_fd()).map_err(at(Step::Pivot))?;
    chdir(folder).map_err(at(Step::Folder))
}

fn scaffold() -> nix::Result<OwnedFd> {
    let none: Option<&CStr> = None;
    mount(
        none,
        c"/",
        none,
        MsFlags::MS_REC | MsFlags::MS_PRIVATE,
        none,
    )?;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    let options = Some(c"mode=0755,size=1m");
    mount(Some(c"tmpfs"), SCAFFOLD, Some(c"tmpfs"), flags, options)?;
    let root = open(
        SCAFFOLD,
        OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC,
        Mode::empty(),
    )?;
    fchdir(&root)?;
    file(root.as_fd(), EMPTY_FILE)?;
    mkdirat(&root, EMPTY_FOLDER, Mode::from_bits_truncate(0o555))?;
    Ok(root)
}

fn enter(root: BorrowedFd<'_>) -> nix::Result<()> {
    unlinkat(root, EMPTY_FILE, UnlinkatFlags::NoRemoveDir)?;
    unlinkat(root, EMPTY_FOLDER, UnlinkatFlags::RemoveDir)?;
    set_attributes(root, libc::MOUNT_ATTR_RDONLY, false)?;
    pivot_root(c".", c".")?;
    umount2(c".", MntFlags::MNT_DETACH)?;
    chdir(c"/")
}

fn make(root: BorrowedFd<'_>, wanted: &Mount) -> nix::Result<()> {
    match wanted {
        Mount::Folder(target) => {
            match mkdirat(root, target.as_c_str(), Mode::from_bits_truncate(0o755)) {
                Ok(()) | Err(Errno::EEXIST) => Ok(()),
                Err(errno) => Err(errno),
            }
        }
        Mount::File(target) => file(root, target),
        Mount::Link { target, to } => symlinkat(to.as_c_str(), root, target.as_c_str()),
        Mount::Memory { target, options } => {
            let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
            file_system(c"tmpfs", target, flags, Some(options))
        }
        Mount::Terminals(target) => {
            let flags = MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC;
            let options = c"newinstance,ptmxmode=0666,mode=0620";
            file_system(c"devpts", target, flags, Some(options))
        }
        Mount::Processes(target) => {
            // Read-only, or root could change the kernel's settings through `/proc/sys`.
            let flags =
                MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC | MsFlags::MS_RDONLY;
            file_system(c"proc", target, flags, None)
        }
        Mount::Tree {
            source,
            identity: planned,
            target,
            attributes,
        } => {
            let found = reference(None, source)?;
            if identity(&found)? != *planned {
                return Err(Errno::ESTALE);
            }
            place(root, &found, target, *attributes)
        }
        Mount::Again { target, attributes } => {
            let found = reference(Some(root), target)?;
            place(root, &found, target, *attributes)
        }
        Mount::Cover(target) => cover(root, target),
    }
}

/// Mounts a copy of `tree` on `target`.
fn place(root: BorrowedFd<'_>, tree: &OwnedFd, target: &CStr, attributes: u64) -> nix::Result<()> {
    let copy = clone_tree(tree.as_fd())?;
    set_attributes(copy.as_fd(), attributes, true)?;
    attach(copy.as_fd(), reference(Some(root), target)?.as_fd())
}

/// Covers a path with an empty file or folder. It is mounted by descriptor, because a mount by path would
/// follow a link that another process puts there at this moment.
fn cover(root: BorrowedFd<'_>, target: &CStr) -> nix::Result<()> {
    let found = fstat(reference(Some(root), target)?)?;
    let empty = match found.st_mode & libc::S_IFMT {
        libc::S_IFDIR => EMPTY_FOLDER,
        _ => EMPTY_FILE,
    };
    place(root, &reference(Some(root), empty)?, target, FROZEN)
}

/// Mounts a file system. The working folder of the process is the new root.
fn file_system(
    kind: &CStr,
    target: &CStr,
    flags: MsFlags,
    options: Option<&CStr>,
) -> nix::Result<()> {
    mount(Some(kind), target, Some(kind), flags, options)
}

fn file(root: BorrowedFd<'_>, target: &CStr) -> nix::Result<()> {
    let flags = OFlag::O_CREAT | OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    openat(root, target, flags, Mode::from_bits_truncate(0o444)).map(drop)
}
