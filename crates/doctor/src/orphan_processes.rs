//! Finds and ends processes that belong to a team but to no member.

use crate::environment::processes;
use crate::fix_error::FixError;
use command::{Pidfd, kill_marked, marked_processes};
use nix::errno::Errno;
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use protocol::{AgentName, Recipient};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use teamdir::{JoinError, Liveness, LockError, TeamDir};

/// How long a process may take to end after a signal.
const GRACE: Duration = Duration::from_secs(5);

/// A process without a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OrphanProcess {
    /// A shell command of a member that is no longer running.
    Command {
        pid: i32,
        mark: String,
        /// `None` if the mark has no valid name.
        owner: Option<Recipient>,
    },
    /// A teammate that is not in the roster.
    Teammate { pid: i32, name: AgentName },
}

pub(crate) fn orphan_processes(team: &TeamDir) -> Vec<OrphanProcess> {
    let mut found = orphan_commands(team);
    found.extend(orphan_teammates(team));
    found
}

/// The canonical path of the workspace.
pub(crate) fn workspace(team: &TeamDir) -> PathBuf {
    let workspace = team.workspace();
    let canonical = workspace.canonicalize();
    canonical.unwrap_or_else(|_| workspace.to_path_buf())
}

fn orphan_commands(team: &TeamDir) -> Vec<OrphanProcess> {
    let prefix = format!("{}:", workspace(team).display());
    let mut found = Vec::new();
    for process in marked_processes() {
        let Some(rest) = process.mark.strip_prefix(&prefix) else {
            continue;
        };
        let owner = rest
            .rsplit_once('.')
            .and_then(|(name, _)| name.parse().ok());
        if owner.as_ref().is_none_or(|owner| is_gone(team, owner)) {
            let command::MarkedProcess { pid, mark } = process;
            found.push(OrphanProcess::Command { pid, mark, owner });
        }
    }
    found
}

fn is_gone(team: &TeamDir, owner: &Recipient) -> bool {
    matches!(team.liveness(owner), Ok(Liveness::Gone(_)))
}

fn orphan_teammates(team: &TeamDir) -> Vec<OrphanProcess> {
    let Ok(roster) = team.roster() else {
        return Vec::new();
    };
    let workspace = workspace(team);
    let all = processes().filter_map(|folder| {
        let pid = folder.file_name()?.to_str()?.parse().ok()?;
        let name = teammate_name(&folder, &workspace)?;
        Some(OrphanProcess::Teammate { pid, name })
    });
    all.filter(|orphan| match orphan {
        OrphanProcess::Teammate { name, .. } => roster.member(name).is_none(),
        OrphanProcess::Command { .. } => false,
    })
    .collect()
}

/// The member name of a process, if it is a `teammate` process of this team.
pub(crate) fn teammate_name(process: &Path, workspace: &Path) -> Option<AgentName> {
    let cmdline = fs::read(process.join("cmdline")).ok()?;
    let args: Vec<&[u8]> = cmdline.split(|byte| *byte == 0).collect();
    let program = Path::new(OsStr::from_bytes(args.first()?));
    if program.file_name() != Some(OsStr::new("teammate")) {
        return None;
    }
    // A process with a role is about to join the team.
    if value_of(&args, "--role").is_some() {
        return None;
    }
    let name = std::str::from_utf8(value_of(&args, "--name")?).ok()?;
    let dir = value_of(&args, "--dir").unwrap_or(b".");
    // A relative path is relative to the working directory of the process.
    let dir = process.join("cwd").join(OsStr::from_bytes(dir));
    let same = dir.canonicalize().is_ok_and(|dir| dir == workspace);
    same.then(|| AgentName::new(name).ok()).flatten()
}

/// The value of an option, given as `--name VALUE` or `--name=VALUE`.
fn value_of<'a>(args: &[&'a [u8]], option: &str) -> Option<&'a [u8]> {
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let rest = arg.strip_prefix(option.as_bytes());
        match rest {
            Some([]) => return args.next().copied(),
            Some([b'=', value @ ..]) => return Some(value),
            Some(_) | None => {}
        }
    }
    None
}

/// Ends a orphan process, if it still is one. Returns whether it was ended.
pub(crate) fn end_orphan(team: &TeamDir, orphan: &OrphanProcess) -> Result<bool, FixError> {
    match orphan {
        OrphanProcess::Command { mark, owner, .. } => end_commands(team, mark, owner.as_ref()),
        OrphanProcess::Teammate { pid, name } => end_teammate(team, *pid, name),
    }
}

fn end_commands(team: &TeamDir, mark: &str, owner: Option<&Recipient>) -> Result<bool, FixError> {
    // The owner must not be started meanwhile: its new commands would have the same mark.
    let in_roster = |name: &AgentName| team.roster().is_ok_and(|r| r.member(name).is_some());
    let _start_lock = match owner {
        Some(Recipient::Member(name)) if in_roster(name) => {
            match team.lock_start(name, Duration::ZERO) {
                Ok(lock) => Some(lock),
                Err(LockError::Busy { .. }) => return Ok(false),
                Err(error @ LockError::File(_)) => return Err(error.into()),
            }
        }
        Some(Recipient::Member(_) | Recipient::Lead) | None => None,
    };
    let _lead_guard = match owner {
        Some(Recipient::Lead) => match team.lock_dead_member(&Recipient::Lead) {
            Ok(guard) => Some(guard),
            Err(JoinError::Held { .. }) => return Ok(false),
            Err(error) => return Err(error.into()),
        },
        Some(Recipient::Member(_)) | None => None,
    };
    let held = owner.is_some_and(|owner| *owner != Recipient::Lead && !is_gone(team, owner));
    Ok(!held && kill_marked(|found| found == mark) > 0)
}

fn end_teammate(team: &TeamDir, pid: i32, name: &AgentName) -> Result<bool, FixError> {
    end_process(pid, || {
        let process = PathBuf::from(format!("/proc/{pid}"));
        let same = teammate_name(&process, &workspace(team)).as_ref() == Some(name);
        let joined = team.roster().is_ok_and(|r| r.member(name).is_some());
        same && !joined
    })
}

/// Ends a process if `is_expected` confirms it. Returns whether it was ended.
pub(crate) fn end_process(pid: i32, is_expected: impl Fn() -> bool) -> Result<bool, FixError> {
    let fail = |cause| FixError::EndProcess { pid, cause };
    // The handle always refers to the same process, so the check comes after opening it.
    let handle = match Pidfd::open(Pid::from_raw(pid)) {
        Ok(handle) => handle,
        Err(Errno::ESRCH) => return Ok(false),
        Err(error) => return Err(fail(error)),
    };
    if !is_expected() {
        return Ok(false);
    }
    for signal in [Signal::SIGTERM, Signal::SIGKILL] {
        match handle.send_signal(signal) {
            Ok(()) | Err(Errno::ESRCH) => {}
            Err(error) => return Err(fail(error)),
        }
        if handle.wait(GRACE) {
            return Ok(true);
        }
    }
    Err(FixError::StillRuns(pid))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_have_two_forms() {
        let args: [&[u8]; 5] = [b"teammate", b"--dir", b"/w", b"--name=al", b"--namex"];
        assert_eq!(value_of(&args, "--dir"), Some(&b"/w"[..]));
        assert_eq!(value_of(&args, "--name"), Some(&b"al"[..]));
        assert_eq!(value_of(&args, "--role"), None);
    }
}
