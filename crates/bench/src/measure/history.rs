//! Whether the cost of a message grows with the mail before it.

use super::end::{Kind, message, number, options};
use super::report::{Row, Section, Value};
use super::stats::Blocks;
use super::worker::{self, Job};
use super::{Plan, clock, end, progress};
use anyhow::Context as _;
use protocol::{Recipient, Sender};
use std::path::Path;
use std::time::{Duration, Instant};
use teamdir::{Durability, MemberSession, Options, TeamDir, WatchChoice};
use test_support::Worker;

const MEMBER: &str = "alice";
/// How many messages make up the past, in the order of the rows.
const PASTS: [u64; 3] = [10, 1_000, 100_000];
const QUICK_PASTS: [u64; 3] = [10, 1_000, 20_000];
/// How many messages of the past are drained at a time.
const BURST: u64 = 50;
/// How many files a member has set aside that got a message every 0.3 s for the last minute.
const ASIDE: u64 = 200;

/// A member with a past, and what it measured.
struct Past {
    worker: Worker,
    /// A description.
    text: String,
    next: Blocks,
    synced: Blocks,
    restart: Blocks,
    replay: Blocks,
}

pub(super) fn measure(plan: &Plan<'_>) -> anyhow::Result<Section> {
    let mut section = Section::new(
        "history",
        "one process sends itself a message and takes it; bare = the same after 10 messages; \
         alternative = reading the whole journal",
    );
    let pasts = take_turns(plan)?;
    let [first, second, long, aside] = &pasts;
    let row = |past: &Past| past.row("next message", first, |past| &past.next);
    let within = long.next.ratio(&first.next, 0.5) <= 1.2;
    section.rows.extend([
        row(first),
        row(second),
        row(long).bar("within 1.2x of that after 10", within),
        row(aside),
    ]);
    for past in &pasts {
        let row = past.row("synced: next message", first, |past| &past.synced);
        section.rows.push(row);
    }
    for past in &pasts {
        let row = past.row("restart", first, |past| &past.restart);
        section.rows.push(row.beside(
            "reading the journal from its start",
            Value::Seconds(past.replay.p50()),
        ));
    }
    section.note("next message = send, take, and repeat until nothing is left to do");
    section.note("restart = the member's lock, roster, journal, mailbox and a first look for mail");
    Ok(section)
}

fn take_turns(plan: &Plan<'_>) -> anyhow::Result<[Past; 4]> {
    let [short, middle, long] = plan.pick(PASTS, QUICK_PASTS);
    let mut pasts = [
        Past::start(plan, short, 0)?,
        Past::start(plan, middle, 0)?,
        Past::start(plan, long, 0)?,
        Past::start(plan, short, ASIDE)?,
    ];
    for _ in 0..plan.pick(40, 4) {
        for past in &mut pasts {
            let next: Vec<u64> = worker::ask(&mut past.worker, "next 25")?;
            past.next.push_nanos(&next);
        }
    }
    for _ in 0..plan.pick(10, 3) {
        for past in &mut pasts {
            let synced: Vec<u64> = worker::ask(&mut past.worker, "synced 20")?;
            past.synced.push_nanos(&synced);
            let restart: Vec<u64> = worker::ask(&mut past.worker, "restart 5")?;
            past.restart.push_nanos(&restart);
        }
    }
    for past in &mut pasts {
        let replay: Vec<u64> = worker::ask(&mut past.worker, "replay 3")?;
        past.replay.push_nanos(&replay);
    }
    Ok(pasts)
}

impl Past {
    fn start(plan: &Plan<'_>, past: u64, aside: u64) -> anyhow::Result<Self> {
        let text = match aside {
            0 => format!("after {past}"),
            _ => format!("with {aside} files set aside"),
        };
        progress(&format!("a member {text}"));
        let workspace = plan.folder("history")?;
        end::create_team(&workspace, &[MEMBER])?;
        let job = Job::History {
            workspace,
            past,
            aside,
        };
        Ok(Self {
            worker: worker::start_ready(&job)?,
            text,
            next: Blocks::default(),
            synced: Blocks::default(),
            restart: Blocks::default(),
            replay: Blocks::default(),
        })
    }

