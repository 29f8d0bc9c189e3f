//! The rules of the task board.
//!
//! # Theory of operation
//!
//! A task is a file. `blockedBy` stays as it was declared: whether a task is blocked is computed from the
//! status of its dependencies, and a dependency that does not exist blocks. So completing a task changes
//! one file, and a crash cannot leave its dependents inconsistent.
//!
//! [`claim()`], [`release`], [`complete`], [`edit`], [`set_status`] and [`release_dead`] need one task and
//! at most the status of its dependencies: a claim reads only those files and is safe under the lock of the
//! one task, because `completed` is final and no dependency can be added to a claimed task. Creating,
//! adding dependencies and deleting read the whole [`Board`] and need its lock.
//!
//! Every operation returns the tasks it changed, with a line added to their history, for the
//! caller to store. A refused operation changes nothing.
//!
//! On a board that was only changed by these rules there is no cycle, a completed task has only
//! completed dependencies, and each task in progress has an owner.

mod change;
mod claim;
mod cycle;
mod edges;
mod lease;
mod order;
mod show;
mod status;

pub use change::{
    CompleteRefusal, Edit, EditRefusal, ReleaseRefusal, complete, edit, release, release_dead,
};
pub use claim::{ClaimLimit, ClaimRefusal, Claimant, claim};
pub use edges::{CreateRefusal, Cycle, DeleteRefusal, Deleted, EdgeRefusal, NewTask};
pub use lease::{LeaseOver, check_lease, end_lease};
pub use show::line;
pub use status::{StatusRefusal, UnknownStatus, parse_status, set_status};

use crate::party::same_party;
use change::released;
use protocol::{
    Actor, Incarnation, Party, RequestId, Task, TaskHistory, TaskId, TaskStatus, Timestamp,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// All tasks of a team, or those that a rule needs. Tasks are shared with the reader's cache, so that a
/// board of thousands costs no copies.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Board {
    tasks: BTreeMap<TaskId, Arc<Task>>,
}

/// There is no task with this number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("task {0} not found")]
pub struct NoSuchTask(pub TaskId);

impl FromIterator<Task> for Board {
    fn from_iter<I: IntoIterator<Item = Task>>(tasks: I) -> Self {
        tasks.into_iter().map(Arc::new).collect()
    }
}

impl FromIterator<Arc<Task>> for Board {
    fn from_iter<I: IntoIterator<Item = Arc<Task>>>(tasks: I) -> Self {
        let tasks = tasks.into_iter().map(|task| (task.id, task)).collect();
        Self { tasks }
    }
}

impl Board {
    /// The task with this number.
    pub fn get(&self, id: TaskId) -> Result<&Task, NoSuchTask> {
        let task = self.tasks.get(&id).ok_or(NoSuchTask(id))?;
        Ok(task)
    }

    /// All tasks by number.
    pub fn tasks(&self) -> impl Iterator<Item = &Task> {
        self.tasks.values().map(AsRef::as_ref)
    }

    /// The dependencies of a task with their status; `None` for one that does not exist.
    pub fn dependencies(&self, task: &Task) -> Vec<(TaskId, Option<TaskStatus>)> {
        let status = |id: &TaskId| (*id, self.tasks.get(id).map(|task| task.status));
        task.blocked_by.iter().map(status).collect()
    }

    /// The dependencies of a task that are not completed.
    pub fn open_blockers(&self, task: &Task) -> Vec<TaskId> {
        open_blockers(task, &self.dependencies(task))
    }

    /// The tasks that can be claimed now by a member of the right role: highest priority first, then the longest
    /// chain of tasks behind it, then lowest number.
    pub fn ready(&self) -> Vec<&Task> {
        let mut ready: Vec<_> = self.tasks().filter(|task| self.is_ready(task)).collect();
        self.sort_by_urgency(&mut ready);
        ready
    }

