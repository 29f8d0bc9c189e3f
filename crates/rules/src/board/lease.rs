//! Leases: the claims of those on other hosts, each with a number.
//!
//! A host that is silent for the time of a lease loses the claims of its members, although they may still be at
//! work. The number tells what they do afterwards from what a later owner does, who may be the same member.

use super::{is_owner, released};
use protocol::{Incarnation, Party, Task, TaskId, TaskStatus, Timestamp};

/// What is asked for under a claim has no effect, because the claim has ended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0)]
pub struct LeaseOver(LeaseOverText);

#[derive(Debug, Clone, PartialEq, Eq)]
struct LeaseOverText {
    id: TaskId,
    lease: Option<u64>,
    now: Option<u64>,
    owner: Option<String>,
    status: TaskStatus,
}

impl std::fmt::Display for LeaseOverText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let id = self.id;
        match self.lease {
            Some(lease) => write!(f, "your claim {lease} of task {id} has ended")?,
            None => write!(f, "you have no claim of task {id}")?,
        }
        let now = self.now.map(|now| format!(" under claim {now}"));
        let now = now.unwrap_or_default();
        match (self.status, &self.owner) {
            (TaskStatus::Completed, Some(owner)) => {
                write!(f, "; {owner} has completed it{now}")?;
            }
            (TaskStatus::Completed, None) => write!(f, "; it is completed")?,
            (TaskStatus::InProgress, Some(owner)) => {
                write!(f, "; {owner} works on it{now}")?;
            }
            (TaskStatus::Pending | TaskStatus::InProgress, _) => {
                write!(
                    f,
                    "; it is back on the board, where it can be claimed again"
                )?;
            }
        }
        write!(
            f,
            ". Nothing of it was changed; what you wrote was sent to the lead"
        )
    }
}

/// Whether `by`, on another host, holds the task under the claim `lease`. Without a number it may do only what
/// needs no claim.
pub fn check_lease(task: &Task, by: &Party, lease: Option<u64>) -> Result<(), LeaseOver> {
    let holds = task.status == TaskStatus::InProgress && is_owner(task, by);
    let is_current = match lease {
        Some(_) => holds && task.lease == lease,
        None => !holds,
    };
    if is_current {
        return Ok(());
    }
    let owner = task.owner.0.as_ref().map(ToString::to_string);
    Err(LeaseOver(LeaseOverText {
        id: task.id,
        lease,
        now: task.lease.filter(|now| Some(*now) != lease),
        owner,
        status: task.status,
    }))
}

/// Releases a task that `owner` holds under a numbered claim. All notes in the task stay.
pub fn end_lease(task: &Task, owner: &Party, why: &str, now: Timestamp) -> Option<Task> {
    let lease = task.lease?;
    if task.status != TaskStatus::InProgress || !is_owner(task, owner) {
        return None;
    }
    let why = format!("claim {lease} ended: {why}");
    let mut released = released(task, &Party::System, &why, now);
    if let Some(entry) = released.history.last_mut() {
        entry.owner = Some(owner.clone());
        entry.owner_incarnation = Some(task.owner_incarnation.unwrap_or(Incarnation(0)));
    }
    Some(released)
}
