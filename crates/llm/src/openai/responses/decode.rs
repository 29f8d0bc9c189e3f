//! Replies of the Responses API.

use std::borrow::Cow;
use std::collections::HashSet;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::conversation::{Block, Provider, ToolUse};
use crate::decode::{Assembler, DecodeError, complete_reply, trim_body};
use crate::failure::ErrorInfo;
use crate::json::{PayloadReader, RawJson, lenient_count, lenient_text, mend_whole};
use crate::limits::{self, ReplySize, tool_name};
use crate::model::{Event, Reply, StopReason, Usage};

/// Puts a reply together from the events of a stream.
#[derive(Debug)]
pub(crate) struct ResponseAssembler {
    reader: PayloadReader,
    response: Response,
}

/// The part of the reply that was received so far.
#[derive(Debug, Default)]
struct Response {
    salt: u64,
    /// What came in pieces. It is not kept, since complete items follow.
    streamed: ReplySize,
    size: ReplySize,
    model: String,
    items: Vec<RawJson>,
    stop: Option<StopReason>,
    usage: Option<WireUsage>,
}

#[derive(Deserialize)]
struct StreamEvent<'a> {
    #[serde(rename = "type", borrow, default, deserialize_with = "lenient_text")]
    kind: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "lenient_text")]
    delta: Cow<'a, str>,
    #[serde(borrow)]
    item: Option<&'a RawValue>,
    #[serde(borrow)]
    response: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct WireResponse<'a> {
    #[serde(borrow, default, deserialize_with = "lenient_text")]
    model: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "lenient_text")]
    status: Cow<'a, str>,
    #[serde(borrow)]
    output: Option<Vec<&'a RawValue>>,
    incomplete_details: Option<IncompleteDetails>,
    usage: Option<WireUsage>,
}

#[derive(Deserialize)]
struct IncompleteDetails {
    reason: Option<String>,
}

#[derive(Debug, Deserialize)]
struct WireUsage {
    #[serde(default, deserialize_with = "lenient_count")]
    input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient_count")]
    output_tokens: Option<u64>,
    input_tokens_details: Option<InputDetails>,
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct InputDetails {
    #[serde(deserialize_with = "lenient_count")]
    cached_tokens: Option<u64>,
    #[serde(deserialize_with = "lenient_count")]
    cache_write_tokens: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct OutputDetails {
    #[serde(default, deserialize_with = "lenient_count")]
    reasoning_tokens: Option<u64>,
}

/// The fields of the kinds of items that are known.
#[derive(Deserialize)]
struct Item<'a> {
    #[serde(rename = "type", borrow, default, deserialize_with = "lenient_text")]
    kind: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "lenient_text")]
    status: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "lenient_text")]
    call_id: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "lenient_text")]
    name: Cow<'a, str>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    content: Option<Vec<Part<'a>>>,
}

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow, default, deserialize_with = "lenient_text")]
    refusal: Cow<'a, str>,
}

impl ResponseAssembler {
    /// An assembler that makes missing ids of tool uses from `salt`.
    pub(crate) fn new(salt: u64) -> Self {
        Self {
            reader: PayloadReader::default(),
            response: Response {
                salt,
                ..Response::default()
            },
        }
    }
}

impl Assembler for ResponseAssembler {
    fn frame(
        &mut self,
        event: &[u8],
        data: &[u8],
        sink: &mut dyn FnMut(Event),
    ) -> Result<(), DecodeError> {
        // The end marker of Chat Completions, which gateways add here too.
        if data.trim_ascii() == b"[DONE]" {
            return Ok(());
        }
        let parsed: StreamEvent<'_> = match self.reader.read(data) {
            Ok(parsed) => parsed,
            Err(_) if event == b"error" => return Err(server_error(data)),
            Err(error) => return Err(DecodeError::malformed(&error)),
        };
        if event == b"error" || parsed.kind == "error" {
            return Err(server_error(data));
        }
        if parsed.error.is_some() && parsed.response.is_none() {
            return Err(server_error(data));
        }
        self.response.take(&parsed, sink)
    }

    fn whole(&mut self, body: &[u8], _: &mut dyn FnMut(Event)) -> Result<(), DecodeError> {
        let body = trim_body(body);
        let raw: &RawValue = self.reader.read(body).map_err(|error| {
            if error.is_eof() {
                DecodeError::Cut
            } else {
                DecodeError::malformed(&error)
            }
        })?;
        let whole: WireResponse<'_> =
            serde_json::from_str(raw.get()).map_err(|error| DecodeError::malformed(&error))?;
        if whole.output.is_none() {
            return Err(server_error(body));
        }
        self.response.end(raw, whole)
    }

    fn is_complete(&self) -> bool {
        self.response.stop.is_some()
    }

    fn content_bytes(&self) -> usize {
        self.response.streamed.bytes() + self.response.size.bytes()
    }

    fn reply(self: Box<Self>) -> Result<Reply, DecodeError> {
        self.response.reply()
    }
}

