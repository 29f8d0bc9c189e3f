//! Removes a member that does not run from the team.

use crate::reap::{ReapError, reap_held};
use crate::start::start_lock::{StartGuard, StartGuardError};
use protocol::{AgentName, EventKind, HostId, Recipient};
use std::path::PathBuf;
use std::time::Duration;
use teamdir::{JoinError, RosterError, TeamDir, TrashError};

/// How long to wait for a process that is starting or ending the member.
const START_LOCK_WAIT: Duration = Duration::from_secs(30);

/// Why a member was not removed.
#[derive(Debug, thiserror::Error)]
pub enum RemoveError {
    #[error("'{name}' is at home on the host '{host}', which alone can remove it")]
    Elsewhere { name: AgentName, host: HostId },
    #[error("'{name}' is running")]
    Running { name: AgentName },
    #[error(transparent)]
    StartGuard(#[from] StartGuardError),
    #[error(transparent)]
    Reap(#[from] ReapError),
    #[error(transparent)]
    Join(JoinError),
    #[error(transparent)]
    Roster(#[from] RosterError),
    #[error(transparent)]
    Trash(#[from] TrashError),
}

/// Removes a member: its journal, its other files and its mail go to the trash, then its roster entry
/// goes. Returns where they are now.
///
/// If this is killed half-way, the member is still in the roster, and removing it again finishes.
pub fn remove(team: &TeamDir, name: &AgentName) -> Result<Vec<PathBuf>, RemoveError> {
    let start = StartGuard::hold(team, name, START_LOCK_WAIT)?;
    let name = &start.name;
    let found = team.roster()?.member(name).cloned();
    if let Some(host) = found.and_then(|member| member.host) {
        let name = name.clone();
        return Err(RemoveError::Elsewhere { name, host });
    }
    reap_held(team, &start)?;
    let owner = Recipient::Member(name.clone());
    // While the member's lock is held, no process can become the member, not even one started by hand.
    let lock = team.lock_dead_member(&owner).map_err(|error| match error {
        JoinError::Held { .. } => RemoveError::Running { name: name.clone() },
        error => RemoveError::Join(error),
    })?;
    let mut kept = team.trash_member(&owner)?;
    team.update_roster(|roster| {
        let is_other = |member: &protocol::Member| member.spec.name != *name;
        if let Some(last) = roster.member(name).map(|member| member.incarnation) {
            let removed = roster.removed.get_or_insert_default();
            removed.insert(name.clone(), last);
        }
        roster.members.retain(is_other);
        Ok::<_, RosterError>(())
    })?;
    // A sender that found the name before may have written meanwhile.
    kept.extend(team.trash_mail(&owner)?);
    drop(lock);
    let _ = team.log_event(EventKind::Leave {
        member: owner,
        reason: "removed from the team".to_owned(),
    });
    Ok(kept)
}
