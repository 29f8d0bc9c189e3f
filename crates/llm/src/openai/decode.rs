//! Replies of Chat Completions, in the dialects of several servers.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::calls::{Function, ToolCall, ToolCalls};
use crate::conversation::{Block, Provider};
use crate::decode::{Assembler, DecodeError, complete_reply, trim_body};
use crate::failure::ErrorInfo;
use crate::json::{PayloadReader, RawJson, lenient_count, lenient_text};
use crate::limits::{self, ReplySize};
use crate::model::{Event, Reply, StopReason, Usage};

/// Puts a reply together from the chunks of a stream.
#[derive(Debug)]
pub(crate) struct ChatAssembler {
    reader: PayloadReader,
    chat: Chat,
}

/// The part of the reply that was received so far.
#[derive(Debug)]
struct Chat {
    size: ReplySize,
    model: String,
    text: String,
    thinking: String,
    /// Whether the server refused; the text then is its explanation.
    refused: bool,
    /// The encrypted reasoning that a gateway wants back.
    reasoning_details: Vec<RawJson>,
    calls: ToolCalls,
    finish: Option<String>,
    usage: Option<WireUsage>,
    done: bool,
}

/// A chunk of a stream, or a whole reply.
#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow, default, deserialize_with = "lenient_text")]
    model: Cow<'a, str>,
    #[serde(borrow)]
    choices: Option<Vec<Choice<'a>>>,
    usage: Option<WireUsage>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(default, deserialize_with = "lenient_count")]
    index: Option<u64>,
    #[serde(borrow)]
    delta: Option<Message<'a>>,
    #[serde(borrow)]
    message: Option<Message<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient_text")]
    finish_reason: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default, deserialize_with = "lenient_text")]
    content: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "lenient_text")]
    refusal: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "lenient_text")]
    reasoning_content: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "lenient_text")]
    reasoning: Cow<'a, str>,
    #[serde(borrow)]
    reasoning_details: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    tool_calls: Option<Vec<ToolCall<'a>>>,
    #[serde(borrow)]
    function_call: Option<Function<'a>>,
}

#[derive(Debug, Deserialize)]
struct WireUsage {
    #[serde(default, deserialize_with = "lenient_count")]
    prompt_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient_count")]
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptDetails>,
    completion_tokens_details: Option<CompletionDetails>,
    /// DeepSeek's name for the cached part of the prompt.
    #[serde(default, deserialize_with = "lenient_count")]
    prompt_cache_hit_tokens: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct PromptDetails {
    #[serde(default, deserialize_with = "lenient_count")]
    cached_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient_count")]
    cache_write_tokens: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct CompletionDetails {
    #[serde(default, deserialize_with = "lenient_count")]
    reasoning_tokens: Option<u64>,
}

impl ChatAssembler {
    pub(crate) fn new(salt: u64) -> Self {
        Self {
            reader: PayloadReader::default(),
            chat: Chat {
                model: String::new(),
                text: String::new(),
                thinking: String::new(),
                refused: false,
                reasoning_details: Vec::new(),
                size: ReplySize::default(),
                calls: ToolCalls::new(salt),
                finish: None,
                usage: None,
                done: false,
            },
        }
    }
}

impl Assembler for ChatAssembler {
    fn frame(
        &mut self,
        event: &[u8],
        data: &[u8],
        sink: &mut dyn FnMut(Event),
    ) -> Result<(), DecodeError> {
        if data.trim_ascii() == b"[DONE]" {
            self.chat.done = true;
            return Ok(());
        }
        let chunk: Chunk<'_> = match self.reader.read(data) {
            Ok(chunk) => chunk,
            Err(_) if event == b"error" => return Err(server_error(data)),
            Err(error) => return Err(DecodeError::malformed(&error)),
        };
        if event == b"error" || chunk.error.is_some() {
            return Err(server_error(data));
        }
        self.chat.take(chunk, sink)
    }

    fn whole(&mut self, body: &[u8], sink: &mut dyn FnMut(Event)) -> Result<(), DecodeError> {
        let body = trim_body(body);
        let chunk: Chunk<'_> = self.reader.read(body).map_err(|error| {
            if error.is_eof() {
                DecodeError::Cut
            } else {
                DecodeError::malformed(&error)
            }
        })?;
        if chunk.error.is_some() || chunk.choices.is_none() {
            return Err(server_error(body));
        }
        self.chat.take(chunk, sink)
    }

    fn is_complete(&self) -> bool {
        self.chat.done
    }

    fn content_bytes(&self) -> usize {
        self.chat.size.bytes()
    }

    fn reply(self: Box<Self>) -> Result<Reply, DecodeError> {
        self.chat.reply()
    }
}

