//! When which blow falls: a pure function of the seed.

use std::time::Duration;
use test_support::Rng;

/// Before the first blow: the team comes up.
const CALM: Duration = Duration::from_secs(2);

/// Somebody who can be struck.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Victim {
    /// The lead.
    Lead,
    /// The member of this number.
    Member(usize),
}

/// What a foreign writer puts into an inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Garbage {
    /// A JSON object that was begun and never ended, with a newline.
    TornLine,
    /// The same without a newline.
    HalfLine,
    /// Bytes that are no text.
    NotUtf8,
    /// A line that is longer than any reader takes.
    Huge,
    /// A JSON object of a type that nobody knows, and other JSON.
    WrongJson,
    /// Lines of white space.
    Blank,
}

const GARBAGE: [Garbage; 6] = [
    Garbage::TornLine,
    Garbage::HalfLine,
    Garbage::NotUtf8,
    Garbage::Huge,
    Garbage::WrongJson,
    Garbage::Blank,
];

/// Something bad that happens to the team.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blow {
    /// SIGKILL.
    Kill(Victim),
    /// SIGSTOP, and SIGCONT after this long.
    Stop(Victim, Duration),
    /// The disk is full for this long.
    FillDisk(Duration),
    /// The model's server answers everything with an error for this long.
    Outage(Duration),
    /// A foreign writer appends something that is no message.
    Foreign(Victim, Garbage),
    /// A member is asked to shut down while it works.
    Ask(usize),
}

/// All blows of a run, in the order of their times.
#[derive(Debug, Clone)]
pub struct Plan {
    rng: Rng,
    members: usize,
    now: Duration,
    end: Duration,
    /// The mean time from one blow to the next.
    gap: Duration,
}

impl Plan {
    /// The plan for so many members and so long a time. The same arguments give the same plan.
    pub fn new(seed: u64, members: usize, time: Duration) -> Self {
        let per_member = Duration::from_secs(5) / u32::try_from(members.max(1)).unwrap_or(u32::MAX);
        Self {
            rng: Rng::new(seed),
            members: members.max(1),
            now: CALM,
            end: time,
            gap: per_member.clamp(Duration::from_millis(150), Duration::from_secs(1)),
        }
    }

    fn victim(&mut self) -> Victim {
        // The lead is struck a little more often than each of the others.
        let number = self.rng.below(self.members as u64 + 2);
        let number = usize::try_from(number).unwrap_or(usize::MAX);
        if number < self.members {
            Victim::Member(number)
        } else {
            Victim::Lead
        }
    }

    fn millis(&mut self, least: u64, most: u64) -> Duration {
        Duration::from_millis(least + self.rng.below(most - least))
    }

    fn blow(&mut self) -> Blow {
        match self.rng.below(100) {
            0..45 => Blow::Kill(self.victim()),
            45..60 => {
                let victim = self.victim();
                Blow::Stop(victim, self.millis(1000, 5000))
            }
            60..64 => Blow::FillDisk(self.millis(1000, 5000)),
            64..69 => Blow::Outage(self.millis(500, 3000)),
            69..72 => {
                let number = self.rng.below(self.members as u64);
                Blow::Ask(usize::try_from(number).unwrap_or_default())
            }
            _ => {
                let victim = self.victim();
                let kinds = GARBAGE.len() as u64;
                let kind = usize::try_from(self.rng.below(kinds)).unwrap_or_default();
                Blow::Foreign(victim, GARBAGE[kind])
            }
        }
    }
}

impl Iterator for Plan {
    type Item = (Duration, Blow);

    fn next(&mut self) -> Option<Self::Item> {
        // From almost at once up to twice the mean, so that some blows fall together.
        let gap = u64::try_from(self.gap.as_millis()).unwrap_or(u64::MAX);
        let gap = self.millis(1, 2 * gap);
        self.now += gap;
        (self.now < self.end).then(|| (self.now, self.blow()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTES: Duration = Duration::from_secs(600);

    #[test]
    fn the_seed_decides() {
        let plan = |seed| Plan::new(seed, 20, MINUTES).collect::<Vec<_>>();
        assert_eq!(plan(7), plan(7));
        assert_ne!(plan(7), plan(8));
    }

    #[test]
    fn times_go_up_and_everything_happens() {
        let plan: Vec<_> = Plan::new(1, 20, MINUTES).collect();
        assert!(plan.is_sorted_by_key(|(time, _)| *time));
        assert!(plan.iter().all(|(time, _)| *time < MINUTES));
        let has = |test: fn(&Blow) -> bool| plan.iter().any(|(_, blow)| test(blow));
        assert!(has(|blow| matches!(blow, Blow::Kill(Victim::Lead))));
        assert!(has(|blow| matches!(blow, Blow::Kill(Victim::Member(19)))));
        assert!(has(|blow| matches!(blow, Blow::Stop(Victim::Lead, _))));
        assert!(has(|blow| matches!(blow, Blow::FillDisk(_))));
        assert!(has(|blow| matches!(blow, Blow::Outage(_))));
        assert!(has(|blow| matches!(blow, Blow::Ask(_))));
        for kind in GARBAGE {
            let found =
                |(_, blow): &(_, Blow)| matches!(blow, Blow::Foreign(_, found) if *found == kind);
            assert!(plan.iter().any(found), "{kind:?}");
        }
    }

    #[test]
    fn a_minute_has_enough_of_them_for_a_small_team() {
        let blows = Plan::new(3, 8, Duration::from_secs(60)).count();
        assert!(blows > 30, "{blows}");
    }
}
