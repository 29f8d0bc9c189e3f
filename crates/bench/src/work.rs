//! One process of a test.
//!
//! Each prints a line when it has done something that counts, so that the test knows what was
//! acknowledged before it killed the process.

mod agent;
mod board;
mod integrate;
mod live;
mod mail;
mod op;
mod orphan;
mod tasks;

use clap::{Parser, Subcommand};
use std::path::PathBuf;
use std::time::Duration;
use teamdir::{Durability, Options, TeamDir, WatchChoice};

/// Which work to do, where.
#[derive(Parser)]
pub(crate) struct Args {
    /// The workspace whose team folder is used.
    #[arg(long, global = true, default_value = ".")]
    dir: PathBuf,
    /// Whether finished writes must survive a power cut.
    #[arg(long, global = true)]
    sync: bool,
    /// Poll for mail.
    #[arg(long, global = true)]
    poll: bool,
    /// How long a read inbox file keeps its name, in milliseconds.
    #[arg(long, global = true, default_value_t = 200)]
    seal_after_ms: u64,
    /// How long files set aside are kept, in milliseconds.
    #[arg(long, global = true, default_value_t = 60_000)]
    grace_ms: u64,
    #[command(subcommand)]
    work: Work,
}

#[derive(Subcommand)]
enum Work {
    /// Sends numbered messages.
    Write(mail::Write),
    /// Receives mail until it is killed.
    Read(mail::Read),
    /// Holds a member's lock until it is killed, perhaps with a child that outlives it.
    Hold(mail::Hold),
    /// Begins as a member, with its conversation, and waits to be killed.
    Live(live::Live),
    /// Changes the roster again and again.
    Roster(board::Roster),
    /// Claims tasks until none is left.
    Claim(board::Claim),
    /// Creates tasks.
    Create(board::Create),
    /// Claims and completes tasks until all are completed.
    FinishTasks(tasks::FinishTasks),
    /// Does one operation between two marks, for crash points.
    Op(op::Op),
    /// Submits work or integrates what was submitted, between two marks.
    Integrate(integrate::Integrate),
    /// Runs an agent that works through numbered steps.
    Agent(agent::RunAgent),
}

impl Args {
    fn options(&self) -> Options {
        Options {
            durability: if self.sync {
                Durability::PowerCut
            } else {
                Durability::ProcessDeath
            },
            seal_after: Duration::from_millis(self.seal_after_ms),
            segment_grace: Duration::from_millis(self.grace_ms),
            ..Options::default()
        }
    }

    fn team(&self) -> anyhow::Result<TeamDir> {
        Ok(TeamDir::open(&self.dir, self.options())?)
    }

    fn choice(&self) -> WatchChoice {
        if self.poll {
            WatchChoice::Poll
        } else {
            WatchChoice::Auto
        }
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    match &args.work {
        Work::Write(work) => mail::write(args, work),
        Work::Read(work) => mail::read(args, work),
        Work::Hold(work) => mail::hold(args, work),
        Work::Live(work) => live::run(args, work),
        Work::Roster(work) => board::roster(args, work),
        Work::Claim(work) => board::claim(args, work),
        Work::FinishTasks(work) => tasks::run(args, work),
        Work::Create(work) => board::create(args, work),
        Work::Op(work) => op::run(args, work),
        Work::Integrate(work) => integrate::run(args, work),
        Work::Agent(work) => agent::run(args, work),
    }
}

/// Prints a line for the test, at once.
fn say(text: &str) -> anyhow::Result<()> {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}")?;
    out.flush()?;
    Ok(())
}
