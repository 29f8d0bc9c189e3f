//! Polling files where the system has no notifications.
//!
//! `notify::PollWatcher` is not used: it compares times of modification only, so that two appends
//! within one tick of the file system's clock are one, a file that is replaced by an older one is
//! none, and a path without a file cannot be watched at all.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Files, and the state of each when it was polled last.
#[derive(Debug, Default)]
pub(super) struct PolledFiles {
    files: BTreeMap<PathBuf, Option<State>>,
}

/// What changes when a file does. Times have a grain of some milliseconds, within which two appends
/// leave the same time, so the size counts too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State {
    inode: u64,
    size: u64,
    modified: (i64, i64),
}

impl PolledFiles {
    pub(super) fn add(&mut self, path: &Path) {
        self.files.insert(path.to_path_buf(), state(path));
    }

    pub(super) fn contains(&self, path: &Path) -> bool {
        self.files.contains_key(path)
    }

    pub(super) fn remove(&mut self, path: &Path) {
        self.files.remove(path);
    }

    /// Whether anything has changed since the last time.
    pub(super) fn have_changed(&mut self) -> bool {
        let mut changed = false;
        for (path, last) in &mut self.files {
            let now = state(path);
            changed |= now != *last;
            *last = now;
        }
        changed
    }
}

fn state(path: &Path) -> Option<State> {
    let metadata = std::fs::symlink_metadata(path).ok()?;
    Some(State {
        inode: metadata.ino(),
        size: metadata.size(),
        modified: (metadata.mtime(), metadata.mtime_nsec()),
    })
}

/// A thread that does something again and again, until this is dropped.
#[derive(Debug)]
pub(super) struct Poller {
    _stop: Sender<()>,
}

impl Poller {
    pub(super) fn start(every: Duration, mut poll: impl FnMut() + Send + 'static) -> Self {
        let (stop, stopped) = channel();
        // Without the thread the longest sleep of the waiter still ends.
        let _ = std::thread::Builder::new()
            .name("team-poll".to_owned())
            .spawn(move || {
                while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                    poll();
                }
            });
        Self { _stop: stop }
    }
}
