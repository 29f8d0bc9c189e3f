//! `completions` and `man`: shell completions and manual pages.

use crate::cli;
use crate::completing::VARIABLE;
use crate::failure::Failure;
use crate::output::print;
use anyhow::Context;
use clap_complete::Shell;
use clap_complete::env::Shells;
use std::path::PathBuf;

const PROGRAM: &str = "team-lead";

/// Print a completion script for a shell.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead completions bash > ~/.local/share/bash-completion/completions/team-lead
  team-lead completions zsh > ~/.zfunc/_team-lead
  team-lead completions fish > ~/.config/fish/completions/team-lead.fish

The folder of zsh must be in its fpath before compinit. The script asks the program, which must be on the
path: besides verbs and options it completes the names of members and the numbers of tasks, requests and
submissions of the team in the current folder, or behind -C.")]
pub(crate) struct Completions {
    #[arg(value_enum)]
    shell: Shell,
}

/// Print the manual page, or write the pages of all commands to a folder.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead man | man -l -
  team-lead man ~/.local/share/man/man1")]
pub(crate) struct Man {
    /// The folder to write the pages to; it must exist.
    folder: Option<PathBuf>,
}

/// What makes zsh answer the first completion too, when it loads the script as a function.
const ZSH_FIRST_USE: &str = "\
[[ ${funcstack[1]} = _team-lead ]] && _clap_dynamic_completer_team_lead \"$@\"";

pub(crate) fn completions(command: &Completions) -> Result<(), Failure> {
    let shell = command.shell.to_string();
    let shells = Shells::builtins();
    let completer = shells
        .completer(&shell)
        .with_context(|| format!("nobody knows how to complete in {shell}"))?;
    let mut script = Vec::new();
    completer
        .write_registration(VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script)
        .context("cannot make the script")?;
    let script = String::from_utf8_lossy(&script);
    let script = script.trim();
    match command.shell {
        Shell::Zsh => print(&format!("{script}\n{ZSH_FIRST_USE}")),
        _ => print(script),
    }
}

pub(crate) fn man(command: &Man) -> Result<(), Failure> {
    if let Some(folder) = &command.folder {
        let written = clap_mangen::generate_to(cli::command(), folder);
        let cannot = || format!("cannot write the manual pages to {}", folder.display());
        return Ok(written.with_context(cannot)?);
    }
    let mut page = Vec::new();
    let man = clap_mangen::Man::new(cli::command());
    man.render(&mut page).context("cannot make the page")?;
    print(String::from_utf8_lossy(&page).trim_end())
}
