//! Requests of Chat Completions.

use serde::Serialize;
use serde::ser::SerializeMap;
use serde_json::value::RawValue;

use super::dialect::{Dialect, TokenField};
use crate::conversation::{Block, Provider, Role, ToolResult, ToolUse};
use crate::json::RawJson;
use crate::request::{Effort, Request, RequestError, ToolChoice, ToolSpec, TurnView};

/// The body of a request.
pub(super) fn encode(
    request: &Request,
    model: &str,
    dialect: &Dialect,
) -> Result<Vec<u8>, RequestError> {
    let turns = request.view(|block| is_understood(block, dialect))?;
    let (max_tokens, max_completion_tokens) = match dialect.token_field {
        TokenField::MaxTokens => (Some(request.max_tokens), None),
        TokenField::MaxCompletionTokens => (None, Some(request.max_tokens)),
    };
    let has_tools = !request.tools.is_empty();
    let body = Body {
        model,
        max_tokens,
        max_completion_tokens,
        stream: true,
        stream_options: dialect.asks_for_usage.then_some(StreamOptions {
            include_usage: true,
        }),
        temperature: request.tuning.temperature,
        top_p: request.tuning.top_p,
        reasoning_effort: request.tuning.effort,
        tools: request.tools.iter().map(tool).collect(),
        tool_choice: has_tools
            .then(|| tool_choice(&request.tool_choice))
            .flatten(),
        parallel_tool_calls: dialect.parallel_tool_calls.filter(|_| has_tools),
        messages: messages(&request.system, &turns, dialect),
    };
    Ok(serde_json::to_vec(&body).expect("the body has only strings, numbers and JSON"))
}

/// Thoughts go back only where they are wanted, and those with a seal belong to
/// the other wire format.
fn is_understood(block: &Block, dialect: &Dialect) -> bool {
    match block {
        Block::Thinking { signature, .. } => {
            signature.is_none() && dialect.reasoning_field.is_some()
        }
        Block::RedactedThinking { .. } => false,
        Block::Opaque { provider, .. } => *provider == Provider::OpenAi,
        Block::Text { .. } | Block::ToolUse(_) | Block::ToolResult(_) => true,
    }
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<Effort>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<WireToolChoice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    messages: Vec<Message<'a>>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct Tool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: ToolFunction<'a>,
}

#[derive(Serialize)]
struct ToolFunction<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a RawJson,
}

#[derive(Serialize)]
#[serde(untagged)]
enum WireToolChoice<'a> {
    Mode(&'static str),
    Named {
        #[serde(rename = "type")]
        kind: &'static str,
        function: Named<'a>,
    },
}

#[derive(Serialize)]
struct Named<'a> {
    name: &'a str,
}

fn tool(spec: &ToolSpec) -> Tool<'_> {
    Tool {
        kind: "function",
        function: ToolFunction {
            name: &spec.name,
            description: &spec.description,
            parameters: &spec.input_schema,
        },
    }
}

fn tool_choice(choice: &ToolChoice) -> Option<WireToolChoice<'_>> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some(WireToolChoice::Mode("none")),
        ToolChoice::Any => Some(WireToolChoice::Mode("required")),
        ToolChoice::Tool(name) => Some(WireToolChoice::Named {
            kind: "function",
            function: Named { name },
        }),
    }
}

/// A message. Its fields differ so much by role, and one of them has a name that
/// is set from outside, that they are written by hand.
enum Message<'a> {
    Text {
        role: &'static str,
        content: String,
    },
    Tool(&'a ToolResult),
    Assistant {
        content: String,
        /// The name of the field and the thoughts.
        reasoning: Option<(&'a str, String)>,
        reasoning_details: Option<&'a RawValue>,
        tool_calls: Vec<ToolCall<'a>>,
    },
}

#[derive(Serialize)]
struct ToolCall<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: CalledFunction<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<&'a RawJson>,
}

#[derive(Serialize)]
struct CalledFunction<'a> {
    name: &'a str,
    /// The JSON as a text.
    arguments: &'a str,
}

