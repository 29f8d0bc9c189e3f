//! Looking and curing in turns.

use crate::checks::examine;
use crate::cure::{Cured, cure};
use crate::finding::Finding;
use crate::surroundings::Surroundings;
use teamdir::TeamDir;

/// One cure may bring to light what another is for: a lock that is free again shows a death.
const ROUNDS: usize = 4;

/// What a checkup came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// What was tried, and what came of it.
    pub cured: Vec<Cured>,
    /// What is still wrong.
    pub left: Vec<Finding>,
}

/// Cures what can be cured without a person, and looks at what is left. `look` says what the
/// surroundings are now.
pub fn mend(team: &TeamDir, look: impl Fn() -> Surroundings) -> Checked {
    let mut all: Vec<Cured> = Vec::new();
    let mut left = examine(team, &look());
    for _ in 0..ROUNDS {
        let cured = cure(team, &left);
        let is_better = cured.iter().any(|cured| cured.outcome.is_ok());
        for cured in cured {
            // Of what was tried twice the last try counts.
            all.retain(|before| before.outcome.is_ok() || before.finding != cured.finding);
            all.push(cured);
        }
        if !is_better {
            break;
        }
        left = examine(team, &look());
    }
    Checked { cured: all, left }
}
