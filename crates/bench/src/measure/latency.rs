//! How long a message takes from one process to another, until it is in the journal there.

use super::end::{Ground, Kind, Medium, number};
use super::kind::{ALTERNATIVES, SYNCED, present};
use super::report::{Row, Section, Value};
use super::stats::Blocks;
use super::worker::{self, Job};
use super::{Plan, clock, progress};
use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use test_support::Worker;

/// Rounds at the start of a block that are not counted.
const WARM_UP: u64 = 5;
/// The pause between two rounds where the machine is to fall asleep in between.
const PAUSE: Duration = Duration::from_millis(10);

/// What the pinging side measured in one block, in nanoseconds.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Rounds {
    one_way: Vec<u64>,
    round_trip: Vec<u64>,
}

/// Which cores the two processes of a pair stay on; `None` leaves that to the kernel.
type Cores = Option<(usize, usize)>;

/// One contestant: two processes, and what they measured.
pub(super) struct Pair {
    kind: Kind,
    ping: Worker,
    _echo: Worker,
    _ground: Ground,
    pub(super) one_way: Blocks,
    round_trip: Blocks,
    paused: Blocks,
}

pub(super) fn measure(plan: &Plan<'_>) -> anyhow::Result<Section> {
    let mut section = Section::new(
        "latency",
        "two processes, 300-byte lines, from before the send to shown (in the journal); \
         bare = append + inotify + read; synced: bare = append, fdatasync, inotify, read, append to a \
         journal, fdatasync",
    );
    let kinds = [Kind::Ours, Kind::Bare, Kind::BareJournal, Kind::BareNotify];
    let pairs = race(
        plan,
        &kinds,
        &ALTERNATIVES,
        None,
        plan.pick((20, 100), (3, 50)),
    )?;
    let [ours, bare, journal, notify, others @ ..] = &pairs[..] else {
        bail!("a pair for each kind");
    };
    let synced = [Kind::OursSynced, Kind::BareSynced];
    let pairs = race(plan, &synced, &SYNCED, None, plan.pick((15, 20), (3, 10)))?;
    let [ours_synced, bare_synced, others_synced @ ..] = &pairs[..] else {
        bail!("a pair for each kind");
    };
    let row = |what, at, which| ours.row(what, (bare, others), at, which);
    section.rows.extend([
        row("one way, p50", 0.5, one_way),
        row("one way, p99", 0.99, one_way),
        ours.row(
            "one way, p50, bare with journal",
            (journal, &[]),
            0.5,
            one_way,
        ),
        ours.row(
            "one way, p50, bare with notify and journal",
            (notify, &[]),
            0.5,
            one_way,
        ),
        row("round trip, p50", 0.5, |pair| &pair.round_trip),
        row("round trip, p99", 0.99, |pair| &pair.round_trip),
        row("one way, 10 ms pauses, p50", 0.5, |pair| &pair.paused),
    ]);
    section.rows.extend(pinned(plan)?);
    let ratio = ours_synced.one_way.ratio(&bare_synced.one_way, 0.5);
    let row = |what, at, which| ours_synced.row(what, (bare_synced, others_synced), at, which);
    section.rows.extend([
        row("synced: one way, p50", 0.5, one_way)
            .bar("at most 1.5x bare with its syncs", ratio <= 1.5),
        row("synced: one way, p99", 0.99, one_way),
        row("synced: round trip, p50", 0.5, |pair| &pair.round_trip),
        row("synced: one way, 10 ms pauses, p50", 0.5, |pair| {
            &pair.paused
        }),
    ]);
    notes(&mut section);
    Ok(section)
}

const fn one_way(pair: &Pair) -> &Blocks {
    &pair.one_way
}

/// The same where the kernel has no choice of cores: waking a sleeping one costs more than all
/// the rest, and whether it happens is a matter of luck. The bar stands here, where ours and the
/// bare loop are placed alike.
fn pinned(plan: &Plan<'_>) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let places = [
        ("one way, both on one core, p50", (0, 0)),
        ("one way, each on its own core, p50", (0, 1)),
    ];
    for (what, place) in places.into_iter().take(cores) {
        let kinds = [Kind::Ours, Kind::Bare, Kind::BareNotify];
        let length = plan.pick((10, 100), (3, 50));
        let pairs = race(plan, &kinds, &[], Some(place), length)?;
        let [ours, bare, notify @ ..] = &pairs[..] else {
            bail!("a pair for each kind");
        };
        let ratio = ours.one_way.ratio(&bare.one_way, 0.5);
        let row = ours.row(what, (bare, notify), 0.5, one_way);
        rows.push(row.bar("at most 5x bare", ratio <= 5.0));
    }
    Ok(rows)
}

