//! Taking a task.

use super::{NoSuchTask, is_owner, list, log, open_blockers};
use protocol::{Actor, Owner, Party, Task, TaskId, TaskStatus, Timestamp};

/// The word for a claim in a task's history.
pub(super) const CLAIMED: &str = "claimed";

/// Who wants a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimant {
    /// Who.
    pub actor: Actor,
    /// Its role. The lead and the user may claim tasks of any role.
    pub role: String,
    /// How many tasks it may have in progress.
    pub limit: ClaimLimit,
    /// A task it has in progress. The claimant is one process and knows its own.
    pub busy_with: Option<TaskId>,
}

/// How many tasks an owner may have in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimLimit {
    /// One.
    One,
    /// Any number, because somebody asked for it.
    Many,
}

/// Why a task cannot be claimed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClaimRefusal {
    /// There is no such task.
    #[error(transparent)]
    NotFound(#[from] NoSuchTask),
    /// It is done.
    #[error("task {id} is already completed")]
    Completed {
        /// The task.
        id: TaskId,
    },
    /// Another party has it.
    #[error("task {id} belongs to {owner}: claim another one")]
    Taken {
        /// The task.
        id: TaskId,
        /// Who has it.
        owner: String,
    },
    /// The claimant has it.
    #[error("task {id} is already yours: go on with it")]
    AlreadyYours {
        /// The task.
        id: TaskId,
    },
    /// Something must be completed first.
    #[error("task {id} is blocked by {}: these must be completed first", list(by))]
    Blocked {
        /// The task.
        id: TaskId,
        /// What is not completed, or does not exist.
        by: Vec<TaskId>,
    },
    /// It is for another role.
    #[error("task {id} is for the role {needed:?}, not {found:?}")]
    OtherRole {
        /// The task.
        id: TaskId,
        /// The role it is for.
        needed: String,
        /// The role of the claimant.
        found: String,
    },
    /// The claimant works on something else.
    #[error("task {id} was not claimed: complete or release task {busy_with} first")]
    Busy {
        /// The task.
        id: TaskId,
        /// What it works on.
        busy_with: TaskId,
    },
}

/// Gives a pending task to the claimant, if nobody has it, all its dependencies are completed, the
/// role fits and the claimant is free.
///
/// `dependencies` holds the status of the tasks in `blockedBy`; one that is left out counts as
/// missing and blocks. A pending task that bears the claimant's name was set aside for it and can
/// be claimed by it alone.
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
            let owner = owner.as_ref().map_or("somebody unknown", Party::as_str);
            let owner = owner.to_owned();
            return Err(ClaimRefusal::Taken { id, owner });
        }
    }
    let by = open_blockers(task, dependencies);
    if !by.is_empty() {
        return Err(ClaimRefusal::Blocked { id, by });
    }
    if !role_fits(task, party, &claimant.role) {
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
    log(&mut changed, party, CLAIMED, None, now);
    Ok(changed)
}

/// Whether the task is for this role, ignoring case. An empty role in the file means any.
pub(super) fn role_fits(task: &Task, party: &Party, role: &str) -> bool {
    let needed = task.role.as_deref().map_or("", str::trim);
    needed.is_empty()
        || super::is_in_charge(party)
        || needed.to_lowercase() == role.trim().to_lowercase()
}
