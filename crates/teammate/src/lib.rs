//! The life of a teammate process.
//!
//! # Theory of operation
//!
//! [`run`] makes this process a member and lets it work until it ends. A `Teammate` has
//! turns and rests. It works while there is something to do: an unfinished conversation, its prompt,
//! mail, background commands that are over, a task on the board. Otherwise it sleeps, at no cost,
//! until a file changes, a signal comes or a clock it set rings.
//!
//! What the program guarantees, whatever the model does:
//!
//! * A shutdown request is answered: by the model, which is reminded once, or by the program when
//!   the model cannot be asked (`shutdown_requests.rs`).
//! * The lead is told at the end of a turn, once (`report.rs`).
//! * A task is not held while idle: the model is asked for its outcome once, then it goes back
//!   (`work.rs`).
//! * SIGTERM ends the process in good order within seconds.
//!
//! **Invariant:** the phase `working` is on disk before mail or a task is taken, and another phase
//! only after everything was sent.

mod agent_handle;
mod build_agent;
mod foreign;
mod hooks;
mod mail_handler;
mod prompt;
mod report;
mod run;
mod settings;
mod shutdown;
mod signals;
mod start_options;
mod wait;
mod work;

pub use run::run;
pub use start_options::{Ended, StartOptions, TeammateError};
