//! Leases: whether any process could still write to a file that was renamed or deleted.

use std::fs::File;

/// Whether no process has the file open for writing.
///
/// Linux grants a read lease only then. Where leases are not to be had (another system, another
/// owner's file, a network file system) the answer is `false`: the file is kept.
#[cfg(target_os = "linux")]
pub(crate) fn has_no_writer(file: &File) -> bool {
    use std::os::fd::AsRawFd;
    // Missing from the bindings; the number is the same on every architecture of Linux.
    const F_SETSIG: libc::c_int = 10;
    let fd = file.as_raw_fd();
    // SAFETY: `fcntl` with these commands reads no memory of ours, and `fd` is open while `file`
    // is borrowed. The signal that breaks a lease ends a process by default, so one that is
    // ignored by default is asked for before the lease is taken.
    unsafe {
        libc::fcntl(fd, F_SETSIG, libc::SIGURG) == 0
            && libc::fcntl(fd, libc::F_SETLEASE, libc::F_RDLCK) == 0
            && libc::fcntl(fd, libc::F_SETLEASE, libc::F_UNLCK) == 0
    }
}

/// Whether no process has the file open for writing; this system cannot report it.
#[cfg(not(target_os = "linux"))]
pub(crate) fn has_no_writer(_file: &File) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_writer_is_noticed_until_it_closes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        let writer = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .unwrap();
        let reader = File::open(&path).unwrap();
        assert!(!has_no_writer(&reader));
        drop(writer);
        assert!(has_no_writer(&reader));
    }
}
