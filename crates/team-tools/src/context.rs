//! The agent that the tools belong to, and its team.

use crate::submit::Submitter;
use std::sync::Arc;
use team::{Actor, Worker};
use teamdir::TeamDir;
use tools::ToolError;

/// The agent that the tools belong to, and its team. Cheap to clone.
#[derive(Debug, Clone)]
pub struct TeamContext {
    pub team: TeamDir,
    /// The agent, with its incarnation.
    pub me: Actor,
    pub role: String,
    /// How it submits its work, if it works in a tree of its own.
    pub submitter: Option<Arc<dyn Submitter>>,
}

impl TeamContext {
    /// The agent as the board's rules need it.
    pub(crate) fn worker(&self) -> Worker {
        Worker {
            me: self.me.clone(),
            role: self.role.clone(),
        }
    }

    /// Runs work that waits for files and locks on a thread for blocking work.
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        let context = self.clone();
        match tokio::task::spawn_blocking(move || work(&context)).await {
            Ok(result) => result,
            Err(error) => match error.try_into_panic() {
                // The registry turns a panic into an error for the model.
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Err(ToolError::cancelled()),
            },
        }
    }
}
