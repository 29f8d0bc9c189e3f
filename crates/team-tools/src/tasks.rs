//! The board for models: `task_create`, `task_update`, `task_list`, `task_get`, `claim_task`.
//!
//! The board's rules decide what is allowed; the model gets the text of a refusal.

pub(crate) mod args;
mod change;
mod read;
#[cfg(test)]
mod tests;

pub use change::{ClaimTask, TaskCreate, TaskUpdate};
pub use read::{TaskGet, TaskList};

use crate::TeamContext;
use protocol::TaskId;
use serde_json::Value;
use team::BoardError;
use tools::{DuplicateTool, Registry, ToolError};

/// Adds the tools with which an agent reads and changes the board.
pub fn add_task_tools(registry: &mut Registry, context: &TeamContext) -> Result<(), DuplicateTool> {
    registry.add(TaskCreate::new(context.clone()))?;
    registry.add(TaskUpdate::new(context.clone()))?;
    registry.add(TaskList::new(context.clone()))?;
    registry.add(TaskGet::new(context.clone()))
}

/// A failure as text for the model.
fn failed(error: BoardError) -> ToolError {
    ToolError::from_error(&error)
}

/// What is said of a change that another host decides later: it is no failure.
fn unless_queued<T>(
    changed: Result<T, BoardError>,
    text: impl FnOnce(T) -> String,
) -> Result<String, ToolError> {
    match changed {
        Ok(done) => Ok(text(done)),
        Err(queued @ BoardError::Queued { .. }) => Ok(queued.to_string()),
        Err(error) => Err(failed(error)),
    }
}

fn pretty(value: &Value) -> String {
    format!("{value:#}")
}

fn ids(numbers: &[u64]) -> Vec<TaskId> {
    numbers.iter().copied().map(TaskId).collect()
}
