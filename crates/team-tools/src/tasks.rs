//! The board for models: `task_create`, `task_update`, `task_list`, `task_get`, `claim_task`.
//!
//! What is allowed is decided by the board's rules; a refusal is handed to the model in their words.

mod args;
mod change;
mod look;
#[cfg(test)]
mod tests;

pub use change::{ClaimTask, TaskCreate, TaskUpdate};
pub use look::{TaskGet, TaskList};

use crate::TeamContext;
use protocol::{Task, TaskId};
use serde_json::{Value, json};
use team::BoardError;
use tools::{DuplicateTool, Registry, ToolError};

/// Adds the tools with which any agent sees and changes the board.
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

/// A task as the model is shown it after a change: without its history, which `task_get` has.
fn short(task: &Task) -> Value {
    let mut value = json!(task);
    if let Value::Object(fields) = &mut value {
        fields.remove("history");
    }
    value
}

fn pretty(value: &Value) -> String {
    format!("{value:#}")
}

fn ids(numbers: &[u64]) -> Vec<TaskId> {
    numbers.iter().copied().map(TaskId).collect()
}
