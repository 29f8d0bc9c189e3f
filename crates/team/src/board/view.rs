//! Reads the board without a lock.

use super::BoardError;
use crate::Actor;
use protocol::{Task, TaskId};
use rules::Board;
use std::fmt;
use std::io::ErrorKind;
use std::sync::Arc;
use teamdir::{BoardPlace, PathError, RosterError, TaskError, TeamDir};

/// The board, read without a lock.
#[derive(Debug, Default)]
pub struct BoardView {
    pub board: Board,
    /// An error for each file that should be a task and is not.
    pub broken: Vec<TaskError>,
}

impl BoardView {
    fn of(tasks: Vec<Result<Arc<Task>, TaskError>>) -> Self {
        let mut broken = Vec::new();
        let sound = tasks
            .into_iter()
            .filter_map(|task| task.map_err(|error| broken.push(error)).ok());
        let board = sound.collect();
        Self { board, broken }
    }

    /// Like `of`, but fails on a transient read error: a file that cannot be read now must not count as
    /// missing when a decision is made.
    pub(super) fn for_decision(
        tasks: Vec<Result<Arc<Task>, TaskError>>,
    ) -> Result<Self, BoardError> {
        let mut view = Self::of(tasks);
        let is_transient = |error: &TaskError| match error {
            TaskError::File(error) => error.kind() != ErrorKind::PermissionDenied,
            TaskError::Lock(_) => true,
            TaskError::Invalid { .. } | TaskError::Unknown(_) => false,
        };
        match view.broken.iter().position(is_transient) {
            Some(place) => Err(view.broken.swap_remove(place).into()),
            None => Ok(view),
        }
    }

    /// Fails if there is a file that this process may not read: it may be any task.
    pub(super) fn all_readable(self) -> Result<(), BoardError> {
        let is_file = |error: &TaskError| matches!(error, TaskError::File(_));
        match self.broken.into_iter().find(is_file) {
            Some(error) => Err(error.into()),
            None => Ok(()),
        }
    }
}

/// All tasks.
pub fn list(team: &TeamDir) -> Result<BoardView, PathError> {
    Ok(BoardView::of(team.tasks()?))
}

/// A role that tasks are for and that no member has. Nobody claims them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingRole {
    pub role: String,
    pub tasks: Vec<TaskId>,
}

impl fmt::Display for MissingRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tasks: Vec<String> = self.tasks.iter().map(|id| format!("#{id}")).collect();
        let (plural, are) = match tasks.len() {
            1 => ("", "is"),
            _ => ("s", "are"),
        };
        let tasks = tasks.join(", ");
        write!(
            f,
            "nobody has the role {:?}, for which task{plural} {tasks} {are}",
            self.role
        )
    }
}

/// The roles of open tasks that no member of the team has.
pub fn missing_roles(team: &TeamDir, board: &Board) -> Result<Vec<MissingRole>, RosterError> {
    let roster = team.roster()?;
    let roles: Vec<&str> = roster
        .members
        .iter()
        .map(|member| member.spec.role.as_str())
        .collect();
    let mut missing: Vec<MissingRole> = Vec::new();
    for task in board.for_other_roles(&roles) {
        let role = task.role.as_deref().unwrap_or_default().trim();
        match missing.iter_mut().find(|found| found.role == role) {
            Some(found) => found.tasks.push(task.id),
            None => missing.push(MissingRole {
                role: role.to_owned(),
                tasks: vec![task.id],
            }),
        }
    }
    Ok(missing)
}

/// One task.
pub fn get(team: &TeamDir, id: TaskId) -> Result<Task, BoardError> {
    Ok(Arc::unwrap_or_clone(team.task(id)?))
}

/// The tasks that this incarnation of an actor has in progress.
pub fn unfinished(team: &TeamDir, me: &Actor) -> Result<Vec<Task>, PathError> {
    let view = list(team)?;
    let mine = view.board.in_progress_of(&me.party);
    let mine = mine.filter(|task| match (task.owner_incarnation, me.incarnation) {
        (Some(owner), Some(own)) => owner == own,
        (None, _) | (_, None) => true,
    });
    let mine: Vec<Task> = mine.cloned().collect();
    if !matches!(team.board_place(), Ok(BoardPlace::On(_))) {
        return Ok(mine);
    }
    // A claim that was given back here counts no more, although its home may not know yet.
    let claims = team.board_claims()?;
    let holds = |task: &Task| {
        let mut claims = claims.iter();
        claims.any(|claim| claim.task == task.id && Some(claim.lease) == task.lease)
    };
    Ok(mine.into_iter().filter(holds).collect())
}
