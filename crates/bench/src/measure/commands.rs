//! What the sandbox adds to a command of a member.

use super::report::{Row, Section, Value};
use super::stats::Blocks;
use super::{Plan, progress};
use anyhow::{Context as _, ensure};
use command::{End, Save, SaveWhen, Spec, Surroundings};
use protocol::NetworkSetting;
use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};
use tools::{CommandAccess, Confinement};

/// What a sandbox may cost.
const MOST: f64 = 0.005;
/// How long one command may take.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) fn measure(plan: &Plan<'_>) -> anyhow::Result<Section> {
    let mut section = Section::new(
        "commands",
        "ours = `true` run by the shell of a member in its sandbox, until its output and its end are \
         there, the description of the sandbox included; bare = the same without a sandbox",
    );
    progress("running commands");
    let folder = plan.folder("commands")?.canonicalize()?;
    let confinement = confinement(&folder);
    let level = confinement.level();
    let (blocks, each) = plan.pick((20, 10), (3, 3));
    let [mut ours, mut bare] = std::array::from_fn(|_| Blocks::default());
    for _ in 0..blocks {
        ours.push(times(each, &folder, || {
            confinement.surroundings(CommandAccess::Full)
        })?);
        bare.push(times(each, &folder, || Surroundings::Inherited)?);
    }
    let more = ours.p50() - bare.p50();
    let row = Row::new(
        format!("a command at level {level}, p50"),
        Value::Seconds(ours.p50()),
    );
    let row = row.bare(Value::Seconds(bare.p50()), ours.ratio(&bare, 0.5));
    let row = row.bar("at most 5 ms more", more <= MOST);
    section.rows.push(row);
    section.note(format!("the sandbox adds {:.1} ms", more * 1e3));
    Ok(section)
}

fn confinement(folder: &Path) -> Confinement {
    Confinement {
        workspace: folder.to_path_buf(),
        home: std::env::home_dir().and_then(|home| home.canonicalize().ok()),
        control: vec![teamdir::FOLDER],
        secrets: Vec::new(),
        locks: |_| Vec::new(),
        records: None,
        programs: Vec::new(),
        readable: Vec::new(),
        network: NetworkSetting::Off,
        has_sandbox: true,
        remedy: String::new(),
        read_only_reason: String::new(),
    }
}

fn times(
    count: usize,
    folder: &Path,
    surroundings: impl Fn() -> Surroundings,
) -> anyhow::Result<Vec<f64>> {
    (0..count)
        .map(|_| one_command(folder, &surroundings))
        .collect()
}

fn one_command(folder: &Path, surroundings: impl Fn() -> Surroundings) -> anyhow::Result<f64> {
    let started = Instant::now();
    let save = Save::new(folder.join("output"), SaveWhen::Large);
    let mut spec = Spec::new("true", folder, "bench", save);
    spec.surroundings = surroundings();
    let (sender, receiver) = mpsc::channel();
    let job = command::start(&spec, move |finished| {
        // The receiver has given up.
        let _ = sender.send(finished.end);
    })?;
    let end = receiver
        .recv_timeout(PATIENCE)
        .context("the command does not end")?;
    let time = started.elapsed().as_secs_f64();
    drop(job);
    ensure!(end == End::Exited(0), "the command ended with {end:?}");
    Ok(time)
}
