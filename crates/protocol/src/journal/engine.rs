//! The records of an engine: of the agent of another program that works in the place of a member's model.

use super::{Block, ToolResult};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A tool of the member's engine began or ended. The engine ran it by itself: no process that reads this runs it
/// again, and it is no part of the conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineToolRecord {
    /// The engine's id of the call. An engine may use it again in another session.
    pub id: String,
    /// The tool of ours that does the same, such as `bash`, or what the engine calls it.
    pub name: String,
    /// The arguments, as far as the engine has said them.
    #[serde(default)]
    pub input: Value,
    /// What came of it; absent when it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<EngineToolResult>,
}

/// What came of a tool of an engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineToolResult {
    /// The beginning of its output.
    pub text: String,
    #[serde(default)]
    pub is_error: bool,
    #[serde(default)]
    pub millis: u64,
}

impl EngineToolRecord {
    /// The call and its result as a reply of a model and its answer would have them.
    pub fn into_call(self) -> (Block, Option<ToolResult>) {
        let result = self.result.map(|result| ToolResult {
            tool_use_id: self.id.clone(),
            content: result.text,
            is_error: result.is_error,
            images: Vec::new(),
        });
        let call = Block::ToolUse {
            id: self.id,
            name: self.name,
            input: self.input,
            flaw: None,
            extra_content: None,
            item: None,
        };
        (call, result)
    }
}
