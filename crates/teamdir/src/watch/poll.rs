//! Looking at files again and again, where the system does not tell.
//!
//! The watcher of the `notify` crate compares times of modification, which have a grain of some
//! milliseconds; two appends within one grain look like one. Sizes are compared here too.

use super::Hint;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often the files are looked at.
pub(crate) const EVERY: Duration = Duration::from_millis(200);

/// A thread that looks at files.
pub(super) struct Poller {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    stopped: Condvar,
}

#[derive(Default)]
struct State {
    files: BTreeMap<PathBuf, Option<Look>>,
    stop: bool,
}

/// What a look at a file shows. Differs after any change that can mean new mail.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Look {
    inode: u64,
    size: u64,
    modified: (i64, i64),
}

fn look(path: &Path) -> Option<Look> {
    let metadata = std::fs::symlink_metadata(path).ok()?;
    Some(Look {
        inode: metadata.ino(),
        size: metadata.size(),
        modified: (metadata.mtime(), metadata.mtime_nsec()),
    })
}

impl Poller {
    pub(super) fn start(hint: Hint) -> Self {
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            stopped: Condvar::new(),
        });
        let seen = Arc::clone(&shared);
        std::thread::spawn(move || seen.run(&hint));
        Self { shared }
    }

    pub(super) fn add(&mut self, path: &Path) {
        let now = look(path);
        self.shared.lock().files.insert(path.to_path_buf(), now);
    }

    pub(super) fn remove(&mut self, path: &Path) {
        self.shared.lock().files.remove(path);
    }
}

impl Drop for Poller {
    fn drop(&mut self) {
        self.shared.lock().stop = true;
        self.shared.stopped.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, hint: &Hint) {
        let mut state = self.lock();
        while !state.stop {
            let waited = self.stopped.wait_timeout(state, EVERY);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            let mut changed = false;
            for (path, last) in &mut state.files {
                let now = look(path);
                changed |= now != *last;
                *last = now;
            }
            if changed && !state.stop {
                hint();
            }
        }
    }
}
