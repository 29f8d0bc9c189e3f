//! The task board: the rules of `rules` applied to the files of `teamdir`.
//!
//! # Theory of operation
//!
//! Reading takes no lock. Every change is made under the board's lock: read what the rule needs, apply the
//! rule, replace the changed file, and log each new line of its history as a `task` event. A change of
//! several fields at once ([`update()`]) is one replacement, so a crash leaves all of it or nothing. Only a
//! deletion changes several files, in an order in which every incomplete deletion is harmless.
//!
//! A rule needs one task and its dependencies, with two exceptions: the next task for an actor, and whether
//! an actor is busy, depend on the whole board. Then all files are checked, and those that changed are read
//! (`teamdir` caches the others).
//!
//! A claim is a lease: the file names the incarnation that claimed it. A process that finds that
//! incarnation ended calls [`release_all`].
//!
//! If the board is at home on another host, what is read is a copy, and every change is asked of the home
//! (`elsewhere.rs`), which makes it by the same rules, once (`decide.rs`).
//!
//! **Invariant:** a file that is not a valid task affects only what depends on it: it blocks the tasks that
//! wait for it, and deletions, because it may wait for the deleted task.

mod claim;
mod create;
mod decide;
mod elsewhere;
mod error;
mod locked;
#[cfg(test)]
mod tests;
mod update;
mod view;

pub use claim::{claim, claim_next, end_leases, release_all, release_all_of, resume_claim};
pub use create::{create, delete};
pub use decide::decide;
pub use elsewhere::{describe_copy, give_back_late_claim, is_home_reachable};
pub use error::BoardError;
pub use update::{
    Update, add_blocked_by, complete, complete_merged, edit, give_back, release, remove_blocked_by,
    set_status, update,
};
pub use view::{BoardView, MissingRole, get, list, missing_roles, unfinished};

use crate::Actor;
use protocol::Party;
use rules::{ClaimLimit, Claimant};

/// An actor that may claim tasks, with its role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worker {
    pub me: Actor,
    /// Which tasks it may claim. The lead and the user may claim tasks of any role.
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

    /// The claimant for the rules, which find on the board what it is busy with.
    fn claimant(&self, limit: ClaimLimit, is_elsewhere: bool) -> Claimant {
        Claimant {
            actor: self.me.clone(),
            role: self.role.clone(),
            limit,
            busy_with: None,
            is_elsewhere,
        }
    }
}
