//! `run`: runs the lead agent.

use crate::budget_args::BudgetArgs;
use crate::cli::{Args, existing_team};
use crate::commands::requests::login_name;
use crate::duration;
use crate::failure::{Failure, Kind};
use crate::input::text_or_stdin;
use crate::output::print_json;
use crate::permission_args::PermissionArgs;
use crate::sandbox_args::SandboxArgs;
use crate::trusted_workspace::{TrustArgs, UncheckedWorkspace};
use crate::tuning_args::TuningArgs;
use lead::{ConsoleOptions, Ended, Resume, RunError, RunOptions, Verbosity};
use member::{AskSettings, ModelOptions, SessionError, WorkspaceSettings};
use processes::Programs;
use serde_json::json;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::time::Duration;

/// Run the lead: with a prompt until it is done, otherwise interactively.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead run
  team-lead run 'Spawn alice (coder) and bob (tester). Have alice send bob a message.'
  team-lead run --model anthropic:NAME --timeout 30m 'Fix the failing tests.'
  team-lead run --resume
  team-lead run --resume=1a2b3c4d
  printf 'Spawn alice as a coder.\\nShut alice down\\n' | team-lead run

With a prompt the lead works until it and its teammates are done, prints its final answer and ends.
On a terminal it reads queries: those typed while it works are queued, /help shows the commands, and
q, exit or Ctrl-D end it. From a pipe each line is a query, and it ends when the last one is done and
the team is quiet.

At its end the lead shuts the team down: each teammate is asked, and ended if it has not exited in
time. Ctrl-C ends at once; a second one ends all processes with signals. With --keep the teammates
continue, and the next lead takes them over. If there is no team folder, it is created here.

Exit codes: 0 all is done; 1 the lead's model failed, or its answer was cut off; 4 the time was up; 5 a teammate failed or died
and is not restarted, or something was left undone because nobody could be asked; 6 the budget is spent; 7 another lead is running here; 130 after Ctrl-C.

With --json and a prompt: {\"answer\", \"exit_code\"}.")]
pub(crate) struct Run {
    /// What to do; `-` reads it from standard input.
    #[arg(value_name = "PROMPT", allow_hyphen_values = true)]
    prompt: Option<String>,
    /// Continue the last conversation, or with =SESSION another one. `team-lead sessions` lists them.
    #[arg(
        long,
        value_name = "SESSION",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = ""
    )]
    resume: Option<String>,
    /// Keep the teammates running at the end.
    #[arg(long)]
    keep: bool,
    /// The model of the lead and of the teammates it starts, as in anthropic:NAME, openai:NAME,
    /// offline or script:FILE. Of several between commas the first that can be reached answers.
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    #[command(flatten)]
    tuning: TuningArgs,
    #[command(flatten)]
    sandbox: SandboxArgs,
    #[command(flatten)]
    permissions: PermissionArgs,
    /// What happens to questions that only a person can answer: wait, or deny at once. Without it they wait
    /// on a terminal, and are denied where there is none.
    #[arg(long, value_name = "WHAT")]
    on_ask: Option<OnAsk>,
    /// End after this long, in seconds or as in 10m.
    #[arg(long, value_name = "S", value_parser = duration::parse)]
    timeout: Option<Duration>,
    /// Maximum number of model calls in one turn; 0 is without limit.
    #[arg(
        long,
        value_name = "N",
        env = "TEAM_MAX_ROUNDS",
        hide_env_values = true,
        default_value_t = 50
    )]
    max_rounds: u32,
    /// The size of the model's context window in tokens; without it, what is known about the model.
    #[arg(long, value_name = "N", env = "TEAM_WINDOW", hide_env_values = true)]
    window: Option<u64>,
    /// How long teammates have to exit when the lead ends.
    #[arg(long, value_name = "S", value_parser = duration::parse, default_value = "10")]
    leave_timeout: Duration,
    #[command(flatten)]
    budget: BudgetArgs,
    #[command(flatten)]
    trust: TrustArgs,
}

/// Runs the lead. Returns its exit code.
pub(crate) fn run(args: &Args, command: &Run) -> Result<u8, Failure> {
    let prompt = command.prompt()?;
    if args.json && prompt.is_none() {
        let message = "run with --json needs a prompt: it prints one object at its end";
        return Err(Failure::usage(message));
    }
    let resume = command.resume(args)?;
    // A lead that cannot start leaves no team behind.
    let check = |settings: &WorkspaceSettings| command.check(settings);
    let trusted = UncheckedWorkspace::find(args)?.into_trusted_if(args, &command.trust, &check)?;
    let team = trusted.team;
    args.note(&format!("Team folder: {}", team.layout().root().display()));
    let options = RunOptions {
        settings: trusted.settings,
        clearance: trusted.clearance,
        resume,
        keep: command.keep,
        model: command.model.clone(),
        tuning: command.tuning.tuning(),
        web: command.tuning.web(),
        sandbox: command.sandbox.sandbox.clone(),
        network: command.sandbox.network.clone(),
        permissions: command.permissions.rules(),
        person: login_name(),
        budget: command.budget.limits(),
        timeout: command.timeout,
        deny_asks: command.denies_asks(),
        max_rounds: command.max_rounds,
        window: command.window,
        leave_timeout: command.leave_timeout,
        console_options: console_options(args),
        log: args.log.options(false),
        prompt,
    };
    let ended = lead::run(&team, &options).map_err(failure)?;
    if args.json {
        let Ended { code, answer } = &ended;
        print_json(&json!({"answer": answer, "exit_code": code}))?;
    }
    Ok(ended.code)
}

