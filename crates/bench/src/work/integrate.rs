//! Submits, or works through the queue, between two marks.

use super::{Args, orphan, say};
use anyhow::bail;
use integration::{QueueOutcome, Work};
use member::{SandboxSettings, load_settings, open_trees};
use protocol::AgentName;
use std::path::PathBuf;
use test_support::faults::{mark_begin, mark_end};

/// Submits the work of a member, or works through the queue.
#[derive(clap::Args)]
pub(crate) struct Integrate {
    /// Submit the work of this member instead.
    #[arg(long)]
    submit: Option<String>,
    /// Take the right to integrate instead, and start a child that waits for this pipe before exec.
    #[arg(long)]
    orphan: Option<PathBuf>,
}

pub(super) fn run(args: &Args, op: &Integrate) -> anyhow::Result<()> {
    let team = args.team()?;
    if let Some(gate) = &op.orphan {
        let _guard = team.try_integrate()?;
        return orphan::start(gate);
    }
    let settings = load_settings(team.workspace())?;
    let trees = open_trees(&team, &settings.config, &SandboxSettings::default())?;
    mark_begin();
    let done = match &op.submit {
        Some(name) => {
            let submitted = trees.submit(&AgentName::new(name)?, &Work::default());
            submitted.map(|submitted| submitted.submission.id.to_string())
        }
        None => trees.run_queue().map(|ran| match ran {
            QueueOutcome::Done(ended) => format!("{} ended", ended.len()),
            QueueOutcome::Busy => "busy".to_owned(),
            QueueOutcome::Blocked(folder) => format!("blocked by {}", folder.display()),
        }),
    };
    mark_end();
    match done {
        Ok(text) => say(&text),
        Err(error) => bail!(error),
    }
}
