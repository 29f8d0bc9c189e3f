//! The tools `grep` and `glob` beside ripgrep, on a tree of 100,000 files.

use super::report::{Row, Section, Value};
use super::stats::Blocks;
use super::{Plan, progress};
use serde_json::{Value as Json, json};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;
use tools::{Glob, Grep, OutputFolder, Registry, ToolContext, Workspace};

/// How many files a folder has.
const FOLDER: usize = 100;
/// One file in so many has the word that is searched.
const RARE: usize = 5_000;
/// A longer time than this beside ripgrep misses the bar.
const MOST: f64 = 1.5;

pub(super) fn measure(plan: &Plan<'_>) -> anyhow::Result<Section> {
    let files = plan.pick(100_000, 3_000);
    progress(&format!("searches in {files} files"));
    let root = tree(plan, files)?;
    let about = format!(
        "one call of a tool on {files} files of 1 to 3 kB; bare = ripgrep, as a process of its own"
    );
    let mut section = Section::new("search", &about);
    if Command::new("rg").arg("--version").output().is_err() {
        section.note("left out: rg is not installed (package ripgrep)");
        return Ok(section);
    }
    let tools = Tools::new(&root)?;
    let word = json!({"pattern": "rare_[a-z]+_word"});
    let name = json!({"pattern": "*7.txt"});
    let rows: [(&str, &str, Json, &[&str]); 2] = [
        ("grep, p50", "grep", word, &["-n", "rare_[a-z]+_word"]),
        (
            "glob, p50",
            "glob",
            name,
            &["--files", "--sortr", "modified", "-g", "*7.txt"],
        ),
    ];
    for (what, tool, arguments, rg) in rows {
        let (mut ours, mut bare) = (Blocks::default(), Blocks::default());
        for round in 0..=plan.pick(11, 2) {
            let own = timed(|| tools.call(tool, &arguments))?;
            let other = timed(|| ripgrep(&root, rg))?;
            // The first round reads the files from the disk.
            if round > 0 {
                ours.push(vec![own]);
                bare.push(vec![other]);
            }
        }
        let ratio = ours.ratio(&bare, 0.5);
        section.rows.push(
            Row::new(what, Value::Seconds(ours.p50()))
                .bare(Value::Seconds(bare.p50()), ratio)
                .bar("at most 1.5x ripgrep", ratio <= MOST),
        );
    }
    Ok(section)
}

/// A project of that many files in folders of a hundred, with a word in some of them.
fn tree(plan: &Plan<'_>, files: usize) -> anyhow::Result<PathBuf> {
    let root = plan.folder("search")?;
    for number in 0..files {
        let folder = root.join(format!("part{}/{}", number / FOLDER / 50, number / FOLDER));
        if number % FOLDER == 0 {
            std::fs::create_dir_all(&folder)?;
        }
        let mut text = String::new();
        for line in 0..20 + number % 40 {
            let _ = writeln!(text, "line {line} of file {number}, with some words in it");
        }
        if number % RARE == 1 {
            text.push_str("a rare_little_word\n");
        }
        std::fs::write(folder.join(format!("{number}.txt")), text)?;
    }
    Ok(root)
}

/// The tools of a member.
struct Tools {
    registry: Registry,
    context: ToolContext,
    runtime: tokio::runtime::Runtime,
}

impl Tools {
    fn new(root: &Path) -> anyhow::Result<Self> {
        let mut registry = Registry::new();
        registry.add(Grep)?;
        registry.add(Glob)?;
        let workspace = Workspace::open(root, [])?;
        let output = OutputFolder::new(root.join("outputs"));
        let runtime = tokio::runtime::Builder::new_current_thread().build()?;
        Ok(Self {
            registry,
            context: ToolContext::new(workspace, output, "bench"),
            runtime,
        })
    }

    fn call(&self, tool: &str, arguments: &Json) -> anyhow::Result<()> {
        let arguments = arguments.to_string();
        let call = self.registry.call(tool, &arguments, &self.context);
        let output = self.runtime.block_on(call);
        anyhow::ensure!(
            !output.is_error && output.text.contains(".txt"),
            "{}",
            output.text
        );
        Ok(())
    }
}

fn ripgrep(root: &Path, arguments: &[&str]) -> anyhow::Result<()> {
    let mut command = Command::new("rg");
    command.args(arguments).arg(".").current_dir(root);
    let status = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()?;
    anyhow::ensure!(status.success(), "rg: {status}");
    Ok(())
}

fn timed(work: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<f64> {
    let began = Instant::now();
    work()?;
    Ok(began.elapsed().as_secs_f64())
}
