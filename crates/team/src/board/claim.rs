//! Claims tasks, and releases those of dead members.

use super::locked::Locked;
use super::{BoardError, BoardView, Worker, update};
use protocol::{AgentName, Incarnation, Party, Task, TaskId};
use rules::{Board, ClaimLimit};
use teamdir::{TeamDir, now};

/// Claims a task for the worker.
pub fn claim(
    team: &TeamDir,
    worker: &Worker,
    id: TaskId,
    limit: ClaimLimit,
) -> Result<Task, BoardError> {
    let locked = Locked::take(team)?;
    let mut board = update::for_claim(&locked, id, limit)?;
    take(&locked, &mut board, worker, id, limit)
}

/// Claims the next task for the worker, if there is one: see [`Board::next_for`](rules::Board::next_for). A
/// worker that has a task in progress gets none.
pub fn claim_next(team: &TeamDir, worker: &Worker) -> Result<Option<Task>, BoardError> {
    // Usually there is no task, and then no lock is needed.
    if next(&BoardView::for_decision(team.tasks()?)?.board, worker).is_none() {
        return Ok(None);
    }
    let locked = Locked::take(team)?;
    let mut board = locked.whole()?;
    let Some(id) = next(&board, worker) else {
        return Ok(None);
    };
    take(&locked, &mut board, worker, id, ClaimLimit::One).map(Some)
}

/// Claims again the task that the worker lost by the death of its last incarnation, if it is still free.
pub fn resume_claim(team: &TeamDir, worker: &Worker) -> Result<Option<Task>, BoardError> {
    let lost = |board: &Board| board.lost_by(&worker.me.party).map(|task| task.id);
    if lost(&BoardView::for_decision(team.tasks()?)?.board).is_none() {
        return Ok(None);
    }
    let locked = Locked::take(team)?;
    let mut board = locked.whole()?;
    let Some(id) = lost(&board) else {
        return Ok(None);
    };
    take(&locked, &mut board, worker, id, ClaimLimit::One).map(Some)
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
    let view = BoardView::for_decision(team.tasks()?)?;
    if view.board.in_progress_of(owner).next().is_none() {
        view.all_readable()?;
        return Ok(Vec::new());
    }
    let locked = Locked::take(team)?;
    let mut view = locked.view()?;
    let released = view.board.release_all(owner, up_to, why, now());
    for task in &released {
        let known = task.history.len().saturating_sub(1);
        locked.store(task, known)?;
    }
    // An unreadable file may be a task that was not released.
    view.all_readable()?;
    Ok(released)
}

fn take(
    locked: &Locked<'_>,
    board: &mut Board,
    worker: &Worker,
    id: TaskId,
    limit: ClaimLimit,
) -> Result<Task, BoardError> {
    let task = board.claim(id, &worker.claimant(limit), now())?;
    locked.store(&task, task.history.len().saturating_sub(1))?;
    Ok(task)
}

fn next(board: &Board, worker: &Worker) -> Option<TaskId> {
    let is_busy = board.in_progress_of(worker.party()).next().is_some();
    let next = || board.next_for(worker.party(), &worker.role);
    (!is_busy).then(next).flatten().map(|task| task.id)
}
