//! What tools need from the process of their agent.

use protocol::RequestId;
use tools::{ToolError, ToolOutput};

/// The process of an agent, as its tools see it.
pub trait AgentHandle: Send + Sync + 'static {
    /// The unread mail as a JSON list. It counts as delivered when the tool result is recorded.
    fn read_inbox(&self) -> Result<ToolOutput, ToolError>;
}

/// The process of a teammate.
pub trait TeammateHandle: AgentHandle {
    /// Answers a shutdown request to this incarnation.
    fn answer_shutdown(&self, id: &RequestId, approve: bool, reason: &str)
    -> Result<(), ToolError>;

    /// Submits a plan, and closes the gate until it is approved.
    fn submit_plan(&self, plan: &str) -> Result<RequestId, ToolError>;
}
