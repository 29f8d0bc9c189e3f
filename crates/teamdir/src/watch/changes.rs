//! The signal that something has changed: for threads, for event loops, and for callbacks.

use super::lock;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;
use tokio::sync::Notify;

/// A signal that stays raised until it is taken. Clones share it. One waiter at a time is woken.
#[derive(Debug, Clone, Default)]
pub struct Changes(Arc<Signal>);

#[derive(Default)]
struct Signal {
    is_raised: Mutex<bool>,
    thread: Condvar,
    task: Notify,
    callback: Mutex<Option<Callback>>,
}

type Callback = Box<dyn Fn() + Send>;

impl Changes {
    pub(super) fn raise(&self) {
        *lock(&self.0.is_raised) = true;
        self.0.thread.notify_all();
        self.0.task.notify_one();
        if let Some(callback) = lock(&self.0.callback).as_ref() {
            callback();
        }
    }

    /// Whether something has changed since the last time. Does not wait.
    pub fn take(&self) -> bool {
        std::mem::take(&mut *lock(&self.0.is_raised))
    }

    /// Returns when something has changed since the last time. Can be dropped at any time.
    pub async fn changed(&self) {
        while !self.take() {
            self.0.task.notified().await;
        }
    }

    /// Calls `callback` at each change from now on, on the thread that notices the change.
    pub fn call(&self, callback: impl Fn() + Send + 'static) {
        *lock(&self.0.callback) = Some(Box::new(callback));
    }

    /// Sleeps until something has changed since the last time, or until `deadline`. Returns whether
    /// something changed.
    pub(super) fn wait(&self, deadline: Instant) -> bool {
        let mut is_raised = lock(&self.0.is_raised);
        while !*is_raised {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let woken = self.0.thread.wait_timeout(is_raised, left);
            is_raised = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        std::mem::take(&mut *is_raised)
    }
}

impl fmt::Debug for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_raised = *lock(&self.is_raised);
        f.debug_struct("Signal")
            .field("is_raised", &is_raised)
            .finish_non_exhaustive()
    }
}
