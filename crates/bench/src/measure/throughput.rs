//! How many messages several writers get into one inbox while its owner drains it.

use super::end::{Kind, Medium, number};
use super::kind::{ALTERNATIVES, SYNCED, present};
use super::report::{Row, Section, Value};
use super::stats::Blocks;
use super::worker::{self, Job};
use super::{Plan, clock, progress};
use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant};

const READER: &str = "alice";
/// How long the reader waits for what is still missing.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a writer rests when the inbox is full.
const SETTLE: Duration = Duration::from_millis(1);

/// What a writer did.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Wrote {
    pub(super) sent: u64,
    refused: u64,
}

/// What the reader got.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Took {
    different: u64,
    repeated: u64,
    last: u64,
}

/// The runs of one contestant with one number of writers.
struct Runs {
    kind: Kind,
    sent: Blocks,
    delivered: Blocks,
    total: u64,
    lost: u64,
    repeated: u64,
    refused: u64,
}

pub(super) fn measure(plan: &Plan<'_>) -> anyhow::Result<Section> {
    let mut section = Section::new(
        "throughput",
        "messages accepted per second, each before the writer's next, one reader draining; \
         bare = open + append + close; synced: the same with fdatasync",
    );
    let mut faults = (0, 0);
    // The first is no alternative: it shows what the reader's notifications cost the writers.
    let unsynced = [&[Kind::BareNotify][..], &ALTERNATIVES].concat();
    for writers in [1, 8, 32] {
        progress(&format!("throughput with {writers} writers"));
        let runs = turns(plan, writers)?;
        let of = |kind| runs.iter().find(move |runs| runs.kind == kind);
        for (prefix, ours, bare, others) in [
            ("", Kind::Ours, Kind::Bare, &unsynced[..]),
            ("synced: ", Kind::OursSynced, Kind::BareSynced, &SYNCED[..]),
        ] {
            let ours = of(ours).context("our runs")?;
            let bare = of(bare).context("the bare runs")?;
            let what = format!("{prefix}{}{}", writing(writers), delivered(ours));
            let row = ours.row(&what, bare);
            let others = others.iter().filter_map(|kind| of(*kind));
            section.rows.push(others.fold(row, |row, other| {
                let value = Value::PerSecond(other.sent.p50());
                let ratio = ours.sent.ratio(&other.sent, 0.5);
                row.alternative(other.kind.name(), value, ratio)
            }));
            faults.0 += ours.lost + ours.repeated;
            faults.1 += ours.total;
        }
        let notes = runs.iter().flat_map(|runs| runs.notes(writers));
        section.notes.extend(notes);
    }
    let row = Row::new(
        format!("ours lost or doubled, of {}", faults.1),
        Value::Count(faults.0 as f64),
    );
    section.rows.push(row.bar("none", faults.0 == 0));
    section.note("in brackets: how much of the accepted rate the reader kept up with");
    section.note(
        "synced: our reader records its mail as a teammate does, synced together with the next record that it acts on; \
         a reader of Redis has each of its reads synced with what it acknowledges",
    );
    Ok(section)
}

/// Lets all contestants take turns.
fn turns(plan: &Plan<'_>, writers: u32) -> anyhow::Result<Vec<Runs>> {
    let own = [
        Kind::Ours,
        Kind::Bare,
        Kind::BareNotify,
        Kind::OursSynced,
        Kind::BareSynced,
    ];
    let kinds = [&own[..], &present(&ALTERNATIVES), &present(&SYNCED)].concat();
    let mut all: Vec<Runs> = kinds.into_iter().map(Runs::new).collect();
    let time = Duration::from_millis(plan.pick(1000, 200));
    for _ in 0..plan.pick(4, 1) {
        for runs in &mut all {
            runs.add(plan, writers, time)
                .with_context(|| format!("{} with {writers} writers", runs.kind.name()))?;
        }
    }
    Ok(all)
}

fn writing(writers: u32) -> String {
    format!("{writers} writer{}", if writers == 1 { "" } else { "s" })
}

/// How much of the accepted rate was delivered at the same time.
fn delivered(runs: &Runs) -> String {
    format!(" ({:.0} %)", 100.0 * runs.delivered.ratio(&runs.sent, 0.5))
}

impl Runs {
    fn new(kind: Kind) -> Self {
        Self {
            kind,
            sent: Blocks::default(),
            delivered: Blocks::default(),
            total: 0,
            lost: 0,
            repeated: 0,
            refused: 0,
        }
    }