impl Response {
    fn take(
        &mut self,
        event: &StreamEvent<'_>,
        sink: &mut dyn FnMut(Event),
    ) -> Result<(), DecodeError> {
        self.streamed.add(event.delta.len())?;
        let told = |make: fn(String) -> Event, sink: &mut dyn FnMut(Event)| {
            if !event.delta.is_empty() {
                sink(make(event.delta.clone().into_owned()));
            }
        };
        match (&*event.kind, event.item, event.response) {
            ("response.output_text.delta" | "response.refusal.delta", ..) => {
                told(Event::TextDelta, sink);
            }
            ("response.reasoning_text.delta" | "response.reasoning_summary_text.delta", ..) => {
                told(Event::ThinkingDelta, sink);
            }
            ("response.output_item.added", Some(raw), _) => started(raw, sink),
            ("response.output_item.done", Some(raw), _) => self.keep(raw)?,
            (
                "response.completed"
                | "response.incomplete"
                | "response.failed"
                | "response.cancelled",
                _,
                Some(raw),
            ) => {
                let whole = serde_json::from_str(raw.get())
                    .map_err(|error| DecodeError::malformed(&error))?;
                self.end(raw, whole)?;
            }
            // The progress of parts, and events that this version does not know.
            _ => {}
        }
        Ok(())
    }

    /// Keeps an item that is complete.
    fn keep(&mut self, raw: &RawValue) -> Result<(), DecodeError> {
        self.size.add(raw.get().len())?;
        let item = RawJson::parse(mend_whole(raw.get().to_owned()))
            .map_err(|error| DecodeError::malformed(&error))?;
        self.items.push(item);
        limits::check_blocks(self.items.len())
    }

    fn end(&mut self, raw: &RawValue, whole: WireResponse<'_>) -> Result<(), DecodeError> {
        self.model = whole.model.into_owned();
        self.usage = whole.usage;
        // The end repeats all items. Some servers leave them out there; and the last one of a reply
        // that was cut is only there.
        let output = whole.output.unwrap_or_default();
        if output.len() > self.items.len() {
            self.items.clear();
            self.size = ReplySize::default();
            for item in output {
                self.keep(item)?;
            }
        }
        let reason = whole.incomplete_details.and_then(|details| details.reason);
        self.stop = Some(match (&*whole.status, reason.as_deref()) {
            ("completed", _) => StopReason::EndTurn,
            ("incomplete", Some("max_output_tokens") | None) => StopReason::MaxTokens,
            ("incomplete", Some("content_filter")) => StopReason::Refusal {
                category: reason,
                explanation: None,
            },
            ("incomplete", Some(reason)) => StopReason::Other(reason.to_owned()),
            ("in_progress" | "queued", _) => return Err(DecodeError::Cut),
            (status, _) => return Err(failed(raw, status)),
        });
        Ok(())
    }

