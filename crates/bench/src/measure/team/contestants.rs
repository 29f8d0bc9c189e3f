//! Mailboxes beside ours whose reader is killed again and again while others write to it.
//!
//! Each contestant is driven as its users drive it. What its reader has taken it writes to a file at once; ours has
//! it in the member's journal then, and so it is read from there.

pub(in crate::measure) mod agent_mail;
pub(in crate::measure) mod tool;

use crate::measure::end::{End, Kind, Medium};
use crate::measure::kind::{CONTESTANTS, present};
use crate::measure::latency::Pair;
use crate::measure::report::{Row, Section, Value};
use crate::measure::worker::{self, Job};
use crate::measure::{Plan, clock, progress};
use anyhow::Context as _;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use teamdir::Durability;
use test_support::Worker;

/// Where a reader that is killed writes what it has taken.
pub(in crate::measure) const COLLECTED: &str = "collected";
/// The file with the port of a server.
const PORT: &str = "port";
const READER: &str = "alice";
const WRITERS: u32 = 4;
/// How long a reader is left alone before it is killed, at the least.
const ALIVE: Duration = Duration::from_millis(100);
/// How long the last reader may go on with what is left.
const DRAIN: Duration = Duration::from_secs(15);
/// How long the last reader waits for what is missing.
const REST: Duration = Duration::from_secs(3);

/// What was found of a contestant.
struct Found {
    kind: Kind,
    /// One way, in seconds.
    latency: f64,
    /// Messages accepted a second, while the reader lives and while it is killed.
    rate: f64,
    kills: usize,
    sent: u64,
    lost: u64,
    repeated: u64,
    /// Processor seconds in a minute of the idle reader, and of the server if there is one.
    idle: f64,
}

/// The rows of all contestants that are installed.
pub(super) fn rows(plan: &Plan<'_>, section: &mut Section) -> anyhow::Result<()> {
    let mut all = Vec::new();
    for kind in present(&CONTESTANTS) {
        progress(&format!("{} under kills of its reader", kind.name()));
        // A contestant that breaks off is no reason to break off the whole run.
        let found = std::thread::scope(|scope| scope.spawn(|| contest(plan, kind)).join());
        let why = match found {
            Ok(Ok(found)) => {
                all.push(found);
                continue;
            }
            Ok(Err(error)) => format!("{error:#}"),
            Err(_) => "a process of it has ended".to_owned(),
        };
        let is_ours = matches!(kind, Kind::Ours | Kind::OursSynced);
        anyhow::ensure!(!is_ours, "{}: {why}", kind.name());
        section.note(format!("{} is left out: {why}", kind.name()));
    }
    for found in &all {
        section.note(format!(
            "{}: {} of {} messages lost and {} given twice in {} kills of the reader",
            found.kind.name(),
            found.lost,
            found.sent,
            found.repeated,
            found.kills
        ));
    }
    for durability in [Durability::PowerCut, Durability::ProcessDeath] {
        let group = all.iter();
        let group = group.filter(|found| found.kind.durability() == durability);
        let group: Vec<&Found> = group.collect();
        if let [ours, others @ ..] = &group[..] {
            section.rows.extend(beside(durability, ours, others));
        }
    }
    section.note(
        "mailboxes: one reader that is killed with SIGKILL at random times and started again, four writers that each \
         wait for the acceptance of a message before the next; lost = accepted, and in the hands of no reader 3 s \
         after the last; idle = the reader with its server, as it polls here",
    );
    Ok(())
}

/// The rows of one that is ours, with those of others that promise the same.
fn beside(durability: Durability, ours: &Found, others: &[&Found]) -> [Row; 5] {
    let synced = match durability {
        Durability::PowerCut => "synced: ",
        Durability::ProcessDeath => "",
    };
    let row = |what: &str, of: fn(&Found) -> Value| {
        let row = Row::new(format!("{synced}{what}"), of(ours));
        let beside = |row: Row, other: &&Found| row.beside(other.kind.name(), of(other));
        others.iter().fold(row, beside)
    };
    [
        row("mailboxes: messages lost per kill of the reader", |found| {
            Value::Count(found.lost as f64 / found.kills.max(1) as f64)
        })
        .bar("none", ours.lost + ours.repeated == 0),
        row("mailboxes: messages given twice per kill", |found| {
            Value::Count(found.repeated as f64 / found.kills.max(1) as f64)
        }),
        row("mailboxes: one way, p50", |found| {
            Value::Seconds(found.latency)
        }),
        row("mailboxes: messages, 4 writers, under kills", |found| {
            Value::PerSecond(found.rate)
        }),
        row("mailboxes: idle, processor time a minute", |found| {
            Value::Seconds(found.idle)
        }),
    ]
}

