//! The lifecycle of a command as a pure state machine. Times come in as arguments.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

/// How long the supervisor may take, beyond the grace period. A reaper gives up earlier by itself;
/// otherwise it is stopped or blocked.
const SUPERVISOR_LIMIT: Duration = Duration::from_secs(15);

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The shell exited with this code.
    Exited(i32),
    /// The shell was killed by this signal, which did not come from here.
    Signaled(i32),
    /// The limit passed, and the command was killed.
    TimedOut,
    /// It was cancelled, and killed.
    Cancelled,
    /// Its supervisor was killed, so its outcome is unknown.
    Lost,
}

/// What the owner has to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Nothing,
    /// Ask the command to end.
    Stop,
    /// Kill the command, whose grace period is over.
    Kill,
    /// Kill the supervisor, which does not respond.
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
    /// The leader runs. `None` is a limit too long to represent.
    Running { limit_at: Option<Instant> },
    /// The command was asked to end.
    Stopping { end: End, kill_at: Instant },
    /// It is being killed.
    Killing { end: End, give_up_at: Instant },
    /// The leader has ended, and the remaining processes are being killed.
    Sweeping { end: End, give_up_at: Instant },
    /// The supervisor has been killed.
    Abandoned { end: End },
}

impl Lifecycle {
    pub(crate) fn new(limit: Duration, grace: Duration, now: Instant) -> Self {
        Self {
            // Prevents overflow of sums of times.
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
            Phase::Stopping { kill_at, .. } => Some(kill_at),
            Phase::Killing { give_up_at, .. } | Phase::Sweeping { give_up_at, .. } => {
                Some(give_up_at)
            }
            Phase::Abandoned { .. } => None,
        }
    }

    #[must_use]
    pub(crate) fn tick(&mut self, now: Instant) -> Action {
        match self.phase {
            Phase::Running { limit_at } if limit_at.is_some_and(|at| at <= now) => {
                self.stop(End::TimedOut, now)
            }
            Phase::Stopping { end, kill_at } if kill_at <= now => {
                let give_up_at = now + SUPERVISOR_LIMIT;
                self.phase = Phase::Killing { end, give_up_at };
                Action::Kill
            }
            Phase::Killing { end, give_up_at } | Phase::Sweeping { end, give_up_at }
                if give_up_at <= now =>
            {
                self.phase = Phase::Abandoned { end };
                Action::Abandon
            }
            Phase::Running { .. }
            | Phase::Stopping { .. }
            | Phase::Killing { .. }
            | Phase::Sweeping { .. }
            | Phase::Abandoned { .. } => Action::Nothing,
        }
    }

    #[must_use]
    pub(crate) fn cancel(&mut self, now: Instant) -> Action {
        match self.phase {
            Phase::Running { .. } => self.stop(End::Cancelled, now),
            Phase::Stopping { .. }
            | Phase::Killing { .. }
            | Phase::Sweeping { .. }
            | Phase::Abandoned { .. } => Action::Nothing,
        }
    }

    /// The leader has ended with this wait status. An earlier reason to stop takes precedence.
    pub(crate) fn leader_ended(&mut self, wait_status: i32, now: Instant) {
        let end = match self.phase {
            Phase::Running { .. } => decode(wait_status),
            Phase::Stopping { end, .. } | Phase::Killing { end, .. } => end,
            Phase::Sweeping { .. } | Phase::Abandoned { .. } => return,
        };
        let give_up_at = now + self.grace + SUPERVISOR_LIMIT;
        self.phase = Phase::Sweeping { end, give_up_at };
    }

    /// How the command ended, once the supervisor has exited.
    pub(crate) fn end(&self) -> End {
        match self.phase {
            Phase::Running { .. } => End::Lost,
            Phase::Stopping { end, .. }
            | Phase::Killing { end, .. }
            | Phase::Sweeping { end, .. }
            | Phase::Abandoned { end } => end,
        }
    }

    fn stop(&mut self, end: End, now: Instant) -> Action {
        let kill_at = now + self.grace;
        self.phase = Phase::Stopping { end, kill_at };
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
    fn a_command_that_does_not_end_is_killed_and_its_supervisor_abandoned_once() {
        let (mut incarnation, now) = incarnation();
        assert_eq!(incarnation.cancel(now), Action::Stop);
        let over = incarnation.next_tick().unwrap();
        assert_eq!(over, now + GRACE);
        assert_eq!(incarnation.tick(now), Action::Nothing);
        assert_eq!(incarnation.tick(over), Action::Kill);
        let late = incarnation.next_tick().unwrap();
        assert_eq!(late, now + GRACE + SUPERVISOR_LIMIT);
        assert_eq!(incarnation.tick(over), Action::Nothing);
        assert_eq!(incarnation.tick(late), Action::Abandon);
        assert_eq!(incarnation.tick(late), Action::Nothing);
        assert_eq!(
            (incarnation.next_tick(), incarnation.end()),
            (None, End::Cancelled)
        );
    }

    #[test]
    fn a_supervisor_that_vanishes_loses_the_end() {
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
