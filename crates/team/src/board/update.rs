//! Changes one task, in one or several fields at once.

use super::elsewhere;
use super::locked::Locked;
use super::{BoardError, Worker};
use crate::Actor;
use protocol::{AgentName, BoardChange, Party, Task, TaskId, TaskStatus, Timestamp};
use rules::{Board, ClaimLimit, Edit, end_lease};
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
    if let Some(home) = elsewhere::home(team)? {
        let asked = BoardChange::Update(Box::new(elsewhere::task_change(id, change)));
        return home.ask_for_one(team, &worker.me, asked);
    }
    update_in(&Locked::take(team)?, worker, id, change)
}

pub(super) fn update_in(
    locked: &Locked<'_>,
    worker: &Worker,
    id: TaskId,
    change: &Update,
) -> Result<Task, BoardError> {
    let mut board = match change.status {
        Some(TaskStatus::InProgress) => for_claim(locked, id, ClaimLimit::One)?,
        Some(TaskStatus::Pending | TaskStatus::Completed) | None => {
            locked.reaching(id, &change.add_blocked_by)?
        }
    };
    let task = board.get(id)?;
    // A claim needs none, and a note to a task that waits for somebody neither.
    if change.status != Some(TaskStatus::InProgress) {
        locked.check_lease(task, worker.party())?;
    }
    let known = task.history.len();
    let changing = Changing {
        is_elsewhere: locked.is_asked(),
        board: &mut board,
        worker,
        id,
        now: now(),
    };
    let task = changing.apply(change)?;
    locked.store(task, known)
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
    if let Some(home) = elsewhere::home(team)? {
        let why = why.to_owned();
        return home.ask_for_one(team, me, BoardChange::Release { task: id, why });
    }
    release_in(&Locked::take(team)?, me, id, why)
}

/// [`release`] by a process that cannot wait for another host: it is done sooner or later.
pub fn give_back(team: &TeamDir, me: &Actor, id: TaskId, why: &str) -> Result<(), BoardError> {
    if let Some(home) = elsewhere::home(team)? {
        let why = why.to_owned();
        return home.tell(team, me, BoardChange::Release { task: id, why });
    }
    release_in(&Locked::take(team)?, me, id, why).map(|_| ())
}

pub(super) fn release_in(
    locked: &Locked<'_>,
    me: &Actor,
    id: TaskId,
    why: &str,
) -> Result<Task, BoardError> {
    let mut board = locked.around(id)?;
    locked.check_lease(board.get(id)?, &me.party)?;
    let task = board.release(id, me, why, now())?;
    let known = task.history.len().saturating_sub(1);
    locked.store(task, known)
}

/// Ends a claim that its owner never got. The program releases it, so that the owner is offered the task again.
pub(super) fn give_back_in(
    locked: &Locked<'_>,
    owner: &Party,
    id: TaskId,
    why: &str,
) -> Result<Task, BoardError> {
    let task = locked.files.get(id)?;
    locked.check_lease(&task, owner)?;
    let Some(task) = end_lease(&task, owner, why, now()) else {
        return Ok(Task::clone(&task));
    };
    let known = task.history.len().saturating_sub(1);
    locked.store(task, known)
}

/// Completes a task. Those that waited for it alone can be claimed at once.
pub fn complete(
    team: &TeamDir,
    me: &Actor,
    id: TaskId,
    result: Option<&str>,
) -> Result<Task, BoardError> {
    if let Some(home) = elsewhere::home(team)? {
        let result = result.map(str::to_owned);
        return home.ask_for_one(team, me, BoardChange::Complete { task: id, result });
    }
    complete_in(&Locked::take(team)?, me, id, result)
}

/// Completes a task whose work by `member` was merged. The program does that by itself; if the board is at home on
/// another host, it asks under the claim of the member.
pub fn complete_merged(
    team: &TeamDir,
    member: &AgentName,
    id: TaskId,
    result: Option<&str>,
) -> Result<(), BoardError> {
    let Some(home) = elsewhere::home(team)? else {
        let program = Actor {
            party: Party::System,
            incarnation: None,
        };
        return complete_in(&Locked::take(team)?, &program, id, result).map(|_| ());
    };
    let claim = team.board_claim(id)?;
    let me = Actor {
        party: Party::Member(member.clone()),
        incarnation: claim.and_then(|claim| claim.owner_incarnation),
    };
    let result = result.map(str::to_owned);
    home.tell(team, &me, BoardChange::Complete { task: id, result })
}

pub(super) fn complete_in(
    locked: &Locked<'_>,
    me: &Actor,
    id: TaskId,
    result: Option<&str>,
) -> Result<Task, BoardError> {
    let mut board = locked.around(id)?;
    locked.check_lease(board.get(id)?, &me.party)?;
    let task = board.complete(id, me, result, now())?;
    let known = task.history.len().saturating_sub(1);
    locked.store(task, known)
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
    is_elsewhere: bool,
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
                let claimant = self.worker.claimant(ClaimLimit::One, self.is_elsewhere);
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