    fn reply(self) -> Result<Reply, DecodeError> {
        let Some(mut stop) = self.stop else {
            return Err(DecodeError::Cut);
        };
        let mut blocks = Vec::with_capacity(self.items.len());
        let mut ids = HashSet::new();
        for json in self.items {
            let item: Item<'_> = json
                .read()
                .map_err(|error| DecodeError::malformed(&error))?;
            let parts = item.content.iter().flatten();
            if item.kind == "message" && parts.into_iter().any(|part| !part.refusal.is_empty()) {
                stop = StopReason::Refusal {
                    category: None,
                    explanation: None,
                };
            }
            if item.kind == "function_call" {
                let made = || format!("call_{:016x}_{}", self.salt, ids.len());
                let tool_use = tool_use(&item, &json, &ids, made)?;
                ids.insert(tool_use.id.clone());
                limits::check_tool_uses(ids.len())?;
                blocks.push(Block::ToolUse(tool_use));
                continue;
            }
            let block = Block::Opaque {
                provider: Provider::Responses,
                json,
            };
            // An empty message is refused when it comes back.
            if block.readable_text().is_none_or(|text| !text.is_empty()) {
                blocks.push(block);
            }
        }
        let usage = self.usage.as_ref().and_then(WireUsage::reported);
        complete_reply(blocks, stop, usage, self.model)
    }
}

/// Tells of a tool use that has begun.
fn started(raw: &RawValue, sink: &mut dyn FnMut(Event)) {
    let Ok(item) = serde_json::from_str::<Item<'_>>(raw.get()) else {
        return;
    };
    if item.kind == "function_call" && !item.name.is_empty() {
        sink(Event::ToolUseStarted {
            id: item.call_id.into_owned(),
            name: tool_name(&item.name),
        });
    }
}

fn tool_use(
    item: &Item<'_>,
    json: &RawJson,
    taken: &HashSet<String>,
    make_id: impl FnOnce() -> String,
) -> Result<ToolUse, DecodeError> {
    if item.name.is_empty() {
        return Err(DecodeError::Malformed {
            reason: "a tool call has no name".to_owned(),
        });
    }
    let arguments = match item.arguments.map(RawValue::get) {
        None => String::new(),
        // Usually the arguments are a text that is JSON; some servers send the JSON itself.
        Some(text) if text.starts_with('"') => {
            serde_json::from_str(text).map_err(|error| DecodeError::malformed(&error))?
        }
        Some(json) => json.to_owned(),
    };
    limits::check_tool_input(arguments.len())?;
    let id = match item.call_id.is_empty() || taken.contains(&*item.call_id) {
        true => make_id(),
        false => item.call_id.clone().into_owned(),
    };
    let tool_use =
        ToolUse::new(id, tool_name(&item.name), &arguments).with_item(other_fields(json));
    Ok(match &*item.status {
        "incomplete" => tool_use.cut(),
        _ => tool_use,
    })
}

/// The fields of a call that a tool use does not have.
fn other_fields(json: &RawJson) -> Option<RawJson> {
    let mut fields: Map<String, Value> = json.read().ok()?;
    for known in ["type", "call_id", "name", "arguments"] {
        fields.remove(known);
    }
    (!fields.is_empty()).then(|| RawJson::from(Value::Object(fields)))
}

fn server_error(data: &[u8]) -> DecodeError {
    DecodeError::Server(Box::new(ErrorInfo::parse(data)))
}

/// The error of a response that failed or was cancelled.
fn failed(raw: &RawValue, status: &str) -> DecodeError {
    let value: Value = serde_json::from_str(raw.get()).unwrap_or(Value::Null);
    let info = match value.get("error") {
        Some(error) if !error.is_null() => ErrorInfo::from_value(&value),
        _ => ErrorInfo {
            message: format!("the response has the status {status:?}"),
            ..ErrorInfo::default()
        },
    };
    DecodeError::Server(Box::new(info))
}

impl WireUsage {
    fn reported(&self) -> Option<Usage> {
        let input = self.input_tokens?;
        let details = self.input_tokens_details.as_ref();
        let cache_read = details.and_then(|it| it.cached_tokens).unwrap_or(0);
        let cache_write = details.and_then(|it| it.cache_write_tokens).unwrap_or(0);
        let output = self.output_tokens_details.as_ref();
        Some(Usage {
            // Here the input includes what is cached.
            input: input.saturating_sub(cache_read).saturating_sub(cache_write),
            output: self.output_tokens.unwrap_or(0),
            cache_read,
            cache_write,
            reasoning: output.and_then(|it| it.reasoning_tokens),
            searches: 0,
        })
    }
}
