//! A request to a model, and the rules that every provider enforces.

use std::borrow::Cow;
use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::conversation::{Block, Role, Turn};
use crate::json::RawJson;
use crate::web::WebTools;

/// A request for the next turn of a conversation.
///
/// Text that changes belongs in a turn of the user. In the system text it would
/// make the provider's prompt cache miss for all that follows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// Who the model is and what rules it has.
    pub system: String,
    /// The tools it may use.
    pub tools: Vec<ToolSpec>,
    /// How much of the start of the request other agents send too.
    pub shared: SharedStart,
    pub turns: Vec<Turn>,
    /// The most tokens that the reply may have.
    pub max_tokens: u32,
    /// Whether it has to use a tool.
    pub tool_choice: ToolChoice,
    /// What is sent only if it is set.
    pub tuning: Tuning,
    /// Whether the conversation may end with the model's turn. It may only to go
    /// on with a reply that stopped with
    /// [`StopReason::Paused`](crate::StopReason::Paused).
    pub resume: bool,
}

/// How much of the tools and of the system text other agents of the same account send too, byte for byte. A
/// provider that keeps starts of requests where it is told to is told to keep these, so that only the first of
/// the agents pays for them. Zero: nothing is known, and all of it is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SharedStart {
    /// The number of tools.
    pub tools: usize,
    /// The bytes of the system text. They end where a character ends.
    pub system: usize,
}

/// A tool as the model sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Its name: letters, digits, `_` and `-`, at most 64.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// The JSON schema of its arguments, an object. It is sent as it is: models write arguments in the
    /// order in which the schema has them.
    pub input_schema: RawJson,
}

/// Whether the model has to use a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// It must not use any.
    None,
    /// It must use one of its choice.
    Any,
    /// It must use this one.
    Tool(String),
}

/// Settings that are sent only if they are set, because newer models refuse
/// them even with their default values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tuning {
    /// The randomness of the sampling.
    pub temperature: Option<f64>,
    /// The share of probability that is sampled from.
    pub top_p: Option<f64>,
    /// How much work the model puts in.
    pub effort: Option<Effort>,
    /// Whether and how it thinks; understood by the Messages API only.
    pub thinking: Option<Thinking>,
    /// The tools of its provider with which the model may search and read the web.
    pub web: WebTools,
}

/// How much work a model puts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// No thinking; the least of the Messages API is [`Self::Low`].
    None,
    /// Hardly any; the same.
    Minimal,
    /// Little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
    /// Very much.
    XHigh,
    /// As much as it can.
    Max,
}

/// Whether and how a model thinks before it speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thinking {
    /// The model decides; the only mode of newer models.
    Adaptive,
    /// At most this many tokens; the only mode of older models.
    Budget(u32),
    /// Not at all. Some models refuse this.
    Disabled,
}

/// One turn of a checked conversation: no two neighbours have the same role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TurnView<'a> {
    pub(crate) role: Role,
    pub(crate) blocks: Vec<&'a Block>,
}

/// A rule of the conversation that a request breaks. Each is a fault of the
/// program that built the request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// There is nothing to answer.
    #[error("the conversation is empty")]
    Empty,
    /// The model cannot speak first.
    #[error("the conversation starts with the model's turn")]
    StartsWithAssistant,
    /// There is nothing new to answer.
    #[error("the conversation ends with the model's turn")]
    EndsWithAssistant,
    /// A block belongs to the other side.
    #[error("a {kind} block stands in the turn of the {role:?}")]
    WrongRole {
        /// The kind of block.
        kind: &'static str,
        /// Whose turn it stands in.
        role: Role,
    },
    /// A tool use has no result in the next turn.
    #[error("the tool use {0:?} has no result in the next turn")]
    MissingResult(String),
    /// A result answers no tool use of the turn before.
    #[error("the result for {0:?} answers no tool use of the turn before")]
    StrayResult(String),
    /// A tool use has more than one result.
    #[error("the tool use {0:?} has more than one result")]
    DuplicateResult(String),
    /// Two uses of one turn have the same id.
    #[error("the tool use id {0:?} is used twice in one turn")]
    DuplicateUse(String),
    /// A tool's name is not allowed or used twice.
    #[error("the tool name {0:?} is used twice or has other than 1 to 64 letters, digits, _ and -")]
    ToolName(String),
    /// A tool's schema is not that of an object.
    #[error("the input schema of the tool {0:?} is not of type object")]
    ToolSchema(String),
    /// A reply of no tokens is none.
    #[error("max_tokens is zero")]
    NoTokens,
}

impl Request {
    /// Checks the rules that every provider enforces. The clients do so before
    /// they send anything.
    ///
    /// Some things are corrected instead, in what is sent: neighbouring turns of
    /// the same side are merged, tool results are put first in their turn, blank
    /// texts and thoughts at the end of a turn are left out, and so are turns that
    /// have nothing else.
    pub fn validate(&self) -> Result<(), RequestError> {
        self.view(|_| true).map(|_| ())
    }

