//! System calls that `nix` does not have. All of them may be used between fork and exec: they
//! neither allocate nor take a lock.

use std::ffi::CStr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use libc::{c_int, c_long, c_uint};
use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, OFlag, OpenHow, ResolveFlag, openat2};

type Result<T> = nix::Result<T>;

fn check(result: c_long) -> Result<c_long> {
    Errno::result(result)
}

fn descriptor(result: c_long) -> Result<OwnedFd> {
    let number = RawFd::try_from(check(result)?).map_err(|_| Errno::EBADF)?;
    // SAFETY: the kernel has just returned this descriptor, and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Opens a path without following any symbolic link, not even the last component. `O_PATH` makes
/// the descriptor a mere reference.
pub(crate) fn reference(folder: Option<BorrowedFd<'_>>, path: &CStr) -> Result<OwnedFd> {
    let how = OpenHow::new()
        .flags(OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC)
        .resolve(ResolveFlag::RESOLVE_NO_SYMLINKS | ResolveFlag::RESOLVE_NO_MAGICLINKS);
    openat2(folder.unwrap_or(AT_FDCWD), path, how)
}

/// A detached copy of the mounts at and below `tree`.
pub(crate) fn clone_tree(tree: BorrowedFd<'_>) -> Result<OwnedFd> {
    let flags = libc::OPEN_TREE_CLONE
        | libc::OPEN_TREE_CLOEXEC
        | flag(libc::AT_RECURSIVE)
        | flag(libc::AT_EMPTY_PATH);
    // SAFETY: the path is a constant and the descriptor is open.
    descriptor(unsafe { libc::syscall(libc::SYS_open_tree, tree.as_raw_fd(), c"".as_ptr(), flags) })
}

/// Sets attributes of a mount and, if `recursive`, of all mounts below it.
pub(crate) fn set_attributes(mount: BorrowedFd<'_>, set: u64, recursive: bool) -> Result<()> {
    let attributes = libc::mount_attr {
        attr_set: set,
        attr_clr: 0,
        propagation: 0,
        userns_fd: 0,
    };
    let flags = libc::AT_EMPTY_PATH | if recursive { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the structure lives on the stack, and its size is passed along.
    check(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    })?;
    Ok(())
}

/// Attaches a detached mount on top of `place`, which may be a symbolic link itself.
pub(crate) fn attach(mount: BorrowedFd<'_>, place: BorrowedFd<'_>) -> Result<()> {
    let flags = libc::MOVE_MOUNT_F_EMPTY_PATH | libc::MOVE_MOUNT_T_EMPTY_PATH;
    // SAFETY: both paths are constants and both descriptors are open.
    check(unsafe {
        libc::syscall(
            libc::SYS_move_mount,
            mount.as_raw_fd(),
            c"".as_ptr(),
            place.as_raw_fd(),
            c"".as_ptr(),
            flags,
        )
    })?;
    Ok(())
}

/// Device and inode of whatever a descriptor refers to.
pub(crate) fn identity(file: impl AsFd) -> Result<(u64, u64)> {
    let stat = nix::sys::stat::fstat(file)?;
    Ok((stat.st_dev, stat.st_ino))
}

/// Closes every descriptor from `first` on, or marks it to be closed by exec.
pub(crate) fn close_from(first: RawFd, on_exec: bool) -> Result<()> {
    let flags = if on_exec {
        libc::CLOSE_RANGE_CLOEXEC
    } else {
        0
    };
    // SAFETY: the descriptors that are closed belong to values which this process never touches
    // again: it either executes a program or never returns to their owners.
    check(unsafe { libc::syscall(libc::SYS_close_range, first, c_int::MAX, flags) })?;
    Ok(())
}

/// Closes every ordinary file that the caller had open but for `kept` and the standard descriptors: a lock
/// of the caller would be held here for as long as the sandbox is being built, whoever has killed the
/// caller. What stays is closed by exec at the latest.
pub(crate) fn close_files(kept: Option<RawFd>) {
    // SAFETY: plain system calls that write to values on the stack. The descriptors that are closed belong
    // to values which this process never touches again: it either executes a program or never returns to
    // their owners. References to files, such as those of mounts, and pipes stay.
    unsafe {
        let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC;
        let folder = libc::open(c"/proc/self/fd".as_ptr(), flags);
        if folder < 0 {
            return;
        }
        let mut entries = [0u8; 1024];
        loop {
            let read = libc::syscall(
                libc::SYS_getdents64,
                folder,
                entries.as_mut_ptr(),
                entries.len(),
            );
            let Some(read) = usize::try_from(read).ok().filter(|read| *read > 0) else {
                break;
            };
            let mut at = 0;
            while let Some(entry) = entries.get(at..read).filter(|rest| rest.len() > ENTRY_NAME) {
                let length = u16::from_ne_bytes([entry[ENTRY_LENGTH], entry[ENTRY_LENGTH + 1]]);
                let number = number(&entry[ENTRY_NAME..]);
                if let Some(fd) = number.filter(|fd| *fd > libc::STDERR_FILENO && Some(*fd) != kept)
                    && is_open_file(fd)
                {
                    libc::close(fd);
                }
                at += usize::from(length.max(1));
            }
        }
        libc::close(folder);
    }
}

/// Where the length and the name of an entry stand in what the kernel tells of a folder.
const ENTRY_LENGTH: usize = 16;
const ENTRY_NAME: usize = 19;

/// The number that a text starts with, up to its zero byte.
fn number(text: &[u8]) -> Option<RawFd> {
    let digits = text.iter().take_while(|byte| **byte != 0);
    let mut number: RawFd = 0;
    let mut is_empty = true;
    for digit in digits {
        let digit = digit.checked_sub(b'0').filter(|digit| *digit < 10)?;
        number = number.checked_mul(10)?.checked_add(RawFd::from(digit))?;
        is_empty = false;
    }
    (!is_empty).then_some(number)
}

/// Whether a descriptor is an ordinary file that can be read or written, not a mere reference to one.
fn is_open_file(fd: RawFd) -> bool {
    // SAFETY: plain system calls; the structure is plain data for which zeros are valid.
    unsafe {
        let flags = libc::fcntl(fd, libc::F_GETFL);
        let mut stat: libc::stat = std::mem::zeroed();
        flags >= 0
            && flags & libc::O_PATH == 0
            && libc::fstat(fd, &raw mut stat) == 0
            && stat.st_mode & libc::S_IFMT == libc::S_IFREG
    }
}

/// The version of Landlock that the kernel has, or why it has none.
pub(crate) fn landlock_version() -> Result<u32> {
    const VERSION: c_uint = 1;
    // SAFETY: with this flag the kernel reads no structure.
    let version = check(unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<u8>(),
            0_usize,
            VERSION,
        )
    })?;
    u32::try_from(version).map_err(|_| Errno::EINVAL)
}

