//! Processes that take part in a measurement: how they are started, and what they can be.
//!
//! A worker says `ready`, obeys the lines it is given, and answers each with one line of JSON.

use super::kind::Engine;
use super::team::contestants::{self, COLLECTED};
use super::{backlog, clock, deaths, end::Medium, history, idle, latency, print, proc, throughput};
use anyhow::Context as _;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;
use test_support::Worker;

/// How long a worker may take to answer.
const LIMIT: Duration = Duration::from_secs(180);
/// What a worker says when it can begin.
pub(super) const READY: &str = "ready";

/// What a worker process is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Job {
    /// Sends and waits for the answer, as often as its input says.
    Ping(Medium),
    /// Answers for ever.
    Echo(Medium),
    /// Sends for a while as fast as it is accepted.
    Writer { medium: Medium, number: u32 },
    /// Takes everything until it knows the total.
    Reader(Medium),
    /// Has a past of so many messages and so many files set aside, and sends itself some more.
    History {
        workspace: PathBuf,
        past: u64,
        aside: u64,
    },
    /// Takes everything until it is killed, and writes down what it has.
    Collector(Medium),
    /// Drains a backlog.
    Drain(backlog::Drain),
    /// Sends now and then, and times it.
    Sender(Medium),
    /// Measures how long a lock is held.
    Prober(PathBuf),
    /// A member that waits for mail.
    Member(Medium),
    /// A process that watches a whole folder for one name.
    Watcher { folder: PathBuf, name: String },
    /// Another program, in a folder.
    Exec {
        dir: PathBuf,
        arguments: Vec<String>,
    },
    /// Waits for the death of a process, and says when it learned of it.
    Reaper { dir: PathBuf },
}

/// The program for the kinds that are run by Python.
const MAILBOXES: &str = include_str!("../../python/mailboxes.py");

impl Job {
    /// The job as whoever has to do it understands it: some kinds are run by Python.
    fn for_its_engine(&self) -> Self {
        let (medium, role) = match self {
            Self::Ping(medium) => (medium, vec!["ping".to_owned()]),
            Self::Echo(medium) => (medium, vec!["echo".to_owned()]),
            Self::Reader(medium) => (medium, vec!["read".to_owned()]),
            Self::Collector(medium) => (medium, vec!["collect".to_owned(), COLLECTED.to_owned()]),
            Self::Writer { medium, number } => {
                (medium, vec!["write".to_owned(), number.to_string()])
            }
            Self::History { .. }
            | Self::Drain(_)
            | Self::Sender(_)
            | Self::Prober(_)
            | Self::Member(_)
            | Self::Watcher { .. }
            | Self::Exec { .. }
            | Self::Reaper { .. } => return self.clone(),
        };
        let Engine::Python(kind) = medium.kind.engine() else {
            return self.clone();
        };
        Self::python(kind, medium, role)
    }

    /// A mailbox in Python.
    pub(super) fn python(kind: &str, medium: &Medium, role: Vec<String>) -> Self {
        let arguments = [
            &medium.kind.python(),
            "-c",
            MAILBOXES,
            kind,
            ".",
            &medium.me,
            &medium.peer,
        ];
        Self::Exec {
            dir: medium.dir.clone(),
            arguments: arguments
                .map(str::to_owned)
                .into_iter()
                .chain(role)
                .collect(),
        }
    }
}

/// Does what the job says.
pub(super) fn run(job: &str) -> anyhow::Result<()> {
    // Whatever ends the process that measures ends this one too.
    nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)?;
    match serde_json::from_str(job)? {
        Job::Ping(medium) => latency::ping(&medium),
        Job::Echo(medium) => latency::echo(&medium),
        Job::Writer { medium, number } => throughput::write(&medium, number),
        Job::Reader(medium) => throughput::read(&medium),
        Job::History {
            workspace,
            past,
            aside,
        } => history::live(&workspace, past, aside),
        Job::Collector(medium) => contestants::collect(&medium),
        Job::Drain(drain) => drain.run(),
        Job::Sender(medium) => backlog::send(&medium),
        Job::Prober(lock) => backlog::probe(&lock),
        Job::Member(medium) => idle::wait_for_mail(&medium),
        Job::Watcher { folder, name } => idle::watch(&folder, &name),
        Job::Exec { dir, arguments } => {
            let (program, arguments) = arguments.split_first().context("a program")?;
            let error = Command::new(program)
                .args(arguments)
                .current_dir(dir)
                .exec();
            Err(error).with_context(|| format!("start {program}"))
        }
        Job::Reaper { dir } => deaths::reap(&dir),
    }
}

/// Starts a worker. It need not be ready yet.
pub(super) fn start(job: &Job) -> anyhow::Result<Worker> {
    let job = &job.for_its_engine();
    let program = std::env::current_exe().context("find this program")?;
    let mut command = Command::new(program);
    command.args(["measure", "--worker"]);
    command.arg(serde_json::to_string(job)?);
    Worker::spawn(&mut command).context("start a worker")
}

/// Starts a worker and waits until it is ready.
pub(super) fn start_ready(job: &Job) -> anyhow::Result<Worker> {
    let mut worker = start(job)?;
    expect_ready(&mut worker)?;
    Ok(worker)
}

pub(super) fn expect_ready(worker: &mut Worker) -> anyhow::Result<()> {
    let line = worker.line(LIMIT);
    anyhow::ensure!(
        line == READY,
        "a worker said {line:?} and not that it is ready"
    );
    Ok(())
}

/// Tells a worker something.
pub(super) fn tell(worker: &mut Worker, line: &str) -> anyhow::Result<()> {
    worker.send_line(line).context("tell a worker")
}

/// The next answer of a worker.
pub(super) fn answer<T: DeserializeOwned>(worker: &mut Worker) -> anyhow::Result<T> {
    let line = worker.line(LIMIT);
    serde_json::from_str(&line).with_context(|| format!("read a worker's answer {line:?}"))
}

/// Tells a worker something and waits for its answer.
pub(super) fn ask<T: DeserializeOwned>(worker: &mut Worker, line: &str) -> anyhow::Result<T> {
    tell(worker, line)?;
    answer(worker)
}

/// The worker's side: it can begin.
pub(super) fn say_ready() {
    print(READY);
}

/// The worker's side: an answer.
pub(super) fn say(answer: &impl Serialize) -> anyhow::Result<()> {
    print(&serde_json::to_string(answer)?);
    Ok(())
}

/// The worker's side: its next input, or `None` when there is nothing more to do.
pub(super) fn hear() -> anyhow::Result<Option<String>> {
    let mut line = String::new();
    let read = std::io::stdin().read_line(&mut line)?;
    Ok((read > 0).then(|| line.trim_end().to_owned()))
}

/// Context switches and nanoseconds of processor time of all workers together.
pub(super) fn totals(workers: &[Worker]) -> anyhow::Result<(u64, u64)> {
    let mut sums = (0, 0);
    for worker in workers {
        sums.0 += proc::switches(worker.id())?;
        sums.1 += clock::cpu_nanos(worker.id())?;
    }
    Ok(sums)
}
