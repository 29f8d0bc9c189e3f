//! Processes that belong to a team and to no member of it.

use crate::surroundings::processes;
use command::{kill_survivors, survivors};
use protocol::{AgentName, Recipient};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use teamdir::{JoinError, Liveness, LockError, TeamDir};

/// How long a process has to end after it was asked to.
const GRACE: Duration = Duration::from_secs(5);

/// A process that nobody looks after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stray {
    /// A command of somebody who does not run any more.
    Command {
        /// The process.
        pid: i32,
        /// Its mark.
        mark: String,
        /// Whose command it was; `None` if the mark names nobody.
        owner: Option<Recipient>,
    },
    /// A teammate that is not in the roster.
    Teammate {
        /// The process.
        pid: i32,
        /// The name it goes by.
        name: AgentName,
    },
}

/// All of them.
pub(crate) fn strays(team: &TeamDir) -> Vec<Stray> {
    let mut found = stray_commands(team);
    found.extend(stray_teammates(team));
    found
}

/// The folder that the team works in, by the one path that everybody knows it by.
pub(crate) fn workspace(team: &TeamDir) -> PathBuf {
    let workspace = team.workspace();
    let canonical = workspace.canonicalize();
    canonical.unwrap_or_else(|_| workspace.to_path_buf())
}

fn stray_commands(team: &TeamDir) -> Vec<Stray> {
    let prefix = format!("{}:", workspace(team).display());
    let mut found = Vec::new();
    for survivor in survivors() {
        let Some(rest) = survivor.mark.strip_prefix(&prefix) else {
            continue;
        };
        let owner = rest
            .rsplit_once('.')
            .and_then(|(name, _)| name.parse().ok());
        if owner.as_ref().is_none_or(|owner| is_gone(team, owner)) {
            let command::Survivor { pid, mark } = survivor;
            found.push(Stray::Command { pid, mark, owner });
        }
    }
    found
}

fn is_gone(team: &TeamDir, owner: &Recipient) -> bool {
    matches!(team.liveness(owner), Ok(Liveness::Gone(_)))
}

fn stray_teammates(team: &TeamDir) -> Vec<Stray> {
    let Ok(roster) = team.roster() else {
        return Vec::new();
    };
    let workspace = workspace(team);
    let all = processes().filter_map(|folder| {
        let pid = folder.file_name()?.to_str()?.parse().ok()?;
        let name = teammate_name(&folder, &workspace)?;
        Some(Stray::Teammate { pid, name })
    });
    all.filter(|stray| match stray {
        Stray::Teammate { name, .. } => roster.member(name).is_none(),
        Stray::Command { .. } => false,
    })
    .collect()
}

/// The name that a process goes by if it is a teammate of this team.
pub(crate) fn teammate_name(process: &Path, workspace: &Path) -> Option<AgentName> {
    let words = fs::read(process.join("cmdline")).ok()?;
    let words: Vec<&[u8]> = words.split(|byte| *byte == 0).collect();
    let program = Path::new(OsStr::from_bytes(words.first()?));
    if program.file_name() != Some(OsStr::new("teammate")) {
        return None;
    }
    // One that brings its role along is about to join the team by itself.
    if value_of(&words, "--role").is_some() {
        return None;
    }
    let name = std::str::from_utf8(value_of(&words, "--name")?).ok()?;
    let dir = value_of(&words, "--dir").unwrap_or(b".");
    // A path that is not absolute is meant from where the process started, which is where it is.
    let dir = process.join("cwd").join(OsStr::from_bytes(dir));
    let same = dir.canonicalize().is_ok_and(|dir| dir == workspace);
    same.then(|| AgentName::new(name).ok()).flatten()
}

/// The value of an option, given as two words or as one.
fn value_of<'a>(words: &[&'a [u8]], option: &str) -> Option<&'a [u8]> {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let rest = word.strip_prefix(option.as_bytes());
        match rest {
            Some([]) => return words.next().copied(),
            Some([b'=', value @ ..]) => return Some(value),
            Some(_) | None => {}
        }
    }
    None
}

