//! What the person types while a turn runs: the next request of that turn has it.

use std::sync::{Arc, Mutex, PoisonError};

/// Lines for the running turn. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Steering(Arc<Mutex<Vec<String>>>);

impl Steering {
    pub(crate) fn add(&self, line: String) {
        self.lock().push(line);
    }

    /// The lines that nobody has taken yet, oldest first.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