impl Chat {
    fn take(&mut self, chunk: Chunk<'_>, sink: &mut dyn FnMut(Event)) -> Result<(), DecodeError> {
        if self.model.is_empty() {
            self.model = chunk.model.into_owned();
        }
        self.usage = chunk.usage.or(self.usage.take());
        let choices = chunk.choices.into_iter().flatten();
        for choice in choices.filter(|choice| choice.index.unwrap_or(0) == 0) {
            if let Some(message) = choice.delta.or(choice.message) {
                self.extend(message, sink)?;
            }
            if !choice.finish_reason.is_empty() {
                self.finish = Some(choice.finish_reason.into_owned());
            }
        }
        Ok(())
    }

    fn extend(
        &mut self,
        message: Message<'_>,
        sink: &mut dyn FnMut(Event),
    ) -> Result<(), DecodeError> {
        // Gateways that know both names send both, with the same text.
        let thinking = if message.reasoning_content.is_empty() {
            message.reasoning
        } else {
            message.reasoning_content
        };
        self.size.add(thinking.len())?;
        if !thinking.is_empty() {
            self.thinking.push_str(&thinking);
            sink(Event::ThinkingDelta(thinking.into_owned()));
        }
        self.refused |= !message.refusal.is_empty();
        for text in [message.content, message.refusal] {
            self.size.add(text.len())?;
            if !text.is_empty() {
                self.text.push_str(&text);
                sink(Event::TextDelta(text.into_owned()));
            }
        }
        for detail in message.reasoning_details.into_iter().flatten() {
            self.size.add(detail.get().len())?;
            self.reasoning_details.push(RawJson::from(detail));
            limits::check_blocks(self.reasoning_details.len())?;
        }
        for (position, call) in (0..).zip(message.tool_calls.into_iter().flatten()) {
            self.size.add(call.size())?;
            self.calls.take(position, &call, sink)?;
        }
        if let Some(function) = message.function_call {
            self.size.add(function.size())?;
            self.calls.take_old(&function)?;
        }
        Ok(())
    }

    fn reply(self) -> Result<Reply, DecodeError> {
        let Some(finish) = self.finish else {
            return Err(DecodeError::Cut);
        };
        let mut stop = stop_reason(finish)?;
        if self.refused {
            stop = StopReason::Refusal {
                category: None,
                explanation: None,
            };
        }
        let mut blocks = Vec::new();
        if !self.reasoning_details.is_empty() {
            blocks.push(Block::Opaque {
                provider: Provider::OpenAi,
                json: reasoning_details(&self.reasoning_details),
            });
        }
        if !self.thinking.is_empty() {
            blocks.push(Block::Thinking {
                text: self.thinking,
                signature: None,
            });
        }
        blocks.push(Block::Text { text: self.text });
        let tool_uses = self.calls.close()?;
        blocks.extend(tool_uses.into_iter().map(Block::ToolUse));
        let usage = self.usage.as_ref().and_then(WireUsage::reported);
        complete_reply(blocks, stop, usage, self.model)
    }
}

/// Keeps the details in one object under the name that they go back with.
fn reasoning_details(details: &[RawJson]) -> RawJson {
    let details: Vec<_> = details.iter().map(RawJson::get).collect();
    RawJson::parse(format!(
        r#"{{"reasoning_details":[{}]}}"#,
        details.join(",")
    ))
    .expect("its parts are JSON")
}

fn server_error(data: &[u8]) -> DecodeError {
    DecodeError::Server(Box::new(ErrorInfo::parse(data)))
}

fn stop_reason(reason: String) -> Result<StopReason, DecodeError> {
    Ok(match reason.as_str() {
        "stop" => StopReason::EndTurn,
        "length" => StopReason::MaxTokens,
        "tool_calls" | "function_call" => StopReason::ToolUse,
        "content_filter" => StopReason::Refusal {
            category: Some(reason),
            explanation: None,
        },
        // A gateway's upstream failed, or DeepSeek ran out of machines.
        "error" | "insufficient_system_resource" => {
            return Err(DecodeError::Server(Box::new(ErrorInfo {
                message: format!("the reply ended with the reason {reason}"),
                ..ErrorInfo::default()
            })));
        }
        _ => StopReason::Other(reason),
    })
}

impl WireUsage {
    fn reported(&self) -> Option<Usage> {
        let prompt = self.prompt_tokens?;
        let details = self.prompt_tokens_details.as_ref();
        let cache_read = details
            .and_then(|details| details.cached_tokens)
            .or(self.prompt_cache_hit_tokens)
            .unwrap_or(0);
        let cache_write = details
            .and_then(|details| details.cache_write_tokens)
            .unwrap_or(0);
        Some(Usage {
            // Here the prompt includes what is cached.
            input: prompt
                .saturating_sub(cache_read)
                .saturating_sub(cache_write),
            output: self.completion_tokens.unwrap_or(0),
            cache_read,
            cache_write,
            reasoning: self
                .completion_tokens_details
                .as_ref()
                .and_then(|details| details.reasoning_tokens),
            searches: 0,
        })
    }
}
