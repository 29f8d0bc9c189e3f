//! The lead agent and its terminal: `team-lead run`.
//!
//! # Theory of operation
//!
//! A lead is an agent on a member runtime, like a teammate, with three things around it: a person,
//! who types and reads (`console.rs`); a team, whose deaths, requests and shutdowns it follows; and
//! an end, which always comes.
//!
//! What to do when is decided by two state machines without any I/O: `machine` (turns, waiting,
//! leaving) and `restarts` (which dead member is restarted when). The loop in `main_loop` waits for
//! whatever can happen, tells them, and performs their actions. Everything that waits for files,
//! locks or processes is a job on a thread of its own that sends a result at its end, so that
//! nothing keeps the loop from handling Ctrl-C.
//!
//! * A turn is a future that owns the agent; while it runs, the loop goes on beside it.
//! * Mail is taken by the turn if one runs, and by the loop otherwise. The mail handler sees all of
//!   it first: answers count, whatever the model does with them.
//! * Running members are watched through handles on their processes. The end of one starts an
//!   inspection: the same repair that any command does, and a list of the dead.
//!
//! **Invariants:** one lead per folder; a lead that was asked to leave ends; nothing that was typed
//! is lost while it runs; the folder alone says what the next lead needs to know.

mod console;
mod hooks;
mod inspect;
mod integrator;
mod jobs;
mod machine;
mod mail_handler;
mod main_loop;
mod model;
mod opening_lines;
mod prompt;
mod restart_queue;
mod run;
mod run_error;
mod session;
mod show;
mod shown;
mod shut_down;
mod signals;
mod starter;
mod steering;
mod typed;
mod waiting;

pub use console::{ConsoleOptions, Verbosity, terminal_size};
pub use run::{Ended, RunOptions, run, sandbox_settings};
pub use run_error::RunError;
pub use session::Resume;
pub use shown::{ShowError, lead_prompt, lead_tool_definitions};
pub use starter::TrustedStarter;
