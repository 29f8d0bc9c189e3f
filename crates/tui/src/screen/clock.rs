//! Running clocks: how long something takes, and when what is shown of that changes.

use super::Screen;
use protocol::Timestamp;
use rules::MemberState;
use std::time::Duration;

/// In microseconds.
const SECOND: i64 = 1_000_000;
const HOUR: u64 = 3600;
const DAY: u64 = 24 * HOUR;

/// A duration as on a clock: `0:12`, `12:05`; from an hour on as `1 h 05`, from a day on as `3 days`.
pub(super) fn clock(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..HOUR => format!("{}:{:02}", seconds / 60, seconds % 60),
        HOUR..DAY => format!("{} h {:02}", seconds / HOUR, seconds % HOUR / 60),
        seconds if seconds < 2 * DAY => "1 day".to_owned(),
        seconds => format!("{} days", seconds / DAY),
    }
}

/// The time that has passed, in whole seconds of the clock on the wall: all clocks on the screen change at
/// the same moment.
pub(super) fn elapsed(since: Timestamp, now: Timestamp) -> Duration {
    whole_second(now).since(whole_second(since))
}

const fn whole_second(time: Timestamp) -> Timestamp {
    Timestamp::from_secs(time.as_micros().div_euclid(SECOND))
}

impl Screen {
    /// How long what is shown stays right by itself: until the next second, or the next minute if all clocks
    /// show hours. `None` if nothing counts: then only a change of the team is worth drawing.
    pub fn next_tick(&self) -> Option<Duration> {
        let members = self.snapshot.members.iter();
        let members = members.filter_map(|row| counts_since(&row.state));
        let members = members.map(|since| elapsed(since, self.now));
        let requests = self.snapshot.requests.iter();
        let requests = requests.map(|row| match row.deadline {
            Some(deadline) => elapsed(self.now, deadline),
            None => elapsed(row.created_at, self.now),
        });
        let shortest = members.chain(requests).min()?;
        let step = match shortest.as_secs() {
            0..HOUR => SECOND,
            HOUR.. => 60 * SECOND,
        };
        let left = step - self.now.as_micros().rem_euclid(step);
        Some(Duration::from_micros(left.unsigned_abs()))
    }
}

/// Since when the clock of a member runs, if it does. The clock of a member at rest is not shown, so that
/// nobody has to wake up for it.
pub(super) fn counts_since(state: &MemberState) -> Option<Timestamp> {
    match state {
        MemberState::Working { activity, since } => {
            Some(activity.as_ref().map_or(*since, |activity| activity.since))
        }
        MemberState::Waiting { since, .. } => Some(*since),
        MemberState::Starting { since } => *since,
        MemberState::Idle { .. }
        | MemberState::Hung { .. }
        | MemberState::Failed { .. }
        | MemberState::GaveUp { .. }
        | MemberState::Dead { .. }
        | MemberState::Shutdown => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_has_seconds_then_hours_then_days() {
        for (seconds, shown) in [
            (0, "0:00"),
            (12, "0:12"),
            (725, "12:05"),
            (3600, "1 h 00"),
            (7290, "2 h 01"),
            (86_400, "1 day"),
            (260_000, "3 days"),
        ] {
            assert_eq!(clock(Duration::from_secs(seconds)), shown);
        }
    }
}
