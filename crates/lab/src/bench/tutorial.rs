//! The alternative: the tutorial's mailbox in Python.
//!
//! The same two steps as there, in our own words: sending appends a line of JSON, and reading
//! takes the whole file, parses every line and then empties the file.

use super::stats::Blocks;
use super::worker;
use super::{Plan, progress};
use anyhow::Context as _;
use serde::Deserialize;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use test_support::Worker;

const PROGRAM: &str = include_str!("../../python/tutorial_mailbox.py");
/// How often the reader looks, in the measurement of latency.
const POLL: Duration = Duration::from_millis(100);

/// What became of the messages of one run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outcome {
    pub(super) sent: u64,
    pub(super) got: u64,
    pub(super) seconds: f64,
}

#[derive(Deserialize)]
struct Sent {
    sent: u64,
}

#[derive(Deserialize)]
struct Got {
    got: u64,
    latencies: Vec<u64>,
}

/// Whether there is a Python to run it.
pub(super) fn exists() -> bool {
    let mut command = Command::new("python3");
    command.arg("--version").stdout(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// One-way times, reader polling every 0.1 s. `None` without Python.
pub(super) fn latency(plan: &Plan<'_>) -> anyhow::Result<Option<Blocks>> {
    if !exists() {
        return Ok(None);
    }
    progress("latency of the tutorial's mailbox");
    let dir = plan.folder("tutorial")?;
    let poll = POLL.as_secs_f64().to_string();
    let mut reader = start(&dir, &["read", &poll])?;
    let count = plan.pick(200, 30).to_string();
    let mut writer = start(&dir, &["trickle", &count])?;
    let sent: Sent = worker::ask(&mut writer, "go")?;
    let got: Got = worker::ask(&mut reader, &sent.sent.to_string())?;
    let mut blocks = Blocks::default();
    blocks.push_nanos(&got.latencies);
    Ok(Some(blocks))
}

/// Several writers as fast as they can, one reader without a pause.
pub(super) fn throughput(plan: &Plan<'_>, writers: u32, time: Duration) -> anyhow::Result<Outcome> {
    let dir = plan.folder("tutorial")?;
    let mut reader = start(&dir, &["read", "0"])?;
    let mut workers = Vec::new();
    for number in 0..writers {
        workers.push(start(&dir, &["flood", &number.to_string()])?);
    }
    let seconds = time.as_secs_f64();
    for writer in &mut workers {
        worker::tell(writer, &seconds.to_string())?;
    }
    let mut sent = 0;
    for writer in &mut workers {
        sent += worker::answer::<Sent>(writer)?.sent;
    }
    let got: Got = worker::ask(&mut reader, &sent.to_string())?;
    Ok(Outcome {
        sent,
        got: got.got,
        seconds,
    })
}

fn start(dir: &Path, args: &[&str]) -> anyhow::Result<Worker> {
    let mut command = Command::new("python3");
    command.args(["-c", PROGRAM]).arg(dir).args(args);
    let mut worker = Worker::spawn(&mut command).context("start python3")?;
    worker::expect_ready(&mut worker)?;
    Ok(worker)
}
