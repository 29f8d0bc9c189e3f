//! The stored form of a block, for reading.
//!
//! A type with an internal tag cannot hold raw JSON when it is read, so that all
//! fields of all kinds are read into one struct and then sorted out.

use serde::Deserialize;

use super::{Block, InputError, Provider, ToolResult, ToolUse};
use crate::images::Image;
use crate::json::RawJson;

/// Every field that a stored block of some kind has.
#[derive(Deserialize)]
pub(super) struct StoredBlock {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    signature: Option<String>,
    data: Option<String>,
    id: Option<String>,
    name: Option<String>,
    input: Option<RawJson>,
    flaw: Option<InputError>,
    extra_content: Option<RawJson>,
    item: Option<RawJson>,
    tool_use_id: Option<String>,
    content: Option<String>,
    #[serde(default)]
    is_error: bool,
    #[serde(default)]
    images: Vec<Image>,
    media_type: Option<String>,
    provider: Option<Provider>,
    json: Option<RawJson>,
}

/// Why a stored block cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum StoredBlockError {
    #[error("a block of type {kind:?} lacks the field {field:?}")]
    Lacks { kind: String, field: &'static str },
    #[error(
        "there is no block type {0:?}; there are text, thinking, redacted_thinking, tool_use, tool_result, image and opaque"
    )]
    UnknownType(String),
}

impl TryFrom<StoredBlock> for Block {
    type Error = StoredBlockError;

    fn try_from(stored: StoredBlock) -> Result<Self, Self::Error> {
        let lacks = |field| StoredBlockError::Lacks {
            kind: stored.kind.clone(),
            field,
        };
        match stored.kind.as_str() {
            "text" => Ok(Self::Text {
                text: stored.text.ok_or_else(|| lacks("text"))?,
            }),
            "thinking" => Ok(Self::Thinking {
                text: stored.text.ok_or_else(|| lacks("text"))?,
                signature: stored.signature,
            }),
            "redacted_thinking" => Ok(Self::RedactedThinking {
                data: stored.data.ok_or_else(|| lacks("data"))?,
            }),
            "tool_use" => Ok(Self::ToolUse(ToolUse {
                input: stored
                    .input
                    .filter(RawJson::is_object)
                    .ok_or_else(|| lacks("input"))?,
                id: stored.id.ok_or_else(|| lacks("id"))?,
                name: stored.name.ok_or_else(|| lacks("name"))?,
                flaw: stored.flaw,
                extra_content: stored.extra_content,
                item: stored.item.filter(RawJson::is_object),
            })),
            "tool_result" => Ok(Self::ToolResult(ToolResult {
                tool_use_id: stored.tool_use_id.ok_or_else(|| lacks("tool_use_id"))?,
                content: stored.content.ok_or_else(|| lacks("content"))?,
                is_error: stored.is_error,
                images: stored.images,
            })),
            "image" => Ok(Self::Image(Image {
                media_type: stored.media_type.ok_or_else(|| lacks("media_type"))?,
                data: stored.data.ok_or_else(|| lacks("data"))?,
            })),
            "opaque" => Ok(Self::Opaque {
                provider: stored.provider.ok_or_else(|| lacks("provider"))?,
                json: stored.json.ok_or_else(|| lacks("json"))?,
            }),
            _ => Err(StoredBlockError::UnknownType(stored.kind)),
        }
    }
}
