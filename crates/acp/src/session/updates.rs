//! What an agent says and does during a prompt.

use super::permission::known_kind;
use super::{AgentCall, Session, SessionEvent, State, ToolKind};
use crate::schema::{
    ContentBlock, Cost, SessionNotification, SessionUpdate, ToolCall, ToolCallContent,
    ToolCallStatus,
};
use serde_json::Value;

/// How much of a tool's output is kept.
const MAX_OUTPUT_CHARS: usize = 2_000;
/// How many tools of an agent are followed at the same time.
const MAX_RUNNING: usize = 1_000;

/// A tool that runs.
#[derive(Debug)]
pub(super) struct Running {
    call: AgentCall,
    text: String,
    is_started: bool,
}

impl Running {
    fn new(id: &str) -> Self {
        let call = AgentCall {
            id: id.to_owned(),
            title: String::new(),
            kind: ToolKind::Other,
            arguments: Value::Null,
        };
        Self {
            call,
            text: String::new(),
            is_started: false,
        }
    }

    /// Takes in what an update says. Agents may say the arguments later than the call.
    fn update(&mut self, update: ToolCall) {
        if let Some(title) = update.title.filter(|title| !title.is_empty()) {
            self.call.title = title;
        }
        if update.kind.is_some() {
            self.call.kind = known_kind(update.kind);
        }
        if let Some(arguments) = update.raw_input.filter(says_something) {
            self.call.arguments = arguments;
        }
        let text = update.content.as_deref().and_then(joined);
        if let Some(text) = text.or_else(|| output_text(update.raw_output?)) {
            self.text = text;
        }
    }
}

fn says_something(arguments: &Value) -> bool {
    match arguments {
        Value::Null => false,
        Value::Object(fields) => !fields.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => true,
    }
}

impl Session {
    /// Takes in an update. Outside of a prompt it is history that is shown again, or nothing that matters.
    pub(super) fn updated(&mut self, params: &Value) -> Vec<SessionEvent> {
        let State::Prompt { .. } = self.state else {
            return Vec::new();
        };
        let Ok(notification) = serde_json::from_value::<SessionNotification>(params.clone()) else {
            return Vec::new();
        };
        let events = match notification.update {
            SessionUpdate::AgentMessageChunk { content } => {
                text_of(&content).map(SessionEvent::Text)
            }
            SessionUpdate::AgentThoughtChunk { content } => {
                text_of(&content).map(SessionEvent::Thought)
            }
            SessionUpdate::ToolCall(call) | SessionUpdate::ToolCallUpdate(call) => {
                return self.tool(call);
            }
            SessionUpdate::UsageUpdate { cost } => cost.and_then(dollars).map(SessionEvent::Cost),
            SessionUpdate::Other => None,
        };
        events.into_iter().collect()
    }

    fn tool(&mut self, update: ToolCall) -> Vec<SessionEvent> {
        let (id, status) = (update.tool_call_id.clone(), update.status);
        if self.tools.len() >= MAX_RUNNING && !self.tools.contains_key(&id) {
            return Vec::new();
        }
        let running = self.tools.entry(id.clone());
        let running = running.or_insert_with(|| Running::new(&id));
        running.update(update);
        let mut events = Vec::new();
        if !std::mem::replace(&mut running.is_started, true) {
            events.push(SessionEvent::ToolStarted(running.call.clone()));
        }
        let is_error = match status {
            Some(ToolCallStatus::Completed) => false,
            Some(ToolCallStatus::Failed) => true,
            Some(ToolCallStatus::Open) | None => return events,
        };
        if let Some(Running { call, text, .. }) = self.tools.remove(&id) {
            events.push(SessionEvent::ToolEnded {
                call,
                text,
                is_error,
            });
        }
        events
    }

    /// Adds what earlier updates said of a call that the agent asks about.
    pub(super) fn complete(&self, asked: &mut AgentCall) {
        let Some(Running { call, .. }) = self.tools.get(&asked.id) else {
            return;
        };
        if asked.title.is_empty() {
            asked.title.clone_from(&call.title);
        }
        if asked.kind == ToolKind::Other {
            asked.kind = call.kind;
        }
        if !says_something(&asked.arguments) {
            asked.arguments.clone_from(&call.arguments);
        }
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

/// The output of a tool where the agent has no content for people.
fn output_text(output: Value) -> Option<String> {
    let text = match &output {
        Value::String(text) => text.as_str(),
        other => other["output"].as_str().or(other["stdout"].as_str())?,
    };
    (!text.is_empty()).then(|| text.chars().take(MAX_OUTPUT_CHARS).collect())
}

/// What a session has cost, if the agent says it in dollars.
fn dollars(cost: Cost) -> Option<f64> {
    let is_usable = cost.currency == "USD" && cost.amount.is_finite() && cost.amount >= 0.0;
    is_usable.then_some(cost.amount)
}
