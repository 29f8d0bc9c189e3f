//! What an agent says and does during a prompt.

use super::{Happened, Session, State};
use crate::schema::{
    ContentBlock, SessionNotification, SessionUpdate, ToolCall, ToolCallContent, ToolCallStatus,
};
use serde_json::Value;

/// How much of a tool's output is kept.
const MAX_OUTPUT_CHARS: usize = 2_000;

/// A tool that runs.
#[derive(Debug, Default)]
pub(super) struct Running {
    title: String,
    text: String,
    is_started: bool,
}

impl Session {
    /// Takes in an update. Outside of a prompt it is history that is shown again, or nothing that matters.
    pub(super) fn updated(&mut self, params: &Value) -> Vec<Happened> {
        let State::Prompt { .. } = self.state else {
            return Vec::new();
        };
        let Ok(notification) = serde_json::from_value::<SessionNotification>(params.clone()) else {
            return Vec::new();
        };
        let happened = match notification.update {
            SessionUpdate::AgentMessageChunk { content } => text_of(&content).map(Happened::Text),
            SessionUpdate::AgentThoughtChunk { content } => {
                text_of(&content).map(Happened::Thought)
            }
            SessionUpdate::ToolCall(call) | SessionUpdate::ToolCallUpdate(call) => {
                return self.tool(call);
            }
            SessionUpdate::Other => None,
        };
        happened.into_iter().collect()
    }

    fn tool(&mut self, call: ToolCall) -> Vec<Happened> {
        let id = call.tool_call_id;
        let running = self.tools.entry(id.clone()).or_default();
        if let Some(title) = call.title.filter(|title| !title.is_empty()) {
            running.title = title;
        }
        if let Some(text) = call.content.as_deref().and_then(joined) {
            running.text = text;
        }
        let mut happened = Vec::new();
        if !std::mem::replace(&mut running.is_started, true) {
            happened.push(Happened::ToolStarted {
                id: id.clone(),
                title: running.title.clone(),
                arguments: call.raw_input.unwrap_or_default(),
            });
        }
        let is_error = match call.status {
            Some(ToolCallStatus::Completed) => false,
            Some(ToolCallStatus::Failed) => true,
            Some(ToolCallStatus::Open) | None => return happened,
        };
        if let Some(Running { title, text, .. }) = self.tools.remove(&id) {
            happened.push(Happened::ToolEnded {
                id,
                title,
                text,
                is_error,
            });
        }
        happened
    }
}

fn text_of(content: &ContentBlock) -> Option<String> {
    match content {
        ContentBlock::Text { text } => Some(text.clone()),
        ContentBlock::Other => None,
    }
}

fn joined(content: &[ToolCallContent]) -> Option<String> {
    let texts = content.iter().filter_map(|part| match part {
        ToolCallContent::Content { content } => text_of(content),
        ToolCallContent::Other => None,
    });
    let text = texts.collect::<Vec<_>>().join("\n");
    (!text.is_empty()).then(|| text.chars().take(MAX_OUTPUT_CHARS).collect())
}
