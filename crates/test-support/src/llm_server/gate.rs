//! Gates that a test opens.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::wait::wait_until;

/// A gate before a piece of a reply. The server waits in front of it until the
/// test opens it. Clones are the same gate.
#[derive(Clone, Debug, Default)]
pub struct Gate(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    open: bool,
    reached: usize,
}

impl Gate {
    /// A closed gate.
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens the gate for good.
    pub fn open(&self) {
        self.state().open = true;
        self.0.changed.notify_all();
    }

    /// How many times the server has come to the gate.
    pub fn reached(&self) -> usize {
        self.state().reached
    }

    /// Waits until the server has come to the gate. Panics if it has not within
    /// the limit.
    #[track_caller]
    pub fn wait_until_reached(&self, limit: Duration) {
        wait_until("the server at its gate", limit, || self.reached() > 0);
    }

    /// Waits in front of the gate, until it is open or `give_up` holds. Returns
    /// whether it is open.
    pub(super) fn pass(&self, give_up: impl Fn() -> bool) -> bool {
        const LOOK_UP: Duration = Duration::from_millis(20);
        let mut state = self.state();
        state.reached += 1;
        while !state.open {
            if give_up() {
                return false;
            }
            let waited = self.0.changed.wait_timeout(state, LOOK_UP);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        true
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
