//! `run`: the lead agent.

use crate::caps::CapArgs;
use crate::cli::{Args, open_or_create, workspace};
use crate::commands::config::{load, settle};
use crate::failure::{Failure, Kind};
use crate::out::print;
use crate::span;
use anyhow::Context;
use lead::{Ended, RunError, RunOptions, Surroundings, Talk};
use serde_json::json;
use std::io::Read;
use std::path::PathBuf;
use std::time::Duration;

/// Work as the lead: with a prompt until it is done, else with what is typed.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead run
  team-lead run 'Spawn alice (coder) and bob (tester). Have alice send bob a message.'
  team-lead run --model anthropic:NAME --timeout 30m 'Mend the failing tests.'
  printf 'Spawn alice as a coder.\\nShut alice down\\n' | team-lead run

With a prompt the lead works until it and its teammates are done, prints its final answer and ends.
On a terminal it has a prompt of its own: what is typed while it works waits for its turn, /help
shows the commands, and q, exit or Ctrl-D leave. From a pipe each line is a query, and it ends when
the last is done and the team is at rest.

Leaving shuts the team down: each teammate is asked, and ended if it has not left in time. Ctrl-C
leaves at once; a second one ends everything with signals. With --keep the teammates go on, and the
next lead finds them. Where there is no team folder one is created here.

It ends with 0 when all is done, 1 if the lead's model failed, 4 if the time was up, 5 if a teammate
failed or died for good, 6 if the budget is reached, 7 if another lead works here, 130 after Ctrl-C.

With --json and a prompt: {\"answer\", \"exit_code\"}.")]
pub(crate) struct Run {
    /// What to do; `-` reads it from standard input.
    #[arg(value_name = "PROMPT", allow_hyphen_values = true)]
    prompt: Option<String>,
    /// Go on with the conversation of the lead before.
    #[arg(long)]
    resume: bool,
    /// Leave the teammates running.
    #[arg(long)]
    keep: bool,
    /// The model of the lead and of the teammates it starts, as in anthropic:NAME, openai:NAME,
    /// offline or script:FILE.
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Leave after this long, in seconds or as in 10m.
    #[arg(long, value_name = "S", value_parser = span::span)]
    timeout: Option<Duration>,
    /// How often the model is asked in one turn at most; 0 is without limit.
    #[arg(
        long,
        value_name = "N",
        env = "TEAM_MAX_ROUNDS",
        hide_env_values = true,
        default_value_t = 50
    )]
    max_rounds: u32,
    /// The size of the model's window in tokens.
    #[arg(
        long,
        value_name = "N",
        env = "TEAM_WINDOW",
        hide_env_values = true,
        default_value_t = 200_000
    )]
    window: u64,
    /// How long teammates have to leave by themselves when the lead leaves.
    #[arg(long, value_name = "S", value_parser = span::span, default_value = "10")]
    leave_timeout: Duration,
    #[command(flatten)]
    caps: CapArgs,
}

/// Runs the lead. Returns its exit code.
pub(crate) fn run(args: &Args, wish: &Run) -> Result<u8, Failure> {
    let prompt = wish.prompt()?;
    if args.json && prompt.is_none() {
        let message = "run with --json needs a prompt: it prints one object at its end";
        return Err(Failure::usage(message));
    }
    let options = RunOptions {
        return_answer: args.json,
        resume: wish.resume,
        keep: wish.keep,
        model: wish.model.clone(),
        timeout: wish.timeout,
        max_rounds: wish.max_rounds,
        window: wish.window,
        leave_timeout: wish.leave_timeout,
        surroundings: surroundings(args),
        prompt,
    };
    // Before the folder: a mistake in a file creates nothing.
    load(&workspace(args)?)?;
    let team = open_or_create(args)?;
    settle(&team)?;
    budget::change(&team, None, &wish.caps.caps())?;
    let ended = lead::run(&team, &options).map_err(failure)?;
    if args.json {
        let Ended { code, answer } = &ended;
        print(&json!({"answer": answer, "exit_code": code}).to_string())?;
    }
    Ok(ended.code)
}

impl Run {
    fn prompt(&self) -> Result<Option<String>, Failure> {
        let Some(prompt) = &self.prompt else {
            return Ok(None);
        };
        let mut text = prompt.clone();
        if prompt == "-" {
            text.clear();
            std::io::stdin()
                .read_to_string(&mut text)
                .context("cannot read the prompt from standard input")?;
        }
        if text.trim().is_empty() {
            let message = "the prompt is empty; leave it out to type at a prompt";
            return Err(Failure::usage(message));
        }
        Ok(Some(text))
    }
}

fn surroundings(args: &Args) -> Surroundings {
    Surroundings {
        no_color: std::env::var("NO_COLOR").ok(),
        term: std::env::var("TERM").ok(),
        history: history(),
        talk: if args.quiet { Talk::Quiet } else { Talk::Usual },
    }
}

/// Where the lines typed before are kept: in the user's folder for such things.
fn history() -> Option<PathBuf> {
    let folder = |name: &str| {
        let path = PathBuf::from(std::env::var_os(name)?);
        path.is_absolute().then_some(path)
    };
    let state = folder("XDG_STATE_HOME")
        .or_else(|| folder("HOME").map(|home| home.join(".local").join("state")))?;
    Some(state.join("team-lead").join("history"))
}

fn failure(error: RunError) -> Failure {
    let message = error.to_string();
    match error {
        RunError::Held { .. } => {
            Failure::new(Kind::Held, message).hint("team-lead send lead 'what it should do'")
        }
        RunError::Model(_) | RunError::Policy(_) => {
            Failure::new(Kind::Usage, message).hint("team-lead run --help")
        }
        RunError::Config(error) => error.into(),
        RunError::NoTeammate(_)
        | RunError::MemberRuntime(_)
        | RunError::Workspace(_)
        | RunError::Tools(_)
        | RunError::Journal(_)
        | RunError::System(_) => Failure::failed(message),
    }
}
