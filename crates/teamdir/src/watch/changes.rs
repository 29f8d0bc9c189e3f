//! The signal that something has changed: for threads, for event loops, and for callbacks.

use super::lock;
use std::fmt;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;
use tokio::sync::Notify;

/// A signal that stays raised until it is taken. Clones share it: what one takes, the others do not see. A
/// [`Changes::fork`] is raised at the same changes, and is taken by itself.
#[derive(Debug, Clone, Default)]
pub struct Changes {
    signal: Arc<Signal>,
    /// How many changes were taken.
    taken: Arc<AtomicU64>,
}

#[derive(Default)]
struct Signal {
    /// How many changes there were.
    count: Mutex<u64>,
    thread: Condvar,
    task: Notify,
    callback: Mutex<Option<Callback>>,
}

type Callback = Box<dyn Fn() + Send>;

impl Changes {
    /// Returns how many changes were not taken yet, this one among them.
    pub(super) fn raise(&self) -> u64 {
        let count = {
            let mut count = lock(&self.signal.count);
            *count += 1;
            *count
        };
        let untaken = count.saturating_sub(self.taken.load(Ordering::Relaxed));
        self.signal.thread.notify_all();
        self.signal.task.notify_waiters();
        if let Some(callback) = lock(&self.signal.callback).as_ref() {
            callback();
        }
        untaken
    }

    /// Whether something has changed since the last time. Does not wait.
    pub fn take(&self) -> bool {
        self.take_all(*lock(&self.signal.count))
    }

    fn take_all(&self, count: u64) -> bool {
        self.taken.swap(count, Ordering::Relaxed) != count
    }

    /// Another handle, which is raised at each change from now on.
    #[must_use]
    pub fn fork(&self) -> Self {
        let count = *lock(&self.signal.count);
        Self {
            signal: Arc::clone(&self.signal),
            taken: Arc::new(AtomicU64::new(count)),
        }
    }

    /// Returns when something has changed since the last time. Can be dropped at any time.
    pub async fn changed(&self) {
        loop {
            let mut notified = pin!(self.signal.task.notified());
            // A change between the check and the waiting must not be missed.
            notified.as_mut().enable();
            if self.take() {
                return;
            }
            notified.await;
        }
    }

    /// Calls `callback` at each change from now on, on the thread that notices the change.
    pub fn call(&self, callback: impl Fn() + Send + 'static) {
        *lock(&self.signal.callback) = Some(Box::new(callback));
    }

    /// Sleeps until something has changed since the last time, or until `deadline`. Returns whether
    /// something changed.
    pub(super) fn wait(&self, deadline: Instant) -> bool {
        let mut count = lock(&self.signal.count);
        while !self.take_all(*count) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let woken = self.signal.thread.wait_timeout(count, left);
            count = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}

impl fmt::Debug for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = *lock(&self.count);
        f.debug_struct("Signal")
            .field("count", &count)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_raises_it_learns_how_much_was_not_taken() {
        let changes = Changes::default();
        assert_eq!((changes.raise(), changes.raise()), (1, 2));
        assert!(changes.clone().take());
        assert_eq!(changes.raise(), 1);
    }

    #[test]
    fn a_fork_is_raised_at_later_changes_and_taken_by_itself() {
        let changes = Changes::default();
        changes.raise();
        let (same, fork) = (changes.clone(), changes.fork());
        assert!(same.take());
        assert!(!changes.take(), "a clone has taken it");
        assert!(!fork.take(), "that was before the fork");
        changes.raise();
        assert!(changes.take());
        assert!(fork.take());
        assert!(!fork.take());
    }
}
