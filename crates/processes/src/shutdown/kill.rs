//! Ends the process of a member.

use crate::mark::sweep;
use crate::process_handle::{ProcessHandle, ProcessHandleError};
use crate::reap::{ReapError, reap_held};
use crate::start::start_lock::{StartGuard, StartGuardError};
use crate::status::member_view::{ViewError, find};
use nix::sys::signal::Signal;
use protocol::{AgentName, HostId, Incarnation, Recipient};
use std::time::Duration;
use teamdir::TeamDir;

/// How long a process has to end cleanly.
pub(crate) const GRACE: Duration = Duration::from_secs(5);
/// How long a killed process may take to end.
const KILL_WAIT: Duration = Duration::from_secs(10);
/// How long to wait for another process that starts or ends the member. If it takes longer, that process
/// reaps the death.
const START_LOCK_WAIT: Duration = Duration::from_secs(10);

/// A process that was killed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Killed {
    /// As the roster spells it.
    pub name: AgentName,
    pub pid: u32,
    pub incarnation: Incarnation,
    /// How many leftover processes of its commands were killed too.
    pub swept: usize,
}

/// Why a member was not killed.
#[derive(Debug, thiserror::Error)]
pub enum KillError {
    #[error(transparent)]
    View(#[from] ViewError),
    #[error("'{name}' is at home on the host '{host}', which alone can kill it")]
    Elsewhere { name: AgentName, host: HostId },
    #[error("'{name}' has no running process; start it with `team-lead restart {name}`")]
    NotRunning { name: AgentName },
    #[error(transparent)]
    ProcessHandle(#[from] ProcessHandleError),
    #[error("process {pid} of '{name}' is still running after SIGKILL; it hangs in the kernel")]
    Unkillable { name: AgentName, pid: u32 },
    /// It was killed, and its death could not be reaped. The next repair does so.
    #[error("'{name}' was killed, but its death could not be reaped: {source}")]
    Reap { name: AgentName, source: ReapError },
}

/// Kills the process of a member with SIGKILL, and reaps the death.
pub fn kill(team: &TeamDir, name: &AgentName) -> Result<Killed, KillError> {
    let member = find(team, name)?;
    let name = member.spec.name;
    if let Some(host) = member.host {
        return Err(KillError::Elsewhere { name, host });
    }
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
        // The process that starts or ends the member does the rest.
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

/// Ends a process and what its commands left running: SIGTERM, a grace period, SIGKILL. Returns whether it
/// has ended.
pub(crate) fn end(
    team: &TeamDir,
    guard: &StartGuard,
    process: &ProcessHandle,
) -> Result<bool, ProcessHandleError> {
    process.signal(Signal::SIGTERM)?;
    let mut ended = process.wait(GRACE);
    if !ended {
        process.signal(Signal::SIGKILL)?;
        ended = process.wait(KILL_WAIT);
    }
    sweep(team, guard);
    Ok(ended)
}
