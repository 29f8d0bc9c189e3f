//! Changes to one task: giving it back, completing it, editing it.

use super::{NoSuchTask, holds, is_in_charge, is_owner, list, log, open_blockers};
use protocol::{Actor, Incarnation, Owner, Party, Priority, Task, TaskId, TaskStatus, Timestamp};

/// The word for a release in a task's history.
pub(super) const RELEASED: &str = "released";

/// Why a task cannot be released.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReleaseRefusal {
    /// There is no such task.
    #[error(transparent)]
    NotFound(#[from] NoSuchTask),
    /// Nobody works on it.
    #[error("task {id} is pending: there is nothing to release")]
    Pending {
        /// The task.
        id: TaskId,
    },
    /// It is done.
    #[error("task {id} is completed, which is final: create a new task for more work")]
    Completed {
        /// The task.
        id: TaskId,
    },
    /// Another party has it.
    #[error("task {id} belongs to {owner}: only its owner, the lead or the user can release it")]
    NotYours {
        /// The task.
        id: TaskId,
        /// Who has it.
        owner: String,
    },
}

/// Why a task cannot be completed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompleteRefusal {
    /// There is no such task.
    #[error(transparent)]
    NotFound(#[from] NoSuchTask),
    /// It is done.
    #[error("task {id} is already completed")]
    Completed {
        /// The task.
        id: TaskId,
    },
    /// Nobody works on it.
    #[error("task {id} is pending: claim it first")]
    NotClaimed {
        /// The task.
        id: TaskId,
    },
    /// Another party has it.
    #[error("task {id} belongs to {owner}: only its owner, the lead or the user can complete it")]
    NotYours {
        /// The task.
        id: TaskId,
        /// Who has it.
        owner: String,
    },
    /// Something must be completed first.
    #[error("task {id} is blocked by {}: these must be completed first", list(by))]
    Blocked {
        /// The task.
        id: TaskId,
        /// What is not completed, or does not exist.
        by: Vec<TaskId>,
    },
}

/// Why a task cannot be edited.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditRefusal {
    /// There is no such task.
    #[error(transparent)]
    NotFound(#[from] NoSuchTask),
    /// It is done.
    #[error("task {id} is completed, which is final: create a new task for more work")]
    Completed {
        /// The task.
        id: TaskId,
    },
    /// Another party has it.
    #[error("task {id} belongs to {owner}: only its owner, the lead or the user can edit it")]
    NotYours {
        /// The task.
        id: TaskId,
        /// Who has it.
        owner: String,
    },
    /// A task needs a subject.
    #[error("task {id} keeps its subject: the new one is empty")]
    EmptySubject {
        /// The task.
        id: TaskId,
    },
    /// Nothing is asked for.
    #[error("task {id} was not edited: say what to change")]
    Nothing {
        /// The task.
        id: TaskId,
    },
}

/// What to change in a task; `None` leaves it as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Edit {
    /// What is to be done, in a line.
    pub subject: Option<String>,
    /// What is to be done, in full.
    pub description: Option<String>,
    /// How urgent it is.
    pub priority: Option<Priority>,
    /// The role of those who may claim it; an empty text lets anybody.
    pub role: Option<String>,
    /// A note for the history, which stays when the task changes hands.
    pub note: Option<String>,
}

/// Puts a task in progress back on the board.
///
/// Its owner, the lead, the user and the program itself may. The history says who had it and why
/// it came back.
pub fn release(task: &Task, by: &Actor, why: &str, now: Timestamp) -> Result<Task, ReleaseRefusal> {
    let id = task.id;
    match task.status {
        TaskStatus::Pending => return Err(ReleaseRefusal::Pending { id }),
        TaskStatus::Completed => return Err(ReleaseRefusal::Completed { id }),
        TaskStatus::InProgress => {}
    }
    if !holds(task, by) && !is_in_charge(&by.party) && by.party != Party::System {
        let owner = owner_words(task);
        return Err(ReleaseRefusal::NotYours { id, owner });
    }
    Ok(put_back(task, &by.party, why, now))
}

/// Puts a task back on the board if a dead incarnation of `owner` has it: one up to `up_to`, or one that
/// the task does not name. Everything noted in the task stays.
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
        let mut released = put_back(task, &Party::System, why, now);
        if let Some(entry) = released.history.last_mut() {
            entry.owner = Some(owner.clone());
            entry.owner_incarnation = Some(up_to);
        }
        released
    })
}

/// Completes a task.
///
/// Its owner may once it is in progress; the lead and the user may at any time, if its dependencies
/// are completed. `dependencies` is only looked at for a task that was not claimed: a claim has
/// checked them, and `completed` is final. The owner stays in the file as the one who did it.
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
            if !holds(task, by) && !is_in_charge(&by.party) {
                let owner = owner_words(task);
                return Err(CompleteRefusal::NotYours { id, owner });
            }
        }
        TaskStatus::Pending => {
            if !is_in_charge(&by.party) {
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

/// Changes what a task says.
///
/// Anybody may while it is pending; its owner, the lead and the user while it is in progress.
pub fn edit(task: &Task, by: &Actor, change: &Edit, now: Timestamp) -> Result<Task, EditRefusal> {
    let id = task.id;
    match task.status {
        TaskStatus::Completed => return Err(EditRefusal::Completed { id }),
        TaskStatus::InProgress if !holds(task, by) && !is_in_charge(&by.party) => {
            let owner = owner_words(task);
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

fn put_back(task: &Task, by: &Party, why: &str, now: Timestamp) -> Task {
    let mut changed = task.clone();
    changed.status = TaskStatus::Pending;
    changed.owner = Owner(None);
    changed.owner_incarnation = None;
    log(&mut changed, by, RELEASED, Some(why), now);
    changed
}

fn owner_words(task: &Task) -> String {
    let owner = task.owner.0.as_ref().map_or("nobody", Party::as_str);
    match task.owner_incarnation {
        Some(incarnation) => format!("{owner} (incarnation {incarnation})"),
        None => owner.to_owned(),
    }
}
