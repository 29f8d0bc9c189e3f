//! What can be typed.

use clap::{Parser, ValueEnum};
use protocol::AgentName;
use std::path::PathBuf;

#[derive(Parser)]
#[command(
    name = "teammate",
    about = "One member of a team: takes its mail, shows it, and ends when asked to",
    after_help = "Example: teammate --dir . --name alice --role coder\n\
        Exit codes: 0 shut down; 1 failed; 2 wrong use; 3 no such member; 7 already running."
)]
pub(crate) struct Args {
    /// The workspace whose team folder is used.
    #[arg(long, default_value = ".")]
    pub(crate) dir: PathBuf,
    /// Which member to be.
    #[arg(long)]
    pub(crate) name: AgentName,
    /// Join the team in this role, creating the folder if there is none. Without it the member
    /// must be known.
    #[arg(long)]
    pub(crate) role: Option<String>,
    /// Whether finished writes survive a power cut.
    #[arg(long, env = "TEAM_FSYNC", value_enum, default_value_t = Switch::On)]
    pub(crate) fsync: Switch,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Switch {
    On,
    Off,
}
