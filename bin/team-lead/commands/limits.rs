//! `limits`: shows the limits of the team, and lifts a stop between two members.

use crate::cli::Args;
use crate::failure::Failure;
use crate::output::{print, print_json};
use crate::sandboxed_caller::Needs;
use serde_json::json;
use team::LimitedSendError;
use teamdir::{TeamDir, now};

/// Show the limits of the team, or lift stops between members.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead limits
  team-lead limits reset

Two agents that exchange too many messages within a minute cannot write to each other for a minute;
the lead is notified. `reset` lifts the stop. Limits are set under [limits] in team.toml, and apply
from the next spawn, run or up. They apply to agents, not to what a person sends.

With --json: {\"members\", \"working\", \"messages_per_minute\", \"message_bytes\", \"inbox_bytes\",
\"stopped\": [[NAME, NAME]]}.")]
pub(crate) struct Limits {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Show the limits and the current stops.
    Show,
    /// Lift all stops.
    Reset,
}

impl Limits {
    pub(crate) const fn needs(&self) -> Needs {
        match self.action {
            None | Some(Action::Show) => Needs::Nothing,
            Some(Action::Reset) => Needs::Team(None),
        }
    }
}

pub(crate) fn run(team: &TeamDir, args: &Args, command: &Limits) -> Result<(), Failure> {
    match &command.action {
        None | Some(Action::Show) => show(team, args),
        Some(Action::Reset) => reset(team, args),
    }
}

fn reset(team: &TeamDir, args: &Args) -> Result<(), Failure> {
    let stopped = team::reset_traffic(team)?;
    let lines: Vec<String> = stopped
        .iter()
        .map(|(a, b)| format!("{a} and {b} may write to each other again"))
        .collect();
    let text = match lines.is_empty() {
        true => "No members were stopped".to_owned(),
        false => lines.join("\n"),
    };
    args.confirm(&json!({ "stopped": stopped }), &text)
}

fn show(team: &TeamDir, args: &Args) -> Result<(), Failure> {
    let limits = team.limits()?;
    let now = now();
    let pairs = team.traffic()?.pairs.into_iter();
    let stopped = pairs.filter_map(|pair| {
        let until = pair.stopped_until.filter(|until| *until > now)?;
        Some((pair.a, pair.b, until.since(now).as_secs()))
    });
    let stopped: Vec<_> = stopped.collect();
    if args.json {
        let names: Vec<_> = stopped.iter().map(|(a, b, _)| (a, b)).collect();
        let object = json!({
            "members": limits.max_members(), "working": limits.working,
            "messages_per_minute": limits.max_messages_per_minute(),
            "message_bytes": limits.max_message_bytes(),
            "inbox_bytes": limits.max_inbox_bytes(), "stopped": names,
        });
        return print_json(&object);
    }
    let working = limits
        .working
        .map_or("no limit".to_owned(), |most| most.to_string());
    let mut lines = vec![
        format!("members              {}", limits.max_members()),
        format!("working              {working}"),
        format!("messages_per_minute  {}", limits.max_messages_per_minute()),
        format!("message_bytes        {}", limits.max_message_bytes()),
        format!("inbox_bytes          {}", limits.max_inbox_bytes()),
    ];
    lines.extend(stopped.iter().map(|(a, b, left)| {
        format!("{a} and {b} are stopped for {left} s more; next: team-lead limits reset")
    }));
    print(&lines.join("\n"))
}

impl From<LimitedSendError> for Failure {
    fn from(error: LimitedSendError) -> Self {
        let message = error.to_string();
        match error {
            LimitedSendError::Send(error) => error.into(),
            LimitedSendError::Ledger(error) => error.into(),
            LimitedSendError::TooLong { .. }
            | LimitedSendError::TooOften { .. }
            | LimitedSendError::InboxFull { .. } => Self::failed(message),
        }
    }
}
