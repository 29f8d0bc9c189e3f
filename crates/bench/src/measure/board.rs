//! What a change of the roster costs, and what the board costs the more tasks are on it.

mod growth;

use super::end::{self, options};
use super::report::{Row, Section, Value};
use super::stats::Blocks;
use super::{Plan, clock, progress};
use anyhow::Context as _;
use protocol::MemberStatus;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use teamdir::{Durability, RosterError, TeamDir};

const MEMBERS: usize = 20;
/// How many changes make up a block.
const BLOCK: u64 = 10;

pub(super) fn measure(plan: &Plan<'_>) -> anyhow::Result<Section> {
    progress("roster and board");
    let mut section = Section::new(
        "board",
        "a roster of 20: bare = temporary file + rename, alternative = writing over the file, as \
         the tutorial does; boards of 10 to 10,000 tasks: bare = the same with 10 tasks, \
         alternative = reading every file, as the tutorial does",
    );
    let dir = plan.folder("board")?;
    let names: Vec<String> = (0..MEMBERS).map(|number| format!("m{number:02}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    end::create_team(&dir, &names)?;
    for durability in [Durability::ProcessDeath, Durability::PowerCut] {
        let synced = durability == Durability::PowerCut;
        let prefix = if synced { "synced: " } else { "" };
        let team = TeamDir::open(&dir, options(durability))?;
        let roster = team.layout().roster();
        let race = race(&roster, synced, plan.pick(15, 3), |round| {
            update(&team, round)
        })?;
        let what = format!("{prefix}roster update");
        section.rows.push(race.row(&what, synced));
    }
    growth::measure(plan, &mut section)?;
    section.note("bare synced = fsync of the temporary file, rename, fsync of the folder");
    Ok(section)
}

/// Ours, the bare limit and the alternative, in turns.
#[derive(Default)]
struct Race {
    ours: Blocks,
    bare: Blocks,
    alternative: Blocks,
}

impl Race {
    fn row(&self, what: &str, synced: bool) -> Row {
        let ratio = self.ours.ratio(&self.bare, 0.5);
        let row = Row::new(what, Value::Seconds(self.ours.p50()));
        let row = row.bare(Value::Seconds(self.bare.p50()), ratio);
        if synced {
            return row;
        }
        row.beside(
            "writing over the file",
            Value::Seconds(self.alternative.p50()),
        )
    }
}

fn race(
    path: &Path,
    synced: bool,
    blocks: u64,
    mut ours: impl FnMut(u64) -> anyhow::Result<()>,
) -> anyhow::Result<Race> {
    let bytes = std::fs::read(path)?;
    let copy = path.with_file_name("bare-copy");
    let mut race = Race::default();
    for block in 0..blocks {
        let rounds = block * BLOCK..(block + 1) * BLOCK;
        race.ours.push_nanos(&timed(rounds.clone(), &mut ours)?);
        let bare = |_| replace(&copy, &bytes, synced);
        race.bare.push_nanos(&timed(rounds.clone(), bare)?);
        let over = |_| Ok(std::fs::write(&copy, &bytes)?);
        race.alternative.push_nanos(&timed(rounds, over)?);
    }
    std::fs::remove_file(&copy)?;
    Ok(race)
}

fn timed(
    rounds: std::ops::Range<u64>,
    mut change: impl FnMut(u64) -> anyhow::Result<()>,
) -> anyhow::Result<Vec<u64>> {
    let mut times = Vec::new();
    for round in rounds {
        let started = clock::nanos();
        change(round)?;
        times.push(clock::nanos() - started);
    }
    Ok(times)
}

fn update(team: &TeamDir, round: u64) -> anyhow::Result<()> {
    Ok(team.update_roster(|roster| {
        let at = usize::try_from(round).unwrap_or(0) % MEMBERS;
        if let Some(member) = roster.members.get_mut(at) {
            let idle = member.status == MemberStatus::Idle;
            member.status = if idle {
                MemberStatus::Working
            } else {
                MemberStatus::Idle
            };
        }
        Ok::<(), RosterError>(())
    })?)
}

fn replace(path: &Path, bytes: &[u8], synced: bool) -> anyhow::Result<()> {
    let parent = path.parent().context("a folder")?;
    let temporary = parent.join(".bare-temporary");
    let mut file = File::create(&temporary)?;
    file.write_all(bytes)?;
    if synced {
        file.sync_all()?;
    }
    std::fs::rename(&temporary, path)?;
    if synced {
        File::open(parent)?.sync_all()?;
    }
    Ok(())
}
