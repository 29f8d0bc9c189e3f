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
Examples:
  team-lead watch
  team-lead watch --mouse

The screen shows first what waits for you, then the members with the commands that they run and what
they cost, the board, the events, and the conversation of one member. The arrow keys select a member,
Tab goes to the next pane. y or a approves, n or x rejects, m sends a message, s asks to shut down,
r restarts, ? lists the keys. q quits; the team continues.

With --mouse, or after the key M, a click selects and the wheel scrolls. Text is then marked with Shift
held down, because the terminal leaves the mouse to this program.

It needs a terminal. Without one use `team-lead status`, `team-lead events -f` or `team-lead logs -f`.")]
pub(crate) struct Watch {
    /// Select and scroll with the mouse.
    #[arg(long)]
    mouse: bool,
}

/// Runs until the user quits. Returns the exit code.
pub(crate) fn run(team: &TeamDir, args: &Args, wish: &Watch) -> Result<u8, Failure> {
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
        mouse: wish.mouse,
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
