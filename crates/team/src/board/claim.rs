//! Claims tasks, and releases those of dead members.

use super::locked::Locked;
use super::{BoardError, BoardView, Worker, elsewhere, update};
use crate::Actor;
use protocol::{AgentName, BoardChange, Incarnation, Party, Task, TaskId};
use rules::{Board, ClaimLimit};
use teamdir::{TeamDir, now};

/// Claims a task for the worker.
pub fn claim(
    team: &TeamDir,
    worker: &Worker,
    id: TaskId,
    limit: ClaimLimit,
) -> Result<Task, BoardError> {
    if let Some(home) = elsewhere::home(team)? {
        let another = limit == ClaimLimit::Many;
        return home.ask_for_one(team, &worker.me, BoardChange::Claim { task: id, another });
    }
    claim_in(&Locked::take(team)?, worker, id, limit)
}

pub(super) fn claim_in(
    locked: &Locked<'_>,
    worker: &Worker,
    id: TaskId,
    limit: ClaimLimit,
) -> Result<Task, BoardError> {
    let mut board = update::for_claim(locked, id, limit)?;
    take(locked, &mut board, worker, id, limit)
}

/// Claims the next task for the worker, if there is one: see [`Board::next_for`](rules::Board::next_for). A
/// worker that has a task in progress gets none.
pub fn claim_next(team: &TeamDir, worker: &Worker) -> Result<Option<Task>, BoardError> {
    // Usually there is no task, and then no lock is needed.
    if next(&BoardView::for_decision(team.tasks()?)?.board, worker).is_none() {
        return Ok(None);
    }
    if let Some(home) = elsewhere::home(team)? {
        return home.ask(team, &worker.me, BoardChange::ClaimNext);
    }
    claim_next_in(&Locked::take(team)?, worker)
}

pub(super) fn claim_next_in(
    locked: &Locked<'_>,
    worker: &Worker,
) -> Result<Option<Task>, BoardError> {
    let mut board = locked.whole()?;
    let Some(id) = next(&board, worker) else {
        return Ok(None);
    };
    take(locked, &mut board, worker, id, ClaimLimit::One).map(Some)
}

/// Claims again the task that the worker lost by the death of its last incarnation, if it is still free.
pub fn resume_claim(team: &TeamDir, worker: &Worker) -> Result<Option<Task>, BoardError> {
    if let Some(home) = elsewhere::home(team)? {
        // The copy need not know yet that the task came back.
        return home.ask(team, &worker.me, BoardChange::Resume);
    }
    let board = BoardView::for_decision(team.tasks()?)?.board;
    if board.lost_by(&worker.me.party).is_none() {
        return Ok(None);
    }
    resume_claim_in(&Locked::take(team)?, worker)
}

pub(super) fn resume_claim_in(
    locked: &Locked<'_>,
    worker: &Worker,
) -> Result<Option<Task>, BoardError> {
    let mut board = locked.whole()?;
    let Some(id) = board.lost_by(&worker.me.party).map(|task| task.id) else {
        return Ok(None);
    };
    take(locked, &mut board, worker, id, ClaimLimit::One).map(Some)
}

/// Releases the tasks that dead incarnations of a member, up to `up_to`, have in progress. Returns the
/// released tasks.
pub fn release_all(
    team: &TeamDir,
    name: &AgentName,
    up_to: Incarnation,
    why: &str,
) -> Result<Vec<Task>, BoardError> {
    release_all_of(team, &Party::Member(name.clone()), up_to, why)
}

/// [`release_all`] for any party, such as the lead.
pub fn release_all_of(
    team: &TeamDir,
    owner: &Party,
    up_to: Incarnation,
    why: &str,
) -> Result<Vec<Task>, BoardError> {
    if let Some(home) = elsewhere::home(team)? {
        let me = Actor {
            party: owner.clone(),
            incarnation: None,
        };
        let why = why.to_owned();
        home.tell(team, &me, BoardChange::ReleaseEnded { up_to, why })?;
        return Ok(Vec::new());
    }
    let view = BoardView::for_decision(team.tasks()?)?;
    if view.board.in_progress_of(owner).next().is_none() {
        view.all_readable()?;
        return Ok(Vec::new());
    }
    release_all_in(&Locked::take(team)?, owner, up_to, why)
}

pub(super) fn release_all_in(
    locked: &Locked<'_>,
    owner: &Party,
    up_to: Incarnation,
    why: &str,
) -> Result<Vec<Task>, BoardError> {
    let mut view = locked.view()?;
    let released = view.board.release_all(owner, up_to, why, now());
    let released = store_all(locked, released)?;
    // An unreadable file may be a task that was not released.
    view.all_readable()?;
    Ok(released)
}

/// Releases what these members of a host that is silent have claimed. Returns the released tasks.
pub fn end_leases(team: &TeamDir, owners: &[Party], why: &str) -> Result<Vec<Task>, BoardError> {
    let mut board = BoardView::for_decision(team.tasks()?)?.board;
    if board.end_leases(owners, why, now()).is_empty() {
        return Ok(Vec::new());
    }
    let locked = Locked::take(team)?;
    let released = locked.view()?.board.end_leases(owners, why, now());
    store_all(&locked, released)
}

/// Stores tasks with one more line in the history of each.
fn store_all(locked: &Locked<'_>, tasks: Vec<Task>) -> Result<Vec<Task>, BoardError> {
    let store = |task: Task| {
        let known = task.history.len().saturating_sub(1);
        locked.store(task, known)
    };
    tasks.into_iter().map(store).collect()
}

fn take(
    locked: &Locked<'_>,
    board: &mut Board,
    worker: &Worker,
    id: TaskId,
    limit: ClaimLimit,
) -> Result<Task, BoardError> {
    let task = board.claim(id, &worker.claimant(limit, locked.is_asked()), now())?;
    let known = task.history.len().saturating_sub(1);
    locked.store(task, known)
}

fn next(board: &Board, worker: &Worker) -> Option<TaskId> {
    let is_busy = board.in_progress_of(worker.party()).next().is_some();
    let next = || board.next_for(worker.party(), &worker.role);
    (!is_busy).then(next).flatten().map(|task| task.id)
}