/// Allows `access` at and below `place`.
pub(crate) fn landlock_allow(
    rules: BorrowedFd<'_>,
    place: BorrowedFd<'_>,
    access: u64,
) -> Result<()> {
    const PATH_BENEATH: c_uint = 1;
    #[repr(C, packed)]
    struct Rule {
        access: u64,
        place: c_int,
    }
    let rule = Rule {
        access,
        place: place.as_raw_fd(),
    };
    // SAFETY: the structure has the layout of `landlock_path_beneath_attr` and lives on the stack.
    check(unsafe {
        libc::syscall(
            libc::SYS_landlock_add_rule,
            rules.as_raw_fd(),
            PATH_BENEATH,
            &raw const rule,
            0,
        )
    })?;
    Ok(())
}

/// Restricts this process to the rules. It must have `no_new_privs`.
pub(crate) fn landlock_restrict(rules: BorrowedFd<'_>) -> Result<()> {
    // SAFETY: takes a descriptor and flags.
    check(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, rules.as_raw_fd(), 0) })?;
    Ok(())
}

/// Gives up every capability: those of this process, and those that executing a program could give.
pub(crate) fn drop_capabilities() -> Result<()> {
    const VERSION_3: u32 = 0x2008_0522;
    #[repr(C)]
    struct Header {
        version: u32,
        pid: c_int,
    }
    const HIGHEST: c_int = 63;
    for capability in 0..=HIGHEST {
        // SAFETY: takes numbers. It fails for the first number that the kernel does not know, and
        // for a process without capabilities, which cannot gain any because of `no_new_privs`.
        if unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) } != 0 {
            break;
        }
    }
    let header = Header {
        version: VERSION_3,
        pid: 0,
    };
    let none = [[0_u32; 3]; 2];
    // SAFETY: both structures have the layout the kernel expects and live on the stack. The second
    // prctl takes numbers only.
    unsafe {
        libc::prctl(
            libc::PR_CAP_AMBIENT,
            libc::PR_CAP_AMBIENT_CLEAR_ALL,
            0,
            0,
            0,
        );
        check(libc::syscall(
            libc::SYS_capset,
            &raw const header,
            &raw const none,
        ))?;
    }
    Ok(())
}

/// Brings the loopback interface of this network namespace up.
pub(crate) fn loopback_up() -> Result<()> {
    // SAFETY: `ifreq` is plain data, for which zeros are valid, and lives on the stack.
    unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        for (to, from) in request.ifr_name.iter_mut().zip(*b"lo") {
            *to = from as libc::c_char;
        }
        let up = libc::IFF_UP | libc::IFF_RUNNING;
        request.ifr_ifru.ifru_flags = libc::c_short::try_from(up).map_err(|_| Errno::EINVAL)?;
        let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC;
        let socket = descriptor(libc::socket(libc::AF_INET, kind, 0).into())?;
        check(libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request).into())?;
    }
    Ok(())
}

/// A flag that one part of the C interface declares signed and another unsigned.
const fn flag(value: c_int) -> c_uint {
    value.cast_unsigned()
}
