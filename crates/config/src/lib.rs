//! The settings of a team: `team.toml` in the workspace, the user's own file, and environment variables.
//!
//! [`load`] deserializes both files into [`FileConfig`]s. An unknown key is an error that names the
//! file, the line, and the known key it resembles most ([`ConfigError`]). A [`Config`] combines both
//! files with the variables, and returns each value as a [`Setting`] that knows its [`Origin`]: a
//! variable, the project's file, the user's file, or the default. Command-line flags take precedence
//! over all of these; the programs that have flags apply them first.
//!
//! Budgets and limits also bind processes that do not read these files, so [`apply()`] copies them
//! into the team folder.
//!
//! **Invariant:** nothing here reads the environment: variables are passed in.

mod apply;
mod config;
mod error;
mod file;
mod show;

pub use apply::{ApplyError, apply};
pub use config::{Config, Origin, PROJECT_FILE, Setting, load, price_source};
pub use error::ConfigError;
pub use file::{FileConfig, MemberEntry, OPTIONAL_TOOLS, Role};
pub use show::ShownSetting;
