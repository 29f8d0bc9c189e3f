//! Repeats examining and fixing.

use crate::checks::examine;
use crate::environment::Environment;
use crate::finding::Finding;
use crate::fix::{Fixed, fix};
use teamdir::TeamDir;

/// The most rounds. One fix may reveal the next problem: a released lock shows that a member is dead.
const ROUNDS: usize = 4;

/// The result of [`fix_all`].
#[derive(Debug)]
pub struct FixReport {
    /// The attempted fixes and their outcomes.
    pub fixed: Vec<Fixed>,
    /// The remaining problems.
    pub left: Vec<Finding>,
}

/// Fixes what needs no decision of a person, and returns what is left. `environment` returns the
/// current environment.
pub fn fix_all(team: &TeamDir, environment: impl Fn() -> Environment) -> FixReport {
    let mut all: Vec<Fixed> = Vec::new();
    let mut now = environment();
    let mut left = examine(team, &now);
    for _ in 0..ROUNDS {
        let attempts = fix(team, &now, &left);
        let is_better = attempts.iter().any(|attempt| attempt.outcome.is_ok());
        for attempt in attempts {
            // Only the last attempt at a problem is reported.
            all.retain(|before| before.outcome.is_ok() || before.finding != attempt.finding);
            all.push(attempt);
        }
        if !is_better {
            break;
        }
        now = environment();
        left = examine(team, &now);
    }
    FixReport { fixed: all, left }
}
