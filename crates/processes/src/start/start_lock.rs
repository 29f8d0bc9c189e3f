//! The right to start, end or reap a member's process.

use protocol::AgentName;
use std::time::Duration;
use teamdir::{LockError, RosterError, StartLock, TeamDir};

/// The right itself, and the name as the roster spells it.
#[derive(Debug)]
pub(crate) struct StartGuard {
    pub(crate) name: AgentName,
    _lock: StartLock,
}

/// Why the right was not had.
#[derive(Debug, thiserror::Error)]
pub enum StartGuardError {
    /// Another party has it.
    #[error(
        "somebody is starting or ending '{name}' right now; \
         see what comes of it with `team-lead status`, then try again"
    )]
    Busy {
        /// The member.
        name: AgentName,
    },
    /// The lock cannot be used.
    #[error(transparent)]
    Lock(LockError),
    /// The roster could not be read.
    #[error(transparent)]
    Roster(#[from] RosterError),
}

impl StartGuard {
    /// Takes the right, waiting at most this long for whoever has it.
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
            // Whoever had the lock may have brought in the same name in another spelling, which
            // has a lock of its own.
            if spelling(team, &name)? == name {
                return Ok(Self { name, _lock: lock });
            }
        }
    }
}

fn spelling(team: &TeamDir, name: &AgentName) -> Result<AgentName, RosterError> {
    let roster = team.roster()?;
    let member = roster.member(name);
    Ok(member.map_or_else(|| name.clone(), |member| member.name.clone()))
}
