//! The lead agent and the terminal it talks at: `team-lead run`.
//!
//! # Theory of operation
//!
//! A lead is an agent at a desk, like any member, with three things around it: a person, who types
//! and reads (`console.rs`); a team, whose deaths, requests and shutdowns somebody has to mind; and
//! an end, which always comes.
//!
//! What to do when is decided by two state machines without any I/O, `incarnation` (turns, waiting,
//! leaving) and `care` (who is brought back when). The loop in `lead` waits for whatever can happen
//! and tells them. Everything that waits for files, locks or processes is a job on a thread of its
//! own that ends with a report, so that nothing keeps the loop from hearing Ctrl-C.
//!
//! * A turn is a future that owns the agent; while it runs, the loop goes on beside it.
//! * Mail is taken by the turn if one runs, and by the loop otherwise. The clerk sees all of it
//!   first: answers count, whatever the model makes of them.
//! * Living members are watched through handles on their processes. The end of one starts an
//!   inspection: the same repair that any command does, and a look at who is dead.
//!
//! **Invariants:** one lead per folder; a lead that was told to leave ends; nothing that was typed
//! is lost while it runs; the folder alone says what the next lead needs to know.

mod console;
mod hooks;
mod inspect;
mod jobs;
mod lead;
mod leave;
mod machine;
mod mail_handler;
mod model;
mod prompt;
mod restarts;
mod run;
mod show;
mod signals;
mod turn;
mod typed;

pub use console::{Surroundings, Talk};
pub use model::{ModelError, variables};
pub use run::{Ended, RunError, RunOptions, run};