/// Ends a stray process, if it still is one. Returns whether it was ended.
pub(crate) fn end(team: &TeamDir, stray: &Stray) -> Result<bool, String> {
    match stray {
        Stray::Command { mark, owner, .. } => end_commands(team, mark, owner.as_ref()),
        Stray::Teammate { pid, name } => end_teammate(team, *pid, name),
    }
}

fn end_commands(team: &TeamDir, mark: &str, owner: Option<&Recipient>) -> Result<bool, String> {
    // Nobody may become the owner meanwhile: its new commands would bear the same mark.
    let in_roster = |name: &AgentName| team.roster().is_ok_and(|r| r.member(name).is_some());
    let _life = match owner {
        Some(Recipient::Member(name)) if in_roster(name) => {
            match team.lock_start(name, Duration::ZERO) {
                Ok(lock) => Some(lock),
                Err(LockError::Busy { .. }) => return Ok(false),
                Err(error @ LockError::File(_)) => return Err(error.to_string()),
            }
        }
        Some(Recipient::Member(_) | Recipient::Lead) | None => None,
    };
    let _seat = match owner {
        Some(Recipient::Lead) => match team.lock_dead_member(&Recipient::Lead) {
            Ok(seat) => Some(seat),
            Err(JoinError::Held { .. }) => return Ok(false),
            Err(error) => return Err(error.to_string()),
        },
        Some(Recipient::Member(_)) | None => None,
    };
    let held = owner.is_some_and(|owner| *owner != Recipient::Lead && !is_gone(team, owner));
    Ok(!held && kill_survivors(|found| found == mark) > 0)
}

fn end_teammate(team: &TeamDir, pid: i32, name: &AgentName) -> Result<bool, String> {
    end_process(pid, || {
        let process = PathBuf::from(format!("/proc/{pid}"));
        let same = teammate_name(&process, &workspace(team)).as_ref() == Some(name);
        let joined = team.roster().is_ok_and(|r| r.member(name).is_some());
        same && !joined
    })
}

/// Ends a process if it is the right one. Returns whether it was ended.
pub(crate) fn end_process(pid: i32, is_right: impl Fn() -> bool) -> Result<bool, String> {
    let fail = |error: rustix::io::Errno| format!("cannot end process {pid}: {error}");
    let Some(raw) = Pid::from_raw(pid) else {
        return Ok(false);
    };
    // The handle means one process for ever; that it is the right one is looked at after it.
    let handle = match pidfd_open(raw, PidfdFlags::empty()) {
        Ok(handle) => handle,
        Err(rustix::io::Errno::SRCH) => return Ok(false),
        Err(error) => return Err(fail(error)),
    };
    if !is_right() {
        return Ok(false);
    }
    for signal in [Signal::TERM, Signal::KILL] {
        match pidfd_send_signal(&handle, signal) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => {}
            Err(error) => return Err(fail(error)),
        }
        if has_ended(&handle, GRACE) {
            return Ok(true);
        }
    }
    Err(format!("process {pid} does not end"))
}

fn has_ended(handle: &OwnedFd, limit: Duration) -> bool {
    let timeout = Timespec::try_from(limit).ok();
    let mut waited = [PollFd::new(handle, PollFlags::IN)];
    matches!(poll(&mut waited, timeout.as_ref()), Ok(1..))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_given_in_two_ways() {
        let words: [&[u8]; 5] = [b"teammate", b"--dir", b"/w", b"--name=al", b"--namex"];
        assert_eq!(value_of(&words, "--dir"), Some(&b"/w"[..]));
        assert_eq!(value_of(&words, "--name"), Some(&b"al"[..]));
        assert_eq!(value_of(&words, "--role"), None);
    }
}
