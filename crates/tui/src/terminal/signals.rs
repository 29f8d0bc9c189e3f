//! Signals as a descriptor to poll.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGWINCH};
use signal_hook::{flag, low_level};
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The signals that matter to a full-screen program.
pub(super) struct Signals {
    wake: UnixStream,
    /// The last signal that ends the view; 0 for none.
    fatal: Arc<AtomicUsize>,
}

impl Signals {
    /// From now on these signals only wake a `poll`.
    pub(super) fn listen() -> io::Result<Self> {
        let (wake, sender) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        sender.set_nonblocking(true)?;
        let fatal = Arc::new(AtomicUsize::new(0));
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            let number = usize::try_from(signal).map_err(io::Error::other)?;
            flag::register_usize(signal, Arc::clone(&fatal), number)?;
        }
        // After the flags, so that these are set on wake-up.
        for signal in [SIGHUP, SIGINT, SIGTERM, SIGWINCH] {
            low_level::pipe::register(signal, sender.try_clone()?)?;
        }
        Ok(Self { wake, fatal })
    }

    /// The signal that ends the view, if one came.
    pub(super) fn fatal(&self) -> Option<i32> {
        let signal = self.fatal.load(Ordering::SeqCst);
        i32::try_from(signal).ok().filter(|signal| *signal != 0)
    }

    /// Becomes readable when a signal comes.
    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }

    /// Discards pending wake-ups.
    pub(super) fn drain(&self) {
        let mut bytes = [0; 64];
        while let Ok(1..) = (&self.wake).read(&mut bytes) {}
    }
}
