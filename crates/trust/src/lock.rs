//! The lock of one record.

use nix::fcntl::{Flock, FlockArg};
use safe_open::{Links, Options};
use std::fs::File;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long another process may hold the lock. It does so for a few writes.
const WAIT: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(5);

/// The kernel releases it when the process ends, however it ends.
pub(crate) struct RecordLock {
    _file: Flock<File>,
}

impl RecordLock {
    pub(crate) fn acquire(path: &Path) -> io::Result<Self> {
        let opened = Options::write(Links::Refuse).create().open(path)?;
        let mut file = opened.file;
        let started = Instant::now();
        loop {
            match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
                Ok(lock) => return Ok(Self { _file: lock }),
                Err((back, nix::errno::Errno::EAGAIN)) if started.elapsed() < WAIT => {
                    file = back;
                    std::thread::sleep(POLL);
                }
                Err((_, error)) => return Err(error.into()),
            }
        }
    }
}
