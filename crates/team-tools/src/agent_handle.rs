//! What tools need from the process of the agent whose tools they are.

use protocol::RequestId;
use tools::ToolOutput;

/// The process of an agent, as its tools see it. The text of an error is for the model.
pub trait AgentHandle: Send + Sync + 'static {
    /// The mail that waits, as a JSON list. It counts as said when the result is recorded.
    fn read_inbox(&self) -> Result<ToolOutput, String>;
}

/// The process of a teammate.
pub trait TeammateHandle: AgentHandle {
    /// Answers a shutdown request that was asked of this incarnation.
    fn answer_shutdown(&self, id: &RequestId, approve: bool, reason: &str) -> Result<(), String>;

    /// Submits a plan, and closes the gate until it is approved.
    fn submit_plan(&self, plan: &str) -> Result<RequestId, String>;
}