    fn row(&self, what: &str, first: &Self, which: fn(&Self) -> &Blocks) -> Row {
        let (own, first) = (which(self), which(first));
        let what = format!("{what} {}", self.text);
        let value = Value::Seconds(first.p50());
        Row::new(what, Value::Seconds(own.p50())).bare(value, own.ratio(first, 0.5))
    }
}

/// The worker: builds its history, then does what its input says.
pub(super) fn live(workspace: &Path, past: u64, aside: u64) -> anyhow::Result<()> {
    let unsynced = TeamDir::open(workspace, options(Kind::Ours.durability()))?;
    let synced = TeamDir::open(workspace, options(Durability::PowerCut))?;
    live_through(&unsynced, past)?;
    set_aside(workspace, aside)?;
    worker::say_ready();
    while let Some(input) = worker::hear()? {
        let count = number(&input, 1)?;
        let what = input.split(' ').next().unwrap_or_default();
        let times = match what {
            "next" => next(&unsynced, count),
            "synced" => next(&synced, count),
            "restart" => (0..count).map(|_| restart(&unsynced)).collect(),
            "replay" => (0..count).map(|_| replay(&unsynced)).collect(),
            _ => anyhow::bail!("unknown input {input:?} means"),
        };
        worker::say(&times?)?;
    }
    Ok(())
}

fn live_through(team: &TeamDir, past: u64) -> anyhow::Result<()> {
    let mut session = open(team)?;
    let mut left = past;
    while left > 0 {
        let burst = left.min(BURST);
        for _ in 0..burst {
            send(team)?;
        }
        take(&mut session, burst)?;
        left -= burst;
    }
    Ok(())
}

/// Takes messages one by one with rests in between, each long enough to set the file aside.
fn set_aside(workspace: &Path, count: u64) -> anyhow::Result<()> {
    let impatient = Options {
        seal_after: Duration::ZERO,
        ..options(Kind::Ours.durability())
    };
    let team = TeamDir::open(workspace, impatient)?;
    let mut session = open(&team)?;
    for _ in 0..count {
        send(&team)?;
        take(&mut session, 1)?;
        settle(&mut session)?;
    }
    Ok(())
}

fn next(team: &TeamDir, count: u64) -> anyhow::Result<Vec<u64>> {
    const WARM_UP: u64 = 3;
    let mut session = open(team)?;
    let mut times = Vec::new();
    for round in 0..count + WARM_UP {
        let started = clock::nanos();
        send(team)?;
        take(&mut session, 1)?;
        settle(&mut session)?;
        if round >= WARM_UP {
            times.push(clock::nanos() - started);
        }
    }
    Ok(times)
}

fn restart(team: &TeamDir) -> anyhow::Result<u64> {
    let started = clock::nanos();
    let mut session = open(team)?;
    let found = session.try_next()?;
    let took = clock::nanos() - started;
    anyhow::ensure!(found.is_none(), "mail that nobody sent");
    Ok(took)
}

fn replay(team: &TeamDir) -> anyhow::Result<u64> {
    let started = clock::nanos();
    team.read_journal(&owner()?, |_, _| {})?;
    Ok(clock::nanos() - started)
}

fn open(team: &TeamDir) -> anyhow::Result<MemberSession> {
    Ok(MemberSession::open(team, &owner()?, WatchChoice::Auto)?)
}

fn send(team: &TeamDir) -> anyhow::Result<()> {
    team.send(message(&Sender::new("bob"), &owner()?, "hello"))?;
    Ok(())
}

/// Takes mail until there were `count` messages.
fn take(session: &mut MemberSession, count: u64) -> anyhow::Result<()> {
    let mut got = 0;
    while got < count {
        let delivery = session.next(None)?.context("mail without a deadline")?;
        got += delivery.mail.len() as u64;
    }
    Ok(())
}

/// Repeats until nothing is left to do, as before a wait.
fn settle(session: &mut MemberSession) -> anyhow::Result<()> {
    let found = session.next(Some(Instant::now()))?;
    anyhow::ensure!(found.is_none(), "mail that nobody sent");
    Ok(())
}

fn owner() -> anyhow::Result<Recipient> {
    Ok(MEMBER.parse()?)
}