    /// The task that `party` should claim next, if there is one for its role.
    ///
    /// A task that it lost by its own death comes first, then one that is reserved for it, then the others
    /// as in [`Board::ready`]. A task that it released is not offered to it again until the task is
    /// changed: else a member that cannot do it would claim and release it without end.
    pub fn next_for(&self, party: &Party, role: &str) -> Option<&Task> {
        if self.in_progress_of(party).next().is_some() {
            return None;
        }
        let offered = |task: &&Task| {
            self.is_unblocked(task)
                && (task.owner.0.is_none() || is_owner(task, party))
                && claim::role_matches(task, party, role)
                && !has_released(task, party)
        };
        let offered = self.tasks().filter(offered);
        let mut first = (false, false);
        let mut among = Vec::new();
        for task in offered {
            let own = (lost_by_death(task, party), task.owner.0.is_some());
            if own > first {
                first = own;
                among.clear();
            }
            if own == first {
                among.push(task);
            }
        }
        self.most_urgent(among)
    }

    /// The pending tasks without an owner that need a role which is not one of `roles`.
    pub fn for_other_roles(&self, roles: &[&str]) -> impl Iterator<Item = &Task> {
        let waits = |task: &&Task| task.status == TaskStatus::Pending && task.owner.0.is_none();
        self.tasks().filter(waits).filter(|task| {
            let mut all = roles.iter().chain(&[""]);
            !all.any(|role| claim::is_for_role(task, role))
        })
    }

    /// The task that `party` lost by its own death, if it is still free.
    pub fn lost_by(&self, party: &Party) -> Option<&Task> {
        self.tasks().find(|task| {
            self.is_unblocked(task) && task.owner.0.is_none() && lost_by_death(task, party)
        })
    }

    /// The tasks that became ready because `completed` was completed.
    pub fn unblocked_by(&self, completed: TaskId) -> Vec<&Task> {
        let waited = |task: &&Task| task.blocked_by.contains(&completed) && self.is_ready(task);
        let mut ready: Vec<_> = self.tasks().filter(waited).collect();
        self.sort_by_urgency(&mut ready);
        ready
    }

    /// The tasks that `party` has in progress.
    pub fn in_progress_of(&self, party: &Party) -> impl Iterator<Item = &Task> {
        self.tasks()
            .filter(move |task| task.status == TaskStatus::InProgress && is_owner(task, party))
    }

    /// See [`claim()`]. The claimant's other tasks are looked up on the board.
    pub fn claim(
        &mut self,
        id: TaskId,
        claimant: &Claimant,
        now: Timestamp,
    ) -> Result<Task, ClaimRefusal> {
        let task = self.get(id)?;
        let busy_with = self.in_progress_of(&claimant.actor.party).next();
        let claimant = Claimant {
            busy_with: busy_with.map(|task| task.id),
            ..claimant.clone()
        };
        let changed = claim(task, &self.dependencies(task), &claimant, now)?;
        Ok(self.put(changed))
    }

    /// See [`release`].
    pub fn release(
        &mut self,
        id: TaskId,
        by: &Actor,
        why: &str,
        now: Timestamp,
    ) -> Result<Task, ReleaseRefusal> {
        let changed = release(self.get(id)?, by, why, now)?;
        Ok(self.put(changed))
    }

    /// See [`complete`].
    pub fn complete(
        &mut self,
        id: TaskId,
        by: &Actor,
        result: Option<&str>,
        now: Timestamp,
    ) -> Result<Task, CompleteRefusal> {
        let task = self.get(id)?;
        let changed = complete(task, &self.dependencies(task), by, result, now)?;
        Ok(self.put(changed))
    }

    /// See [`edit`].
    pub fn edit(
        &mut self,
        id: TaskId,
        by: &Actor,
        change: &Edit,
        now: Timestamp,
    ) -> Result<Task, EditRefusal> {
        let changed = edit(self.get(id)?, by, change, now)?;
        Ok(self.put(changed))
    }

    /// See [`set_status`].
    pub fn set_status(
        &mut self,
        id: TaskId,
        status: TaskStatus,
        claimant: &Claimant,
        now: Timestamp,
    ) -> Result<Task, StatusRefusal> {
        match status {
            TaskStatus::Pending => Ok(self.release(id, &claimant.actor, "", now)?),
            TaskStatus::InProgress => Ok(self.claim(id, claimant, now)?),
            TaskStatus::Completed => Ok(self.complete(id, &claimant.actor, None, now)?),
        }
    }

    /// See [`release_dead`]. Returns the released tasks.
    pub fn release_all(
        &mut self,
        owner: &Party,
        up_to: Incarnation,
        why: &str,
        now: Timestamp,
    ) -> Vec<Task> {
        let release = |task: &Task| release_dead(task, owner, up_to, why, now);
        let changed: Vec<Task> = self.tasks().filter_map(release).collect();
        changed.into_iter().map(|task| self.put(task)).collect()
    }

