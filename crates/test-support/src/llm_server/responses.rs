//! Turns of the Responses API.

use serde_json::{Value, json};

use super::reply::Spoken;
use super::wire::{Rendering, halves};

impl Rendering<'_> {
    /// The turn as a whole response.
    pub(super) fn response(&self) -> Value {
        let output: Vec<_> = (0..)
            .zip(&self.turn.blocks)
            .map(|it| self.item(it))
            .collect();
        let [input, written, cache_read, cache_write] = self.usage();
        // The stop reason that a test sets is the reason why the response is incomplete.
        let (status, details) = match self.stop("", "") {
            "" => ("completed", Value::Null),
            reason => ("incomplete", json!({"reason": reason})),
        };
        json!({
            "id": format!("resp_{}", self.number), "object": "response", "model": self.model,
            "status": status, "error": null, "incomplete_details": details, "output": output,
            "usage": {
                "input_tokens": input + cache_read + cache_write,
                "input_tokens_details": {
                    "cached_tokens": cache_read, "cache_write_tokens": cache_write,
                },
                "output_tokens": written, "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": input + cache_read + cache_write + written,
            },
        })
    }

    fn item(&self, (place, block): (usize, &Spoken)) -> Value {
        let id = |prefix: &str| self.call_id(prefix, place);
        match block {
            Spoken::Text(text) => json!({
                "id": id("msg"), "type": "message", "status": "completed", "role": "assistant",
                "content": [
                    {"type": "output_text", "text": text, "annotations": [], "logprobs": []},
                ],
            }),
            Spoken::Thinking { text, signature } => json!({
                "id": id("rs"), "type": "reasoning", "encrypted_content": signature,
                "summary": [{"type": "summary_text", "text": text}],
            }),
            Spoken::Call { name, input } => {
                let mut call = json!({
                    "id": id("fc"), "type": "function_call", "status": "completed",
                    "call_id": id("call"), "name": name, "arguments": input.to_string(),
                });
                // A tool of a group is named with the group in front.
                if let Some((group, name)) = name.split_once('/') {
                    call["namespace"] = json!(group);
                    call["name"] = json!(name);
                }
                call
            }
        }
    }

    /// The turn as the events of a stream.
    pub(super) fn response_events(&self) -> Vec<Value> {
        let end = self.response();
        let mut start = end.clone();
        start["status"] = json!("in_progress");
        start["output"] = json!([]);
        start["usage"] = Value::Null;
        let mut events = vec![
            json!({"type": "response.created", "response": start}),
            json!({"type": "response.in_progress", "response": start}),
        ];
        let items = end["output"].as_array().map_or(&[][..], Vec::as_slice);
        for (index, item) in items.iter().enumerate() {
            events.extend(item_events(index, item));
        }
        let status = end["status"].as_str().unwrap_or("completed");
        events.push(json!({"type": format!("response.{status}"), "response": end}));
        for (number, event) in events.iter_mut().enumerate() {
            event["sequence_number"] = json!(number);
        }
        events
    }
}

/// The events of one item, with its content in deltas.
fn item_events(index: usize, item: &Value) -> Vec<Value> {
    let text = |pointer: &str| item.pointer(pointer).and_then(Value::as_str).unwrap_or("");
    let mut start = item.clone();
    let (kind, whole) = match item["type"].as_str() {
        Some("message") => {
            start["content"] = json!([]);
            ("output_text", text("/content/0/text"))
        }
        Some("reasoning") => {
            start["summary"] = json!([]);
            ("reasoning_summary_text", text("/summary/0/text"))
        }
        _ => {
            start["arguments"] = json!("");
            ("function_call_arguments", text("/arguments"))
        }
    };
    let event = |name: &str, field: &str, value: Value| {
        json!({
            "type": format!("response.{name}"), "output_index": index, "item_id": item["id"],
            field: value,
        })
    };
    let added = event("output_item.added", "item", start);
    let deltas = halves(whole).map(|half| event(&format!("{kind}.delta"), "delta", json!(half)));
    let done = event("output_item.done", "item", item.clone());
    [added].into_iter().chain(deltas).chain([done]).collect()
}