    fn row(&self, what: &str, bare: &Self) -> Row {
        let value = Value::PerSecond(bare.sent.p50());
        let ratio = self.sent.ratio(&bare.sent, 0.5);
        Row::new(what, Value::PerSecond(self.sent.p50())).bare(value, ratio)
    }

    /// What went wrong.
    fn notes(&self, writers: u32) -> Vec<String> {
        let (name, writers) = (self.kind.name(), writing(writers));
        let mut notes = Vec::new();
        if self.lost + self.repeated > 0 {
            notes.push(format!(
                "{writers}: {name} lost {} of {} messages ({:.1} %), and gave {} twice",
                self.lost,
                self.total,
                100.0 * self.lost as f64 / self.total.max(1) as f64,
                self.repeated,
            ));
        }
        if self.refused > 0 {
            notes.push(format!(
                "{writers}: {name} refused {} sends because the inbox was full",
                self.refused
            ));
        }
        notes
    }

    fn add(&mut self, plan: &Plan<'_>, writers: u32, time: Duration) -> anyhow::Result<()> {
        let kind = self.kind;
        let dir = plan.folder("throughput")?;
        let ground = Medium::prepare(kind, &dir, &[READER])?;
        let reader = Medium::new(kind, &dir, READER, READER);
        let mut reader = worker::start_ready(&Job::Reader(reader))?;
        let mut workers = Vec::new();
        for number in 0..writers {
            let medium = Medium::new(kind, &dir, &format!("w{number}"), READER);
            workers.push(worker::start(&Job::Writer { medium, number })?);
        }
        for writer in &mut workers {
            worker::expect_ready(writer)?;
        }
        let started = clock::nanos();
        let until = started + u64::try_from(time.as_nanos())?;
        for writer in &mut workers {
            worker::tell(writer, &until.to_string())?;
        }
        let mut sent = 0;
        for writer in &mut workers {
            let wrote: Wrote = worker::answer(writer)?;
            sent += wrote.sent;
            self.refused += wrote.refused;
        }
        let took: Took = worker::ask(&mut reader, &sent.to_string())?;
        let span = took.last.saturating_sub(started).max(until - started);
        self.sent.push([sent as f64 / time.as_secs_f64()]);
        self.delivered
            .push([took.different as f64 * 1e9 / span as f64]);
        self.total += sent;
        self.lost += sent.saturating_sub(took.different);
        self.repeated += took.repeated;
        drop((reader, workers, ground));
        std::fs::remove_dir_all(&dir)?;
        Ok(())
    }
}

/// The worker that sends until a given time.
pub(super) fn write(medium: &Medium, writer: u32) -> anyhow::Result<()> {
    let mut end = medium.open_to_send()?;
    worker::say_ready();
    let until = number(&worker::hear()?.unwrap_or_default(), 0)?;
    let mut wrote = Wrote {
        sent: 0,
        refused: 0,
    };
    while clock::nanos() < until {
        if end.send(&format!("{writer} {}", wrote.sent))? {
            wrote.sent += 1;
        } else {
            wrote.refused += 1;
            std::thread::sleep(SETTLE);
        }
    }
    worker::say(&wrote)
}

/// The worker that takes everything.
pub(super) fn read(medium: &Medium) -> anyhow::Result<()> {
    let mut end = medium.open_to_drain()?;
    let input = listen();
    worker::say_ready();
    let mut seen = HashSet::new();
    let mut took = Took {
        different: 0,
        repeated: 0,
        last: 0,
    };
    let mut total = None;
    let mut progress = Instant::now();
    loop {
        for text in end.next(Some(Instant::now() + Duration::from_millis(20)))? {
            if !seen.insert((number(&text, 0)?, number(&text, 1)?)) {
                took.repeated += 1;
            }
            took.last = clock::nanos();
            progress = Instant::now();
        }
        took.different = seen.len() as u64;
        total = match input.try_recv() {
            Ok(sent) => Some(sent),
            Err(TryRecvError::Empty) => total,
            Err(TryRecvError::Disconnected) if total.is_none() => return Ok(()),
            Err(TryRecvError::Disconnected) => total,
        };
        let enough = total.is_some_and(|total| took.different >= total);
        if enough || (total.is_some() && progress.elapsed() > PATIENCE) {
            return worker::say(&took);
        }
    }
}

/// The number that this process gets while it works.
fn listen() -> Receiver<u64> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        if let Ok(Some(line)) = worker::hear()
            && let Ok(number) = line.parse()
        {
            let _ = sender.send(number);
        }
    });
    receiver
}
