//! What can be typed, and which folder it is about.

use crate::failure::Failure;
use anyhow::Context;
use clap::{Parser, Subcommand};
use std::io::Write;
use std::path::PathBuf;
use teamdir::{Durability, Options, TeamDir};

const EXIT_CODES: &str = "\
Exit codes: 0 done; 1 failed; 2 wrong use; 3 no such team or member; 7 already running.
TEAM_FSYNC=off trades safety in a power cut for speed.";

#[derive(Parser)]
#[command(name = "team-lead", about, after_help = EXIT_CODES)]
pub(crate) struct Args {
    /// Look for the team from this folder upwards instead of the current one.
    #[arg(short = 'C', long = "dir", global = true, default_value = ".")]
    dir: PathBuf,
    /// Print one JSON object instead of text.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// Show the team: who is alive, in which state, with how much unread mail.
    #[command(visible_aliases = ["ps", "list"])]
    Status,
    /// Send a message to a member or to the lead.
    #[command(after_help = "Example: team-lead send alice 'please review the parser'")]
    Send {
        /// The member's name, or `lead`.
        to: String,
        /// The text; `-` reads it from standard input.
        text: String,
    },
    /// Show unread mail without taking it.
    Inbox {
        /// Whose mail.
        #[arg(default_value = "lead")]
        name: String,
    },
}

/// The team that the command line is about.
pub(crate) fn open(args: &Args) -> Result<TeamDir, Failure> {
    let start = std::path::absolute(&args.dir)
        .with_context(|| format!("cannot use the folder {}", args.dir.display()))?;
    Ok(TeamDir::find(&start, options()?)?)
}

/// How the folder is used, from the environment.
fn options() -> Result<Options, Failure> {
    let durability = match std::env::var("TEAM_FSYNC").as_deref() {
        Err(_) | Ok("" | "on") => Durability::PowerCut,
        Ok("off") => Durability::ProcessDeath,
        Ok(other) => {
            return Err(Failure::usage(format!(
                "TEAM_FSYNC is {other:?}: use on or off"
            )));
        }
    };
    Ok(Options {
        durability,
        ..Options::default()
    })
}

/// Prints data.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    match writeln!(std::io::stdout(), "{text}") {
        // Whoever read our output has seen enough.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        result => Ok(result.context("cannot print")?),
    }
}
