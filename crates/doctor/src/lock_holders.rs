//! Finds the processes that hold a lock.

use crate::environment::processes;
use crate::fix_error::FixError;
use crate::orphan_processes::{end_process, teammate_name, workspace};
use command::marked_processes;
use processes::mark_of;
use protocol::Recipient;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use teamdir::TeamDir;

/// The processes that hold the lock at `path`, as far as they can be inspected. A lock belongs to an
/// open file, which child processes inherit: there may be several.
pub(crate) fn holders(path: &Path) -> Vec<i32> {
    let Ok(lock) = fs::metadata(path) else {
        return Vec::new();
    };
    let lock = (lock.dev(), lock.ino());
    let mut found: Vec<i32> = processes()
        .filter(|process| holds(process, lock))
        .filter_map(|process| process.file_name()?.to_str()?.parse().ok())
        .collect();
    found.sort_unstable();
    found
}

fn holds(process: &Path, lock: (u64, u64)) -> bool {
    let open = fs::read_dir(process.join("fd")).into_iter().flatten();
    open.flatten().any(|entry| {
        let file = fs::metadata(entry.path());
        let is_it = file.is_ok_and(|file| (file.dev(), file.ino()) == lock);
        is_it && has_lock(&process.join("fdinfo").join(entry.file_name()))
    })
}

/// Whether an open file has a lock, according to its `fdinfo`.
fn has_lock(info: &Path) -> bool {
    let text = fs::read_to_string(info).unwrap_or_default();
    text.lines()
        .any(|line| line.starts_with("lock:") && line.contains("FLOCK"))
}

/// Whether a process provably belongs to this member of this team: it has the mark of the member's
/// commands, or is the `teammate` process that was started for it.
pub(crate) fn is_ours(team: &TeamDir, owner: &Recipient, pid: i32) -> bool {
    let mark = format!("{}.", mark_of(team, owner));
    let is_marked = || {
        let mut marked = marked_processes().into_iter();
        marked.any(|found| found.pid == pid && found.mark.starts_with(&mark))
    };
    let process = PathBuf::from(format!("/proc/{pid}"));
    let name = teammate_name(&process, &workspace(team));
    name.is_some_and(|name| name.as_str() == owner.as_str()) || is_marked()
}

/// A process with its command line, for people.
pub(crate) fn describe(pid: i32) -> String {
    let cmdline = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let cmdline = String::from_utf8_lossy(&cmdline);
    let args: Vec<&str> = cmdline.split('\0').filter(|arg| !arg.is_empty()).collect();
    match args.is_empty() {
        true => format!("process {pid}"),
        false => format!("process {pid} (`{}`)", args.join(" ")),
    }
}

/// Ends the processes that hold the lock of a member and belong to it.
pub(crate) fn release_lock(team: &TeamDir, owner: &Recipient) -> Result<String, FixError> {
    let path = team.layout().member_lock(owner);
    let mut ended = Vec::new();
    for pid in holders(&path) {
        let name = describe(pid);
        let still = || holders(&path).contains(&pid) && is_ours(team, owner, pid);
        if end_process(pid, still)? {
            ended.push(name);
        }
    }
    Ok(match ended.is_empty() {
        true => "it is no longer held".to_owned(),
        false => format!("ended {}", ended.join(", ")),
    })
}
