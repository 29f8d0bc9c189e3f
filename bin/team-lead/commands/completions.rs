//! `completions` and `man`: the command line described for shells and for readers.

use crate::cli;
use crate::failure::Failure;
use crate::out::print;
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
    /// Which shell.
    #[arg(value_enum)]
    shell: Shell,
}

/// Print the manual page, or write the pages of all verbs into a folder.
#[derive(clap::Args)]
#[command(hide = true)]
pub(crate) struct Man {
    /// Where to write the pages; it must exist.
    folder: Option<PathBuf>,
}

pub(crate) fn completions(wish: &Completions) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(wish.shell, &mut cli::command(), PROGRAM, &mut script);
    print(String::from_utf8_lossy(&script).trim_end())
}

pub(crate) fn man(wish: &Man) -> Result<(), Failure> {
    if let Some(folder) = &wish.folder {
        let written = clap_mangen::generate_to(cli::command(), folder);
        let cannot = || format!("cannot write the manual pages to {}", folder.display());
        return Ok(written.with_context(cannot)?);
    }
    let mut page = Vec::new();
    let man = clap_mangen::Man::new(cli::command());
    man.render(&mut page).context("cannot make the page")?;
    print(String::from_utf8_lossy(&page).trim_end())
}
