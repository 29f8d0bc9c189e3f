//! Requests of Chat Completions.

use std::borrow::Cow;

use serde::Serialize;
use serde::ser::SerializeMap;
use serde_json::value::RawValue;

use super::dialect::{Dialect, TokenField};
use crate::conversation::{Block, Provider, Role, ToolResult, ToolUse, plain_name};
use crate::images::{Image, ShownImages};
use crate::json::RawJson;
use crate::request::{Effort, Request, RequestError, ToolChoice, ToolSpec, TurnView};

/// The body of a request.
pub(super) fn encode(
    request: &Request,
    model: &str,
    dialect: &Dialect,
    images: &ShownImages,
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
        messages: messages(&request.system, &turns, dialect, images),
    };
    Ok(serde_json::to_vec(&body).expect("the body has only strings, numbers and JSON"))
}

/// Thoughts go back only to servers that want them, and signed ones belong to another wire format. Of an
/// unknown block that has a text, the text is sent.
fn is_understood(block: &Block, dialect: &Dialect) -> bool {
    match block {
        Block::Thinking { signature, .. } => {
            signature.is_none() && dialect.reasoning_field.is_some()
        }
        Block::RedactedThinking { .. } => false,
        Block::Opaque {
            provider: Provider::OpenAi,
            ..
        } => true,
        Block::Opaque { .. } => block.has_readable_text(),
        Block::Text { .. } | Block::ToolUse(_) | Block::ToolResult(_) | Block::Image(_) => true,
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
    /// A text with images, which only the user's messages can have.
    Seen(Vec<Part<'a>>),
    Tool {
        tool_call_id: &'a str,
        content: Cow<'a, str>,
    },
    Assistant {
        content: String,
        /// The name of the field and the thoughts.
        reasoning: Option<(&'a str, String)>,
        reasoning_details: Option<&'a RawValue>,
        tool_calls: Vec<ToolCall<'a>>,
    },
}

/// A part of a message with images.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    Text { text: Cow<'a, str> },
    ImageUrl { image_url: ImageUrl },
}

#[derive(Serialize)]
struct ImageUrl {
    url: String,
}

impl<'a> Part<'a> {
    fn text(text: Cow<'a, str>) -> Self {
        Self::Text { text }
    }

    fn image(image: &Image) -> Self {
        Self::ImageUrl {
            image_url: ImageUrl { url: image.url() },
        }
    }

    fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text } => Some(text),
            Self::ImageUrl { .. } => None,
        }
    }
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
    name: Cow<'a, str>,
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
            Self::Seen(parts) => {
                map.serialize_entry("role", "user")?;
                map.serialize_entry("content", parts)?;
            }
            Self::Tool {
                tool_call_id,
                content,
            } => {
                map.serialize_entry("role", "tool")?;
                map.serialize_entry("tool_call_id", tool_call_id)?;
                map.serialize_entry("content", content)?;
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
pub(super) fn result_text<'a>(result: &'a ToolResult, images: &ShownImages) -> Cow<'a, str> {
    let text = images.text_of(result);
    match result.is_error {
        true => Cow::Owned(format!("ERROR: {text}")),
        false => text,
    }
}

fn messages<'a>(
    system: &str,
    turns: &[TurnView<'a>],
    dialect: &'a Dialect,
    images: &ShownImages,
) -> Vec<Message<'a>> {
    let mut messages = Vec::new();
    if !system.trim().is_empty() {
        messages.push(Message::Text {
            role: "system",
            content: system.to_owned(),
        });
    }
    for turn in turns {
        match turn.role {
            Role::User => user(turn, images, &mut messages),
            Role::Assistant => messages.push(assistant(turn, dialect)),
        }
    }
    messages
}

/// The results come first, one message each, and then all text in one. Their images are there too, since
/// a result can have none.
fn user<'a>(turn: &TurnView<'a>, images: &ShownImages, messages: &mut Vec<Message<'a>>) {
    let mut parts: Vec<Part<'a>> = Vec::new();
    for block in &turn.blocks {
        match block {
            Block::ToolResult(result) => {
                messages.push(Message::Tool {
                    tool_call_id: &result.tool_use_id,
                    content: result_text(result, images),
                });
                parts.extend(images.of(result).into_iter().map(Part::image));
            }
            Block::Text { text } => parts.push(Part::text(Cow::Borrowed(text))),
            Block::Image(image) if images.has(image) => parts.push(Part::image(image)),
            Block::Image(image) => parts.push(Part::text(Cow::Owned(image.placeholder()))),
            _ => {}
        }
    }
    let texts: Option<Vec<&str>> = parts.iter().map(Part::as_text).collect();
    match texts {
        None => messages.push(Message::Seen(parts)),
        Some(texts) if texts.is_empty() => {}
        // Many servers know only this form.
        Some(texts) => messages.push(Message::Text {
            role: "user",
            content: texts.join("\n\n"),
        }),
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
            Block::Opaque {
                provider: Provider::OpenAi,
                json,
            } => {
                #[derive(serde::Deserialize)]
                struct Kept<'a> {
                    #[serde(borrow)]
                    reasoning_details: Option<&'a RawValue>,
                }
                if let Ok(kept) = json.read::<Kept<'a>>() {
                    reasoning_details = kept.reasoning_details;
                }
            }
            Block::Opaque { .. } => content.push_str(&block.readable_text().unwrap_or_default()),
            Block::ToolUse(tool_use) => tool_calls.push(tool_call(tool_use)),
            Block::RedactedThinking { .. } | Block::ToolResult(_) | Block::Image(_) => {}
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
            name: plain_name(&tool_use.name),
            arguments: tool_use.replayed_input().get(),
        },
        extra_content: tool_use.extra_content(),
    }
}
