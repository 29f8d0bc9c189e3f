//! Delays that double with each failure in a row.

use std::time::Duration;

/// The delay after `failures` failures in a row: `first`, doubled that many times, and at most `longest`.
pub fn delay(first: Duration, longest: Duration, failures: u32) -> Duration {
    let factor = 1_u32.checked_shl(failures).unwrap_or(u32::MAX);
    first.saturating_mul(factor).min(longest)
}

/// Counts failures in a row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Backoff {
    failures: u32,
}

impl Backoff {
    /// The [`delay`] for the failures that are counted so far.
    pub fn delay(self, first: Duration, longest: Duration) -> Duration {
        delay(first, longest, self.failures)
    }

    pub const fn fail(&mut self) {
        self.failures = self.failures.saturating_add(1);
    }

    pub const fn reset(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_the_longest() {
        let (first, longest) = (Duration::from_millis(50), Duration::from_millis(500));
        let mut backoff = Backoff::default();
        let mut delays = Vec::new();
        for _ in 0..40 {
            delays.push(backoff.delay(first, longest));
            backoff.fail();
        }
        assert!(delays.is_sorted());
        assert_eq!(delays[..3], [first, first * 2, first * 4]);
        assert_eq!(delays[39], longest);
        backoff.reset();
        assert_eq!(backoff.delay(first, longest), first);
    }
}
