//! What can be typed, and which folder it is about.
//!
//! Each verb has a module of its own with the arguments it takes (a `clap::Args`) and a function
//! that does it. To add a verb: write that module, add a variant to [`Verb`], and a line to the
//! `match` in `main.rs`.

use crate::commands::{
    budget, clean, completions, config, costs, doctor, events, limits, logs, mail, process,
    requests, run, shutdown, spawn, status, task, up, wait, watch,
};
use crate::failure::Failure;
use anyhow::Context;
use clap::{ArgAction, CommandFactory, FromArgMatches, Parser, Subcommand};
use std::path::PathBuf;
use teamdir::{Durability, OpenError, Options, TeamDir};

const EXAMPLES: &str = "\
Examples:
  team-lead run 'Spawn alice (coder) and bob (tester). Have alice send bob a message.'
  team-lead spawn alice coder --prompt 'Mend the parser.'
  team-lead status
  team-lead watch
  team-lead send alice 'Please look at the tests too.'
  team-lead logs alice -f
  team-lead shutdown --all --wait

The team is the folder .team in the current folder or the nearest one above it. Data goes to
standard output, everything else to standard error. TEAM_FSYNC=off trades safety in a power cut
for speed; NO_COLOR is honoured.";

/// The heading of the options that every verb has.
const GLOBAL: &str = "Options of every verb";

/// The whole command line.
#[derive(Parser)]
#[command(name = "team-lead", version, about, arg_required_else_help = true)]
pub(crate) struct Args {
    /// Look for the team from this folder upwards instead of the current one.
    #[arg(
        short = 'C',
        long = "dir",
        global = true,
        value_name = "DIR",
        default_value = ".",
        help_heading = GLOBAL
    )]
    dir: PathBuf,
    /// Print one JSON object instead of text; streams print one a line.
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub(crate) json: bool,
    /// Print nothing but data and errors.
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = GLOBAL)]
    pub(crate) quiet: bool,
    /// Say more on standard error.
    #[arg(short, long, global = true, action = ArgAction::Count, help_heading = GLOBAL)]
    pub(crate) verbose: u8,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// What to do.
#[derive(Subcommand)]
pub(crate) enum Verb {
    Run(run::Run),
    Spawn(spawn::Spawn),
    #[command(visible_aliases = ["ps", "list"])]
    Status(status::Status),
    Send(mail::Send),
    Broadcast(mail::Broadcast),
    Inbox(mail::Inbox),
    Shutdown(shutdown::Shutdown),
    Requests(requests::Requests),
    Approve(requests::Approve),
    Reject(requests::Reject),
    Kill(process::Kill),
    Restart(process::Restart),
    Logs(logs::Logs),
    Task(task::Task),
    Wait(wait::Wait),
    Events(events::Events),
    Costs(costs::Costs),
    Budget(budget::Budget),
    Up(up::Up),
    Limits(limits::Limits),
    Config(config::ConfigVerb),
    Watch(watch::Watch),
    Doctor(doctor::Doctor),
    Clean(clean::Clean),
    Completions(completions::Completions),
    Man(completions::Man),
}

/// The command with its whole help.
pub(crate) fn command() -> clap::Command {
    let codes = protocol::exit::ALL.iter();
    let codes: String = codes
        .map(|(code, meaning)| format!("\n  {code:>3}  {meaning}"))
        .collect();
    Args::command().after_help(format!("{EXAMPLES}\n\nExit codes:{codes}"))
}

/// Reads the command line. Wrong use ends the process here, in the form that was asked for.
pub(crate) fn parse() -> Result<Args, std::process::ExitCode> {
    let matches = match command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => return Err(complain(&error)),
    };
    Args::from_arg_matches(&matches).map_err(|error| complain(&error))
}

fn complain(error: &clap::Error) -> std::process::ExitCode {
    // The command line could not be read, so whether it asks for JSON is seen in its words.
    let as_json = std::env::args_os().any(|word| word == "--json");
    if error.use_stderr() && as_json {
        let text = error.render().to_string();
        let text = text.trim().trim_start_matches("error: ");
        return Failure::usage(text).report(true);
    }
    // Nobody is left to tell if this fails.
    let _ = error.print();
    u8::try_from(error.exit_code()).map_or(std::process::ExitCode::FAILURE, Into::into)
}

/// The team that the command line is about.
pub(crate) fn open(args: &Args) -> Result<TeamDir, Failure> {
    Ok(TeamDir::find(&start(args)?, options()?)?)
}

/// The folder that the team works in, or would.
pub(crate) fn workspace(args: &Args) -> Result<PathBuf, Failure> {
    let start = start(args)?;
    match TeamDir::find(&start, options()?) {
        Err(OpenError::NotFound(_)) => Ok(start),
        found => Ok(found?.workspace().to_path_buf()),
    }
}

/// The same for a verb that begins a team where there is none.
pub(crate) fn open_or_create(args: &Args) -> Result<TeamDir, Failure> {
    let start = start(args)?;
    match TeamDir::find(&start, options()?) {
        Err(OpenError::NotFound(_)) => Ok(TeamDir::create(&start, "default", options()?)?),
        result => Ok(result?),
    }
}

pub(crate) fn start(args: &Args) -> Result<PathBuf, Failure> {
    let start = std::path::absolute(&args.dir)
        .with_context(|| format!("cannot use the folder {}", args.dir.display()))?;
    if start.is_dir() {
        return Ok(start);
    }
    let message = format!("{} is no folder", args.dir.display());
    Err(Failure::usage(message))
}

/// How the folder is used, from the environment.
pub(crate) fn options() -> Result<Options, Failure> {
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
