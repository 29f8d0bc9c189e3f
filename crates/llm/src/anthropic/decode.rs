//! Replies of the Messages API.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::block::OpenBlock;
use crate::decode::{Assembler, DecodeError, complete_reply, trim_body};
use crate::failure::ErrorInfo;
use crate::json::{PayloadReader, lenient_count, lenient_text};
use crate::limits::{self, ReplySize};
use crate::model::{Event, Reply, StopReason, Usage};

/// Puts a reply together from the events of a stream.
#[derive(Debug, Default)]
pub(crate) struct MessageAssembler {
    reader: PayloadReader,
    message: Message,
}

/// The part of the reply that was received so far.
#[derive(Debug, Default)]
struct Message {
    size: ReplySize,
    tool_uses: usize,
    blocks: Vec<(u64, OpenBlock)>,
    stop: Option<StopReason>,
    usage: UsageSoFar,
    model: String,
    complete: bool,
}

#[derive(Deserialize)]
struct StreamEvent<'a> {
    #[serde(rename = "type", borrow, default, deserialize_with = "lenient_text")]
    kind: Cow<'a, str>,
    #[serde(default, deserialize_with = "lenient_count")]
    index: Option<u64>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    content_block: Option<&'a RawValue>,
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
    usage: Option<UsageSoFar>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// The change of an event; each kind has some of the fields.
#[derive(Deserialize)]
pub(super) struct Delta<'a> {
    #[serde(rename = "type", borrow, default, deserialize_with = "lenient_text")]
    pub(super) kind: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "lenient_text")]
    pub(super) text: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "lenient_text")]
    pub(super) thinking: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "lenient_text")]
    pub(super) signature: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "lenient_text")]
    pub(super) partial_json: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) citation: Option<&'a RawValue>,
    stop_reason: Option<String>,
    stop_details: Option<StopDetails>,
}

#[derive(Deserialize)]
struct StopDetails {
    category: Option<String>,
    explanation: Option<String>,
}

/// A message at its start, or a whole one.
#[derive(Deserialize)]
struct WireMessage<'a> {
    #[serde(borrow, default, deserialize_with = "lenient_text")]
    model: Cow<'a, str>,
    #[serde(borrow)]
    content: Option<Vec<&'a RawValue>>,
    stop_reason: Option<String>,
    stop_details: Option<StopDetails>,
    usage: Option<UsageSoFar>,
}

/// Counts as the server reports them, each time for the whole reply so far.
#[derive(Debug, Default, Deserialize)]
struct UsageSoFar {
    #[serde(default, deserialize_with = "lenient_count")]
    input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient_count")]
    output_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient_count")]
    cache_read_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient_count")]
    cache_creation_input_tokens: Option<u64>,
    output_tokens_details: Option<OutputDetails>,
    server_tool_use: Option<ServerToolUse>,
}

#[derive(Debug, Default, Deserialize)]
struct ServerToolUse {
    #[serde(default, deserialize_with = "lenient_count")]
    web_search_requests: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
struct OutputDetails {
    #[serde(default, deserialize_with = "lenient_count")]
    thinking_tokens: Option<u64>,
}

impl Assembler for MessageAssembler {
    fn frame(
        &mut self,
        event: &[u8],
        data: &[u8],
        sink: &mut dyn FnMut(Event),
    ) -> Result<(), DecodeError> {
        let parsed: StreamEvent<'_> = self
            .reader
            .read(data)
            .map_err(|error| DecodeError::malformed(&error))?;
        self.message.take(event, &parsed, data, sink)
    }

    fn whole(&mut self, body: &[u8], sink: &mut dyn FnMut(Event)) -> Result<(), DecodeError> {
        let malformed = |error: serde_json::Error| {
            if error.is_eof() {
                DecodeError::Cut
            } else {
                DecodeError::malformed(&error)
            }
        };
        let body = trim_body(body);
        let head: StreamEvent<'_> = self.reader.read(body).map_err(malformed)?;
        if head.kind == "error" || head.error.is_some() {
            return Err(server_error(body));
        }
        if head.kind != "message" {
            return Err(DecodeError::Malformed {
                reason: "it is JSON, but not a message".to_owned(),
            });
        }
        let whole: WireMessage<'_> = self.reader.read(body).map_err(malformed)?;
        self.message.start(whole, sink)?;
        self.message.complete = true;
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.message.complete
    }

    fn content_bytes(&self) -> usize {
        self.message.size.bytes()
    }

    fn reply(self: Box<Self>) -> Result<Reply, DecodeError> {
        let message = self.message;
        if !message.complete {
            return Err(DecodeError::Cut);
        }
        let blocks = message
            .blocks
            .into_iter()
            .map(|(_, block)| block.close())
            .collect();
        let stop = message.stop.unwrap_or(StopReason::EndTurn);
        complete_reply(blocks, stop, message.usage.reported(), message.model)
    }
}

impl Message {
    fn take(
        &mut self,
        name: &[u8],
        event: &StreamEvent<'_>,
        data: &[u8],
        sink: &mut dyn FnMut(Event),
    ) -> Result<(), DecodeError> {
        let index = event.index.unwrap_or(0);
        match (&*event.kind, event) {
            ("error", _) => return Err(server_error(data)),
            // Gateways send errors of the other wire format.
            ("", event) if event.error.is_some() || name == b"error" => {
                return Err(server_error(data));
            }
            (
                "message_start",
                StreamEvent {
                    message: Some(raw), ..
                },
            ) => {
                let message = serde_json::from_str(raw.get())
                    .map_err(|error| DecodeError::malformed(&error))?;
                self.start(message, sink)?;
            }
            (
                "content_block_start",
                StreamEvent {
                    content_block: Some(raw),
                    ..
                },
            ) => {
                self.begin(index, raw, sink)?;
            }
            (
                "content_block_delta",
                StreamEvent {
                    delta: Some(delta), ..
                },
            ) => self.extend(index, delta, sink)?,
            ("message_delta", event) => self.end(event),
            ("message_stop", _) => self.complete = true,
            // Pings, the ends of blocks, and events that this version does not know.
            _ => {}
        }
        Ok(())
    }

