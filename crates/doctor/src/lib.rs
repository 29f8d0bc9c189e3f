//! Finds problems of a team, explains them, and fixes those that need no decision of a person.
//!
//! # Theory of operation
//!
//! [`examine`] changes nothing. It runs all checks, each of which returns [`Finding`]s: the problem,
//! what it means, the command to type, and the [`Fix`] if no person has to decide anything. [`fix()`]
//! applies the fixes. Each of them checks again first, because the team keeps running meanwhile.
//! [`fix_all()`] repeats both until nothing more can be fixed: one fix may reveal the next problem.
//!
//! A folder whose roster cannot be read cannot be opened: [`examine_unreadable_roster`] explains why.
//!
//! What a check needs to know of the machine rather than of the folder comes in as an
//! [`Environment`], which a test can choose.
//!
//! **Invariants:** examining changes nothing; no fix removes mail or a record of a journal, and what is
//! moved away is kept in the trash or, if it is work of a member, under a reference of git; a process is ended only if it provably belongs to this team and
//! is not a member of it.

mod checks;
mod clock;
mod environment;
mod finding;
mod fix;
mod fix_all;
mod fix_error;
mod lock_holders;
mod orphan_processes;
mod unreadable_roster;

pub use checks::examine;
pub use clock::Dated;
pub use environment::{Environment, Inotify, Problem, Trees};
pub use finding::{Finding, Fix, Kind};
pub use fix::{Fixed, fix};
pub use fix_all::{FixReport, fix_all};
pub use fix_error::FixError;
pub use orphan_processes::OrphanProcess;
pub use unreadable_roster::{examine_unreadable_roster, fix_unreadable_roster};
