//! The lock that is needed to start, end or reap a member's process.

use protocol::AgentName;
use std::time::Duration;
use teamdir::{LockError, RosterError, StartLock, TeamDir};

/// The lock, and the name as the roster spells it.
#[derive(Debug)]
pub(crate) struct StartGuard {
    pub(crate) name: AgentName,
    _lock: StartLock,
}

/// Why the start lock was not taken.
#[derive(Debug, thiserror::Error)]
pub enum StartGuardError {
    #[error(
        "another process is starting or ending '{name}' right now; \
         see its state with `team-lead status`, then try again"
    )]
    Busy { name: AgentName },
    #[error(transparent)]
    Lock(LockError),
    #[error(transparent)]
    Roster(#[from] RosterError),
}

impl StartGuard {
    /// Takes the lock, waiting at most `wait` for another holder.
    pub(crate) fn hold(
        team: &TeamDir,
        name: &AgentName,
        wait: Duration,
    ) -> Result<Self, StartGuardError> {
        loop {
            let name = spelling(team, name)?;
            let lock = match team.lock_start(&name, wait) {
                Ok(lock) => lock,
                Err(LockError::Busy { .. }) => return Err(StartGuardError::Busy { name }),
                Err(error @ LockError::File(_)) => return Err(StartGuardError::Lock(error)),
            };
            // The previous holder may have added the same name in another spelling, which has its own lock.
            if spelling(team, &name)? == name {
                return Ok(Self { name, _lock: lock });
            }
        }
    }
}

fn spelling(team: &TeamDir, name: &AgentName) -> Result<AgentName, RosterError> {
    let roster = team.roster()?;
    let member = roster.member(name);
    Ok(member.map_or_else(|| name.clone(), |member| member.spec.name.clone()))
}
