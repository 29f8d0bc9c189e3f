//! The settings of a team: `team.toml` and `.env` in the workspace, the user's own file, and
//! environment variables.
//!
//! [`load`] deserializes both files into [`FileConfig`]s. An unknown key is an error that names the
//! file, the line, and the known key it resembles most ([`ConfigError`]). A [`Config`] combines both
//! files with the variables, and returns each value as a [`Setting`] that knows its [`Origin`]: a
//! variable of the process, the user's file, the workspace's `.env`, its `team.toml`, or the default.
//! What the user says counts more than what a workspace says. Command-line flags take precedence over
//! all of these; the programs that have flags apply them first.
//!
//! Files of the workspace may be a stranger's. Those of another owner are refused, and what in them
//! needs the user's trust is collected by [`Config::risky_settings`].
//!
//! Budgets and limits also bind processes that do not read these files, so [`apply()`] copies them
//! into the team folder.
//!
//! **Invariant:** nothing here reads the environment: variables are passed in.

mod apply;
mod asking;
mod config;
mod error;
mod file;
mod file_settings;
mod hook_tables;
mod mcp;
mod price_source;
mod read;
mod retention;
mod risky;
mod rule_tables;
mod show;
mod user_folder;

pub use apply::{ApplyError, apply};
pub use asking::DEFAULT_ASK_TIMEOUT;
pub use config::{Config, Origin, PROJECT_FILE, Setting, Source, load};
pub use error::ConfigError;
pub use file::{ContextTable, FileConfig, MemberEntry, OPTIONAL_TOOLS, Role};
pub use hook_tables::{HookEntry, HookTables};
pub use mcp::{
    DEFAULT_CALL_SECONDS, DEFAULT_SCHEMA_TOKENS, MCP_FILE, McpServer, McpServerError, McpTransport,
};
pub use price_source::price_source;
pub use read::{DOTENV_FILE, with_dotenv};
pub use retention::RetentionTable;
pub use risky::{risky_member_settings, risky_model};
pub use rule_tables::{CLAUDE_SETTINGS, PermissionsTable};
pub use show::{ShownSetting, ShownTrust};
pub use user_folder::UserFolder;
