//! A reader with a large backlog of unread mail, while others go on sending.

use super::end::{Kind, Medium, message, options};
use super::report::{Row, Section, Value};
use super::stats::{Blocks, seconds};
use super::worker::{self, Job};
use super::{Plan, clock, end, proc, progress};
use anyhow::Context as _;
use protocol::{MessageId, Recipient, Sender, decode_line};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use teamdir::{FOLDER, Layout, MemberSession, TeamDir, WatchChoice};

const READER: &str = "alice";
/// How often the other process sends.
const EVERY: Duration = Duration::from_millis(5);
/// How long the prober rests between two tries.
const NAP: Duration = Duration::from_micros(100);

/// A way to drain a backlog.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Drain {
    how: How,
    workspace: PathBuf,
    count: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum How {
    Ours,
    OursSynced,
    /// Copies the bytes to a journal in pieces: the least there is to do.
    Copy,
    CopySynced,
    /// Under the lock: reads everything, parses everything, stores it, empties the file.
    ReadAll,
}

/// What a drain took, in nanoseconds and bytes.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct Drained {
    first: u64,
    all: u64,
    memory: u64,
}

/// How long the longest of many things took, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct Longest {
    longest: u64,
    count: u64,
    refused: u64,
}

/// The runs of one way to drain.
#[derive(Default)]
struct Runs {
    first: Blocks,
    all: Blocks,
    memory: Blocks,
    busy: Blocks,
    send: Blocks,
    refused: u64,
}

pub(super) fn measure(plan: &Plan<'_>) -> anyhow::Result<Section> {
    let count = plan.pick(1_000_000, 100_000);
    let mut section = Section::new(
        "backlog",
        "a reader starts with unread mail while another process sends every 5 ms; \
         bare = copying the bytes to a journal; alternative = read all, then empty the file",
    );
    let ways = [
        How::Ours,
        How::Copy,
        How::ReadAll,
        How::OursSynced,
        How::CopySynced,
    ];
    let mut runs: [Runs; 5] = Default::default();
    for turn in 0..plan.pick(3, 1) {
        for (how, runs) in ways.iter().zip(&mut runs) {
            progress(&format!("backlog of {count}, turn {turn}: {how:?}"));
            runs.add(plan, *how, count)?;
        }
    }
    section.rows = rows(&runs);
    section.note(format!(
        "{count} unread messages of 300 bytes; the reader's own start is included"
    ));
    section.note("the lock is tried every 0.1 ms; longest = the worst of all turns");
    let refused = runs.first().map_or(0, |ours| ours.refused);
    if refused > 0 {
        section.note(format!(
            "sends refused because the inbox was full: {refused}"
        ));
    }
    Ok(section)
}

/// The alternative.
const READ_ALL: &str = "reading the whole file at once";

/// The rows, from the runs of each way in the order of [`measure`].
fn rows([ours, copy, read_all, ours_synced, copy_synced]: &[Runs; 5]) -> Vec<Row> {
    let time = |what: &str, own: &Blocks, bare: &Blocks| {
        let row = Row::new(what, Value::Seconds(own.p50()));
        row.bare(Value::Seconds(bare.p50()), own.ratio(bare, 0.5))
    };
    let worst = |blocks: &Blocks| blocks.quantile(1.0);
    let longest = |what: &str, own: &Blocks| Row::new(what, Value::Seconds(worst(own)));
    let memory = Value::Bytes(worst(&ours.memory));
    vec![
        time("first message shown", &ours.first, &copy.first)
            .beside(READ_ALL, Value::Seconds(read_all.first.p50())),
        time("all messages drained", &ours.all, &copy.all)
            .beside(READ_ALL, Value::Seconds(read_all.all.p50())),
        time(
            "synced: all messages drained",
            &ours_synced.all,
            &copy_synced.all,
        ),
        Row::new("peak memory of the reader", memory)
            .beside(READ_ALL, Value::Bytes(worst(&read_all.memory)))
            .bar("under 50 MB", worst(&ours.memory) < 50e6),
        longest("inbox lock busy, longest", &ours.busy)
            .beside(READ_ALL, Value::Seconds(worst(&read_all.busy)))
            .bar("under 10 ms", worst(&ours.busy) < 10e-3),
        longest("another's send, longest", &ours.send)
            .beside(READ_ALL, Value::Seconds(worst(&read_all.send))),
        longest("synced: another's send, longest", &ours_synced.send),
    ]
}

impl Runs {
    fn add(&mut self, plan: &Plan<'_>, how: How, count: u64) -> anyhow::Result<()> {
        let workspace = plan.folder("backlog")?;
        let layout = end::create_team(&workspace, &[READER])?.layout().clone();
        let reader: Recipient = READER.parse()?;
        write_backlog(&layout.inbox(&reader), count)?;
        let kind = match how {
            How::Ours | How::Copy | How::ReadAll => Kind::Ours,
            How::OursSynced | How::CopySynced => Kind::OursSynced,
        };
        let sender = Medium::new(kind, &workspace, "bob", READER);
        let mut drain = worker::start_ready(&Job::Drain(Drain {
            how,
            workspace: workspace.clone(),
            count,
        }))?;
        let mut sender = worker::start_ready(&Job::Sender(sender))?;
        let mut prober = worker::start_ready(&Job::Prober(layout.inbox_lock(&reader)))?;
        let drained: Drained = worker::ask(&mut drain, "go")?;
        let sent: Longest = worker::ask(&mut sender, "stop")?;
        let busy: Longest = worker::ask(&mut prober, "stop")?;
        self.first.push([seconds(drained.first)]);
        self.all.push([seconds(drained.all)]);
        self.memory.push([drained.memory as f64]);
        self.send.push([seconds(sent.longest)]);
        self.busy.push([seconds(busy.longest)]);
        self.refused += sent.refused;
        drop((drain, sender, prober));
        std::fs::remove_dir_all(&workspace)?;
        Ok(())
    }
}

