//! `submit` and `submissions`: the queue that brings members' work into the team's branch.

use crate::cli::Args;
use crate::failure::{Failure, Kind};
use crate::names;
use crate::output::{indented, print, print_json};
use crate::trusted_workspace::{TrustArgs, TrustedWorkspace, UncheckedWorkspace};
use integration::{Integration, QueueOutcome, Work};
use member::{SandboxSettings, open_trees};
use protocol::{Submission, SubmissionId, TaskId};
use rules::SubmissionCount;
use serde_json::json;
use teamdir::{SubmissionError, TeamDir};
use terminal_text::clean;

/// Submit what a member has committed, and integrate what is in the queue.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead submit alice
  team-lead submit alice --task 3

The work is merged onto team/main, checked there by the command `check` under [tree] of team.toml, in a
sandbox, and then team/main is moved to it. What does not merge or pass goes back to its author as mail.

With --json: {\"submission\": {...}}, as in .team/submissions.")]
pub(crate) struct Submit {
    name: String,
    /// The task that it is for, which is completed when the work is merged.
    #[arg(long, value_name = "N")]
    task: Option<u64>,
    #[command(flatten)]
    trust: TrustArgs,
}

/// List the submissions, or show one.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead submissions
  team-lead submissions 7
  team-lead submissions --run

Members and a running lead integrate by themselves; --run does it here, if none of them runs.

With several machines the queue is at home on the host of the lead: a submission of another host is \"on its
way\" until it is there.

With --json: {\"submissions\": [...], \"submitted\", \"open\", \"merged\", \"returned\"}; with a number
{\"submission\": {...}}.")]
pub(crate) struct Submissions {
    /// The number of one.
    id: Option<u64>,
    /// Integrate what is in the queue first.
    #[arg(long)]
    run: bool,
    #[command(flatten)]
    trust: TrustArgs,
}

impl Submissions {
    pub(crate) const fn runs(&self) -> bool {
        self.run
    }
}

/// The trees of a workspace whose check the user trusts.
fn open(args: &Args, trust: &TrustArgs) -> Result<(TeamDir, Integration), Failure> {
    crate::cli::open(args)?;
    let trusted = UncheckedWorkspace::find(args)?.into_trusted(args, trust)?;
    let TrustedWorkspace { team, settings, .. } = trusted;
    let config = &settings.config;
    let sandbox = SandboxSettings {
        mode: config.sandbox().value.unwrap_or_default(),
        network: config.network().value.unwrap_or_default(),
    };
    let trees = open_trees(&team, config, &sandbox)?;
    Ok((team, trees))
}

pub(crate) fn submit(args: &Args, command: &Submit) -> Result<(), Failure> {
    let (team, trees) = open(args, &command.trust)?;
    let name = names::member(&*team.roster()?, &command.name)?;
    let task = command.task.map(TaskId);
    let submitted = trees.submit(
        &name,
        &Work {
            incarnation: None,
            task,
            completes: task.map(|_| String::new()),
        },
    )?;
    if !submitted.uncommitted.is_empty() {
        args.note(&format!(
            "not committed, and not submitted: {}",
            submitted.uncommitted.join(", ")
        ));
    }
    integrate(args, &trees)?;
    let submission = team.submission(submitted.submission.id)?;
    let place = place(&submission).map(|place| format!(" ({place})"));
    let text = format!(
        "Submission {} is {}{}",
        submission.id,
        submission.status,
        place.unwrap_or_default()
    );
    args.confirm(&json!({"submission": submission}), &text)
}

fn integrate(args: &Args, trees: &Integration) -> Result<(), Failure> {
    match trees.run_queue()? {
        QueueOutcome::Done(_) => {}
        QueueOutcome::Busy => args.note("another process integrates what is in the queue"),
        QueueOutcome::Blocked(folder) => {
            let message = format!(
                "submissions wait: team/main is checked out in {}, and moving it would stage the reverse of \
                 the work there",
                folder.display()
            );
            return Err(Failure::new(Kind::Refused, message).hint("git switch -"));
        }
    }
    Ok(())
}

