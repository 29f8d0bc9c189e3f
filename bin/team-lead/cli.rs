//! The command line, and the team folder that it selects.
//!
//! Each command has a module with its arguments (a `clap::Args`) and a function that runs it. To add
//! a command: write that module, add a variant to [`Verb`], and a line to the `match` in `main.rs`.

use crate::commands::{
    attach, bridge, budget, clean, completions, config, costs, doctor, events, limits, logs, mail,
    mcp, notes, permissions, process, prompt, requests, run, sandbox, sessions, shutdown, spawn,
    status, submissions, task, team, trees, trust, up, version, wait, watch, web,
};
use crate::failure::Failure;
use crate::log_args::LogArgs;
use crate::trusted_workspace::not_recorded;
use anyhow::Context;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use member::FindError;
use std::path::PathBuf;
use teamdir::{Durability, OpenError, Options, TeamDir};

const EXAMPLES: &str = "\
Examples:
  team-lead run 'Spawn alice (coder) and bob (tester). Have alice send bob a message.'
  team-lead spawn alice coder --prompt 'Fix the parser.'
  team-lead status
  team-lead watch
  team-lead web --open
  team-lead send alice 'Please check the tests too.'
  team-lead logs alice -f
  team-lead shutdown --all --wait

The team is the folder .team in the current folder or the nearest one above it, within the git \
repository and as long as the folders have the same owner. Data goes to standard output, everything \
else to standard error. TEAM_FSYNC=off is faster, but a power cut may then lose finished writes. \
NO_COLOR is honoured.";

/// Help is not wider than this, because long lines are hard to read.
const WIDEST: usize = 120;
/// The heading of the options that every command has.
const GLOBAL: &str = "Options of every command";

#[derive(Parser)]
#[command(name = "team-lead", version, about, arg_required_else_help = true)]
pub(crate) struct Args {
    /// Search for the team folder from this folder upwards instead of the current one.
    #[arg(
        short = 'C',
        long = "dir",
        global = true,
        value_name = "DIR",
        default_value = ".",
        help_heading = GLOBAL
    )]
    pub(crate) dir: PathBuf,
    /// Print one JSON object instead of text; streams print one per line.
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub(crate) json: bool,
    /// Print nothing but data and errors.
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = GLOBAL)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) log: LogArgs,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Subcommand)]
pub(crate) enum Verb {
    Run(run::Run),
    Sessions(sessions::Sessions),
    Spawn(spawn::Spawn),
    Attach(attach::Attach),
    #[command(visible_aliases = ["ps", "list"])]
    Status(status::Status),
    Send(mail::Send),
    Broadcast(mail::Broadcast),
    Inbox(mail::Inbox),
    Shutdown(shutdown::Shutdown),
    Requests(requests::Requests),
    Approve(requests::Approve),
    Reject(requests::Reject),
    Answer(requests::Answer),
    Rm(team::Rm),
    Kill(process::Kill),
    Restart(process::Restart),
    Logs(logs::Logs),
    Task(task::Task),
    Notes(notes::Notes),
    Submit(submissions::Submit),
    Submissions(submissions::Submissions),
    Trees(trees::Trees),
    Diff(trees::Diff),
    Rebase(trees::Rebase),
    Land(trees::Land),
    Wait(wait::Wait),
    Events(events::Events),
    Costs(costs::Costs),
    Budget(budget::Budget),
    Init(team::Init),
    Up(up::Up),
    Down(team::Down),
    Teams(team::Teams),
    Trust(trust::Trust),
    Limits(limits::Limits),
    Config(config::ConfigVerb),
    Permissions(permissions::PermissionsVerb),
    Prompt(prompt::PromptVerb),
    Watch(watch::Watch),
    Web(web::WebVerb),
    Bridge(bridge::Bridge),
    Doctor(doctor::Doctor),
    Mcp(mcp::McpVerb),
    Sandbox(sandbox::Sandbox),
    Clean(clean::Clean),
    Completions(completions::Completions),
    Man(completions::Man),
    Version(version::Version),
}

