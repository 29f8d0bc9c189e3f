//! A member that claims and completes tasks.

use super::{Args, say};
use anyhow::{Context, ensure};
use protocol::{AgentName, Party, Recipient, Task, TaskStatus};
use std::time::Duration;
use team::{Actor, Worker};
use teamdir::TeamDir;
use test_support::{Rng, try_wait_for};

/// How long the process waits for a task that it can claim.
const CLAIM_LIMIT: Duration = Duration::from_secs(120);
/// One of so many tasks is given back instead of done.
const GIVEN_BACK: u64 = 40;

/// Claims and completes tasks until all are completed.
#[derive(clap::Args)]
pub(crate) struct FinishTasks {
    #[arg(long)]
    name: AgentName,
    #[arg(long)]
    seed: u64,
    /// Claim one task and never finish it.
    #[arg(long)]
    hold: bool,
}

/// The result of waiting for work.
enum Found {
    Task(Box<Task>),
    AllDone,
}

pub(super) fn run(args: &Args, work: &FinishTasks) -> anyhow::Result<()> {
    let team = args.team()?;
    let guard = team.join(&Recipient::Member(work.name.clone()))?;
    let worker = Worker {
        me: Actor::member(work.name.clone(), guard.incarnation()),
        role: String::new(),
    };
    let mut rng = Rng::new(work.seed);
    loop {
        let task = match next_task(&team, &worker)? {
            Found::Task(task) => task,
            Found::AllDone => return Ok(()),
        };
        check(&team, &worker, &task)?;
        say(&format!("claimed {}", task.id))?;
        if work.hold {
            let _ = try_wait_for(CLAIM_LIMIT, || None::<()>);
        }
        // Some work, so that a kill can interrupt it.
        let _ = try_wait_for(Duration::from_micros(rng.below(3_000)), || None::<()>);
        if rng.below(GIVEN_BACK) == 0 {
            team::release(&team, &worker.me, task.id, "not for me")?;
            continue;
        }
        let incarnation = guard.incarnation();
        let result = format!("by {} in incarnation {incarnation}", work.name);
        team::complete(&team, &worker.me, task.id, Some(&result))?;
        say(&format!("done {}", task.id))?;
    }
}

/// Waits for a task that can be had, or for the end of all work.
fn next_task(team: &TeamDir, worker: &Worker) -> anyhow::Result<Found> {
    let mut polls = 0_u32;
    let found = try_wait_for(CLAIM_LIMIT, || match team::claim_next(team, worker) {
        Err(error) => Some(Err(error.into())),
        Ok(Some(task)) => Some(Ok(Found::Task(Box::new(task)))),
        // The end is checked less often.
        Ok(None) => {
            polls += 1;
            let is_over = polls.is_multiple_of(4) && all_done(team);
            is_over.then_some(Ok(Found::AllDone))
        }
    });
    found.context("there is work left, and none of it can be claimed")?
}

fn all_done(team: &TeamDir) -> bool {
    let completed = |task: &Task| task.status == TaskStatus::Completed;
    team::list(team).is_ok_and(|list| list.board.tasks().all(completed))
}

/// A claim must be of a task whose dependencies are done, and the only one.
fn check(team: &TeamDir, worker: &Worker, task: &Task) -> anyhow::Result<()> {
    for id in &task.blocked_by {
        let status = team.task(*id)?.status;
        ensure!(
            status == TaskStatus::Completed,
            "task {} was claimed before {id} was done",
            task.id
        );
    }
    let mine = team::unfinished(team, &worker.me)?;
    ensure!(mine.len() == 1, "{} tasks at once", mine.len());
    let owner: Option<&Party> = task.owner.0.as_ref();
    ensure!(
        owner == Some(&worker.me.party),
        "the claim names another owner"
    );
    Ok(())
}
