//! What all parts of a run share.

use crate::ledger::{Blows, Outcome, Try};
use crate::plan::Victim;
use crate::programs::Office;
use crate::words::Mark;
use crate::worker_model::Brain;
use protocol::Recipient;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use teamdir::TeamDir;

/// The team, those who strike it, and the notes of what was done.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) office: Office,
    pub(crate) team: TeamDir,
    pub(crate) members: usize,
    pub(crate) brain: Arc<Brain>,
    notes: Mutex<Notes>,
}

/// What was done so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Notes {
    pub(crate) blows: Blows,
    pub(crate) tries: Vec<Try>,
    /// The tasks that were reported as created, each with its number.
    pub(crate) tasks: Vec<(Mark, u64)>,
}

/// The name of the member of this number.
pub(crate) fn name(number: usize) -> String {
    format!("m{number:02}")
}

impl World {
    pub(crate) fn new(office: Office, team: TeamDir, members: usize, brain: Arc<Brain>) -> Self {
        Self {
            office,
            team,
            members,
            brain,
            notes: Mutex::default(),
        }
    }

    pub(crate) fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a blow.
    pub(crate) fn count(&self, change: impl FnOnce(&mut Blows)) {
        change(&mut self.notes().blows);
    }

    /// Notes a try to send a message.
    pub(crate) fn tried(&self, mark: &Mark, to: &str, outcome: Outcome) {
        let (mark, to) = (mark.clone(), to.to_owned());
        self.notes().tries.push(Try { mark, to, outcome });
    }

    /// All members, in order.
    pub(crate) fn recipients(&self) -> impl Iterator<Item = Recipient> {
        (0..self.members).map(|number| recipient(Victim::Member(number)))
    }
}

/// Whose inbox and whose process it is.
pub(crate) fn recipient(victim: Victim) -> Recipient {
    match victim {
        Victim::Lead => Recipient::Lead,
        // The names are made here, and are names.
        Victim::Member(number) => name(number).parse().unwrap_or(Recipient::Lead),
    }
}