pub(crate) fn show(args: &Args, command: &Submissions) -> Result<(), Failure> {
    let team = match command.run {
        true => {
            let (team, trees) = open(args, &command.trust)?;
            integrate(args, &trees)?;
            team
        }
        false => crate::cli::open(args)?,
    };
    if let Some(id) = command.id {
        let submission = team.submission(SubmissionId(id))?;
        return match args.json {
            true => print_json(&json!({"submission": submission})),
            false => print(clean(&full(&submission)).as_ref()),
        };
    }
    let all = team.submissions().map_err(SubmissionError::File)?;
    let mut submissions = Vec::new();
    for found in all {
        match found {
            Ok(submission) => submissions.push(submission),
            Err(error) => args.note(&error.to_string()),
        }
    }
    let count = SubmissionCount::of(&submissions);
    if args.json {
        return print_json(&json!({
            "submissions": submissions, "submitted": count.submitted, "open": count.open,
            "merged": count.merged, "returned": count.returned,
        }));
    }
    if submissions.is_empty() {
        args.note("no submissions");
        return Ok(());
    }
    let lines: Vec<String> = submissions.iter().map(line).collect();
    print(clean(&lines.join("\n")).as_ref())?;
    args.note(&format!(
        "{} submitted: {} merged, {} returned, {} open",
        count.submitted, count.merged, count.returned, count.open
    ));
    Ok(())
}

/// One line for a submission.
fn line(submission: &Submission) -> String {
    let Submission {
        id,
        member,
        status,
        commit,
        subject,
        ..
    } = submission;
    let task = submission.task.map(|task| format!(" (task #{task})"));
    let place = place(submission).map(|place| format!(" ({place})"));
    format!(
        "{id}  {status:<9}  {member}  {}  {subject}{}{}",
        commit.short(),
        task.unwrap_or_default(),
        place.unwrap_or_default()
    )
}

/// Where a submission is that crosses between hosts.
fn place(submission: &Submission) -> Option<String> {
    let Submission {
        sent_to, taken_as, ..
    } = submission;
    if let Some(host) = &submission.host {
        return Some(format!("from {host}"));
    }
    let home = sent_to.as_ref()?;
    Some(match (taken_as, submission.status.is_open()) {
        (None, true) => format!("on its way to {home}"),
        (None, false) => format!("decided on {home}"),
        (Some(number), true) => format!("in the queue of {home} as {number}"),
        (Some(number), false) => format!("decided on {home} as {number}"),
    })
}

/// Everything about a submission.
fn full(submission: &Submission) -> String {
    let mut text = line(submission);
    if let Some(merge) = &submission.merge {
        text.push_str(&format!("\n  merge: {merge}"));
    }
    for file in submission
        .conflict
        .iter()
        .flat_map(|conflict| &conflict.files)
    {
        text.push_str(&format!("\n  in conflict: {}", file.path));
        if !file.authors.is_empty() {
            text.push_str(&format!(", changed by {}", file.authors.join(", ")));
        }
        if !file.hunks.is_empty() {
            text.push_str(&format!("\n{}", indented(&file.hunks)));
        }
    }
    if let Some(reason) = &submission.reason {
        text.push_str(&format!("\n  {reason}"));
    }
    if let Some(check) = &submission.check {
        let (command, end, seconds) = (&check.command, &check.end, check.seconds);
        text.push_str(&format!("\n  check `{command}` {end} ({seconds} s)"));
        if !check.output.is_empty() {
            text.push_str(&format!("\n{}", indented(&check.output)));
        }
    }
    text
}

impl From<SubmissionError> for Failure {
    fn from(error: SubmissionError) -> Self {
        let message = error.to_string();
        match error {
            SubmissionError::Unknown(_) => {
                Self::new(Kind::UnknownRequest, message).hint("team-lead submissions")
            }
            SubmissionError::Invalid { .. } => Self::failed(message).hint("team-lead submissions"),
            SubmissionError::Lock(error) => error.into(),
            SubmissionError::File(error) => error.into(),
        }
    }
}
