//! Changes one task, in one or several fields at once.

use super::locked::Locked;
use super::{BoardError, Worker};
use crate::Actor;
use protocol::{Task, TaskId, TaskStatus, Timestamp};
use rules::{Board, ClaimLimit, Edit};
use teamdir::{TeamDir, now};

/// What to change in a task, atomically.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Update {
    /// Its texts. The note of a change to `pending` is the reason of the release.
    pub edit: Edit,
    /// Dependencies to add.
    pub add_blocked_by: Vec<TaskId>,
    /// Dependencies to remove.
    pub remove_blocked_by: Vec<TaskId>,
    /// Its status: `in_progress` is a claim, `pending` a release, `completed` a completion.
    pub status: Option<TaskStatus>,
    /// The result, for a completion.
    pub result: Option<String>,
}

/// Changes a task. A status that the task already has does not prevent the other changes.
///
/// A release comes before the other changes and the other status changes after them, so that a
/// task can be given back and made to wait for something in one step, or edited and completed.
pub fn update(
    team: &TeamDir,
    worker: &Worker,
    id: TaskId,
    change: &Update,
) -> Result<Task, BoardError> {
    if change.result.is_some() && change.status != Some(TaskStatus::Completed) {
        return Err(BoardError::ResultTooEarly(id));
    }
    let locked = Locked::take(team)?;
    let mut board = match change.status {
        Some(TaskStatus::InProgress) => for_claim(&locked, id, ClaimLimit::One)?,
        Some(TaskStatus::Pending | TaskStatus::Completed) | None => {
            locked.reaching(id, &change.add_blocked_by)?
        }
    };
    let known = board.get(id)?.history.len();
    let changing = Changing {
        board: &mut board,
        worker,
        id,
        now: now(),
    };
    let task = changing.apply(change)?;
    locked.store(&task, known)?;
    Ok(task)
}

/// Changes the texts of a task.
pub fn edit(team: &TeamDir, me: &Actor, id: TaskId, edit: &Edit) -> Result<Task, BoardError> {
    let edit = edit.clone();
    let change = Update {
        edit,
        ..Update::default()
    };
    update(team, &without_role(me), id, &change)
}

/// Makes a task wait for others.
pub fn add_blocked_by(
    team: &TeamDir,
    me: &Actor,
    id: TaskId,
    more: &[TaskId],
) -> Result<Task, BoardError> {
    let change = Update {
        add_blocked_by: more.to_vec(),
        ..Update::default()
    };
    update(team, &without_role(me), id, &change)
}

/// Makes a task no longer wait for others.
pub fn remove_blocked_by(
    team: &TeamDir,
    me: &Actor,
    id: TaskId,
    fewer: &[TaskId],
) -> Result<Task, BoardError> {
    let change = Update {
        remove_blocked_by: fewer.to_vec(),
        ..Update::default()
    };
    update(team, &without_role(me), id, &change)
}

/// Sets the status of a task, by the one operation that leads there.
pub fn set_status(
    team: &TeamDir,
    worker: &Worker,
    id: TaskId,
    status: TaskStatus,
) -> Result<Task, BoardError> {
    let change = Update {
        status: Some(status),
        ..Update::default()
    };
    update(team, worker, id, &change)
}

/// Releases a task. The history keeps the reason.
pub fn release(team: &TeamDir, me: &Actor, id: TaskId, why: &str) -> Result<Task, BoardError> {
    let locked = Locked::take(team)?;
    let mut board = locked.around(id)?;
    let task = board.release(id, me, why, now())?;
    locked.store(&task, task.history.len().saturating_sub(1))?;
    Ok(task)
}

/// Completes a task. Those that waited for it alone can be claimed at once.
pub fn complete(
    team: &TeamDir,
    me: &Actor,
    id: TaskId,
    result: Option<&str>,
) -> Result<Task, BoardError> {
    let locked = Locked::take(team)?;
    let mut board = locked.around(id)?;
    let task = board.complete(id, me, result, now())?;
    locked.store(&task, task.history.len().saturating_sub(1))?;
    Ok(task)
}

/// What the claim rule needs: whether an actor is busy depends on all tasks.
pub(super) fn for_claim(
    locked: &Locked<'_>,
    id: TaskId,
    limit: ClaimLimit,
) -> Result<Board, BoardError> {
    match limit {
        ClaimLimit::One => {
            // Reports an invalid file as such; the whole board would leave it out.
            locked.files.get(id)?;
            locked.whole()
        }
        ClaimLimit::Many => locked.around(id),
    }
}

fn without_role(me: &Actor) -> Worker {
    Worker {
        me: me.clone(),
        role: String::new(),
    }
}

/// A task in the middle of a change.
struct Changing<'a> {
    board: &'a mut Board,
    worker: &'a Worker,
    id: TaskId,
    now: Timestamp,
}

impl Changing<'_> {
    fn apply(mut self, change: &Update) -> Result<Task, BoardError> {
        let mut edit = change.edit.clone();
        let status = self.needed_status(change)?;
        let releases = status == Some(TaskStatus::Pending);
        if releases {
            let why = edit.note.take().unwrap_or_default();
            let actor = self.worker.me.clone();
            self.board.release(self.id, &actor, &why, self.now)?;
        }
        self.edges(change)?;
        // An empty edit is refused, unless something else was asked for.
        if edit != Edit::default() || (status.is_none() && !has_edges(change)) {
            let actor = self.worker.me.clone();
            self.board.edit(self.id, &actor, &edit, self.now)?;
        }
        match status {
            None | Some(TaskStatus::Pending) => {}
            Some(TaskStatus::InProgress) => {
                let claimant = self.worker.claimant(ClaimLimit::One);
                self.board.claim(self.id, &claimant, self.now)?;
            }
            Some(TaskStatus::Completed) => {
                let (actor, result) = (self.worker.me.clone(), change.result.as_deref());
                self.board.complete(self.id, &actor, result, self.now)?;
            }
        }
        Ok(self.board.get(self.id)?.clone())
    }

    fn edges(&mut self, change: &Update) -> Result<(), BoardError> {
        let by = self.worker.party();
        if !change.remove_blocked_by.is_empty() {
            let fewer = &change.remove_blocked_by;
            self.board.remove_blocked_by(self.id, fewer, by, self.now)?;
        }
        if !change.add_blocked_by.is_empty() {
            let more = &change.add_blocked_by;
            self.board.add_blocked_by(self.id, more, by, self.now)?;
        }
        Ok(())
    }

    /// The change of status that is left to do. Models often repeat the current status, which must not
    /// prevent their other changes.
    fn needed_status(&self, change: &Update) -> Result<Option<TaskStatus>, BoardError> {
        let has_more = change.edit != Edit::default() || has_edges(change);
        let task = self.board.get(self.id)?;
        let mut mine = self.board.in_progress_of(self.worker.party());
        let is_current = match change.status {
            Some(TaskStatus::InProgress) => mine.any(|task| task.id == self.id),
            Some(TaskStatus::Pending) => task.status == TaskStatus::Pending,
            Some(TaskStatus::Completed) | None => false,
        };
        Ok(change.status.filter(|_| !(is_current && has_more)))
    }
}

const fn has_edges(change: &Update) -> bool {
    !change.add_blocked_by.is_empty() || !change.remove_blocked_by.is_empty()
}
