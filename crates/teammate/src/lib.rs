//! The teammate process.
//!
//! # Theory of operation
//!
//! [`run()`] makes this process a member of the team and lets it work until it ends. What to do when is
//! decided by a state machine without any I/O (`machine.rs`). The loop in `run.rs` waits for files,
//! signals, processes and the running turn, tells the machine what happened, and performs the actions
//! that come out. A turn starts when there is an unfinished conversation, a prompt, mail, the result
//! of a background command, or a task on the board. Otherwise the process sleeps, at no cost.
//!
//! What the program guarantees, whatever the model does:
//!
//! * A shutdown request is answered: by the model, which is reminded once, or by the program when
//!   the model cannot be asked (`shutdown.rs`).
//! * The lead gets a report at the end of a turn, once (`report.rs`).
//! * A task is not held while idle: the model is asked for its outcome once, then the task goes back
//!   to the board (`claims.rs`).
//! * Work in an own tree that nobody else can see is named to the model once (`trees.rs`).
//! * SIGTERM ends the process cleanly within seconds.
//!
//! **Invariant:** the phase `working` is on disk before mail or a task is taken, and another phase
//! only after everything was sent.

mod agent_handle;
mod build_agent;
mod claims;
mod engine;
mod foreign;
mod hooks;
mod instructions;
mod machine;
mod mail_handler;
mod outside;
mod prompt;
mod report;
mod run;
mod settings;
mod shutdown;
mod signals;
mod start_options;
mod trees;
mod wait;

pub use instructions::{Instructions, instructions};
pub use outside::{OutsideToolsError, outside_tools};
pub use run::run;
pub use settings::{folder as work_folder, has_model, sandbox as sandbox_settings, uses_web};
pub use start_options::{Ended, StartOptions, TeammateError};
