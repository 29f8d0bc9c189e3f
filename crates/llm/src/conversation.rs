//! The conversation with a model, in a form that belongs to no provider.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::images::Image;
use crate::json::{RawJson, mend_whole};

mod replay;
mod scrub;
mod stored;

pub(crate) use replay::{call_id, plain_name};
pub(crate) use scrub::scrub_reply;

/// Who speaks in a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The program and its users, tool results included.
    User,
    Assistant,
}

/// A wire format. A block that is kept as it came can go back only to providers of its wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Provider {
    Anthropic,
    /// Chat Completions, as OpenAI and many others serve it.
    OpenAi,
    /// The Responses API of OpenAI. Its blocks are items of a response.
    Responses,
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::Responses => "responses",
        })
    }
}

/// What one side says before the other side speaks.
///
/// Turns are stored as JSON. They must be read directly by `serde_json`, for the
/// reason that [`RawJson`] gives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    pub role: Role,
    /// The content, in order.
    pub blocks: Vec<Block>,
}

impl Turn {
    /// A user's turn that is one text.
    pub fn user(text: impl Into<String>) -> Self {
        Self {
            role: Role::User,
            blocks: vec![Block::text(text)],
        }
    }

    /// A user's turn that answers the tool uses of the turn before.
    pub fn results(results: impl IntoIterator<Item = ToolResult>) -> Self {
        Self {
            role: Role::User,
            blocks: results.into_iter().map(Block::ToolResult).collect(),
        }
    }

    /// The model's turn, as a reply brought it.
    pub fn assistant(blocks: Vec<Block>) -> Self {
        Self {
            role: Role::Assistant,
            blocks,
        }
    }
}

/// A piece of a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    try_from = "stored::StoredBlock"
)]
pub enum Block {
    Text {
        text: String,
    },
    /// The model's thinking before its reply.
    Thinking {
        /// The thought; a provider may hide it and send only the signature.
        text: String,
        /// The provider's signature, kept as it came. `None` for wire formats without signatures, which is
        /// not the same as an empty one.
        #[serde(skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    /// A thought that only the provider can read.
    RedactedThinking {
        /// The encrypted thinking, unchanged.
        data: String,
    },
    /// The model wants a tool to be run.
    ToolUse(ToolUse),
    /// The result of a tool.
    ToolResult(ToolResult),
    /// An image that the user shows.
    Image(Image),
    /// A block of an unknown kind. It goes back only to the provider that sent it.
    Opaque {
        provider: Provider,
        /// The block, unchanged.
        json: RawJson,
    },
}

impl Block {
    /// A block of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// The text for a reader, if the block has any. Thoughts and tool blocks
    /// have none.
    pub fn readable_text(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Text { text } => Some(Cow::Borrowed(text)),
            Self::Opaque { json, .. } => replay::readable_text(json).map(Cow::Owned),
            Self::Thinking { .. }
            | Self::RedactedThinking { .. }
            | Self::ToolUse(_)
            | Self::ToolResult(_)
            | Self::Image(_) => None,
        }
    }

    /// Whether anything but white space is left of the block where only texts are understood.
    pub(crate) fn has_readable_text(&self) -> bool {
        self.readable_text()
            .is_some_and(|text| !text.trim().is_empty())
    }

    /// Whether the block is a thought, or only carries an encrypted one. It has nothing for a reader.
    pub(crate) fn is_thought(&self) -> bool {
        match self {
            Self::Thinking { .. } | Self::RedactedThinking { .. } => true,
            Self::Opaque { provider, json } => match provider {
                Provider::Anthropic => false,
                Provider::OpenAi => true,
                Provider::Responses => replay::is_reasoning(json),
            },
            Self::Text { .. } | Self::ToolUse(_) | Self::ToolResult(_) | Self::Image(_) => false,
        }
    }
}

