//! Turns in the wire formats.

use serde_json::{Value, json};

use super::captured::Wire;
use super::reply::{Spoken, TurnSpec};

/// The usage of a turn for which the test sets none.
const USUAL_USAGE: [u64; 4] = [10, 5, 0, 0];

/// A turn to be written for one request.
pub(super) struct Rendering<'a> {
    pub(super) turn: &'a TurnSpec,
    pub(super) wire: Wire,
    /// The number of the request, for ids that occur nowhere else.
    pub(super) number: usize,
    pub(super) model: &'a str,
    /// Whether the client asked for the usage.
    pub(super) with_usage: bool,
}

impl Rendering<'_> {
    /// The turn as one JSON value.
    pub(super) fn whole(&self) -> Vec<u8> {
        let value = match self.wire {
            Wire::Anthropic => self.message(),
            Wire::OpenAi => self.completion(),
            Wire::Responses => self.response(),
            Wire::Gemini => self.generated(),
        };
        value.to_string().into_bytes()
    }

    /// The turn as the chunks of a stream.
    pub(super) fn chunks(&self) -> Vec<Vec<u8>> {
        match self.wire {
            Wire::Anthropic => named(&self.message_events()),
            Wire::Responses => named(&self.response_events()),
            Wire::Gemini => {
                let events = self.generated_events().into_iter();
                let events = events.map(|event| format!("data: {event}\r\n\r\n"));
                events.map(String::into_bytes).collect()
            }
            Wire::OpenAi => {
                let chunks = self.completion_chunks();
                let chunks = chunks.iter().map(|chunk| format!("data: {chunk}\n\n"));
                let done = "data: [DONE]\n\n".to_owned();
                chunks.chain([done]).map(String::into_bytes).collect()
            }
        }
    }

    fn calls_tools(&self) -> bool {
        let is_call = |block: &Spoken| matches!(block, Spoken::Call { .. });
        self.turn.blocks.iter().any(is_call)
    }

    pub(super) fn stop(&self, with_tools: &'static str, without: &'static str) -> &str {
        match &self.turn.stop {
            Some(stop) => stop,
            None if self.calls_tools() => with_tools,
            None => without,
        }
    }

    pub(super) fn usage(&self) -> [u64; 4] {
        self.turn.usage.unwrap_or(USUAL_USAGE)
    }

    pub(super) fn call_id(&self, prefix: &str, place: usize) -> String {
        format!("{prefix}_{}_{place}", self.number)
    }

    fn message(&self) -> Value {
        let [input, output, cache_read, cache_write] = self.usage();
        let content: Vec<_> = (0..)
            .zip(&self.turn.blocks)
            .map(|(place, block)| match block {
                Spoken::Text(text) => json!({"type": "text", "text": text}),
                Spoken::Thinking { text, signature } => {
                    json!({"type": "thinking", "thinking": text, "signature": signature})
                }
                Spoken::Call { name, input } => json!({
                    "type": "tool_use", "id": self.call_id("toolu", place),
                    "name": name, "input": input,
                }),
            })
            .collect();
        json!({
            "id": format!("msg_{}", self.number), "type": "message", "role": "assistant",
            "model": self.model, "content": content, "stop_sequence": null,
            "stop_reason": self.stop("tool_use", "end_turn"),
            "usage": {
                "input_tokens": input, "output_tokens": output,
                "cache_read_input_tokens": cache_read,
                "cache_creation_input_tokens": cache_write,
            },
        })
    }

    fn message_events(&self) -> Vec<Value> {
        let mut start = self.message();
        let stop = start["stop_reason"].take();
        let output = start["usage"]["output_tokens"].take();
        start["usage"]["output_tokens"] = json!(1);
        let content = start["content"].take();
        start["content"] = json!([]);
        let mut events = vec![
            json!({"type": "message_start", "message": start}),
            json!({"type": "ping"}),
        ];
        let blocks = content.as_array().map_or(&[][..], Vec::as_slice);
        for (index, block) in blocks.iter().enumerate() {
            events.extend(block_events(index, block));
        }
        events.push(json!({
            "type": "message_delta",
            "delta": {"stop_reason": stop, "stop_sequence": null},
            "usage": {"output_tokens": output},
        }));
        events.push(json!({"type": "message_stop"}));
        events
    }

    fn completion(&self) -> Value {
        let mut message = json!({"role": "assistant", "content": null});
        let mut calls = Vec::new();
        for (place, block) in (0..).zip(&self.turn.blocks) {
            match block {
                Spoken::Text(text) => message["content"] = json!(text),
                Spoken::Thinking { text, .. } => message["reasoning_content"] = json!(text),
                Spoken::Call { name, input } => calls.push(json!({
                    "id": self.call_id("call", place), "type": "function",
                    "function": {"name": name, "arguments": input.to_string()},
                })),
            }
        }
        if !calls.is_empty() {
            message["tool_calls"] = json!(calls);
        }
        json!({
            "id": format!("chatcmpl-{}", self.number), "object": "chat.completion",
            "model": self.model, "usage": self.completion_usage(),
            "choices": [{
                "index": 0, "message": message,
                "finish_reason": self.stop("tool_calls", "stop"),
            }],
        })
    }

    fn completion_usage(&self) -> Value {
        let [input, output, cache_read, cache_write] = self.usage();
        json!({
            "prompt_tokens": input + cache_read + cache_write, "completion_tokens": output,
            "total_tokens": input + cache_read + cache_write + output,
            "prompt_tokens_details": {
                "cached_tokens": cache_read, "cache_write_tokens": cache_write,
            },
        })
    }

    fn completion_chunks(&self) -> Vec<Value> {
        let mut deltas = vec![json!({"role": "assistant", "content": ""})];
        let mut index = 0;
        for (place, block) in (0..).zip(&self.turn.blocks) {
            match block {
                Spoken::Text(text) => {
                    deltas.extend(halves(text).map(|half| json!({"content": half})));
                }
                Spoken::Thinking { text, .. } => {
                    deltas.extend(halves(text).map(|half| json!({"reasoning_content": half})));
                }
                Spoken::Call { name, input } => {
                    deltas.push(json!({"tool_calls": [{
                        "index": index, "id": self.call_id("call", place),
                        "type": "function", "function": {"name": name, "arguments": ""},
                    }]}));
                    let pieces = input.to_string();
                    deltas.extend(halves(&pieces).map(|half| {
                        json!({"tool_calls": [{"index": index, "function": {"arguments": half}}]})
                    }));
                    index += 1;
                }
            }
        }
        let finish = self.stop("tool_calls", "stop");
        let chunk = |delta: Value, finish: Value| {
            json!({
                "id": format!("chatcmpl-{}", self.number), "object": "chat.completion.chunk",
                "model": self.model,
                "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
            })
        };
        let mut chunks: Vec<_> = deltas
            .into_iter()
            .map(|delta| chunk(delta, Value::Null))
            .collect();
        chunks.push(chunk(json!({}), json!(finish)));
        if self.with_usage {
            let mut last = chunk(json!({}), Value::Null);
            last["choices"] = json!([]);
            last["usage"] = self.completion_usage();
            chunks.push(last);
        }
        chunks
    }
}

