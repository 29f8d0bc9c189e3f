//! Collects the piped output of a traced command.

use std::io::Read;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::wait::try_wait_for;

/// How long the end of a pipe is awaited after the process has ended. It comes
/// at once, unless another process holds the pipe.
const END_LIMIT: Duration = Duration::from_secs(2);

/// A thread that reads a pipe to its end.
pub(super) struct Collector {
    bytes: Arc<Mutex<Vec<u8>>>,
    thread: JoinHandle<()>,
}

impl Collector {
    pub(super) fn start(mut pipe: impl Read + Send + 'static) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&bytes);
        let thread = thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = pipe.read(&mut buffer) {
                let mut bytes = shared.lock().unwrap_or_else(PoisonError::into_inner);
                bytes.extend_from_slice(&buffer[..count]);
            }
        });
        Self { bytes, thread }
    }

    /// What was read, to be called after the process has ended.
    pub(super) fn finish(self) -> Vec<u8> {
        try_wait_for(END_LIMIT, || self.thread.is_finished().then_some(()));
        let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut bytes)
    }
}
