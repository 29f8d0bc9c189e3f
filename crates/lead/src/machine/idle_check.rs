//! When the lead checks whether its team is idle, and when it believes that it is.

use backoff::Backoff;
use std::time::Duration;

/// The delay before a team that was idle is checked again.
const SECOND_CHECK: Duration = Duration::from_millis(30);
/// The delay before a busy team is checked again grows from the first to the second.
pub(super) const BUSY_CHECK: (Duration, Duration) =
    (Duration::from_millis(50), Duration::from_millis(500));
/// How often in a row a team has to be idle.
const IDLE_CHECKS: u32 = 2;

/// Checks whether the team is idle.
#[derive(Debug, Default)]
pub(super) struct IdleCheck {
    pub(super) is_running: bool,
    /// How often in a row the team was idle.
    pub(super) idle_count: u32,
    /// Counts how often in a row it was busy.
    pub(super) backoff: Backoff,
}

impl IdleCheck {
    /// Counts an idle team. Returns whether it was idle often enough in a row.
    pub(super) const fn count_idle(&mut self) -> bool {
        self.backoff.reset();
        self.idle_count += 1;
        self.idle_count >= IDLE_CHECKS
    }

    pub(super) fn delay(&self) -> Duration {
        if self.idle_count > 0 {
            return SECOND_CHECK;
        }
        let (first, longest) = BUSY_CHECK;
        self.backoff.delay(first, longest)
    }
}
