//! What is read of the messages of the Agent Client Protocol, version 1.
//!
//! Fields and variants that are not used here are passed over. The schema crate of the protocol would turn on a
//! feature of `serde_json` that changes the order of keys in every crate of this workspace, and the order of
//! keys is a part of what is stored.

use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InitializeResponse {
    pub(crate) agent_info: Option<AgentInfo>,
    #[serde(default)]
    pub(crate) agent_capabilities: AgentCapabilities,
}

#[derive(Debug, Deserialize)]
pub(crate) struct AgentInfo {
    pub(crate) name: String,
    pub(crate) version: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct AgentCapabilities {
    pub(crate) load_session: bool,
    pub(crate) session_capabilities: SessionCapabilities,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct SessionCapabilities {
    /// An object, empty so far, if sessions can be resumed.
    pub(crate) resume: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NewSessionResponse {
    pub(crate) session_id: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PromptResponse {
    pub(crate) stop_reason: StopReason,
    pub(crate) usage: Option<Usage>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StopReason {
    MaxTokens,
    MaxTurnRequests,
    Refusal,
    Cancelled,
    /// Its turn has ended, for this reason or one that is not known here.
    #[serde(other)]
    EndTurn,
}

/// The tokens of a prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cached_read_tokens: Option<u64>,
    pub cached_write_tokens: Option<u64>,
    pub thought_tokens: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RequestPermissionRequest {
    pub(crate) tool_call: ToolCall,
    pub(crate) options: Vec<PermissionOption>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PermissionOption {
    pub(crate) option_id: String,
    pub(crate) kind: PermissionOptionKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PermissionOptionKind {
    AllowOnce,
    RejectOnce,
    RejectAlways,
    /// Never chosen, such as `allow_always`.
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
pub(crate) struct SessionNotification {
    pub(crate) update: SessionUpdate,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "sessionUpdate", rename_all = "snake_case")]
pub(crate) enum SessionUpdate {
    AgentMessageChunk {
        content: ContentBlock,
    },
    AgentThoughtChunk {
        content: ContentBlock,
    },
    /// A new call.
    ToolCall(ToolCall),
    /// What has changed of a call.
    ToolCallUpdate(ToolCall),
    UsageUpdate {
        cost: Option<Cost>,
    },
    /// The agent's own affairs: plans, modes, commands.
    #[serde(other)]
    Other,
}

/// What a session has cost so far.
#[derive(Debug, Deserialize)]
pub(crate) struct Cost {
    pub(crate) amount: f64,
    pub(crate) currency: String,
}

/// A tool call, or what has changed of it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolCall {
    pub(crate) tool_call_id: String,
    pub(crate) title: Option<String>,
    pub(crate) kind: Option<ToolKind>,
    pub(crate) status: Option<ToolCallStatus>,
    pub(crate) content: Option<Vec<ToolCallContent>>,
    pub(crate) raw_input: Option<Value>,
    pub(crate) raw_output: Option<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToolKind {
    Read,
    Search,
    Think,
    Edit,
    Delete,
    Move,
    Execute,
    Fetch,
    #[serde(other)]
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToolCallStatus {
    Completed,
    Failed,
    /// It waits or runs.
    #[serde(other)]
    Open,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum ToolCallContent {
    Content {
        content: ContentBlock,
    },
    /// A difference or a terminal.
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum ContentBlock {
    Text {
        text: String,
    },
    /// An image, a sound or a resource.
    #[serde(other)]
    Other,
}
