//! Whether the board of a team has each task completed once.

use protocol::{TaskId, TaskStatus};
use teamdir::TeamDir;

/// What must be zero.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// Tasks that are not completed.
    open: usize,
    /// Tasks that were completed more than once.
    doubled: usize,
}

impl Ledger {
    /// What the board says when all is over.
    pub(super) fn of(team: &TeamDir, gate: TaskId) -> anyhow::Result<Self> {
        let mut ledger = Self::default();
        let board = team::list(team)?.board;
        for task in board.tasks().filter(|task| task.id != gate) {
            ledger.open += usize::from(task.status != TaskStatus::Completed);
            let completions = task
                .history
                .iter()
                .filter(|entry| entry.action == "completed");
            ledger.doubled += completions.count().saturating_sub(1);
        }
        Ok(ledger)
    }

    pub(super) const fn faults(&self) -> usize {
        self.open + self.doubled
    }
}