/// Writes unread mail of a few senders and lets the disk settle.
fn write_backlog(path: &Path, count: u64) -> anyhow::Result<()> {
    let to: Recipient = READER.parse()?;
    let senders = ["bob", "carol", "dave", "erin"].map(Sender::new);
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    for (number, from) in (0..count).zip(senders.iter().cycle()) {
        let mut message = message(from, &to, &number.to_string());
        message.id = Some(MessageId::new(&format!("{number:032x}"))?);
        message.timestamp = Some(teamdir::now());
        file.write_all(&message.to_line())?;
    }
    let file = file.into_inner().context("write the backlog")?;
    Ok(nix::unistd::syncfs(&file)?)
}

impl Drain {
    /// The worker that drains.
    pub(super) fn run(&self) -> anyhow::Result<()> {
        worker::say_ready();
        worker::hear()?;
        let mut drained = match self.how {
            How::Ours => self.ours(Kind::Ours),
            How::OursSynced => self.ours(Kind::OursSynced),
            How::Copy => self.copy(false),
            How::CopySynced => self.copy(true),
            How::ReadAll => self.read_all(),
        }?;
        drained.memory = proc::peak_memory()?;
        worker::say(&drained)
    }

    fn ours(&self, kind: Kind) -> anyhow::Result<Drained> {
        let started = clock::nanos();
        let team = TeamDir::open(&self.workspace, options(kind.durability()))?;
        let mut session = MemberSession::open(&team, &READER.parse()?, WatchChoice::Auto)?;
        let mut drained = Drained::default();
        let mut got = 0;
        while got < self.count {
            let delivery = session.next(Some(Instant::now() + Duration::from_secs(30)))?;
            let delivery = delivery.context("the backlog ended too early")?;
            if got == 0 {
                drained.first = clock::nanos() - started;
            }
            let from_backlog = |id: &MessageId| id.as_str().starts_with("0000000000");
            got += delivery
                .mail
                .iter()
                .filter(|mail| from_backlog(&mail.id))
                .count() as u64;
        }
        drained.all = clock::nanos() - started;
        Ok(drained)
    }

    fn copy(&self, synced: bool) -> anyhow::Result<Drained> {
        let started = clock::nanos();
        let mut drained = Drained::default();
        let mut inbox = File::open(self.inbox()?)?;
        let mut journal = File::create(self.workspace.join("journal"))?;
        let mut piece = vec![0; 256 << 10];
        loop {
            let read = inbox.read(&mut piece)?;
            if read == 0 {
                break;
            }
            journal.write_all(piece.get(..read).unwrap_or_default())?;
            if synced {
                journal.sync_data()?;
            }
            if drained.first == 0 {
                drained.first = clock::nanos() - started;
            }
        }
        drained.all = clock::nanos() - started;
        Ok(drained)
    }

    fn read_all(&self) -> anyhow::Result<Drained> {
        let started = clock::nanos();
        let path = self.inbox()?;
        let lock = open_lock(&self.layout().inbox_lock(&READER.parse()?))?;
        lock.lock()?;
        let bytes = std::fs::read(&path)?;
        let lines: Vec<_> = bytes
            .split(|byte| *byte == b'\n')
            .map(decode_line)
            .collect();
        std::fs::write(self.workspace.join("journal"), &bytes)?;
        OpenOptions::new().write(true).open(&path)?.set_len(0)?;
        drop(lock);
        let all = clock::nanos() - started;
        anyhow::ensure!(lines.len() as u64 > self.count, "too few lines");
        Ok(Drained {
            first: all,
            all,
            memory: 0,
        })
    }

    fn layout(&self) -> Layout {
        Layout::new(self.workspace.join(FOLDER))
    }

    fn inbox(&self) -> anyhow::Result<PathBuf> {
        Ok(self.layout().inbox(&READER.parse()?))
    }
}

/// The worker that sends now and then until it is stopped.
pub(super) fn send(medium: &Medium) -> anyhow::Result<()> {
    let mut end = medium.open_to_send()?;
    let stop = until_input();
    worker::say_ready();
    let mut result = Longest::default();
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(EVERY);
        let started = clock::nanos();
        if !end.send("now and then")? {
            result.refused += 1;
        }
        result.longest = result.longest.max(clock::nanos() - started);
        result.count += 1;
    }
    worker::say(&result)
}

/// The worker that measures how long a lock is held.
pub(super) fn probe(path: &Path) -> anyhow::Result<()> {
    let lock = open_lock(path)?;
    let stop = until_input();
    worker::say_ready();
    let mut result = Longest::default();
    let mut busy_since = None;
    while !stop.load(Ordering::Relaxed) {
        match lock.try_lock() {
            Ok(()) => {
                lock.unlock()?;
                if let Some(since) = busy_since.take() {
                    result.longest = result.longest.max(clock::nanos() - since);
                }
            }
            Err(TryLockError::WouldBlock) => {
                busy_since.get_or_insert_with(clock::nanos);
            }
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        result.count += 1;
        std::thread::sleep(NAP);
    }
    worker::say(&result)
}

fn open_lock(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).open(path)
}

/// Becomes true when this process gets any input.
fn until_input() -> Arc<AtomicBool> {
    let input = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&input);
    std::thread::spawn(move || {
        let _ = worker::hear();
        flag.store(true, Ordering::Relaxed);
    });
    input
}
