//! The time from the spawn command until a teammate is ready.

use super::programs::grant;
use super::report::{Row, Section, Value};
use super::stats::Blocks;
use super::{Plan, progress};
use anyhow::{Context as _, bail};
use nix::sys::signal::Signal;
use processes::{ProcessHandle, Programs, Spawned, member_views, repair, spawn};
use protocol::{AgentName, MemberSpec, Recipient};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use team::Actor;
use teamdir::{Options, TeamDir};

/// How many members are read at once.
const CROWD: usize = 100;
/// How long a killed process may take to go.
const END: Duration = Duration::from_secs(30);

pub(super) fn measure(plan: &Plan<'_>) -> anyhow::Result<Section> {
    let mut section = Section::new(
        "spawn",
        "ours = from the wish until the teammate is ready, roster, lock, journal and syncs included; \
         bare = fork and exec of the same program, which only says its version, its end waited \
         for, and one lock taken",
    );
    let programs = match Programs::find() {
        Ok(programs) => programs,
        Err(error) => {
            section.note(format!("not measured: {error}"));
            return Ok(section);
        }
    };
    progress("spawning teammates");
    let (blocks, each) = plan.pick((10, 5), (3, 2));
    let [mut ours, mut bare, mut synced] = std::array::from_fn(|_| Blocks::default());
    for block in 0..blocks {
        // A team has a limited number of members.
        let folder = plan.folder("spawn")?;
        let team = TeamDir::create(&folder, "bench", Options::default())?;
        let (variable, grant) = grant(&folder)?;
        let programs = Programs {
            variables: vec![(variable, Some(grant))],
            ..programs.clone()
        };
        let names = (0..each).map(|at| format!("m{block}-{at}"));
        let times: Vec<f64> = names
            .map(|name| one_spawn(&team, &programs, &name))
            .collect::<anyhow::Result<_>>()?;
        ours.push(times);
        let execs = |syncs, blocks: &mut Blocks| -> anyhow::Result<()> {
            let times = (0..each).map(|_| one_exec(&programs.teammate, &folder, syncs));
            blocks.push(times.collect::<anyhow::Result<Vec<_>>>()?);
            Ok(())
        };
        execs(Syncs::None, &mut bare)?;
        execs(Syncs::AsOurs, &mut synced)?;
    }
    let row = |what: &str, bare: &Blocks| {
        let (value, ratio) = (Value::Seconds(bare.p50()), ours.ratio(bare, 0.5));
        Row::new(what, Value::Seconds(ours.p50())).bare(value, ratio)
    };
    let ratio = ours.ratio(&bare, 0.5);
    let rows = [
        row("spawn to ready, p50", &bare).bar("at most 5x bare", ratio <= 5.0),
        row("spawn to ready, p50, bare with syncs", &synced),
    ];
    section.rows.extend(rows);
    section.note(
        "bare with syncs: the roster replaced twice, by the one who starts and by the one who is \
         started, and the first record of a journal",
    );
    section.rows.push(status(plan)?);
    Ok(section)
}

fn one_spawn(team: &TeamDir, programs: &Programs, name: &str) -> anyhow::Result<f64> {
    let name = AgentName::new(name)?;
    let mut spec = MemberSpec::new(name.clone(), "tester");
    spec.model = Some("offline".to_owned());
    let started = Instant::now();
    let spawned = spawn(team, &Actor::user(), &spec, programs)?;
    let time = started.elapsed().as_secs_f64();
    let Spawned::Started { .. } = spawned else {
        bail!("{name} was there already");
    };
    let process = ProcessHandle::of(team, &Recipient::Member(name))?;
    let process = process.context("the teammate is gone")?;
    process.signal(Signal::SIGKILL)?;
    process.wait(END);
    Ok(time)
}

/// What a bare start writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Syncs {
    None,
    AsOurs,
}

fn one_exec(program: &Path, folder: &Path, syncs: Syncs) -> anyhow::Result<f64> {
    let started = Instant::now();
    let mut lock = File::create(folder.join("bare"))?;
    lock.lock()?;
    if syncs == Syncs::AsOurs {
        for _ in 0..2 {
            let new = folder.join("bare.new");
            let mut file = File::create(&new)?;
            file.write_all(&[b'x'; 1000])?;
            file.sync_all()?;
            std::fs::rename(&new, folder.join("bare.old"))?;
            File::open(folder)?.sync_all()?;
        }
        lock.write_all(&[b'x'; 100])?;
        lock.sync_data()?;
    }
    let status = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()?;
    let time = started.elapsed().as_secs_f64();
    if !status.success() {
        bail!("{} --version ended with {status}", program.display());
    }
    Ok(time)
}

/// What `status` does for a large team.
fn status(plan: &Plan<'_>) -> anyhow::Result<Row> {
    let folder = plan.folder("crowd")?;
    let team = TeamDir::create(&folder, "bench", Options::default())?;
    let mut guards = Vec::new();
    for at in 0..CROWD {
        let name = AgentName::new(&format!("m{at}"))?;
        team.update_roster(|roster| {
            let mut member = protocol::Member::new(name.clone(), "tester");
            member.status = protocol::MemberStatus::Idle;
            roster.members.push(member);
            Ok::<_, teamdir::RosterError>(())
        })?;
        guards.push(team.join(&Recipient::Member(name))?);
    }
    let mut times = Blocks::default();
    for _ in 0..plan.pick(20, 5) {
        // A command begins with nothing in its memory.
        let team = TeamDir::open(&folder, Options::default())?;
        let started = Instant::now();
        repair(&team);
        let seen = member_views(&team)?.len();
        times.push([started.elapsed().as_secs_f64()]);
        anyhow::ensure!(seen == CROWD, "{seen} members seen");
    }
    let row = Row::new("reading 100 running members", Value::Seconds(times.p50()));
    Ok(row.bar("under 50 ms", times.p50() < 0.05))
}
