//! What tools need from the process of the agent whose tools they are.

use protocol::RequestId;
use tools::ToolOutput;

/// The place of an agent in its own process. Failures are in words for the model.
pub trait AgentHandle: Send + Sync + 'static {
    /// The mail that waits, as a JSON list. It counts as said when the result is recorded.
    fn read_inbox(&self) -> Result<ToolOutput, String>;
}

/// The place of a teammate.
pub trait TeammateHandle: AgentHandle {
    /// Answers a shutdown request that was asked of this life.
    fn answer_shutdown(&self, id: &RequestId, approve: bool, reason: &str) -> Result<(), String>;

    /// Submits a plan, and closes the gate until it is approved.
    fn submit_plan(&self, plan: &str) -> Result<RequestId, String>;
}