    fn start(
        &mut self,
        message: WireMessage<'_>,
        sink: &mut dyn FnMut(Event),
    ) -> Result<(), DecodeError> {
        self.model = message.model.into_owned();
        for (index, raw) in (0..).zip(message.content.unwrap_or_default()) {
            self.begin(index, raw, sink)?;
        }
        if let Some(reason) = message.stop_reason {
            self.stop = Some(stop_reason(reason, message.stop_details));
        }
        if let Some(usage) = message.usage {
            self.usage.raise(&usage);
        }
        Ok(())
    }

    fn begin(
        &mut self,
        index: u64,
        raw: &RawValue,
        sink: &mut dyn FnMut(Event),
    ) -> Result<(), DecodeError> {
        self.size.add(raw.get().len())?;
        let block = OpenBlock::start(raw, sink)?;
        if let Some(bytes) = block.tool_input() {
            self.tool_uses += 1;
            limits::check_tool_uses(self.tool_uses)?;
            limits::check_tool_input(bytes)?;
        }
        self.blocks.push((index, block));
        limits::check_blocks(self.blocks.len())
    }

    fn extend(
        &mut self,
        index: u64,
        delta: &Delta<'_>,
        sink: &mut dyn FnMut(Event),
    ) -> Result<(), DecodeError> {
        let texts = [
            &delta.text,
            &delta.thinking,
            &delta.signature,
            &delta.partial_json,
        ];
        let citation = delta.citation.map_or(0, |raw| raw.get().len());
        self.size
            .add(citation + texts.iter().map(|text| text.len()).sum::<usize>())?;
        let block = self.block(index, delta);
        block.extend(delta, sink);
        limits::check_tool_input(block.tool_input().unwrap_or(0))?;
        limits::check_blocks(self.blocks.len())
    }

    fn end(&mut self, event: &StreamEvent<'_>) {
        if let Some(Delta {
            stop_reason: Some(reason),
            stop_details,
            ..
        }) = &event.delta
        {
            let details = stop_details.as_ref().map(|details| StopDetails {
                category: details.category.clone(),
                explanation: details.explanation.clone(),
            });
            self.stop = Some(stop_reason(reason.clone(), details));
        }
        if let Some(usage) = &event.usage {
            self.usage.raise(usage);
        }
    }

    /// The block with this index. One whose start never came is made up.
    fn block(&mut self, index: u64, delta: &Delta<'_>) -> &mut OpenBlock {
        let at = match self.blocks.iter().rposition(|(other, _)| *other == index) {
            Some(at) => at,
            None => {
                self.blocks.push((index, OpenBlock::implied(delta)));
                self.blocks.len() - 1
            }
        };
        &mut self.blocks[at].1
    }
}

fn server_error(data: &[u8]) -> DecodeError {
    DecodeError::Server(Box::new(ErrorInfo::parse(data)))
}

fn stop_reason(reason: String, details: Option<StopDetails>) -> StopReason {
    match reason.as_str() {
        "end_turn" => StopReason::EndTurn,
        "tool_use" => StopReason::ToolUse,
        "max_tokens" => StopReason::MaxTokens,
        "stop_sequence" => StopReason::StopSequence,
        "pause_turn" => StopReason::Paused,
        "model_context_window_exceeded" => StopReason::ContextWindowExceeded,
        "refusal" => StopReason::Refusal {
            category: details
                .as_ref()
                .and_then(|details| details.category.clone()),
            explanation: details.and_then(|details| details.explanation),
        },
        _ => StopReason::Other(reason),
    }
}

impl UsageSoFar {
    /// Takes later counts. They are for the whole reply, so that they only rise;
    /// some servers repeat a count as zero.
    fn raise(&mut self, later: &Self) {
        self.input_tokens = self.input_tokens.max(later.input_tokens);
        self.output_tokens = self.output_tokens.max(later.output_tokens);
        self.cache_read_input_tokens = self
            .cache_read_input_tokens
            .max(later.cache_read_input_tokens);
        self.cache_creation_input_tokens = self
            .cache_creation_input_tokens
            .max(later.cache_creation_input_tokens);
        let thinking = self.thinking().max(later.thinking());
        self.output_tokens_details = Some(OutputDetails {
            thinking_tokens: thinking,
        });
        let searches = self.searches().max(later.searches());
        self.server_tool_use = Some(ServerToolUse {
            web_search_requests: searches,
        });
    }

    fn searches(&self) -> Option<u64> {
        self.server_tool_use.as_ref()?.web_search_requests
    }

    fn thinking(&self) -> Option<u64> {
        self.output_tokens_details.as_ref()?.thinking_tokens
    }

    fn reported(&self) -> Option<Usage> {
        let counts = [self.input_tokens, self.output_tokens];
        counts.iter().any(Option::is_some).then(|| Usage {
            input: self.input_tokens.unwrap_or(0),
            output: self.output_tokens.unwrap_or(0),
            cache_read: self.cache_read_input_tokens.unwrap_or(0),
            cache_write: self.cache_creation_input_tokens.unwrap_or(0),
            reasoning: self.thinking(),
            searches: self.searches().unwrap_or(0),
        })
    }
}