    /// See [`end_lease`]. Returns the released tasks.
    pub fn end_leases(&mut self, owners: &[Party], why: &str, now: Timestamp) -> Vec<Task> {
        let end = |task: &Task| {
            let mut ended = owners.iter();
            ended.find_map(|owner| end_lease(task, owner, why, now))
        };
        let changed: Vec<Task> = self.tasks().filter_map(end).collect();
        changed.into_iter().map(|task| self.put(task)).collect()
    }

    /// The tasks that what another host has asked for has changed already.
    pub fn changed_by(&self, ask: &RequestId) -> impl Iterator<Item = &Task> {
        self.tasks().filter(move |task| {
            let mut history = task.history.iter().rev();
            history.any(|entry| entry.ask.as_ref() == Some(ask))
        })
    }

    fn is_ready(&self, task: &Task) -> bool {
        self.is_unblocked(task) && task.owner.0.is_none()
    }

    /// Whether the task is pending and all its dependencies are completed.
    fn is_unblocked(&self, task: &Task) -> bool {
        let completed = |id: &TaskId| {
            let dependency = self.tasks.get(id);
            dependency.is_some_and(|task| task.status == TaskStatus::Completed)
        };
        task.status == TaskStatus::Pending && task.blocked_by.iter().all(completed)
    }

    fn put(&mut self, task: Task) -> Task {
        self.tasks.insert(task.id, Arc::new(task.clone()));
        task
    }
}

/// The dependencies of a task that are not known to be completed.
fn open_blockers(task: &Task, dependencies: &[(TaskId, Option<TaskStatus>)]) -> Vec<TaskId> {
    let completed: BTreeSet<TaskId> = dependencies
        .iter()
        .filter(|(_, status)| *status == Some(TaskStatus::Completed))
        .map(|(id, _)| *id)
        .collect();
    let open = |id: &&TaskId| !completed.contains(id);
    task.blocked_by.iter().filter(open).copied().collect()
}

fn is_owner(task: &Task, party: &Party) -> bool {
    task.owner
        .0
        .as_ref()
        .is_some_and(|owner| same_party(owner, party))
}

/// Whether `by` is the incarnation that owns the task. An unknown incarnation matches any.
fn holds(task: &Task, by: &Actor) -> bool {
    let is_same_incarnation = match (task.owner_incarnation, by.incarnation) {
        (Some(owner), Some(actor)) => owner == actor,
        (None, _) | (_, None) => true,
    };
    is_owner(task, &by.party) && is_same_incarnation
}

/// Whether `party` may act on other members' tasks.
const fn may_act_for_others(party: &Party) -> bool {
    match party {
        // The program itself completes a task whose work was merged.
        Party::Lead | Party::User | Party::System => true,
        Party::Member(_) => false,
    }
}

fn has_released(task: &Task, party: &Party) -> bool {
    let mut back = task.history.iter().rev();
    let changes = back
        .by_ref()
        .take_while(|entry| entry.action == change::RELEASED || entry.action == claim::CLAIMED);
    let mut changes = changes.filter(|entry| entry.action == change::RELEASED);
    changes.any(|entry| same_party(&entry.by, party))
}

fn lost_by_death(task: &Task, party: &Party) -> bool {
    let mut back = task.history.iter().rev();
    let released = back
        .next()
        .is_some_and(|last| last.action == change::RELEASED && last.by == Party::System);
    let claimed = back.find(|entry| entry.action == claim::CLAIMED);
    released && claimed.is_some_and(|entry| same_party(&entry.by, party))
}

/// Adds a line to the history.
fn log(task: &mut Task, by: &Party, action: &str, note: Option<&str>, now: Timestamp) {
    let note = note.filter(|note| !note.is_empty()).map(str::to_owned);
    task.updated_at = Some(now);
    task.history.push(TaskHistory {
        note,
        ..TaskHistory::new(now, by.clone(), action)
    });
}

/// Task numbers as `[1, 2]`.
fn list(ids: &[TaskId]) -> String {
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    format!("[{}]", ids.join(", "))
}

#[cfg(test)]
mod tests;
