//! What is wrong with a team, what it means, and the cure.
//!
//! # Theory of operation
//!
//! [`examine`] looks and changes nothing. It asks each check in turn, and each returns
//! [`Finding`]s: what was found, what it means, what to type, and the [`Cure`] if no person has to
//! decide anything. [`cure()`] does what the cures say, each of which looks again first, since the
//! team goes on meanwhile. Whoever wants to know what is left examines again.
//!
//! What a check needs to know of the machine rather than of the folder comes in as
//! [`Surroundings`], so that a test can say what machine it is.
//!
//! **Invariants:** examining changes nothing; no cure takes mail or a journal; a process is ended
//! only if it belongs to this team and to no member of it.

mod checks;
mod cure;
mod finding;
mod processes;
mod surroundings;

pub use checks::examine;
pub use cure::{Cured, cure};
pub use finding::{Cure, Finding, Kind};
pub use processes::Stray;
pub use surroundings::{Inotify, Surroundings};
