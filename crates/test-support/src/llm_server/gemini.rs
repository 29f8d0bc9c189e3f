//! Turns as Gemini's `generateContent` returns them.

use serde_json::{Value, json};

use super::reply::Spoken;
use super::wire::Rendering;

impl Rendering<'_> {
    /// The turn as a whole answer.
    pub(super) fn generated(&self) -> Value {
        let parts: Vec<Value> = (0..)
            .zip(&self.turn.blocks)
            .map(|(place, block)| match block {
                Spoken::Text(text) => json!({"text": text}),
                Spoken::Thinking { text, signature } => {
                    json!({"text": text, "thought": true, "thoughtSignature": signature})
                }
                Spoken::Call { name, input } => json!({
                    "functionCall": {"id": self.call_id("call", place), "name": name, "args": input},
                }),
            })
            .collect();
        let [input, output, cache_read, cache_write] = self.usage();
        let prompt = input + cache_read + cache_write;
        json!({
            "candidates": [{
                "index": 0, "content": {"role": "model", "parts": parts},
                "finishReason": self.stop("STOP", "STOP"),
            }],
            "usageMetadata": {
                "promptTokenCount": prompt, "cachedContentTokenCount": cache_read,
                "candidatesTokenCount": output, "totalTokenCount": prompt + output,
            },
            "modelVersion": self.model, "responseId": format!("response_{}", self.number),
        })
    }

    /// The turn as the events of a stream: each part, and how it ended.
    pub(super) fn generated_events(&self) -> Vec<Value> {
        let whole = self.generated();
        let with_parts = |parts: Value| {
            let mut event = whole.clone();
            event["candidates"][0]["content"]["parts"] = parts;
            event
        };
        let parts = whole["candidates"][0]["content"]["parts"].as_array();
        let parts = parts.into_iter().flatten().map(|part| {
            let mut event = with_parts(json!([part]));
            event["candidates"][0]["finishReason"] = Value::Null;
            event
        });
        parts.chain([with_parts(json!([]))]).collect()
    }
}