/// The clap command with its complete help.
pub(crate) fn command() -> clap::Command {
    let codes = protocol::exit::ALL.iter();
    let codes: String = codes
        .map(|(code, meaning)| format!("\n  {code:>3}  {meaning}"))
        .collect();
    let help = format!("{EXAMPLES}\n\nExit codes:{codes}");
    let command = Args::command().after_help(help).max_term_width(WIDEST);
    with_whole_paragraphs(command)
}

/// The command and those below it with help texts whose paragraphs are single lines, so that each is wrapped
/// to the width of the terminal.
fn with_whole_paragraphs(command: clap::Command) -> clap::Command {
    let command = command.mut_subcommands(with_whole_paragraphs);
    let help = command.get_after_help().map(ToString::to_string);
    match help {
        Some(help) => command.after_help(joined(&help)),
        None => command,
    }
}

/// Joins the lines of each paragraph. Indented lines, such as examples, stay as they are.
fn joined(text: &str) -> String {
    let mut joined = String::new();
    let mut is_open = false;
    for line in text.lines() {
        let is_prose = !line.is_empty() && !line.starts_with(' ');
        if !joined.is_empty() {
            joined.push(if is_open && is_prose { ' ' } else { '\n' });
        }
        joined.push_str(line);
        is_open = is_prose;
    }
    joined
}

/// Parses the command line. Prints usage errors, as JSON if that was requested.
pub(crate) fn parse() -> Result<Args, std::process::ExitCode> {
    let matches = match command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => return Err(print_usage_error(&error)),
    };
    Args::from_arg_matches(&matches).map_err(|error| print_usage_error(&error))
}

fn print_usage_error(error: &clap::Error) -> std::process::ExitCode {
    // The arguments could not be parsed, so `--json` is searched among the raw ones.
    let as_json = std::env::args_os().any(|arg| arg == "--json");
    if error.use_stderr() && as_json {
        let text = error.render().to_string();
        let text = text.trim().trim_start_matches("error: ");
        return Failure::usage(text).report(true);
    }
    // There is no other place to report a failure of this.
    let _ = error.print();
    u8::try_from(error.exit_code()).map_or(std::process::ExitCode::FAILURE, Into::into)
}

/// Opens the team that the command line selects.
pub(crate) fn open(args: &Args) -> Result<TeamDir, Failure> {
    let team = member::find_team(&start(args)?, options()?)?;
    member::remember_team(team.workspace());
    Ok(team)
}

/// The workspace of the selected team, or of the one that would be created.
pub(crate) fn workspace(args: &Args) -> Result<PathBuf, Failure> {
    existing_team(args).map(|(workspace, _)| workspace)
}

/// The same, with the team if there is one.
pub(crate) fn existing_team(args: &Args) -> Result<(PathBuf, Option<TeamDir>), Failure> {
    let start = start(args)?;
    match member::find_team(&start, options()?) {
        Ok(team) => {
            member::remember_team(team.workspace());
            Ok((team.workspace().to_path_buf(), Some(team)))
        }
        Err(FindError::Open(OpenError::NotFound(_))) => Ok((start, None)),
        Err(error) => Err(error.into()),
    }
}

/// Opens the selected team, or creates one if there is none.
pub(crate) fn open_or_create(args: &Args) -> Result<TeamDir, Failure> {
    let (workspace, team) = existing_team(args)?;
    if let Some(team) = team {
        return Ok(team);
    }
    let created = member::create_team(&workspace, options()?)?;
    if let Some(error) = &created.not_recorded {
        args.note(&not_recorded(&error.to_string()));
    }
    member::remember_team(&workspace);
    Ok(created.team)
}

pub(crate) fn start(args: &Args) -> Result<PathBuf, Failure> {
    let start = std::path::absolute(&args.dir)
        .with_context(|| format!("cannot use the folder {}", args.dir.display()))?;
    if start.is_dir() {
        return Ok(start);
    }
    let message = format!("{} is not a folder", args.dir.display());
    Err(Failure::usage(message))
}

/// The options of the team folder, from the environment.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_of_help_are_joined_and_examples_are_not() {
        let text = "Examples:\n  one\n  two\n\nA long\nsentence.\n\nAnother.";
        let expected = "Examples:\n  one\n  two\n\nA long sentence.\n\nAnother.";
        assert_eq!(joined(text), expected);
    }
}
