//! What the sandbox adds to a command of a member.

use super::end::create_team;
use super::report::{Row, Section, Value};
use super::stats::Blocks;
use super::{Plan, progress};
use anyhow::{Context as _, ensure};
use command::{End, Save, SaveWhen, Spec, Surroundings};
use member::{MemberRuntime, SandboxSettings};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};
use tools::{CommandAccess, Confinement};

/// What a sandbox may cost.
const MOST: f64 = 0.005;
/// How long one command may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// The team of the member whose commands are measured: each member has locks, which are hidden.
const MEMBERS: [&str; 4] = ["alice", "bob", "carol", "dave"];

pub(super) fn measure(plan: &Plan<'_>) -> anyhow::Result<Section> {
    let mut section = Section::new(
        "commands",
        "ours = `true` run by the shell of a member of four in its sandbox, until its output and its end are \
         there, the description of the sandbox and the record of the command included; bare = the same \
         without a sandbox",
    );
    let folder = plan.folder("commands")?.canonicalize()?;
    for (what, in_repository) in [("a folder", false), ("a git repository", true)] {
        progress(&format!("running commands in {what}"));
        let folder = folder.join(what);
        std::fs::create_dir(&folder)?;
        if in_repository {
            super::trees::git(&folder, &["init", "--quiet"])?;
        }
        let member = Confined::start(&folder)?;
        let (blocks, each) = plan.pick((20, 10), (3, 3));
        let [mut ours, mut bare] = std::array::from_fn(|_| Blocks::default());
        for _ in 0..blocks {
            let sandbox = || member.confinement.surroundings(CommandAccess::Full);
            ours.push(times(each, &folder, sandbox)?);
            bare.push(times(each, &folder, || Surroundings::Inherited)?);
        }
        let more = ours.p50() - bare.p50();
        let level = member.confinement.level();
        let what = format!("a command in {what} at level {level}, p50");
        let row = Row::new(what.as_str(), Value::Seconds(ours.p50()));
        let row = row.bare(Value::Seconds(bare.p50()), ours.ratio(&bare, 0.5));
        section
            .rows
            .push(row.bar("at most 5 ms more", more <= MOST));
        section.note(format!("{what}: the sandbox adds {:.2} ms", more * 1e3));
    }
    Ok(section)
}

/// A member with the sandbox that its process makes for its commands.
struct Confined {
    confinement: Arc<Confinement>,
    /// The members hold their locks as long as the commands are measured.
    _members: Vec<MemberRuntime>,
}

impl Confined {
    fn start(folder: &Path) -> anyhow::Result<Self> {
        let team = create_team(folder, &MEMBERS)?;
        let runtimes = MEMBERS.into_iter().map(|name| {
            let (runtime, _recovered) = MemberRuntime::open(&team, &name.parse()?)?;
            Ok(runtime)
        });
        let members = runtimes.collect::<anyhow::Result<Vec<_>>>()?;
        let first = members.first().context("a team without members")?;
        let confinement = first.confine(&SandboxSettings::default(), String::new())?;
        Ok(Self {
            confinement,
            _members: members,
        })
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
