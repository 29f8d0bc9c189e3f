//! The task board: the rules of `rules` applied to the files of `teamdir`.
//!
//! # Theory of operation
//!
//! A look takes no lock. Every change is made under the board's lock: what the rule needs is read,
//! the rule is asked, the changed file is replaced, and each new line of its history becomes a
//! `task` event. A change of several things at once ([`update()`]) is one replacement, so a crash
//! leaves all of it or nothing. The only change of several files is a deletion, whose order makes
//! every half of it harmless.
//!
//! What a rule needs is one task and its dependencies, with two exceptions: the next task for
//! somebody, and whether somebody is busy already, can only be told from the whole board. Then all
//! files are looked at, and those that changed are read (`teamdir` remembers the others).
//!
//! A claim is a lease: the file names the incarnation that took it. Whoever finds that one gone calls
//! [`release_all`].
//!
//! **Invariant:** a file that is no task stops nothing but what depends on it: it blocks the tasks
//! that wait for it, and deletions, because it may wait for what is deleted.

mod claim;
mod create;
mod error;
mod locked;
#[cfg(test)]
mod tests;
mod update;
mod view;

pub use claim::{claim, claim_next, release_all, release_all_of, resume_claim};
pub use create::{create, delete};
pub use error::BoardError;
pub use update::{
    Update, add_blocked_by, complete, edit, release, remove_blocked_by, set_status, update,
};
pub use view::{BoardView, get, list, unfinished};

use crate::Actor;
use protocol::Party;
use rules::{ClaimLimit, Claimant};

/// An actor that may claim tasks, with its role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worker {
    /// Who.
    pub me: Actor,
    /// For which kind of tasks. The lead and the user may take tasks of any role.
    pub role: String,
}

impl Worker {
    /// The person at the command line.
    pub const fn user() -> Self {
        Self {
            me: Actor::user(),
            role: String::new(),
        }
    }

    const fn party(&self) -> &Party {
        &self.me.party
    }

    /// The same for the rules. What it is busy with is found on the board.
    fn claimant(&self, limit: ClaimLimit) -> Claimant {
        Claimant {
            actor: self.me.clone(),
            role: self.role.clone(),
            limit,
            busy_with: None,
        }
    }
}
