//! Which fault is injected when: a pure function of the seed.

use std::time::Duration;
use test_support::Rng;

/// The time before the first fault, in which the team starts.
const WARM_UP: Duration = Duration::from_secs(2);

/// A process that a fault can hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    Lead,
    /// The member with this number.
    Member(usize),
}

/// What a foreign writer puts into an inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Garbage {
    /// An unfinished JSON object with a newline.
    TornLine,
    /// An unfinished JSON object without a newline.
    HalfLine,
    NotUtf8,
    /// A line that is longer than any reader accepts.
    Huge,
    /// A JSON object of an unknown type, and other JSON.
    WrongJson,
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

/// A fault that is injected into the team.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// SIGKILL.
    Kill(Target),
    /// SIGSTOP, and SIGCONT after this long.
    Stop(Target, Duration),
    /// The disk is full for this long.
    FillDisk(Duration),
    /// The model's server answers everything with an error for this long.
    Outage(Duration),
    /// A foreign writer appends something that is not a message.
    Foreign(Target, Garbage),
    /// A member is asked to shut down while it works.
    Ask(usize),
}

/// All faults of a run, by time.
#[derive(Debug, Clone)]
pub struct Plan {
    rng: Rng,
    members: usize,
    now: Duration,
    end: Duration,
    /// The mean time from one fault to the next.
    gap: Duration,
}

impl Plan {
    /// The plan for so many members and so long a time. The same arguments give the same plan.
    pub fn new(seed: u64, members: usize, time: Duration) -> Self {
        let per_member = Duration::from_secs(5) / u32::try_from(members.max(1)).unwrap_or(u32::MAX);
        Self {
            rng: Rng::new(seed),
            members: members.max(1),
            now: WARM_UP,
            end: time,
            gap: per_member.clamp(Duration::from_millis(150), Duration::from_secs(1)),
        }
    }

    fn target(&mut self) -> Target {
        // The lead is hit a little more often than each member.
        let number = self.rng.below(self.members as u64 + 2);
        let number = usize::try_from(number).unwrap_or(usize::MAX);
        if number < self.members {
            Target::Member(number)
        } else {
            Target::Lead
        }
    }

    fn millis(&mut self, least: u64, most: u64) -> Duration {
        Duration::from_millis(least + self.rng.below(most - least))
    }

    fn fault(&mut self) -> Fault {
        match self.rng.below(100) {
            0..45 => Fault::Kill(self.target()),
            45..60 => {
                let target = self.target();
                Fault::Stop(target, self.millis(1000, 5000))
            }
            60..64 => Fault::FillDisk(self.millis(1000, 5000)),
            64..69 => Fault::Outage(self.millis(500, 3000)),
            69..72 => {
                let number = self.rng.below(self.members as u64);
                Fault::Ask(usize::try_from(number).unwrap_or_default())
            }
            _ => {
                let target = self.target();
                let kinds = GARBAGE.len() as u64;
                let kind = usize::try_from(self.rng.below(kinds)).unwrap_or_default();
                Fault::Foreign(target, GARBAGE[kind])
            }
        }
    }
}

impl Iterator for Plan {
    type Item = (Duration, Fault);

    fn next(&mut self) -> Option<Self::Item> {
        // From almost zero to twice the mean, so that some faults coincide.
        let gap = u64::try_from(self.gap.as_millis()).unwrap_or(u64::MAX);
        let gap = self.millis(1, 2 * gap);
        self.now += gap;
        (self.now < self.end).then(|| (self.now, self.fault()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTES: Duration = Duration::from_secs(600);

    #[test]
    fn the_same_seed_gives_the_same_plan() {
        let plan = |seed| Plan::new(seed, 20, MINUTES).collect::<Vec<_>>();
        assert_eq!(plan(7), plan(7));
        assert_ne!(plan(7), plan(8));
    }

    #[test]
    fn times_increase_and_every_kind_of_fault_is_planned() {
        let plan: Vec<_> = Plan::new(1, 20, MINUTES).collect();
        assert!(plan.is_sorted_by_key(|(time, _)| *time));
        assert!(plan.iter().all(|(time, _)| *time < MINUTES));
        let has = |test: fn(&Fault) -> bool| plan.iter().any(|(_, fault)| test(fault));
        assert!(has(|fault| matches!(fault, Fault::Kill(Target::Lead))));
        assert!(has(|fault| matches!(
            fault,
            Fault::Kill(Target::Member(19))
        )));
        assert!(has(|fault| matches!(fault, Fault::Stop(Target::Lead, _))));
        assert!(has(|fault| matches!(fault, Fault::FillDisk(_))));
        assert!(has(|fault| matches!(fault, Fault::Outage(_))));
        assert!(has(|fault| matches!(fault, Fault::Ask(_))));
        for kind in GARBAGE {
            let found = |(_, fault): &(_, Fault)| matches!(fault, Fault::Foreign(_, found) if *found == kind);
            assert!(plan.iter().any(found), "{kind:?}");
        }
    }

    #[test]
    fn a_minute_has_enough_of_them_for_a_small_team() {
        let faults = Plan::new(3, 8, Duration::from_secs(60)).count();
        assert!(faults > 30, "{faults}");
    }
}