fn notes(section: &mut Section) {
    section.note(
        "syncs in a row from send to shown, by the code: 1, of the journal; the sender's own \
         comes after the write that wakes the reader, and runs beside it",
    );
    section.note(
        "where the kernel places the processes itself it often keeps the bare loop on one core and \
         spreads ours over two, which adds the wake-up of a sleeping core: compare the rows with \
         cores, in which both are placed alike",
    );
    section.note(
        "members are woken by the thread of the crate notify, one more wake-up than the bare loop has: \
         the row beside \"append + notify's thread + journal\" shows what the rest costs",
    );
    section.note("the tutorial polls every 5 s by default: p50 2.5 s, by arithmetic");
}

/// Lets contestants take turns, `blocks` times, with so many rounds each. Of the alternatives only
/// those that are installed take part.
fn race(
    plan: &Plan<'_>,
    kinds: &[Kind],
    alternatives: &[Kind],
    cores: Cores,
    (blocks, rounds): (usize, u64),
) -> anyhow::Result<Vec<Pair>> {
    let kinds = [kinds, &present(alternatives)].concat();
    progress(&format!("latency of {kinds:?}"));
    let mut pairs = Vec::new();
    for kind in kinds {
        pairs.push(Pair::start(plan, kind, cores)?);
    }
    for _ in 0..blocks {
        for pair in &mut pairs {
            pair.block(pair.kind.rounds(rounds), Duration::ZERO)?;
        }
    }
    let paused = if cores.is_none() { blocks.min(5) } else { 0 };
    for _ in 0..paused {
        for pair in &mut pairs {
            let (rounds, pause) = (pair.kind.rounds(20), PAUSE.as_micros());
            let answer: Rounds = worker::ask(&mut pair.ping, &format!("{rounds} {pause}"))?;
            pair.paused.push_nanos(&answer.one_way);
        }
    }
    Ok(pairs)
}

impl Pair {
    pub(super) fn start(plan: &Plan<'_>, kind: Kind, cores: Cores) -> anyhow::Result<Self> {
        let dir = plan.folder("latency")?;
        let ground = Medium::prepare(kind, &dir, &["alice", "bob"])?;
        let ping = Medium::new(kind, &dir, "alice", "bob").on_core(cores.map(|both| both.0));
        let echo = Medium::new(kind, &dir, "bob", "alice").on_core(cores.map(|both| both.1));
        Ok(Self {
            kind,
            _echo: worker::start_ready(&Job::Echo(echo))?,
            ping: worker::start_ready(&Job::Ping(ping))?,
            _ground: ground,
            one_way: Blocks::default(),
            round_trip: Blocks::default(),
            paused: Blocks::default(),
        })
    }

    /// One more block of so many rounds.
    pub(super) fn block(&mut self, rounds: u64, pause: Duration) -> anyhow::Result<()> {
        let input = format!("{rounds} {}", pause.as_micros());
        let answer: Rounds = worker::ask(&mut self.ping, &input)?;
        self.one_way.push_nanos(&answer.one_way);
        self.round_trip.push_nanos(&answer.round_trip);
        Ok(())
    }

    /// This beside the bare limit and the alternatives.
    fn row(
        &self,
        what: &str,
        (bare, others): (&Self, &[Self]),
        at: f64,
        which: fn(&Self) -> &Blocks,
    ) -> Row {
        let own = which(self);
        let value = |pair| Value::Seconds(which(pair).quantile(at));
        let row = Row::new(what, value(self)).bare(value(bare), own.ratio(which(bare), at));
        let others = others.iter().filter(|other| !which(other).is_empty());
        others.fold(row, |row, other| {
            row.alternative(other.kind.name(), value(other), own.ratio(which(other), at))
        })
    }
}

/// The worker that starts each round.
pub(super) fn ping(medium: &Medium) -> anyhow::Result<()> {
    let mut end = medium.open()?;
    worker::say_ready();
    while let Some(input) = worker::hear()? {
        let (count, pause) = (number(&input, 0)?, number(&input, 1)?);
        let mut rounds = Rounds::default();
        for round in 0..count + WARM_UP {
            std::thread::sleep(Duration::from_micros(pause));
            let started = clock::nanos();
            end.send(&started.to_string())?;
            let answer = end.next(None)?;
            let now = clock::nanos();
            let answer = answer.first().context("an answer")?;
            if round >= WARM_UP {
                rounds.one_way.push(number(answer, 1)?);
                rounds.one_way.push(now - number(answer, 0)?);
                rounds.round_trip.push(now - started);
            }
        }
        worker::say(&rounds)?;
    }
    Ok(())
}

/// The worker that answers with the time it sends at and the time the question took.
pub(super) fn echo(medium: &Medium) -> anyhow::Result<()> {
    let mut end = medium.open()?;
    worker::say_ready();
    loop {
        let texts = end.next(None)?;
        let now = clock::nanos();
        for text in texts {
            let took = now - number(&text, 0)?;
            end.send(&format!("{} {took}", clock::nanos()))?;
        }
    }
}