/// The chunks of events that have names.
fn named(events: &[Value]) -> Vec<Vec<u8>> {
    let name = |event: &Value| event["type"].as_str().unwrap_or("").to_owned();
    let text = |event: &Value| format!("event: {}\ndata: {event}\n\n", name(event));
    events.iter().map(|event| text(event).into()).collect()
}

/// The events of one block of the Messages API, with its content in deltas.
fn block_events(index: usize, block: &Value) -> Vec<Value> {
    let delta =
        |delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let text = |key: &str| block[key].as_str().unwrap_or("").to_owned();
    let mut start = block.clone();
    let mut deltas = Vec::new();
    match block["type"].as_str() {
        Some("text") => {
            start["text"] = json!("");
            let text = text("text");
            deltas.extend(
                halves(&text).map(|half| delta(json!({"type": "text_delta", "text": half}))),
            );
        }
        Some("thinking") => {
            start["thinking"] = json!("");
            start["signature"] = json!("");
            let text_of = text("thinking");
            let parts = halves(&text_of);
            deltas.extend(
                parts.map(|half| delta(json!({"type": "thinking_delta", "thinking": half}))),
            );
            let signature = text("signature");
            deltas.push(delta(
                json!({"type": "signature_delta", "signature": signature}),
            ));
        }
        _ => {
            start["input"] = json!({});
            let input = block["input"].to_string();
            let parts = halves(&input);
            deltas.extend(
                parts.map(|half| delta(json!({"type": "input_json_delta", "partial_json": half}))),
            );
        }
    }
    let start = json!({"type": "content_block_start", "index": index, "content_block": start});
    let stop = json!({"type": "content_block_stop", "index": index});
    [start].into_iter().chain(deltas).chain([stop]).collect()
}

/// The text in two pieces, cut between characters; a short one in one piece.
pub(super) fn halves(text: &str) -> impl Iterator<Item = String> {
    let middle = text.chars().count().div_ceil(2);
    let first: String = text.chars().take(middle).collect();
    let second: String = text.chars().skip(middle).collect();
    [first, second].into_iter().filter(|half| !half.is_empty())
}
