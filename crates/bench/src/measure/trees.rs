//! What a tree of its own and the integration of its work cost beside bare git.

use super::report::{Row, Section, Value};
use super::stats::Blocks;
use super::{Plan, progress};
use anyhow::ensure;
use config::Config;
use integration::{Integration, QueueOutcome, Work};
use member::{SandboxSettings, open_trees};
use protocol::{AgentName, Member};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;
use teamdir::{Options, RosterError, TeamDir};

pub(super) fn measure(plan: &Plan<'_>) -> anyhow::Result<Section> {
    progress("trees and submissions");
    let mut section = Section::new(
        "trees",
        "tree: ours = a tree of a member's own, bare = `git worktree add` of the same repository; \
         submission: ours = taken out of the sandbox, merged, the branch moved, file and event synced, \
         bare = `git fetch` from a clone, merge-tree, commit-tree and update-ref",
    );
    let (blocks, each) = plan.pick((8, 3), (2, 2));
    let files = plan.pick(2_000, 100);
    let folder = plan.folder("trees")?;
    let team = repository(&folder, files, blocks * each)?;
    let trees = open_trees(&team, &Config::default(), &SandboxSettings::default())?;
    let [mut tree, mut worktree, mut ours, mut bare] = std::array::from_fn(|_| Blocks::default());
    for block in 0..blocks {
        let numbers = || block * each..(block + 1) * each;
        let times = numbers().map(|n| timed(|| trees.ensure_tree(&name(n)?).map_err(Into::into)));
        tree.push(times.collect::<anyhow::Result<Vec<_>>>()?);
        let times = numbers().map(|n| {
            let at = folder.with_extension(format!("worktree-{n}"));
            let at = at.display().to_string();
            timed(|| git(&folder, &["worktree", "add", "--quiet", "--detach", &at]).map(drop))
        });
        worktree.push(times.collect::<anyhow::Result<Vec<_>>>()?);
        let times = numbers().map(|n| integrate(&trees, &team, n));
        ours.push(times.collect::<anyhow::Result<Vec<_>>>()?);
        let times = numbers().map(|n| integrate_by_hand(&folder, &team, n));
        bare.push(times.collect::<anyhow::Result<Vec<_>>>()?);
    }
    let row = |what: &str, ours: &Blocks, bare: &Blocks, most: f64| {
        let ratio = ours.ratio(bare, 0.5);
        Row::new(what, Value::Seconds(ours.p50()))
            .bare(Value::Seconds(bare.p50()), ratio)
            .bar(format!("at most {most}x bare"), ratio <= most)
    };
    section
        .rows
        .push(row("own tree, p50", &tree, &worktree, 1.5));
    let what = "submission without a check, p50";
    section.rows.push(row(what, &ours, &bare, 3.0));
    section.note(format!(
        "{files} files; {} trees and submissions",
        blocks * each
    ));
    Ok(section)
}

fn timed<T>(work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<f64> {
    let began = Instant::now();
    work()?;
    Ok(began.elapsed().as_secs_f64())
}

pub(super) fn name(number: usize) -> anyhow::Result<AgentName> {
    Ok(AgentName::new(&format!("m{number}"))?)
}

pub(super) fn git(folder: &Path, words: &[&str]) -> anyhow::Result<String> {
    let mut command = Command::new("git");
    command.args(words).current_dir(folder).stdin(Stdio::null());
    let settings = [
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
    ];
    let output = command.envs(settings).output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "git {words:?}: {errors}");
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// A team in a repository with this many files.
pub(super) fn repository(folder: &Path, files: usize, members: usize) -> anyhow::Result<TeamDir> {
    git(folder, &["init", "--quiet", "--initial-branch=main"])?;
    git(folder, &["config", "user.name", "Person"])?;
    git(folder, &["config", "user.email", "person@example.org"])?;
    for number in 0..files {
        let place = folder.join(format!("folder-{}", number % 50));
        std::fs::create_dir_all(&place)?;
        let text = format!("file {number}\n").repeat(40);
        std::fs::write(place.join(format!("{number}.txt")), text)?;
    }
    git(folder, &["add", "--all"])?;
    git(folder, &["commit", "--quiet", "--message", "Begin"])?;
    let team = TeamDir::create(folder, "bench", Options::default())?;
    team.update_roster(|roster| {
        for number in 0..members {
            if let Ok(name) = name(number) {
                roster.members.push(Member::new(name, "tester"));
            }
        }
        Ok::<_, RosterError>(())
    })?;
    Ok(team)
}

/// A commit in a member's tree.
fn commit(tree: &Path, number: usize, round: &str) -> anyhow::Result<()> {
    commit_file(tree, &format!("{round}-{number}.txt"), "work\n")
}

pub(super) fn commit_file(tree: &Path, file: &str, text: &str) -> anyhow::Result<()> {
    std::fs::write(tree.join(file), text)?;
    git(tree, &["add", "--all"])?;
    git(tree, &["commit", "--quiet", "--message", "Work"]).map(drop)
}

fn integrate(trees: &Integration, team: &TeamDir, number: usize) -> anyhow::Result<f64> {
    let member = name(number)?;
    commit(&team.layout().tree(&member), number, "ours")?;
    timed(|| {
        trees.submit(&member, &Work::default())?;
        let ran = trees.run_queue()?;
        ensure!(matches!(ran, QueueOutcome::Done(_)), "{ran:?}");
        Ok(())
    })
}

/// The same commits by the commands that a person would type.
fn integrate_by_hand(folder: &Path, team: &TeamDir, number: usize) -> anyhow::Result<f64> {
    let tree = team.layout().tree(&name(number)?);
    commit(&tree, number, "bare")?;
    let from = tree.display().to_string();
    timed(|| {
        git(
            folder,
            &["fetch", "--quiet", &from, "HEAD:refs/bench/work", "--force"],
        )?;
        let onto = git(folder, &["rev-parse", "refs/heads/team/main"])?;
        let merged = ["merge-tree", "--write-tree", &onto, "refs/bench/work"];
        let tree = git(folder, &merged)?;
        let make = [
            "commit-tree",
            &tree,
            "-p",
            &onto,
            "-p",
            "refs/bench/work",
            "-m",
            "Merge",
        ];
        let merge = git(folder, &make)?;
        git(
            folder,
            &["update-ref", "refs/heads/team/main", &merge, &onto],
        )
        .map(drop)
    })
}
