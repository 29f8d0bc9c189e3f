//! The state that all parts of a run share.

use crate::ledger::{Attempt, FaultCounts, Outcome};
use crate::plan::Target;
use crate::programs::Runner;
use crate::tags::Mark;
use crate::team_model::TeamModel;
use protocol::Recipient;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use teamdir::TeamDir;

/// The team, its model, and the record of what was done.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) runner: Runner,
    pub(crate) team: TeamDir,
    pub(crate) members: usize,
    pub(crate) model: Arc<TeamModel>,
    notes: Mutex<Notes>,
}

/// What was done so far: faults, attempts to send, tasks.
#[derive(Debug, Clone, Default)]
pub(crate) struct Notes {
    pub(crate) faults: FaultCounts,
    pub(crate) attempts: Vec<Attempt>,
    /// The tasks that were reported as created, with their numbers.
    pub(crate) tasks: Vec<(Mark, u64)>,
}

/// The name of the member with this number.
pub(crate) fn name(number: usize) -> String {
    format!("m{number:02}")
}

impl World {
    pub(crate) fn new(
        runner: Runner,
        team: TeamDir,
        members: usize,
        model: Arc<TeamModel>,
    ) -> Self {
        Self {
            runner,
            team,
            members,
            model,
            notes: Mutex::default(),
        }
    }

    pub(crate) fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a fault.
    pub(crate) fn count(&self, change: impl FnOnce(&mut FaultCounts)) {
        change(&mut self.notes().faults);
    }

    /// Records an attempt to send a message.
    pub(crate) fn note_attempt(&self, mark: &Mark, to: &str, outcome: Outcome) {
        let (mark, to) = (mark.clone(), to.to_owned());
        self.notes().attempts.push(Attempt { mark, to, outcome });
    }

    /// All members, in order.
    pub(crate) fn recipients(&self) -> impl Iterator<Item = Recipient> {
        (0..self.members).map(|number| recipient(Target::Member(number)))
    }
}

/// The owner of the inbox and of the process.
pub(crate) fn recipient(target: Target) -> Recipient {
    match target {
        Target::Lead => Recipient::Lead,
        // The names are generated here and are valid.
        Target::Member(number) => name(number).parse().unwrap_or(Recipient::Lead),
    }
}
