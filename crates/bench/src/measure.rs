//! Measurements: what the team folder costs beside bare system calls and an obvious alternative.
//!
//! # Theory of operation
//!
//! A machine that builds and tests at the same time gives no steady times. So contestants take
//! turns in short blocks, each block of one is compared with the block of the other beside it,
//! and the median of those ratios is what counts. Absolute times are printed for orientation.
//!
//! Peers are processes of their own: this program again, with a hidden argument that says what to do
//! ([`worker`]). They end with the process that started them, however that ends.
//!
//! A missed bar is reported clearly, and is not a failure: these are measurements, not tests.

mod backlog;
mod bare;
mod board;
mod bridge;
pub(crate) mod clock;
mod commands;
mod context;
mod deaths;
pub(crate) mod end;
mod history;
mod hosts;
mod idle;
mod kind;
mod latency;
mod machine;
mod nats;
mod permission;
pub(crate) mod proc;
mod programs;
pub(crate) mod publish;
mod redis;
mod report;
mod request;
mod restart;
mod search;
mod socket;
mod spawn;
mod stats;
mod status;
mod team;
mod teammates;
mod throughput;
mod tokens;
mod trees;
mod web;
mod worker;

use anyhow::Context as _;
use report::{Report, Section};
pub(crate) use stats::quantile;
use std::path::{Path, PathBuf};
pub(crate) use teammates::{is_idle, start_all};
pub(crate) use tokens::agent;

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only these; all of them if none is named.
    names: Vec<Name>,
    /// Shorter runs: enough to see whether everything works, too few to trust the numbers.
    #[arg(long)]
    quick: bool,
    /// Of `team` only the graphs of tasks, with so many members.
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=16))]
    members: Vec<u32>,
    /// Writes all rows as JSON to this file too.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Where the temporary team folders go: a real disk, or syncs cost nothing.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// The job of this process in another benchmark process, as JSON.
    #[arg(long, hide = true, value_name = "JOB")]
    worker: Option<String>,
}

/// One measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Name {
    Latency,
    Throughput,
    History,
    Backlog,
    Idle,
    Board,
    Spawn,
    Commands,
    Request,
    Permission,
    Teammates,
    Status,
    Restart,
    Deaths,
    Hosts,
    Bridge,
    Tokens,
    Team,
    Context,
    Search,
    Trees,
    Web,
}

const ALL: [Name; 22] = [
    Name::Latency,
    Name::Throughput,
    Name::History,
    Name::Backlog,
    Name::Idle,
    Name::Board,
    Name::Spawn,
    Name::Commands,
    Name::Request,
    Name::Permission,
    Name::Teammates,
    Name::Status,
    Name::Restart,
    Name::Deaths,
    Name::Hosts,
    Name::Bridge,
    Name::Tokens,
    Name::Team,
    Name::Context,
    Name::Search,
    Name::Trees,
    Name::Web,
];

/// The speed of the machine at the moment: a bare append, sync and wake-up between two processes.
pub(crate) struct Baseline(latency::Pair);

impl Baseline {
    /// How many messages make a measure.
    const ROUNDS: u64 = 15;

    pub(crate) fn start(dir: &Path) -> anyhow::Result<Self> {
        let plan = Plan {
            dir,
            quick: false,
            members: &[],
        };
        let kind = end::Kind::BareSynced;
        Ok(Self(latency::Pair::start(&plan, kind, None)?))
    }

    /// The median of one way, now, in seconds.
    pub(crate) fn measure(&mut self) -> anyhow::Result<f64> {
        self.0.one_way = stats::Blocks::default();
        self.0.block(Self::ROUNDS, std::time::Duration::ZERO)?;
        Ok(self.0.one_way.p50())
    }
}

/// Where to measure and how long.
#[derive(Debug, Clone, Copy)]
struct Plan<'a> {
    dir: &'a Path,
    quick: bool,
    /// The only sizes of teams with graphs of tasks; the usual ones if there is none.
    members: &'a [u32],
}

impl Plan<'_> {
    /// The first of two amounts for a full run, the second for a quick one.
    const fn pick<T: Copy>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }

    /// A fresh folder.
    fn folder(&self, name: &str) -> anyhow::Result<PathBuf> {
        let made = tempfile::Builder::new()
            .prefix(name)
            .disable_cleanup(true)
            .tempdir_in(self.dir);
        let made = made.with_context(|| format!("create a folder in {}", self.dir.display()))?;
        Ok(made.path().to_path_buf())
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    if let Some(job) = &args.worker {
        return worker::run(job);
    }
    let parent = args.dir.clone().unwrap_or_else(default_dir);
    std::fs::create_dir_all(&parent).with_context(|| format!("create {}", parent.display()))?;
    let temporary = tempfile::Builder::new()
        .prefix("bench-")
        .tempdir_in(&parent)
        .with_context(|| format!("create a folder in {}", parent.display()))?;
    let plan = Plan {
        dir: temporary.path(),
        quick: args.quick,
        members: &args.members,
    };
    let mut names = if args.names.is_empty() {
        ALL.to_vec()
    } else {
        args.names.clone()
    };
    let is_whole = args.members.is_empty();
    if is_whole && names.contains(&Name::Team) && !names.contains(&Name::Permission) {
        // The latency of a person's answer is part of what coordination costs.
        names.push(Name::Permission);
    }
    let mut report = Report::new(machine::describe(&plan)?);
    for name in names {
        if matches!(name, Name::Latency | Name::Throughput | Name::Team) {
            report.name_contestants();
        }
        report.sections.push(measure(name, &plan)?);
    }
    report.machine_after = machine::state(&plan)?;
    if let Some(path) = &args.json {
        let bytes = serde_json::to_vec_pretty(&report)?;
        std::fs::write(path, bytes).with_context(|| format!("write {}", path.display()))?;
    }
    print(&report.to_string());
    Ok(())
}

fn measure(name: Name, plan: &Plan<'_>) -> anyhow::Result<Section> {
    let section = match name {
        Name::Latency => latency::measure(plan),
        Name::Throughput => throughput::measure(plan),
        Name::History => history::measure(plan),
        Name::Backlog => backlog::measure(plan),
        Name::Idle => idle::measure(plan),
        Name::Board => board::measure(plan),
        Name::Spawn => spawn::measure(plan),
        Name::Commands => commands::measure(plan),
        Name::Request => request::measure(plan),
        Name::Permission => permission::measure(plan),
        Name::Teammates => teammates::measure(plan),
        Name::Status => status::measure(plan),
        Name::Restart => restart::measure(plan),
        Name::Deaths => deaths::measure(plan),
        Name::Hosts => hosts::measure(plan),
        Name::Bridge => bridge::measure(plan),
        Name::Tokens => tokens::measure(plan),
        Name::Team => team::measure(plan),
        Name::Context => context::measure(plan),
        Name::Search => search::measure(plan),
        Name::Trees => trees::measure(plan),
        Name::Web => web::measure(plan),
    };
    section.with_context(|| format!("measure {name:?}"))
}

/// The build folder, which is on a disk, or else the place for temporary files.
pub(crate) fn default_dir() -> PathBuf {
    let target = PathBuf::from("target");
    if target.is_dir() {
        target
    } else {
        std::env::temp_dir()
    }
}

/// Prints to standard output: the report, or what a worker answers.
#[expect(clippy::print_stdout, reason = "the report is this program's output")]
pub(crate) fn print(text: &str) {
    println!("{text}");
}

/// Prints progress.
#[expect(
    clippy::print_stderr,
    reason = "the report alone goes to standard output"
)]
pub(crate) fn progress(text: &str) {
    eprintln!("bench: {text}");
}
