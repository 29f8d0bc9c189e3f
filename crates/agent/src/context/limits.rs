//! How long a conversation may grow.

use protocol::{DEFAULT_CLEAR_AT, DEFAULT_KEPT_RESULTS};

/// The size of a model's window where nobody has named another.
const USUAL_WINDOW: u64 = 200_000;
/// Clearing ends at this part of the size at which it begins, so that it is rare.
const CLEAR_DOWN_TO: u64 = 2;

/// How long a conversation may grow, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub window: u64,
    /// Above this size of a request, the conversation is compacted before it is sent.
    pub threshold: u64,
    /// How many of the newest tool results are never cleared.
    pub keep_results: usize,
    /// Above this size of a request, old tool results are cleared.
    pub clear_above: u64,
    /// They are cleared only when at least this much is saved.
    pub clear_at_least: u64,
}

impl Limits {
    /// The usual shares of a window of this size.
    pub fn for_window(window: u64) -> Self {
        Self {
            window,
            threshold: window / 10 * 7,
            keep_results: usize::from(DEFAULT_KEPT_RESULTS),
            clear_above: window.saturating_mul(u64::from(DEFAULT_CLEAR_AT)) / 100,
            clear_at_least: window / 20,
        }
    }

    /// The same, but for what a person has set: how many of the newest results are never cleared, and
    /// the share of the window from which on others are, in percent.
    #[must_use]
    pub fn clearing(self, keep_results: Option<u64>, clear_at: Option<u64>) -> Self {
        let keep_results = keep_results.map(|number| usize::try_from(number).unwrap_or(usize::MAX));
        let clear_above = clear_at.map(|percent| self.window.saturating_mul(percent) / 100);
        Self {
            keep_results: keep_results.unwrap_or(self.keep_results),
            clear_above: clear_above.unwrap_or(self.clear_above),
            ..self
        }
    }

    /// The same shares of a window of another size.
    #[must_use]
    pub fn in_window(&self, window: u64) -> Self {
        let share = self.clear_above as f64 / self.window.max(1) as f64;
        Self {
            keep_results: self.keep_results,
            clear_above: (window as f64 * share) as u64,
            ..Self::for_window(window)
        }
    }

    /// The size that clearing aims at.
    pub(crate) fn clear_down_to(&self) -> u64 {
        self.clear_above / CLEAR_DOWN_TO
    }

    /// How much mail the model gets at once, in bytes: about a quarter of the threshold, and under the
    /// threshold even with a token for each byte. A compaction keeps this much whole.
    pub fn portion(&self) -> usize {
        usize::try_from(self.threshold).unwrap_or(usize::MAX)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::for_window(USUAL_WINDOW)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_holds_in_every_window() {
        let limits = Limits::for_window(200_000);
        assert_eq!(limits.clearing(None, None), limits);
        let set = limits.clearing(Some(7), Some(30));
        assert_eq!((set.keep_results, set.clear_above), (7, 60_000));
        let small = set.in_window(10_000);
        assert_eq!((small.keep_results, small.clear_above), (7, 3_000));
        assert_eq!(small.threshold, Limits::for_window(10_000).threshold);
    }
}
