//! `watch`: the full-screen view.

use crate::cli::Args;
use crate::failure::Failure;
use protocol::exit;
use std::io::IsTerminal;
use teamdir::TeamDir;
use tui::{Exit, WatchError, WatchOptions};

/// Watch and control the team on a full screen.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  team-lead watch

The screen shows the members and their activity, the board, the events, the pending requests, and the
log of one member. The arrow keys select a member, Tab switches to the requests, where the selected
plan is shown. a approves, x rejects, m sends a message, s asks to shut down, r restarts, ? lists the
keys. q quits; the team continues.

It needs a terminal. Without one use `team-lead status`, `team-lead events -f` or `team-lead logs -f`.")]
pub(crate) struct Watch {}

/// Runs until the user quits. Returns the exit code.
pub(crate) fn run(team: &TeamDir, args: &Args, _wish: &Watch) -> Result<u8, Failure> {
    let is_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if args.json || !is_terminal {
        let message = "watch needs a terminal; for programs there are \
                       `team-lead status --json` and `team-lead events -f`";
        return Err(Failure::usage(message).hint("team-lead events -f"));
    }
    let program = std::env::current_exe().map_err(|error| {
        Failure::failed(format!("cannot find the path of this program: {error}"))
    })?;
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let options = WatchOptions {
        colors: !no_color,
        program,
    };
    match tui::watch(team, &options)? {
        Exit::Quit => Ok(exit::DONE),
        Exit::Interrupted => Ok(exit::INTERRUPTED),
        Exit::Signal(signal) => {
            // The sender sees that the process ended by its signal.
            let _ = signal_hook::low_level::emulate_default_handler(signal);
            Ok(exit::INTERRUPTED)
        }
    }
}

impl From<WatchError> for Failure {
    fn from(error: WatchError) -> Self {
        Self::failed(error.to_string())
    }
}
