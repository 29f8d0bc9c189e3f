//! A block of a reply while it comes in.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::decode::Delta;
use crate::conversation::{Block, Provider, ToolUse};
use crate::decode::DecodeError;
use crate::json::{PayloadReader, RawJson, lenient_text};
use crate::limits::tool_name;
use crate::model::Event;

/// A block that is not yet complete.
#[derive(Debug)]
pub(super) enum OpenBlock {
    Text {
        text: String,
        citations: Vec<RawJson>,
    },
    Thinking {
        text: String,
        signature: String,
    },
    Redacted {
        data: String,
    },
    Tool {
        id: String,
        name: String,
        /// What the start had. It is the whole input if no deltas follow.
        given: String,
        pieces: String,
    },
    /// A block of an unknown kind, and the pieces that known deltas add to it.
    Opaque {
        start: RawJson,
        text: String,
        input: String,
    },
}

/// The fields of the kinds that are known.
#[derive(Deserialize)]
struct Start<'a> {
    #[serde(rename = "type", borrow, default, deserialize_with = "lenient_text")]
    kind: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "lenient_text")]
    text: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "lenient_text")]
    thinking: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "lenient_text")]
    signature: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "lenient_text")]
    data: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "lenient_text")]
    id: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "lenient_text")]
    name: Cow<'a, str>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    citations: Option<Vec<&'a RawValue>>,
}

impl OpenBlock {
    /// The block that an event begins, with what it brings along.
    pub(super) fn start(raw: &RawValue, sink: &mut dyn FnMut(Event)) -> Result<Self, DecodeError> {
        let mut reader = PayloadReader::default();
        let start: Start<'_> = reader
            .read(raw.get().as_bytes())
            .map_err(|error| DecodeError::malformed(&error))?;
        Ok(match &*start.kind {
            "text" => {
                tell(Event::TextDelta, &start.text, sink);
                Self::Text {
                    text: start.text.into_owned(),
                    citations: start.citations.map_or_else(Vec::new, |list| {
                        list.into_iter().map(RawJson::from).collect()
                    }),
                }
            }
            "thinking" => {
                tell(Event::ThinkingDelta, &start.thinking, sink);
                Self::Thinking {
                    text: start.thinking.into_owned(),
                    signature: start.signature.into_owned(),
                }
            }
            "redacted_thinking" => Self::Redacted {
                data: start.data.into_owned(),
            },
            "tool_use" => {
                let (id, name) = (start.id.into_owned(), tool_name(&start.name));
                sink(Event::ToolUseStarted {
                    id: id.clone(),
                    name: name.clone(),
                });
                Self::Tool {
                    id,
                    name,
                    given: start.input.map_or("", RawValue::get).to_owned(),
                    pieces: String::new(),
                }
            }
            _ => Self::Opaque {
                start: RawJson::from(raw),
                text: String::new(),
                input: String::new(),
            },
        })
    }

    /// How many bytes of input a tool use has so far.
    pub(super) fn tool_input(&self) -> Option<usize> {
        match self {
            Self::Tool { given, pieces, .. } => Some(given.len().max(pieces.len())),
            _ => None,
        }
    }

    /// The block that a delta belongs to if its start never came.
    pub(super) fn implied(delta: &Delta<'_>) -> Self {
        if matches!(&*delta.kind, "thinking_delta" | "signature_delta") {
            Self::Thinking {
                text: String::new(),
                signature: String::new(),
            }
        } else {
            Self::Text {
                text: String::new(),
                citations: Vec::new(),
            }
        }
    }

    /// Adds a delta. One that does not fit the block is ignored.
    pub(super) fn extend(&mut self, delta: &Delta<'_>, sink: &mut dyn FnMut(Event)) {
        match self {
            Self::Text { text, citations } => {
                text.push_str(&delta.text);
                citations.extend(delta.citation.map(RawJson::from));
                tell(Event::TextDelta, &delta.text, sink);
            }
            Self::Thinking { text, signature } => {
                text.push_str(&delta.thinking);
                signature.push_str(&delta.signature);
                tell(Event::ThinkingDelta, &delta.thinking, sink);
            }
            Self::Tool { pieces, .. } => pieces.push_str(&delta.partial_json),
            Self::Opaque { text, input, .. } => {
                text.push_str(&delta.text);
                input.push_str(&delta.partial_json);
            }
            Self::Redacted { .. } => {}
        }
    }

    /// The block as the conversation stores it.
    pub(super) fn close(self) -> Block {
        match self {
            Self::Text { text, citations } if citations.is_empty() => Block::Text { text },
            Self::Text { text, citations } => Block::Opaque {
                provider: Provider::Anthropic,
                json: cited_text(&text, &citations),
            },
            Self::Thinking { text, signature } => Block::Thinking {
                text,
                // Gateways send an empty one, which the API refuses when it comes back.
                signature: Some(signature).filter(|signature| !signature.is_empty()),
            },
            Self::Redacted { data } => Block::RedactedThinking { data },
            Self::Tool {
                id,
                name,
                given,
                pieces,
            } => {
                let arguments = if pieces.is_empty() { &given } else { &pieces };
                Block::ToolUse(ToolUse::new(id, name, arguments))
            }
            Self::Opaque { start, text, input } => Block::Opaque {
                provider: Provider::Anthropic,
                json: fold(start, text, &input),
            },
        }
    }
}

fn tell(event: fn(String) -> Event, text: &str, sink: &mut dyn FnMut(Event)) {
    if !text.is_empty() {
        sink(event(text.to_owned()));
    }
}

fn cited_text(text: &str, citations: &[RawJson]) -> RawJson {
    let text = Value::from(text).to_string();
    let citations: Vec<_> = citations.iter().map(RawJson::get).collect();
    let citations = citations.join(",");
    RawJson::parse(format!(
        r#"{{"type":"text","text":{text},"citations":[{citations}]}}"#
    ))
    .expect("its parts are JSON")
}

/// The start with the pieces put in; unchanged if there were none.
fn fold(start: RawJson, text: String, input: &str) -> RawJson {
    if text.is_empty() && input.is_empty() {
        return start;
    }
    let Ok(mut block) = start.read::<Map<String, Value>>() else {
        return start;
    };
    if !text.is_empty() {
        let before = block.get("text").and_then(Value::as_str).unwrap_or("");
        block.insert("text".into(), Value::from(format!("{before}{text}")));
    }
    if let Ok(input) = serde_json::from_str::<Value>(input) {
        block.insert("input".into(), input);
    }
    RawJson::from(Value::Object(block))
}
