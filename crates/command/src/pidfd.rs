//! Handles that mean one process for ever. `nix` has no calls for them, so they are made here.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::signal::Signal;
use nix::sys::time::TimeSpec;
use nix::unistd::Pid;

/// A handle on a process. Its number may be given to another process; the handle never is.
#[derive(Debug)]
pub struct Pidfd(OwnedFd);

impl Pidfd {
    /// A handle on the process that has the number `pid` now. Whoever means a certain process
    /// compares it after this.
    pub fn open(pid: Pid) -> nix::Result<Self> {
        // SAFETY: the call takes two numbers and touches no memory of ours.
        let opened = unsafe { libc::syscall(libc::SYS_pidfd_open, pid.as_raw(), 0) };
        let opened = Errno::result(opened)?;
        let opened = RawFd::try_from(opened).map_err(|_| Errno::EBADF)?;
        // SAFETY: the system has just opened it for us, and nobody else knows of it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(opened) }))
    }

    /// Sends a signal to this process and to no other.
    pub fn send_signal(&self, signal: Signal) -> nix::Result<()> {
        let info = std::ptr::null::<libc::siginfo_t>();
        // SAFETY: the descriptor is open while `self` is borrowed, and without information of our
        // own no memory is read.
        let sent = unsafe {
            libc::syscall(
                libc::SYS_pidfd_send_signal,
                self.0.as_raw_fd(),
                signal as libc::c_int,
                info,
                0,
            )
        };
        Errno::result(sent).map(drop)
    }

    /// Waits for the end of the process, at most this long. Returns whether it has ended.
    pub fn wait(&self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let mut fds = [PollFd::new(self.as_fd(), PollFlags::POLLIN)];
            match ppoll(&mut fds, Some(TimeSpec::from(left)), None) {
                Ok(1..) => return true,
                Ok(_) | Err(Errno::EINTR) if Instant::now() < deadline => {}
                Ok(_) | Err(_) => return false,
            }
        }
    }

    /// Another handle on the same process.
    pub fn try_clone(&self) -> std::io::Result<Self> {
        self.0.try_clone().map(Self)
    }
}

impl AsFd for Pidfd {
    /// Becomes readable when the process ends.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsRawFd for Pidfd {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}
