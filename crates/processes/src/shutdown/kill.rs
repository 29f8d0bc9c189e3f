//! Ending the process of a member.

use crate::mark::sweep;
use crate::process_handle::{ProcessHandle, ProcessHandleError};
use crate::reap::{ReapError, reap_held};
use crate::start::start_lock::{StartGuard, StartGuardError};
use crate::status::member_view::{ViewError, find};
use nix::sys::signal::Signal;
use protocol::{AgentName, Incarnation, Recipient};
use std::time::Duration;
use teamdir::TeamDir;

/// How long a process has to end cleanly.
pub(crate) const GRACE: Duration = Duration::from_secs(5);
/// How long a killed process may take to go.
const KILL_WAIT: Duration = Duration::from_secs(10);
/// How long whoever starts or ends the member is waited for. If he takes longer, dealing with the
/// death is left to him.
const START_LOCK_WAIT: Duration = Duration::from_secs(10);

/// A process that was killed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Killed {
    /// The member, as the roster spells it.
    pub name: AgentName,
    /// The process.
    pub pid: u32,
    /// Which incarnation it was.
    pub incarnation: Incarnation,
    /// How many processes of its commands were left and were killed too.
    pub swept: usize,
}

/// Why a member was not killed.
#[derive(Debug, thiserror::Error)]
pub enum KillError {
    /// There is no such member, or it cannot be read.
    #[error(transparent)]
    View(#[from] ViewError),
    /// No process is the member.
    #[error("'{name}' has no running process; start it with `team-lead restart {name}`")]
    NotRunning {
        /// The member.
        name: AgentName,
    },
    /// Its process cannot be signalled.
    #[error(transparent)]
    ProcessHandle(#[from] ProcessHandleError),
    /// It was signalled and is still there.
    #[error("process {pid} of '{name}' is still there after SIGKILL; it hangs in the kernel")]
    Unkillable {
        /// The member.
        name: AgentName,
        /// The process.
        pid: u32,
    },
    /// It was killed, and its death could not be reaped. The next repair does so.
    #[error("'{name}' was killed, but not all that follows could be done: {source}")]
    Reap {
        /// The member.
        name: AgentName,
        /// Why.
        source: ReapError,
    },
}

/// Kills the process of a member with SIGKILL, and deals with its death as with any other.
pub fn kill(team: &TeamDir, name: &AgentName) -> Result<Killed, KillError> {
    let name = find(team, name)?.name;
    let owner = Recipient::Member(name.clone());
    let Some(process) = ProcessHandle::of(team, &owner)? else {
        return Err(KillError::NotRunning { name });
    };
    let (pid, incarnation) = (process.holder().pid, process.incarnation());
    process.signal(Signal::SIGKILL)?;
    if !process.wait(KILL_WAIT) {
        return Err(KillError::Unkillable { name, pid });
    }
    let swept = match StartGuard::hold(team, &name, START_LOCK_WAIT) {
        Ok(guard) => {
            let swept = sweep(team, &guard);
            let reaped = reap_held(team, &guard);
            reaped.map(|_| swept)
        }
        // Whoever starts or ends it does the rest.
        Err(StartGuardError::Busy { .. }) => Ok(0),
        Err(error @ (StartGuardError::Lock(_) | StartGuardError::Roster(_))) => Err(error.into()),
    };
    match swept {
        Ok(swept) => Ok(Killed {
            name,
            pid,
            incarnation,
            swept,
        }),
        Err(source) => Err(KillError::Reap { name, source }),
    }
}

/// Ends a process: SIGTERM, some time, SIGKILL. Returns whether it is gone.
pub(crate) fn end(
    team: &TeamDir,
    guard: &StartGuard,
    process: &ProcessHandle,
) -> Result<bool, ProcessHandleError> {
    process.signal(Signal::SIGTERM)?;
    if process.wait(GRACE) {
        return Ok(true);
    }
    process.signal(Signal::SIGKILL)?;
    let gone = process.wait(KILL_WAIT);
    sweep(team, guard);
    Ok(gone)
}
