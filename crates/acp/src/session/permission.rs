//! The permissions that an agent asks for.

use crate::schema::{
    PermissionOption, PermissionOptionKind, RequestPermissionRequest, ToolKind as StoredKind,
};
use crate::wire::response;
use serde_json::{Value, json};

/// A question of an agent: whether it may use one of its tools.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The number to answer it by.
    pub ask: u64,
    pub call: AgentCall,
}

/// A call of one of the agent's own tools, as far as the agent has described it.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentCall {
    pub id: String,
    pub title: String,
    pub kind: ToolKind,
    /// The arguments of the tool, as the agent says them.
    pub arguments: Value,
}

/// What a tool of an agent does, by the agent's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolKind {
    Reads,
    /// It changes, moves or deletes files.
    Changes,
    /// It runs a command.
    Executes,
    /// It reads from the network.
    Fetches,
    /// Nobody knows.
    Other,
}

/// What is decided about a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Allow,
    Reject,
    /// Nobody decides about it any more.
    Cancel,
}

/// A question that the agent waits for.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) number: u64,
    /// The id of the agent's request.
    pub(super) id: Value,
    options: Vec<PermissionOption>,
}

impl Asked {
    pub(super) fn read(number: u64, id: Value, params: Value) -> Option<(Self, Question)> {
        let request: RequestPermissionRequest = serde_json::from_value(params).ok()?;
        let call = request.tool_call;
        let question = Question {
            ask: number,
            call: AgentCall {
                id: call.tool_call_id,
                title: call.title.unwrap_or_default(),
                kind: known_kind(call.kind),
                arguments: call.raw_input.unwrap_or_default(),
            },
        };
        let asked = Self {
            number,
            id,
            options: request.options,
        };
        Some((asked, question))
    }

    /// The answer with the first option of the wanted kind.
    pub(super) fn answer(&self, verdict: Verdict) -> String {
        let kinds: &[PermissionOptionKind] = match verdict {
            Verdict::Allow => &[PermissionOptionKind::AllowOnce],
            Verdict::Reject => &[
                PermissionOptionKind::RejectOnce,
                PermissionOptionKind::RejectAlways,
            ],
            Verdict::Cancel => &[],
        };
        let of_kind = |kind: &PermissionOptionKind| {
            let mut options = self.options.iter();
            options.find(|option| option.kind == *kind)
        };
        match kinds.iter().find_map(of_kind) {
            Some(option) => {
                let outcome = json!({"outcome": "selected", "optionId": option.option_id});
                response(&self.id, json!({ "outcome": outcome }))
            }
            None => self.cancelled(),
        }
    }

    pub(super) fn cancelled(&self) -> String {
        response(&self.id, json!({"outcome": {"outcome": "cancelled"}}))
    }
}

pub(super) fn known_kind(kind: Option<StoredKind>) -> ToolKind {
    match kind {
        Some(StoredKind::Read | StoredKind::Search | StoredKind::Think) => ToolKind::Reads,
        Some(StoredKind::Edit | StoredKind::Delete | StoredKind::Move) => ToolKind::Changes,
        Some(StoredKind::Execute) => ToolKind::Executes,
        Some(StoredKind::Fetch) => ToolKind::Fetches,
        Some(StoredKind::Other) | None => ToolKind::Other,
    }
}