fn contest(plan: &Plan<'_>, kind: Kind) -> anyhow::Result<Found> {
    let mut pair = Pair::start(plan, kind, None)?;
    // A slow one has few rounds, of which the first ones do not count.
    let blocks = if kind.rounds(50) < 50 {
        1
    } else {
        plan.pick(5, 1)
    };
    for _ in 0..blocks {
        pair.block(kind.rounds(50), Duration::ZERO)?;
    }
    let latency = pair.one_way.p50();
    drop(pair);
    let dir = plan.folder("contest")?;
    let ground = Medium::prepare(kind, &dir, &[READER])?;
    let reader = Job::Collector(Medium::new(kind, &dir, READER, READER));
    let mut readers = Readers::start(reader)?;
    let idle = readers.idle(ground.server(), Duration::from_secs(plan.pick(2, 1)))?;
    let (rate, sent, kills) = readers.under_kills(plan, kind, &dir)?;
    let got = readers.collected(kind, &dir, sent)?;
    let different = got.len() as u64;
    let all: u64 = got.values().sum();
    drop((readers, ground));
    std::fs::remove_dir_all(&dir)?;
    Ok(Found {
        kind,
        latency,
        rate,
        kills,
        sent,
        lost: sent.saturating_sub(different),
        repeated: all - different,
        idle,
    })
}

/// The reader, which is one process after the other.
struct Readers {
    job: Job,
    now: Worker,
}

impl Readers {
    fn start(job: Job) -> anyhow::Result<Self> {
        let now = worker::start_ready(&job)?;
        Ok(Self { job, now })
    }

    /// What it uses in a minute while nobody writes, with the server.
    fn idle(&self, server: Option<u32>, time: Duration) -> anyhow::Result<f64> {
        let all = || -> std::io::Result<u64> {
            let server = server.map_or(Ok(0), clock::cpu_nanos)?;
            Ok(server + clock::cpu_nanos(self.now.id())?)
        };
        // What a new process does at its start is not idleness.
        std::thread::sleep(time / 3);
        let before = all()?;
        std::thread::sleep(time);
        let used = all()? - before;
        Ok(used as f64 / 1e9 * 60.0 / time.as_secs_f64())
    }

    /// Kills it while others write. Returns how much they wrote in a second and in all, and the kills.
    fn under_kills(
        &mut self,
        plan: &Plan<'_>,
        kind: Kind,
        dir: &Path,
    ) -> anyhow::Result<(f64, u64, usize)> {
        let time = Duration::from_secs(plan.pick(4, 1));
        let mut random = fastrand::Rng::with_seed(1);
        let mut writers = Vec::new();
        for number in 0..WRITERS {
            let medium = Medium::new(kind, dir, &format!("w{number}"), READER);
            writers.push(worker::start_ready(&Job::Writer { medium, number })?);
        }
        let until = clock::nanos() + u64::try_from(time.as_nanos())?;
        for writer in &mut writers {
            worker::tell(writer, &until.to_string())?;
        }
        let mut kills = 0;
        while clock::nanos() < until {
            std::thread::sleep(ALIVE + Duration::from_millis(random.u64(0..300)));
            self.now.kill9();
            kills += 1;
            self.now = worker::start_ready(&self.job)?;
        }
        let mut sent = 0;
        for writer in &mut writers {
            sent += worker::answer::<crate::measure::throughput::Wrote>(writer)?.sent;
        }
        Ok((sent as f64 / time.as_secs_f64(), sent, kills))
    }

    /// How often each message was taken, once nothing more comes, or can be taken still.
    fn collected(
        &mut self,
        kind: Kind,
        dir: &Path,
        sent: u64,
    ) -> anyhow::Result<BTreeMap<String, u64>> {
        let began = Instant::now();
        let mut progress = began;
        let mut before = 0;
        loop {
            let found = taken(kind, dir)?;
            let all: u64 = found.values().sum();
            if all > before {
                (before, progress) = (all, Instant::now());
            }
            if found.len() as u64 >= sent || progress.elapsed() > REST || began.elapsed() > DRAIN {
                break;
            }
            std::thread::sleep(ALIVE);
        }
        self.now.kill9();
        let mut found = taken(kind, dir)?;
        if kind == Kind::ClawTeam {
            // Its reader takes ten at a time out of a folder that has grown large.
            for message in still_in_folder(dir)? {
                *found.entry(message).or_default() += 1;
            }
        }
        Ok(found)
    }
}

