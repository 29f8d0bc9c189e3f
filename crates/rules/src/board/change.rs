//! Changes to one task: release, completion and edits.

use super::{NoSuchTask, holds, is_owner, list, log, may_act_for_others, open_blockers};
use protocol::{Actor, Incarnation, Owner, Party, Priority, Task, TaskId, TaskStatus, Timestamp};

/// The name of a release in a task's history.
pub(super) const RELEASED: &str = "released";

/// Why a task cannot be released.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReleaseRefusal {
    #[error(transparent)]
    NotFound(#[from] NoSuchTask),
    #[error("task {id} is pending: there is nothing to release")]
    Pending { id: TaskId },
    #[error("task {id} is completed, which is final: create a new task for more work")]
    Completed { id: TaskId },
    #[error("task {id} belongs to {owner}: only its owner, the lead or the user can release it")]
    NotYours { id: TaskId, owner: String },
}

/// Why a task cannot be completed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompleteRefusal {
    #[error(transparent)]
    NotFound(#[from] NoSuchTask),
    #[error("task {id} is already completed")]
    Completed { id: TaskId },
    #[error("task {id} is pending: claim it first")]
    NotClaimed { id: TaskId },
    #[error("task {id} belongs to {owner}: only its owner, the lead or the user can complete it")]
    NotYours { id: TaskId, owner: String },
    #[error("task {id} is blocked by {}: these must be completed first", list(by))]
    Blocked {
        id: TaskId,
        /// Dependencies that are not completed or do not exist.
        by: Vec<TaskId>,
    },
}

/// Why a task cannot be edited.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditRefusal {
    #[error(transparent)]
    NotFound(#[from] NoSuchTask),
    #[error("task {id} is completed, which is final: create a new task for more work")]
    Completed { id: TaskId },
    #[error("task {id} belongs to {owner}: only its owner, the lead or the user can edit it")]
    NotYours { id: TaskId, owner: String },
    #[error("task {id} keeps its subject: the new one is empty")]
    EmptySubject { id: TaskId },
    #[error("task {id} was not edited: say what to change")]
    Nothing { id: TaskId },
}

/// What to change in a task; `None` leaves a field as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Edit {
    pub subject: Option<String>,
    pub description: Option<String>,
    pub priority: Option<Priority>,
    /// The role that may claim it; an empty text means any role.
    pub role: Option<String>,
    /// A note for the history, which stays when the owner changes.
    pub note: Option<String>,
}

/// Releases a task in progress.
///
/// Its owner, the lead, the user and the program itself may. The history records the reason.
pub fn release(task: &Task, by: &Actor, why: &str, now: Timestamp) -> Result<Task, ReleaseRefusal> {
    let id = task.id;
    match task.status {
        TaskStatus::Pending => return Err(ReleaseRefusal::Pending { id }),
        TaskStatus::Completed => return Err(ReleaseRefusal::Completed { id }),
        TaskStatus::InProgress => {}
    }
    if !holds(task, by) && !may_act_for_others(&by.party) {
        let owner = describe_owner(task);
        return Err(ReleaseRefusal::NotYours { id, owner });
    }
    Ok(released(task, &by.party, why, now))
}

/// Releases a task that a dead incarnation of `owner` holds: one up to `up_to`, or one that the task does
/// not name. All notes in the task stay.
pub fn release_dead(
    task: &Task,
    owner: &Party,
    up_to: Incarnation,
    why: &str,
    now: Timestamp,
) -> Option<Task> {
    let dead = task
        .owner_incarnation
        .is_none_or(|incarnation| incarnation <= up_to);
    let held = task.status == TaskStatus::InProgress && is_owner(task, owner);
    (held && dead).then(|| {
        let mut released = released(task, &Party::System, why, now);
        if let Some(entry) = released.history.last_mut() {
            entry.owner = Some(owner.clone());
            entry.owner_incarnation = Some(up_to);
        }
        released
    })
}

/// Completes a task.
///
/// Its owner may once it is in progress; the lead and the user may at any time, if its dependencies are
/// completed. `dependencies` is used only for a task that was not claimed: a claim has checked them, and
/// `completed` is final. The owner stays in the file.
pub fn complete(
    task: &Task,
    dependencies: &[(TaskId, Option<TaskStatus>)],
    by: &Actor,
    result: Option<&str>,
    now: Timestamp,
) -> Result<Task, CompleteRefusal> {
    let id = task.id;
    match task.status {
        TaskStatus::Completed => return Err(CompleteRefusal::Completed { id }),
        TaskStatus::InProgress => {
            if !holds(task, by) && !may_act_for_others(&by.party) {
                let owner = describe_owner(task);
                return Err(CompleteRefusal::NotYours { id, owner });
            }
        }
        TaskStatus::Pending => {
            if !may_act_for_others(&by.party) {
                return Err(CompleteRefusal::NotClaimed { id });
            }
            let by = open_blockers(task, dependencies);
            if !by.is_empty() {
                return Err(CompleteRefusal::Blocked { id, by });
            }
        }
    }
    let mut changed = task.clone();
    changed.status = TaskStatus::Completed;
    if let Some(result) = result {
        changed.result = Some(result.to_owned());
    }
    log(&mut changed, &by.party, "completed", None, now);
    Ok(changed)
}

/// Changes the fields of a task.
///
/// Any party may while it is pending; its owner, the lead and the user while it is in progress.
pub fn edit(task: &Task, by: &Actor, change: &Edit, now: Timestamp) -> Result<Task, EditRefusal> {
    let id = task.id;
    match task.status {
        TaskStatus::Completed => return Err(EditRefusal::Completed { id }),
        TaskStatus::InProgress if !holds(task, by) && !may_act_for_others(&by.party) => {
            let owner = describe_owner(task);
            return Err(EditRefusal::NotYours { id, owner });
        }
        TaskStatus::InProgress | TaskStatus::Pending => {}
    }
    if *change == Edit::default() {
        return Err(EditRefusal::Nothing { id });
    }
    let mut changed = task.clone();
    if let Some(subject) = &change.subject {
        if subject.trim().is_empty() {
            return Err(EditRefusal::EmptySubject { id });
        }
        changed.subject.clone_from(subject);
    }
    if let Some(description) = &change.description {
        changed.description.clone_from(description);
    }
    if let Some(priority) = change.priority {
        changed.priority = priority;
    }
    if let Some(role) = &change.role {
        let role = role.trim();
        changed.role = (!role.is_empty()).then(|| role.to_owned());
    }
    let only_noted = Edit {
        note: None,
        ..change.clone()
    } == Edit::default();
    let action = if only_noted { "noted" } else { "edited" };
    log(&mut changed, &by.party, action, change.note.as_deref(), now);
    Ok(changed)
}

pub(super) fn released(task: &Task, by: &Party, why: &str, now: Timestamp) -> Task {
    let mut changed = task.clone();
    changed.status = TaskStatus::Pending;
    changed.owner = Owner(None);
    changed.owner_incarnation = None;
    log(&mut changed, by, RELEASED, Some(why), now);
    changed
}

fn describe_owner(task: &Task) -> String {
    let owner = task.owner.0.as_ref().map_or("nobody", Party::as_str);
    match task.owner_incarnation {
        Some(incarnation) => format!("{owner} (incarnation {incarnation})"),
        None => owner.to_owned(),
    }
}
