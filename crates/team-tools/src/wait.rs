//! Waits for the team: `wait`.

use crate::TeamContext;
use processes::{BrokenMember, Progress, stuck_text};
use protocol::Recipient;
use schemars::JsonSchema;
use serde::Deserialize;
use std::time::{Duration, Instant};
use teamdir::TeamDir;
use tools::{Effect, Tool, ToolContext, ToolError, ToolOutput};

/// How often the team is looked at. Its state is spread over many files.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Programs that call tools give up after a minute by default.
const DEFAULT_SECONDS: u64 = 50;
const MOST_SECONDS: u64 = 3_600;

/// Waits for the team.
#[derive(Clone, Debug)]
pub(crate) struct Wait(TeamContext);

impl Wait {
    pub(crate) const fn new(context: TeamContext) -> Self {
        Self(context)
    }
}

/// The arguments of [`Wait`].
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WaitArgs {
    /// quiet: no teammate has anything left to do. tasks: every task is completed. mail: there is a report or
    /// a request, or the team is quiet. quiet if absent.
    #[schemars(extend("enum" = ["quiet", "tasks", "mail"]))]
    until: Option<Until>,
    /// How long to wait at most, 50 if absent.
    seconds: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Until {
    #[default]
    Quiet,
    Tasks,
    Mail,
}

impl Tool for Wait {
    const NAME: &'static str = "wait";
    const DESCRIPTION: &'static str = "Wait until the team is quiet, until all tasks are completed, or until \
         a teammate reports or asks something. If the time passes first, you are told what is still going on.";
    const EFFECT: Effect = Effect::Read;
    type Args = WaitArgs;

    async fn call(&self, args: WaitArgs, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        let until = args.until.unwrap_or_default();
        let seconds = args.seconds.unwrap_or(DEFAULT_SECONDS).min(MOST_SECONDS);
        let end = Instant::now() + Duration::from_secs(seconds);
        loop {
            let checked = self.0.blocking(move |context| check(&context.team, until));
            let why = match checked.await? {
                Checked::Done(output) => return Ok(output),
                Checked::NotYet(why) => why,
            };
            if Instant::now() >= end {
                return Ok(ToolOutput::ok(format!("Not yet after {seconds} s: {why}")));
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
}

enum Checked {
    Done(ToolOutput),
    NotYet(String),
}

fn check(team: &TeamDir, until: Until) -> Result<Checked, ToolError> {
    processes::repair(team);
    let failed = |error| ToolError::from_error(&error);
    if until == Until::Mail
        && let Some(text) = news(team)?
    {
        return Ok(Checked::Done(ToolOutput::ok(text)));
    }
    match until {
        Until::Quiet | Until::Mail => {
            let progress = processes::quiet(team).map_err(failed)?;
            Ok(outcome(progress, |_| "The team is quiet.".to_owned()))
        }
        Until::Tasks => {
            let progress = processes::all_tasks_completed(team).map_err(failed)?;
            Ok(outcome(progress, |count| {
                format!("All {} tasks are completed.", count.all)
            }))
        }
    }
}

fn outcome<T>(progress: Progress<T>, reached: impl FnOnce(T) -> String) -> Checked {
    match progress {
        Progress::Reached(what) => Checked::Done(ToolOutput::ok(reached(what))),
        Progress::Stuck { what, broken, .. } => Checked::Done(stuck(&what, &broken)),
        Progress::NotYet(why) => Checked::NotYet(why),
    }
}

fn stuck(what: &str, broken: &[BrokenMember]) -> ToolOutput {
    ToolOutput::error(format!("Error: {}", stuck_text(what, broken)))
}

/// What waits for whoever leads.
fn news(team: &TeamDir) -> Result<Option<String>, ToolError> {
    let unread = processes::unread(team, &Recipient::Lead);
    let unread = unread.map_err(|error| ToolError::from_error(&error))?;
    let waiting = team::waiting(team);
    let waiting = waiting
        .map_err(|error| ToolError::from_error(&error))?
        .len();
    Ok(match (unread, waiting) {
        (0, 0) => None,
        (unread, waiting) => Some(format!(
            "Unread messages: {unread} (read_inbox). Waiting for an answer: {waiting} (requests)."
        )),
    })
}