/// What a reader has in its hands.
fn taken(kind: Kind, dir: &Path) -> anyhow::Result<BTreeMap<String, u64>> {
    match kind {
        Kind::Ours | Kind::OursSynced => in_journal(dir),
        Kind::Sqlite | Kind::SqliteSynced => in_table(dir),
        Kind::Bare
        | Kind::BareJournal
        | Kind::BareNotify
        | Kind::BareSynced
        | Kind::Socket
        | Kind::Redis
        | Kind::RedisSynced
        | Kind::Tutorial
        | Kind::Nats
        | Kind::NatsSynced
        | Kind::ClawTeam
        | Kind::AgentMail => in_file(dir),
    }
}

/// The table that a transaction moves messages to.
fn in_table(dir: &Path) -> anyhow::Result<BTreeMap<String, u64>> {
    const LIST: &str = "import sqlite3\n\
        for (text,) in sqlite3.connect('mail.db', timeout=60).execute('SELECT content FROM journal'):\n\
        \x20   print(*text.split()[:2])";
    let mut command = Command::new("python3");
    let output = command.args(["-c", LIST]).current_dir(dir).output()?;
    anyhow::ensure!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(counted(&String::from_utf8(output.stdout)?))
}

/// The messages that ClawTeam's reader has not taken yet.
fn still_in_folder(dir: &Path) -> anyhow::Result<Vec<String>> {
    let folder = dir.join("clawteam/teams/bench/inboxes").join(READER);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        let text = std::fs::read_to_string(entry?.path())?;
        found.extend(numbers(&text, "\"content\": \""));
    }
    Ok(found)
}

/// What a reader wrote down.
fn in_file(dir: &Path) -> anyhow::Result<BTreeMap<String, u64>> {
    Ok(counted(
        &std::fs::read_to_string(dir.join(COLLECTED)).unwrap_or_default(),
    ))
}

/// How often each line occurs. One that is not whole was not written down.
fn counted(text: &str) -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    for line in text
        .split_inclusive('\n')
        .filter_map(|line| line.strip_suffix('\n'))
    {
        *found.entry(line.to_owned()).or_default() += 1;
    }
    found
}

/// The messages of a text in which each content, "WRITER NUMBER xxx", follows `before`.
fn numbers<'a>(text: &'a str, before: &'a str) -> impl Iterator<Item = String> + 'a {
    text.split(before).skip(1).filter_map(|piece| {
        let mut words = piece.split(' ');
        Some(format!("{} {}", words.next()?, words.next()?))
    })
}

/// What is in the journal of the reader: the record is the moment at which a message is delivered.
fn in_journal(dir: &Path) -> anyhow::Result<BTreeMap<String, u64>> {
    let team = teamdir::TeamDir::open(dir, crate::measure::end::options(Durability::ProcessDeath))?;
    let path = team.layout().transcript(&READER.parse()?);
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let mut found = BTreeMap::new();
    for message in numbers(&text, "\"content\":\"") {
        *found.entry(message).or_default() += 1;
    }
    Ok(found)
}

/// The worker that takes everything until it is killed.
pub(in crate::measure) fn collect(medium: &Medium) -> anyhow::Result<()> {
    let path = medium.dir.join(COLLECTED);
    let file = std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(path);
    let mut file = file.context("open the file for what was taken")?;
    let mut end: Box<dyn End> = medium.open()?;
    worker::say_ready();
    loop {
        let texts = end.next(Some(Instant::now() + Duration::from_secs(60)))?;
        let lines = texts.iter().map(|text| {
            let mut words = text.split_ascii_whitespace();
            let mut word = || words.next().unwrap_or_default();
            format!("{} {}\n", word(), word())
        });
        file.write_all(lines.collect::<String>().as_bytes())?;
    }
}

/// A port that nobody listens on, written down in `dir`. Another process may take it before it is used, which is
/// unlikely.
pub(in crate::measure) fn free_port(dir: &Path) -> anyhow::Result<u16> {
    let port = std::net::TcpListener::bind("127.0.0.1:0")?
        .local_addr()?
        .port();
    std::fs::write(dir.join(PORT), port.to_string())?;
    Ok(port)
}

pub(in crate::measure) fn known_port(dir: &Path) -> anyhow::Result<u16> {
    let text = std::fs::read_to_string(dir.join(PORT)).context("read the port of a server")?;
    Ok(text.parse()?)
}
