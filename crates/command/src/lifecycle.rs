//! The life of a command as a small machine. Times come in as arguments.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

/// How long the keeper may take, beyond the grace, until nothing is left. It gives up by itself
/// before that; if it does not, it is stopped or stuck.
const PATIENCE: Duration = Duration::from_secs(15);

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The shell exited with this code.
    Exited(i32),
    /// The shell was killed by this signal, which did not come from here.
    Signaled(i32),
    /// The limit passed, and the command was killed.
    TimedOut,
    /// Somebody cancelled it, and it was killed.
    Cancelled,
    /// Its keeper was killed, so that nobody knows how it ended.
    Lost,
}

/// What the owner has to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Wait.
    Nothing,
    /// Tell the keeper to stop the command.
    Stop,
    /// Kill the keeper, which does not do its work.
    Abandon,
}

/// The state of a command, as its owner knows it.
#[derive(Debug)]
pub(crate) struct Lifecycle {
    grace: Duration,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    /// The leader runs. No time means that there is no limit worth counting.
    Running { limit_at: Option<Instant> },
    /// It was told to stop, and why.
    Stopping { end: End, patience_at: Instant },
    /// The leader has ended, and what it left is being killed.
    Sweeping { end: End, patience_at: Instant },
    /// The keeper has been killed.
    Abandoned { end: End },
}

impl Lifecycle {
    pub(crate) fn new(limit: Duration, grace: Duration, now: Instant) -> Self {
        Self {
            // No sensible grace is longer, and sums of times stay far from overflow.
            grace: grace.min(Duration::from_secs(3600)),
            phase: Phase::Running {
                limit_at: now.checked_add(limit),
            },
        }
    }

    /// When [`Lifecycle::tick`] should be called at the latest.
    pub(crate) fn next_tick(&self) -> Option<Instant> {
        match self.phase {
            Phase::Running { limit_at } => limit_at,
            Phase::Stopping { patience_at, .. } | Phase::Sweeping { patience_at, .. } => {
                Some(patience_at)
            }
            Phase::Abandoned { .. } => None,
        }
    }

    /// Time has passed.
    #[must_use]
    pub(crate) fn tick(&mut self, now: Instant) -> Action {
        match self.phase {
            Phase::Running { limit_at } if limit_at.is_some_and(|at| at <= now) => {
                self.stop(End::TimedOut, now)
            }
            Phase::Stopping { end, patience_at } | Phase::Sweeping { end, patience_at }
                if patience_at <= now =>
            {
                self.phase = Phase::Abandoned { end };
                Action::Abandon
            }
            Phase::Running { .. }
            | Phase::Stopping { .. }
            | Phase::Sweeping { .. }
            | Phase::Abandoned { .. } => Action::Nothing,
        }
    }

    /// Somebody wants the command to end.
    #[must_use]
    pub(crate) fn cancel(&mut self, now: Instant) -> Action {
        match self.phase {
            Phase::Running { .. } => self.stop(End::Cancelled, now),
            Phase::Stopping { .. } | Phase::Sweeping { .. } | Phase::Abandoned { .. } => {
                Action::Nothing
            }
        }
    }

    /// The leader has ended with this wait status. What was decided before stays decided.
    pub(crate) fn leader_ended(&mut self, wait_status: i32, now: Instant) {
        let end = match self.phase {
            Phase::Running { .. } => decode(wait_status),
            Phase::Stopping { end, .. } => end,
            Phase::Sweeping { .. } | Phase::Abandoned { .. } => return,
        };
        let patience_at = now + self.grace + PATIENCE;
        self.phase = Phase::Sweeping { end, patience_at };
    }

    /// The keeper is gone: how the command ended.
    pub(crate) fn end(&self) -> End {
        match self.phase {
            Phase::Running { .. } => End::Lost,
            Phase::Stopping { end, .. }
            | Phase::Sweeping { end, .. }
            | Phase::Abandoned { end } => end,
        }
    }

    fn stop(&mut self, end: End, now: Instant) -> Action {
        let patience_at = now + self.grace + PATIENCE;
        self.phase = Phase::Stopping { end, patience_at };
        Action::Stop
    }
}

fn decode(wait_status: i32) -> End {
    let status = ExitStatus::from_raw(wait_status);
    match (status.code(), status.signal()) {
        (Some(code), _) => End::Exited(code),
        (None, Some(signal)) => End::Signaled(signal),
        (None, None) => End::Lost,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(10);
    const GRACE: Duration = Duration::from_secs(1);

    fn incarnation() -> (Lifecycle, Instant) {
        let now = Instant::now();
        (Lifecycle::new(LIMIT, GRACE, now), now)
    }

    #[test]
    fn an_exit_is_kept_whatever_comes_later() {
        let (mut incarnation, now) = incarnation();
        incarnation.leader_ended(3 << 8, now);
        assert_eq!(incarnation.cancel(now), Action::Nothing);
        assert_eq!(incarnation.tick(now + LIMIT), Action::Nothing);
        assert_eq!(incarnation.end(), End::Exited(3));
    }

    #[test]
    fn the_limit_stops_once_and_names_itself() {
        let (mut incarnation, now) = incarnation();
        assert_eq!(incarnation.next_tick(), Some(now + LIMIT));
        assert_eq!(incarnation.tick(now), Action::Nothing);
        assert_eq!(incarnation.tick(now + LIMIT), Action::Stop);
        assert_eq!(incarnation.tick(now + LIMIT), Action::Nothing);
        assert_eq!(incarnation.cancel(now + LIMIT), Action::Nothing);
        incarnation.leader_ended(15, now + LIMIT);
        assert_eq!(incarnation.end(), End::TimedOut);
    }

    #[test]
    fn a_keeper_that_does_nothing_is_abandoned_once() {
        let (mut incarnation, now) = incarnation();
        assert_eq!(incarnation.cancel(now), Action::Stop);
        let late = incarnation.next_tick().unwrap();
        assert_eq!(late, now + GRACE + PATIENCE);
        assert_eq!(incarnation.tick(late), Action::Abandon);
        assert_eq!(incarnation.tick(late), Action::Nothing);
        assert_eq!(
            (incarnation.next_tick(), incarnation.end()),
            (None, End::Cancelled)
        );
    }

    #[test]
    fn a_keeper_that_vanishes_loses_the_end() {
        let (incarnation, _) = incarnation();
        assert_eq!(incarnation.end(), End::Lost);
    }

    #[test]
    fn signals_are_told_from_codes_and_endless_limits_do_not_overflow() {
        let (mut incarnation, now) = incarnation();
        incarnation.leader_ended(9, now);
        assert_eq!(incarnation.end(), End::Signaled(9));
        let endless = Lifecycle::new(Duration::MAX, Duration::MAX, now);
        assert_eq!(endless.next_tick(), None);
    }
}