    /// The conversation as it is to be sent, of those blocks that `keep` lets
    /// through.
    pub(crate) fn view(
        &self,
        keep: impl Fn(&Block) -> bool,
    ) -> Result<Vec<TurnView<'_>>, RequestError> {
        if self.max_tokens == 0 {
            return Err(RequestError::NoTokens);
        }
        self.check_tools()?;
        let turns = merge(&self.turns, self.resume, keep)?;
        match turns.first().map(|turn| turn.role) {
            None => return Err(RequestError::Empty),
            Some(Role::Assistant) => return Err(RequestError::StartsWithAssistant),
            Some(Role::User) => {}
        }
        check_pairs(&turns)?;
        let ends_with_assistant = turns.last().map(|turn| turn.role) == Some(Role::Assistant);
        if ends_with_assistant && !self.resume {
            return Err(RequestError::EndsWithAssistant);
        }
        Ok(turns)
    }

    fn check_tools(&self) -> Result<(), RequestError> {
        let mut names = HashSet::new();
        for tool in &self.tools {
            let name = &tool.name;
            let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
            let fits = (1..=64).contains(&name.len()) && name.bytes().all(allowed);
            if !fits || !names.insert(name) {
                return Err(RequestError::ToolName(name.clone()));
            }
            if !is_object_schema(&tool.input_schema) {
                return Err(RequestError::ToolSchema(name.clone()));
            }
        }
        Ok(())
    }
}

fn is_object_schema(schema: &RawJson) -> bool {
    #[derive(Deserialize)]
    struct Schema<'a> {
        #[serde(rename = "type", borrow)]
        kind: Cow<'a, str>,
    }
    let read = schema.read::<Schema<'_>>();
    read.is_ok_and(|schema| schema.kind == "object")
}

/// Merges neighbours of the same role, without blocks that say nothing and
/// without turns that have no others. Only a reply that goes on may end with a thought.
fn merge(
    turns: &[Turn],
    resume: bool,
    keep: impl Fn(&Block) -> bool,
) -> Result<Vec<TurnView<'_>>, RequestError> {
    let mut kept: Vec<TurnView<'_>> = Vec::with_capacity(turns.len());
    for turn in turns {
        for block in &turn.blocks {
            check_role(turn.role, block)?;
            if !is_blank(block) && keep(block) {
                push(&mut kept, turn.role, &[block]);
            }
        }
    }
    let last = kept.len().saturating_sub(1);
    let mut views = Vec::with_capacity(kept.len());
    for (place, view) in kept.into_iter().enumerate() {
        let ends = view.blocks.iter().rposition(|block| !block.is_thought());
        let length = match resume && place == last {
            true => view.blocks.len(),
            false => ends.map_or(0, |end| end + 1),
        };
        push(&mut views, view.role, &view.blocks[..length]);
    }
    for view in &mut views {
        // The sort is stable, so that nothing else changes places.
        view.blocks
            .sort_by_key(|block| !matches!(block, Block::ToolResult(_)));
    }
    Ok(views)
}

/// Adds blocks to the last turn if it has the same role, else in a new one.
fn push<'a>(views: &mut Vec<TurnView<'a>>, role: Role, blocks: &[&'a Block]) {
    if blocks.is_empty() {
        return;
    }
    match views.last_mut() {
        Some(view) if view.role == role => view.blocks.extend_from_slice(blocks),
        _ => views.push(TurnView {
            role,
            blocks: blocks.to_vec(),
        }),
    }
}

fn is_blank(block: &Block) -> bool {
    matches!(block, Block::Text { text } if text.trim().is_empty())
}

fn check_role(role: Role, block: &Block) -> Result<(), RequestError> {
    let (kind, right) = match block {
        Block::Text { .. } => return Ok(()),
        Block::Thinking { .. } | Block::RedactedThinking { .. } => ("thinking", Role::Assistant),
        Block::ToolUse(_) => ("tool use", Role::Assistant),
        Block::Opaque { .. } => ("opaque", Role::Assistant),
        Block::ToolResult(_) => ("tool result", Role::User),
        Block::Image(_) => ("image", Role::User),
    };
    if role == right {
        Ok(())
    } else {
        Err(RequestError::WrongRole { kind, role })
    }
}

/// Checks that every tool use has one result in the next turn, and every result
/// a use in the turn before.
fn check_pairs(turns: &[TurnView<'_>]) -> Result<(), RequestError> {
    let mut open: HashSet<&str> = HashSet::new();
    let mut answered: HashSet<&str> = HashSet::new();
    for turn in turns {
        for block in &turn.blocks {
            match block {
                Block::ToolUse(usage) if !open.insert(&usage.id) => {
                    return Err(RequestError::DuplicateUse(usage.id.clone()));
                }
                Block::ToolResult(result) => {
                    let id = result.tool_use_id.as_str();
                    if open.remove(id) {
                        answered.insert(id);
                    } else if answered.contains(id) {
                        return Err(RequestError::DuplicateResult(id.to_owned()));
                    } else {
                        return Err(RequestError::StrayResult(id.to_owned()));
                    }
                }
                _ => {}
            }
        }
        if turn.role == Role::User {
            if let Some(id) = open.iter().min() {
                return Err(RequestError::MissingResult((*id).to_owned()));
            }
            answered.clear();
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
