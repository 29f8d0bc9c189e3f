//! What the numbers were measured on.

use super::stats::{quantile, seconds};
use super::{Plan, bare, clock};
use anyhow::Context as _;
use std::fs;
use std::path::Path;

/// How often a sync is timed.
const SYNCS: usize = 40;

/// The machine, its file system and how the run was made.
pub(super) fn describe(plan: &Plan<'_>) -> anyhow::Result<Vec<String>> {
    let system = nix::sys::utsname::uname()?;
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let (device, kind) = file_system(plan.dir)?;
    let run = plan.pick("full", "QUICK: too short to trust the numbers");
    let mut lines = vec![
        format!(
            "machine: {cores} cores ({}), {} {}",
            processor(),
            system.sysname().to_string_lossy(),
            // What a builder of kernels adds says nothing about the numbers.
            system
                .release()
                .to_string_lossy()
                .split('-')
                .next()
                .unwrap_or_default(),
        ),
        format!("file system: {kind}; run: {run}"),
        format!("before: {}", state(plan)?),
    ];
    if kind == "ext4" && !has_journal(&device) {
        lines.push(
            "NOTE: an ext4 without a journal: syncs of two files never share a commit, as they \
             do on most machines"
                .into(),
        );
    }
    if kind == "tmpfs" {
        lines.push("WARNING: a tmpfs: syncs cost nothing, so the synced rows say nothing".into());
    }
    if cfg!(debug_assertions) {
        lines.push("WARNING: a debug build: the numbers say nothing".into());
    }
    lines.push(
        "ours/bare: median over pairs of blocks that ran beside each other; ours/alt: the same \
         for mailboxes, else of the two medians"
            .into(),
    );
    Ok(lines)
}

/// What may change while the measurements run.
pub(super) fn state(plan: &Plan<'_>) -> anyhow::Result<String> {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or("unknown").to_owned();
    let path = plan.folder("sync")?.join("file");
    let mut times = Vec::new();
    for _ in 0..SYNCS {
        let started = clock::nanos();
        bare::append(&path, &[b'x'; 300], true)?;
        times.push(seconds(clock::nanos() - started) * 1e6);
    }
    Ok(format!(
        "append + fdatasync {:.0} us (p50), {:.0} us (p90); load average {load}",
        quantile(&times, 0.5),
        quantile(&times, 0.9),
    ))
}

/// The device that `dir` is on, and the kind of its file system, as the kernel calls them.
fn file_system(dir: &Path) -> anyhow::Result<(String, String)> {
    let dir = dir.canonicalize()?;
    let mounts = fs::read_to_string("/proc/self/mounts").context("read the mounts")?;
    let mounts = mounts.lines().filter_map(|line| {
        let mut fields = line.split(' ');
        Some((fields.next()?, fields.next()?, fields.next()?))
    });
    let around = mounts.filter(|(_, place, _)| dir.starts_with(place));
    // Of two at the same place the later one covers the earlier.
    let nearest = around.max_by_key(|(_, place, _)| place.len());
    let (device, _, kind) = nearest.context("find the file system")?;
    Ok((device.to_owned(), kind.to_owned()))
}

/// Whether the kernel keeps a journal for the ext4 on `device`.
fn has_journal(device: &str) -> bool {
    let name = device.rsplit('/').next().unwrap_or(device);
    let Ok(journals) = fs::read_dir("/proc/fs/jbd2") else {
        return false;
    };
    let names = journals.flatten().map(|entry| entry.file_name());
    let names = names.filter_map(|found| found.into_string().ok());
    names
        .into_iter()
        .any(|found| found.split('-').next() == Some(name))
}

fn processor() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find(|line| line.starts_with("model name"));
    let model = model.and_then(|line| line.split_once(": "));
    model.map_or("unknown", |(_, name)| name).to_owned()
}
