//! `mcp`: the servers of the Model Context Protocol that members use, and the team as such a server.

mod check;
mod serve;

use crate::cli::Args;
use crate::failure::Failure;
use crate::sandboxed_caller::Needs;

/// The Model Context Protocol: the servers that members use, and the team as a server.
#[derive(clap::Args)]
#[command(
    name = "mcp",
    arg_required_else_help = true,
    after_help = "\
Examples:
  team-lead mcp list
  team-lead mcp check files
  claude mcp add team -- team-lead -C /path/to/project mcp serve
  team-lead mcp serve --member alice

See docs/mcp.md."
)]
pub(crate) struct McpVerb {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    List(check::List),
    Check(check::Check),
    Serve(serve::Serve),
}

impl McpVerb {
    pub(crate) const fn needs(&self) -> Needs {
        match self.action {
            // It sends messages, as the user or as a member.
            Action::Serve(_) => Needs::Team(Some("send_message")),
            Action::List(_) => Needs::Nothing,
            // It starts programs, and what it accepts is the user's word.
            Action::Check(_) => Needs::Processes(None),
        }
    }
}

pub(crate) fn run(args: &Args, command: &McpVerb) -> Result<(), Failure> {
    match &command.action {
        Action::List(command) => check::list(args, command),
        Action::Check(command) => check::check(args, command),
        Action::Serve(command) => serve::run(args, command),
    }
}
