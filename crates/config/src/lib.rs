//! What people set for a team: `team.toml` in the workspace, a file of the user, and variables.
//!
//! # Theory of operation
//!
//! [`load`] reads both files into [`FileConfig`]s, strictly: a key that nobody knows is an error that
//! names the file, the line and the nearest key there is (`reader.rs`). A [`Config`] is all of it
//! together, and answers for each value what it is and where it came from: a variable, the project's
//! file, the user's file, or the default. Flags are stronger than all of these; whoever has flags
//! asks for them first.
//!
//! Budgets and limits hold for processes that do not read these files, so [`apply()`] writes them into
//! the team's folder.
//!
//! **Invariant:** nothing here reads the environment: variables are passed in.

mod apply;
mod config;
mod file;
mod nearest;
mod reader;
mod show;

pub use apply::{ApplyError, apply};
pub use config::{Config, Origin, Setting, load, price_source};
pub use file::{FileConfig, MemberPlan, Role};
pub use nearest::nearest;
pub use reader::ConfigError;
pub use show::Shown;
