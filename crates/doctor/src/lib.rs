//! What is wrong with a team, what it means, and the cure.
//!
//! # Theory of operation
//!
//! [`examine`] looks and changes nothing. It asks each check in turn, and each returns
//! [`Finding`]s: what was found, what it means, what to type, and the [`Cure`] if no person has to
//! decide anything. [`cure()`] does what the cures say, each of which looks again first, since the
//! team goes on meanwhile. [`mend()`] does both until nothing more comes of it: one cure may bring to
//! light what another is for.
//!
//! A folder whose roster cannot be read cannot be opened: [`examine_door`] says why.
//!
//! What a check needs to know of the machine rather than of the folder comes in as
//! [`Surroundings`], so that a test can say what machine it is.
//!
//! **Invariants:** examining changes nothing; no cure takes mail or a record of a journal, and what is
//! taken out of the way is kept in the trash; a process is ended only if it provably belongs to this
//! team and is no member of it.

mod checks;
mod clock;
mod cure;
mod finding;
mod holders;
mod mend;
mod processes;
mod surroundings;
mod unreadable_roster;

pub use checks::examine;
pub use cure::{Cured, cure};
pub use finding::{Cure, Finding, Kind};
pub use mend::{Checked, mend};
pub use processes::Stray;
pub use surroundings::{Complaint, Inotify, Surroundings};
pub use unreadable_roster::{examine_door, open_door};
