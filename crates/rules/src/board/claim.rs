//! Claims a task.

use super::{NoSuchTask, is_owner, list, log, open_blockers};
use protocol::{Actor, Owner, Party, Task, TaskId, TaskStatus, Timestamp};

/// The name of a claim in a task's history.
pub(super) const CLAIMED: &str = "claimed";

/// Who claims a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimant {
    pub actor: Actor,
    pub role: String,
    pub limit: ClaimLimit,
    /// Another task that the claimant has in progress. A member is one process, so the caller knows it.
    pub busy_with: Option<TaskId>,
    /// Whether it is on another host, so that the claim gets a number.
    pub is_elsewhere: bool,
}

/// How many tasks an owner may have in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimLimit {
    One,
    /// Any number, on explicit request.
    Many,
}

/// Why a task cannot be claimed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClaimRefusal {
    #[error(transparent)]
    NotFound(#[from] NoSuchTask),
    #[error("task {id} is already completed")]
    Completed { id: TaskId },
    #[error("task {id} belongs to {owner}: claim another one")]
    Taken { id: TaskId, owner: String },
    #[error("task {id} is already yours: go on with it")]
    AlreadyYours { id: TaskId },
    #[error("task {id} is blocked by {}: these must be completed first", list(by))]
    Blocked {
        id: TaskId,
        /// Dependencies that are not completed or do not exist.
        by: Vec<TaskId>,
    },
    #[error("task {id} is for the role {needed:?}, not {found:?}")]
    OtherRole {
        id: TaskId,
        needed: String,
        found: String,
    },
    /// The claimant works on another task.
    #[error("task {id} was not claimed: complete or release task {busy_with} first")]
    Busy { id: TaskId, busy_with: TaskId },
}

/// Claims a pending task, if it is free, all its dependencies are completed, the role matches and the
/// claimant is not busy.
///
/// `dependencies` holds the status of the tasks in `blockedBy`; one that is left out counts as missing and
/// blocks. A pending task with an owner is reserved: only that owner can claim it.
pub fn claim(
    task: &Task,
    dependencies: &[(TaskId, Option<TaskStatus>)],
    claimant: &Claimant,
    now: Timestamp,
) -> Result<Task, ClaimRefusal> {
    let id = task.id;
    let party = &claimant.actor.party;
    match (task.status, &task.owner.0) {
        (TaskStatus::Completed, _) => return Err(ClaimRefusal::Completed { id }),
        (TaskStatus::InProgress, Some(_)) if is_owner(task, party) => {
            return Err(ClaimRefusal::AlreadyYours { id });
        }
        (TaskStatus::Pending, Some(_)) if is_owner(task, party) => {}
        (TaskStatus::Pending, None) => {}
        (TaskStatus::Pending | TaskStatus::InProgress, owner) => {
            let owner = owner.as_ref().map_or("an unknown owner", Party::as_str);
            let owner = owner.to_owned();
            return Err(ClaimRefusal::Taken { id, owner });
        }
    }
    let by = open_blockers(task, dependencies);
    if !by.is_empty() {
        return Err(ClaimRefusal::Blocked { id, by });
    }
    if !role_matches(task, party, &claimant.role) {
        return Err(ClaimRefusal::OtherRole {
            id,
            needed: task.role.clone().unwrap_or_default(),
            found: claimant.role.clone(),
        });
    }
    if let (ClaimLimit::One, Some(busy_with)) = (claimant.limit, claimant.busy_with) {
        return Err(ClaimRefusal::Busy { id, busy_with });
    }
    let mut changed = task.clone();
    changed.status = TaskStatus::InProgress;
    changed.owner = Owner(Some(party.clone()));
    changed.owner_incarnation = claimant.actor.incarnation;
    if claimant.is_elsewhere || task.lease.is_some() {
        changed.lease = Some(task.lease.unwrap_or(0).saturating_add(1));
    }
    log(&mut changed, party, CLAIMED, None, now);
    Ok(changed)
}

/// Whether a party with this role may claim the task. The lead and the user may claim tasks of any role.
pub(super) fn role_matches(task: &Task, party: &Party, role: &str) -> bool {
    super::may_act_for_others(party) || is_for_role(task, role)
}

/// Whether the task is for this role, ignoring case. An empty role in the file means any role.
pub(super) fn is_for_role(task: &Task, role: &str) -> bool {
    let needed = task.role.as_deref().map_or("", str::trim);
    needed.is_empty() || needed.to_lowercase() == role.trim().to_lowercase()
}
