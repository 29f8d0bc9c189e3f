//! What the tools of one agent know of it and its team.

use team::{Actor, Worker};
use teamdir::TeamDir;
use tools::ToolError;

/// Whose tools these are, and where the team is. Cheap to clone.
#[derive(Debug, Clone)]
pub struct TeamContext {
    /// The team.
    pub team: TeamDir,
    /// The agent, in this very incarnation.
    pub me: Actor,
    /// Its role.
    pub role: String,
}

impl TeamContext {
    /// The same for the rules of the board.
    pub(crate) fn worker(&self) -> Worker {
        Worker {
            me: self.me.clone(),
            role: self.role.clone(),
        }
    }

    /// Runs something that waits for files and locks where it stalls nobody else.
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        let context = self.clone();
        match tokio::task::spawn_blocking(move || work(&context)).await {
            Ok(result) => result,
            Err(error) => match error.try_into_panic() {
                // The registry turns it into words.
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Err(ToolError::cancelled()),
            },
        }
    }
}
