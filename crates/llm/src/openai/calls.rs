//! Tool calls that come in pieces.

use std::borrow::Cow;
use std::collections::HashSet;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::conversation::ToolUse;
use crate::decode::DecodeError;
use crate::json::{PayloadReader, RawJson, lenient_count, lenient_text};
use crate::limits;
use crate::model::Event;

/// A piece of a call.
#[derive(Deserialize)]
pub(super) struct ToolCall<'a> {
    #[serde(default, deserialize_with = "lenient_count")]
    index: Option<u64>,
    #[serde(borrow, default, deserialize_with = "lenient_text")]
    id: Cow<'a, str>,
    #[serde(borrow)]
    function: Option<Function<'a>>,
    #[serde(borrow)]
    extra_content: Option<&'a RawValue>,
}

/// The name and the arguments, or a piece of them.
#[derive(Deserialize)]
pub(super) struct Function<'a> {
    #[serde(borrow, default, deserialize_with = "lenient_text")]
    name: Cow<'a, str>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

impl ToolCall<'_> {
    /// How many bytes the piece adds to the reply.
    pub(super) fn size(&self) -> usize {
        self.id.len() + self.function.as_ref().map_or(0, Function::size)
    }
}

impl Function<'_> {
    /// How many bytes the piece adds to the reply.
    pub(super) fn size(&self) -> usize {
        self.name.len() + self.arguments.map_or(0, |raw| raw.get().len())
    }
}

/// The calls of one reply.
#[derive(Debug)]
pub(super) struct ToolCalls {
    salt: u64,
    calls: Vec<OpenCall>,
    /// The old single call, which some servers send beside the new ones.
    old: Option<OpenCall>,
}

#[derive(Debug, Default)]
struct OpenCall {
    index: u64,
    /// The id that the server sent.
    told_id: String,
    /// The id that is used.
    id: String,
    name: String,
    arguments: String,
    extra_content: Option<RawJson>,
    reader: PayloadReader,
}

impl ToolCalls {
    pub(super) fn new(salt: u64) -> Self {
        Self {
            salt,
            calls: Vec::new(),
            old: None,
        }
    }

    /// Takes a piece that stands at this position of its list.
    pub(super) fn take(
        &mut self,
        position: u64,
        piece: &ToolCall<'_>,
        sink: &mut dyn FnMut(Event),
    ) -> Result<(), DecodeError> {
        let index = piece.index.unwrap_or(position);
        let known = self.calls.iter().rposition(|call| call.index == index);
        let at = match known {
            Some(at) if !self.calls[at].is_followed_by(piece) => at,
            _ => {
                self.calls.push(OpenCall {
                    index,
                    ..OpenCall::default()
                });
                limits::check_tool_uses(self.calls.len())?;
                self.calls.len() - 1
            }
        };
        let call = &mut self.calls[at];
        if call.id.is_empty() {
            call.told_id.push_str(&piece.id);
            call.id.push_str(&piece.id);
        }
        if let Some(extra) = piece.extra_content {
            call.extra_content = Some(RawJson::from(extra));
        }
        let Some(function) = &piece.function else {
            return Ok(());
        };
        let named_now = call.name.is_empty() && !function.name.is_empty();
        call.extend(function);
        limits::check_tool_input(call.arguments.len())?;
        if named_now {
            let name = call.name.clone();
            let id = self.settle_id(at);
            sink(Event::ToolUseStarted { id, name });
        }
        Ok(())
    }

    /// Takes a piece of the old single call.
    pub(super) fn take_old(&mut self, function: &Function<'_>) -> Result<(), DecodeError> {
        let old = self.old.get_or_insert_with(OpenCall::default);
        old.extend(function);
        limits::check_tool_input(old.arguments.len())
    }

    /// The calls as tool uses.
    pub(super) fn close(mut self) -> Result<Vec<ToolUse>, DecodeError> {
        if let Some(old) = self.old.take().filter(|old| !old.name.is_empty())
            && self.calls.is_empty()
        {
            self.calls.push(old);
            self.settle_id(0);
        }
        if self.calls.iter().any(|call| call.name.is_empty()) {
            return Err(DecodeError::Malformed {
                reason: "a tool call has no name".to_owned(),
            });
        }
        Ok(self
            .calls
            .into_iter()
            .map(|call| {
                let tool_use = ToolUse::new(call.id, call.name, &call.arguments);
                tool_use.with_extra_content(call.extra_content)
            })
            .collect())
    }

    /// The id of a call. A missing one is made, and so is a new one in place of
    /// one that another call of the reply already has.
    fn settle_id(&mut self, at: usize) -> String {
        let taken: HashSet<&str> = self.calls[..at]
            .iter()
            .map(|call| call.id.as_str())
            .collect();
        let id = &self.calls[at].id;
        if id.is_empty() || taken.contains(id.as_str()) {
            self.calls[at].id = format!("call_{:016x}_{at}", self.salt);
        }
        self.calls[at].id.clone()
    }
}

impl OpenCall {
    /// Whether the piece begins another call although it has the same index.
    /// Some servers give every call of a reply the index 0, or none at all.
    fn is_followed_by(&self, piece: &ToolCall<'_>) -> bool {
        let Some(function) = &piece.function else {
            return false;
        };
        if function.name.is_empty() || self.name.is_empty() {
            return false;
        }
        let is_whole = || serde_json::from_str::<IgnoredAny>(&self.arguments).is_ok();
        if piece.id.is_empty() {
            piece.index.is_none() && is_whole()
        } else {
            !self.told_id.is_empty() && piece.id != self.told_id
        }
    }

    fn extend(&mut self, function: &Function<'_>) {
        if self.name.is_empty() {
            self.name = limits::tool_name(&function.name);
        }
        match function.arguments.map(RawValue::get) {
            None | Some("null") => {}
            // Usually the arguments are a text that is JSON; some servers send
            // the JSON itself.
            Some(text) if text.starts_with('"') => {
                if let Ok(piece) = self.reader.read::<String>(text.as_bytes()) {
                    self.arguments.push_str(&piece);
                }
            }
            Some(json) => self.arguments.push_str(json),
        }
    }
}
