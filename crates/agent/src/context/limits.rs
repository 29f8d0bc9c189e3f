//! How long a conversation may grow.

/// The size of a model's window where nobody has named another.
const USUAL_WINDOW: u64 = 200_000;
const USUAL_KEPT_RESULTS: usize = 3;

/// How long a conversation may grow, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The size of the model's window.
    pub window: u64,
    /// Above this size of a request, the conversation is compacted before it is sent.
    pub threshold: u64,
    /// How many of the newest tool results are never cleared.
    pub keep_results: usize,
    /// Old tool results are cleared only when at least this much is saved.
    pub clear_at_least: u64,
}

impl Limits {
    /// The usual shares of a window of this size.
    pub fn for_window(window: u64) -> Self {
        Self {
            window,
            threshold: window / 10 * 7,
            keep_results: USUAL_KEPT_RESULTS,
            clear_at_least: window / 20,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::for_window(USUAL_WINDOW)
    }
}