/// A tool call that the model requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolUse {
    /// The id that the result names.
    pub id: String,
    pub name: String,
    /// A JSON object, always; what the model wrote if there is no flaw.
    input: RawJson,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    flaw: Option<InputError>,
    /// What the server attached to the call and wants back with it, such as Gemini's encrypted reasoning.
    /// Only the wire format that it came by understands it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    extra_content: Option<RawJson>,
    /// The other fields of the item of the Responses API that this use came as, an object. They go
    /// back with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    item: Option<RawJson>,
}

impl ToolUse {
    /// A use from the text of the arguments as the model wrote it. Empty means
    /// no arguments. A text that is not a JSON object becomes a flawed use.
    pub fn new(id: impl Into<String>, name: impl Into<String>, arguments: &str) -> Self {
        let arguments = arguments.trim();
        let (input, flaw) = match arguments {
            "" | "null" => (RawJson::from(json!({})), None),
            text => match RawJson::parse(mend_whole(text.to_owned())) {
                Ok(input) if input.is_object() => (input, None),
                Ok(_) | Err(_) => (keep_flawed(text), Some(InputError::NotAnObject)),
            },
        };
        Self {
            id: id.into(),
            name: name.into(),
            input,
            flaw,
            extra_content: None,
            item: None,
        }
    }

    /// The same use, with what the server wants back with it.
    #[must_use]
    pub(crate) fn with_extra_content(mut self, extra: Option<RawJson>) -> Self {
        self.extra_content = extra;
        self
    }

    pub(crate) fn extra_content(&self) -> Option<&RawJson> {
        self.extra_content.as_ref()
    }

    /// The same use, with the other fields of its item.
    #[must_use]
    pub(crate) fn with_item(mut self, item: Option<RawJson>) -> Self {
        self.item = item;
        self
    }

    pub(crate) fn item(&self) -> Option<&RawJson> {
        self.item.as_ref()
    }

    /// The same use, marked as cut off by a limit.
    #[must_use]
    pub fn cut(mut self) -> Self {
        if self.flaw.is_none() {
            self.input = keep_flawed(self.input.get());
        }
        self.flaw = Some(InputError::Cut);
        self
    }

    /// The arguments, a JSON object. A flawed use has none: the tool must not
    /// run, and the flaw's text is the result to give to the model.
    pub fn arguments(&self) -> Result<&RawJson, InputError> {
        match self.flaw {
            None => Ok(&self.input),
            Some(flaw) => Err(flaw),
        }
    }

    /// What goes back to the provider as the input of this use: an object, also
    /// if the use is flawed.
    pub fn replayed_input(&self) -> &RawJson {
        &self.input
    }
}

/// Wire formats insist on an object, so a text that is none is wrapped in one.
fn keep_flawed(text: &str) -> RawJson {
    RawJson::from(json!({ "INVALID_JSON": text }))
}

/// Why the arguments of a tool use cannot be used. The text is meant for the
/// model, as the result of the use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum InputError {
    /// The text is not JSON, or JSON but not an object.
    #[error(
        "the tool was not run: its arguments are not a JSON object; send the call again with valid arguments"
    )]
    NotAnObject,
    /// The reply was cut off, and this use was its end.
    #[error(
        "the tool was not run: the reply was cut off inside this call; send the call again, in smaller parts if it is large"
    )]
    Cut,
}

/// The result of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The use that this answers.
    pub tool_use_id: String,
    pub content: String,
    #[serde(default)]
    pub is_error: bool,
    /// Images that belong to the content.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
}

impl ToolResult {
    /// The output of a tool that worked.
    pub fn ok(tool_use_id: impl Into<String>, content: impl Into<String>) -> Self {
        Self {
            tool_use_id: tool_use_id.into(),
            content: content.into(),
            is_error: false,
            images: Vec::new(),
        }
    }

    /// The same result, with images.
    #[must_use]
    pub fn with_images(self, images: Vec<Image>) -> Self {
        Self { images, ..self }
    }

    /// The output of a tool that failed, was refused or was cancelled.
    pub fn error(tool_use_id: impl Into<String>, content: impl Into<String>) -> Self {
        Self {
            is_error: true,
            ..Self::ok(tool_use_id, content)
        }
    }
}

#[cfg(test)]
mod tests;
