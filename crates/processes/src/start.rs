//! Starts a member's process: of a new member, an idle one, or a dead one with its journal.

pub(crate) mod asked;
pub(crate) mod launch;
pub(crate) mod programs;
mod roll_back;
pub(crate) mod roster_entry;
pub(crate) mod spawn;
pub(crate) mod start_lock;