/// What happens to questions that only a person can answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum OnAsk {
    /// They wait: somebody answers from another terminal.
    Wait,
    /// They end at once, and what they were about is left undone.
    Deny,
}

impl Run {
    /// Which conversation goes on.
    fn resume(&self, args: &Args) -> Result<Resume, Failure> {
        let wanted = match self.resume.as_deref() {
            None => return Ok(Resume::No),
            Some("") => return self.resume_last(args),
            Some(wanted) => wanted,
        };
        let session = match existing_team(args)?.1 {
            Some(team) => member::find_session(&team, wanted)?,
            None => {
                let wanted = wanted.to_owned();
                return Err(SessionError::Unknown { wanted }.into());
            }
        };
        Ok(Resume::Session(session.header.session.id))
    }

    /// Somebody who forgets the = means no prompt.
    fn resume_last(&self, args: &Args) -> Result<Resume, Failure> {
        if let (Some(prompt), Some(team)) = (&self.prompt, existing_team(args)?.1)
            && member::find_session(&team, prompt).is_ok()
        {
            let message = format!("{prompt} is a session, and would be the prompt");
            let hint = format!("team-lead run --resume={prompt}");
            return Err(Failure::usage(&message).hint(hint));
        }
        Ok(Resume::Last)
    }

    /// Whether there are models and programs for the lead, and its rules and its sandbox can be had.
    fn check(&self, settings: &WorkspaceSettings) -> Result<(), Failure> {
        let models = ModelOptions {
            models: self.model.clone(),
            tuning: self.tuning.tuning(),
            web: self.tuning.web(),
            role: None,
            permissions: self.permissions.rules(),
            window: self.window,
        };
        let chosen = member::choose_models(&models, "lead", settings);
        chosen.map_err(|error| failure(error.into()))?;
        Programs::find()?;
        let config = &settings.config;
        let rules = AskSettings::of(config, None, self.permissions.rules().as_ref());
        rules.map_err(|error| failure(error.into()))?;
        let chosen = (self.sandbox.sandbox.clone(), self.sandbox.network.clone());
        let sandbox = lead::sandbox_settings(chosen, config).check_machine();
        sandbox.map_err(|error| failure(error.into()))
    }

    fn denies_asks(&self) -> bool {
        match self.on_ask {
            Some(OnAsk::Wait) => false,
            Some(OnAsk::Deny) => true,
            None => !std::io::stdin().is_terminal(),
        }
    }

    fn prompt(&self) -> Result<Option<String>, Failure> {
        let Some(prompt) = &self.prompt else {
            return Ok(None);
        };
        let text = text_or_stdin(prompt, "the prompt")?;
        if text.trim().is_empty() {
            let message = "the prompt is empty; leave it out for an interactive session";
            return Err(Failure::usage(message));
        }
        Ok(Some(text))
    }
}

fn console_options(args: &Args) -> ConsoleOptions {
    ConsoleOptions {
        no_color: std::env::var("NO_COLOR").ok(),
        term: std::env::var("TERM").ok(),
        history: history(),
        verbosity: if args.quiet {
            Verbosity::Quiet
        } else {
            Verbosity::Normal
        },
        returns_answer: args.json,
    }
}

/// The history file of typed lines, in the user's state folder.
fn history() -> Option<PathBuf> {
    Some(member::state_folder()?.join("history"))
}

fn failure(error: RunError) -> Failure {
    let message = error.to_string();
    match error {
        RunError::Held { .. } => {
            Failure::new(Kind::Held, message).hint("team-lead send lead 'what it should do'")
        }
        RunError::Confine(_) => Failure::failed(message).hint("team-lead sandbox check"),
        RunError::Model(_) | RunError::Rule(_) => {
            Failure::new(Kind::Usage, message).hint("team-lead run --help")
        }
        RunError::Trust(error) => error.into(),
        RunError::Session(error) => error.into(),
        RunError::NoTeammate(_)
        | RunError::MemberRuntime(_)
        | RunError::Workspace(_)
        | RunError::Tools(_)
        | RunError::Journal(_)
        | RunError::Budget(_)
        | RunError::System(_) => Failure::failed(message),
    }
}
