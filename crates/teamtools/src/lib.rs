//! The tools with which a model takes part in a team.

mod context;
mod tasks;

pub use context::TeamContext;
pub use tasks::{ClaimTask, TaskCreate, TaskGet, TaskList, TaskUpdate, add_task_tools};