impl Serialize for Message<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self {
            Self::Text { role, content } => {
                map.serialize_entry("role", role)?;
                map.serialize_entry("content", content)?;
            }
            Self::Tool(result) => {
                map.serialize_entry("role", "tool")?;
                map.serialize_entry("tool_call_id", &result.tool_use_id)?;
                map.serialize_entry("content", &result_text(result))?;
            }
            Self::Assistant {
                content,
                reasoning,
                reasoning_details,
                tool_calls,
            } => {
                map.serialize_entry("role", "assistant")?;
                if content.is_empty() && !tool_calls.is_empty() {
                    map.serialize_entry("content", &())?;
                } else {
                    map.serialize_entry("content", content)?;
                }
                if let Some((field, text)) = reasoning {
                    map.serialize_entry(field, text)?;
                }
                if let Some(details) = reasoning_details {
                    map.serialize_entry("reasoning_details", details)?;
                }
                if !tool_calls.is_empty() {
                    map.serialize_entry("tool_calls", tool_calls)?;
                }
            }
        }
        map.end()
    }
}

/// This wire format has no flag for failures, so the text has to say it.
fn result_text(result: &ToolResult) -> String {
    if result.is_error {
        format!("ERROR: {}", result.content)
    } else {
        result.content.clone()
    }
}

fn messages<'a>(system: &str, turns: &[TurnView<'a>], dialect: &'a Dialect) -> Vec<Message<'a>> {
    let mut messages = Vec::new();
    if !system.trim().is_empty() {
        messages.push(Message::Text {
            role: "system",
            content: system.to_owned(),
        });
    }
    for turn in turns {
        match turn.role {
            Role::User => user(turn, &mut messages),
            Role::Assistant => messages.push(assistant(turn, dialect)),
        }
    }
    messages
}

/// The results come first, one message each, and then all text in one.
fn user<'a>(turn: &TurnView<'a>, messages: &mut Vec<Message<'a>>) {
    let mut texts = Vec::new();
    for block in &turn.blocks {
        match block {
            Block::ToolResult(result) => messages.push(Message::Tool(result)),
            Block::Text { text } => texts.push(text.as_str()),
            _ => {}
        }
    }
    if !texts.is_empty() {
        messages.push(Message::Text {
            role: "user",
            content: texts.join("\n\n"),
        });
    }
}

fn assistant<'a>(turn: &TurnView<'a>, dialect: &'a Dialect) -> Message<'a> {
    let mut content = String::new();
    let mut thoughts = String::new();
    let mut reasoning_details = None;
    let mut tool_calls = Vec::new();
    for block in &turn.blocks {
        match block {
            Block::Text { text } => content.push_str(text),
            Block::Thinking { text, .. } => thoughts.push_str(text),
            Block::Opaque { json, .. } => {
                #[derive(serde::Deserialize)]
                struct Kept<'a> {
                    #[serde(borrow)]
                    reasoning_details: Option<&'a RawValue>,
                }
                if let Ok(kept) = json.read::<Kept<'a>>() {
                    reasoning_details = kept.reasoning_details;
                }
            }
            Block::ToolUse(tool_use) => tool_calls.push(tool_call(tool_use)),
            Block::RedactedThinking { .. } | Block::ToolResult(_) => {}
        }
    }
    let wanted = !tool_calls.is_empty() || !thoughts.is_empty();
    Message::Assistant {
        content,
        reasoning: dialect
            .reasoning_field
            .as_deref()
            .filter(|_| wanted)
            .map(|field| (field, thoughts)),
        reasoning_details,
        tool_calls,
    }
}

fn tool_call(tool_use: &ToolUse) -> ToolCall<'_> {
    ToolCall {
        id: &tool_use.id,
        kind: "function",
        function: CalledFunction {
            name: &tool_use.name,
            arguments: tool_use.replayed_input().get(),
        },
        extra_content: tool_use.extra_content(),
    }
}
