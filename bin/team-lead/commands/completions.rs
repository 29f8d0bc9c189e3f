//! `completions` and `man`: shell completions and manual pages.

use crate::cli;
use crate::failure::Failure;
use crate::output::print;
use anyhow::Context;
use clap_complete::Shell;
use std::path::PathBuf;

const PROGRAM: &str = "team-lead";

/// Print a completion script for a shell.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead completions bash > ~/.local/share/bash-completion/completions/team-lead
  team-lead completions zsh > ~/.zfunc/_team-lead
  team-lead completions fish > ~/.config/fish/completions/team-lead.fish")]
pub(crate) struct Completions {
    #[arg(value_enum)]
    shell: Shell,
}

/// Print the manual page, or write the pages of all commands to a folder.
#[derive(clap::Args)]
#[command(hide = true)]
pub(crate) struct Man {
    /// The folder to write the pages to; it must exist.
    folder: Option<PathBuf>,
}

pub(crate) fn completions(command: &Completions) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(command.shell, &mut cli::command(), PROGRAM, &mut script);
    print(String::from_utf8_lossy(&script).trim_end())
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
