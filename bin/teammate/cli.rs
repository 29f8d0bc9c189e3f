//! The command line.

use crate::log_args::LogArgs;
use clap::{Parser, ValueEnum};
use protocol::AgentName;
use std::path::PathBuf;

#[derive(Parser)]
#[command(
    name = "teammate",
    version,
    about = "One member of a team: a process with a model, tools, mail and a conversation",
    after_help = "Usually `team-lead spawn` starts it. Started by hand, it continues an existing member:\n  \
        teammate --dir . --name alice\n\
        Exit codes: 0 ended cleanly; 1 failed; 2 wrong use; 3 no such team or member; \
        7 the member is already running."
)]
pub(crate) struct Args {
    /// The workspace whose team folder is used.
    #[arg(long, default_value = ".")]
    pub(crate) dir: PathBuf,
    /// The name of the member.
    #[arg(long)]
    pub(crate) name: AgentName,
    /// Join the team with this role, creating the team folder if there is none. Without it the
    /// member must exist.
    #[arg(long)]
    pub(crate) role: Option<String>,
    /// The model, such as anthropic:NAME, openai:NAME, offline or script:FILE; several between commas
    /// are asked in this order.
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// Maximum number of model calls in one turn; 0 is without limit.
    #[arg(long, env = "TEAM_MAX_ROUNDS", default_value_t = 50)]
    pub(crate) max_rounds: u32,
    /// Begin a new conversation; the old one stays in the journal.
    #[arg(long)]
    pub(crate) fresh: bool,
    /// The size of the model's context window in tokens; without it, what is known about the model.
    #[arg(long, env = "TEAM_WINDOW")]
    pub(crate) window: Option<u64>,
    /// Whether finished writes survive a power cut.
    #[arg(long, env = "TEAM_FSYNC", value_enum, default_value_t = Switch::On)]
    pub(crate) fsync: Switch,
    #[command(flatten)]
    pub(crate) log: LogArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Switch {
    On,
    Off,
}
