//! Requests as the server got them.

use serde_json::Value;
use std::time::Instant;

/// A wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    Anthropic,
    /// Chat Completions.
    OpenAi,
    /// The Responses API.
    Responses,
    /// `generateContent` of Gemini, which only programs of others speak.
    Gemini,
}

/// A request that the server received.
#[derive(Clone, Debug, PartialEq)]
pub struct CapturedRequest {
    agent: String,
    wire: Wire,
    path: String,
    headers: Vec<(String, String)>,
    raw: Vec<u8>,
    body: Value,
    arrived: Instant,
}

impl CapturedRequest {
    /// A request from its path, headers and body, or `None` if the path is not
    /// one of the wire formats.
    pub(super) fn new(path: String, headers: Vec<(String, String)>, raw: Vec<u8>) -> Option<Self> {
        // Taken before the parsing, whose time is not the client's.
        let arrived = Instant::now();
        let (agent, rest) = path.strip_prefix('/')?.split_once('/')?;
        // Some clients ask for more with a query.
        let wire = match rest.split('?').next().unwrap_or(rest) {
            "v1/messages" => Wire::Anthropic,
            "v1/chat/completions" => Wire::OpenAi,
            "v1/responses" => Wire::Responses,
            other if other.ends_with("enerateContent") => Wire::Gemini,
            _ => return None,
        };
        Some(Self {
            agent: decode_name(agent),
            wire,
            headers,
            body: serde_json::from_slice(&raw).unwrap_or(Value::Null),
            raw,
            path,
            arrived,
        })
    }

    /// When it was received completely.
    pub fn arrived(&self) -> Instant {
        self.arrived
    }

    /// The agent that sent it.
    pub fn agent(&self) -> &str {
        &self.agent
    }

    /// The wire format of the request.
    pub fn wire(&self) -> Wire {
        self.wire
    }

    /// The path of the request.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The first header of this name, in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// The body; null if it was no JSON.
    pub fn body(&self) -> &Value {
        &self.body
    }

    /// The body, unparsed.
    pub fn raw_body(&self) -> &[u8] {
        &self.raw
    }

    pub fn model(&self) -> &str {
        self.body["model"].as_str().unwrap_or("")
    }

    /// The system text.
    pub fn system_text(&self) -> String {
        match self.wire {
            // Blocks of a system text are parts of one text.
            Wire::Anthropic => match &self.body["system"] {
                Value::Array(blocks) => blocks
                    .iter()
                    .filter_map(|block| block["text"].as_str())
                    .collect(),
                other => text(other),
            },
            Wire::OpenAi => {
                let is_system = |message: &&Value| {
                    matches!(message["role"].as_str(), Some("system" | "developer"))
                };
                let system = self.messages().iter().find(is_system);
                system.map_or_else(String::new, |message| text(&message["content"]))
            }
            Wire::Responses => text(&self.body["instructions"]),
            Wire::Gemini => text(&self.body["systemInstruction"]["parts"]),
        }
    }

    /// The messages or items, in the form of the wire.
    pub fn messages(&self) -> &[Value] {
        match self.wire {
            Wire::Anthropic | Wire::OpenAi => list(&self.body["messages"]),
            Wire::Responses => list(&self.body["input"]),
            Wire::Gemini => list(&self.body["contents"]),
        }
    }

    /// The tools, in the form of the wire.
    pub fn tools(&self) -> &[Value] {
        match self.wire {
            Wire::Anthropic | Wire::OpenAi | Wire::Responses => list(&self.body["tools"]),
            Wire::Gemini => list(&self.body["tools"][0]["functionDeclarations"]),
        }
    }

    /// Whether the client wants the reply as one value, not as a stream.
    pub(super) fn wants_whole(&self) -> bool {
        match self.wire {
            Wire::Anthropic | Wire::OpenAi | Wire::Responses => self.body["stream"] != true,
            Wire::Gemini => !self.path.contains(":streamGenerateContent"),
        }
    }

    /// The names of the tools.
    pub fn tool_names(&self) -> Vec<&str> {
        self.tools()
            .iter()
            .filter_map(|tool| match self.wire {
                Wire::Anthropic | Wire::Responses | Wire::Gemini => tool["name"].as_str(),
                Wire::OpenAi => tool["function"]["name"].as_str(),
            })
            .collect()
    }

    /// The text and the tool results of the last message.
    pub fn last_text(&self) -> String {
        let last = self.messages().last().unwrap_or(&Value::Null);
        match last["type"].as_str() {
            Some("function_call_output") => text(&last["output"]),
            _ => text(&last["content"]),
        }
    }

    /// Whether it asks for a summary of the conversation.
    pub fn asks_for_summary(&self) -> bool {
        self.last_text().contains("<summary-request>")
    }

    /// How many cache breakpoints there are, wherever they stand.
    pub fn cache_breakpoints(&self) -> usize {
        count_keys(&self.body, "cache_control")
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The text of a content, which is a string or a list of blocks.
fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts: Vec<_> = blocks
                .iter()
                .map(|block| match block["type"].as_str() {
                    Some("tool_result") => text(&block["content"]),
                    _ => block["text"].as_str().unwrap_or("").to_owned(),
                })
                .filter(|text| !text.is_empty())
                .collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}

fn count_keys(value: &Value, key: &str) -> usize {
    match value {
        Value::Object(map) => {
            let below: usize = map.values().map(|value| count_keys(value, key)).sum();
            below + usize::from(map.contains_key(key))
        }
        Value::Array(values) => values.iter().map(|value| count_keys(value, key)).sum(),
        _ => 0,
    }
}

/// A name as a part of an address.
pub(super) fn encode_name(name: &str) -> String {
    name.bytes()
        .map(|byte| {
            if byte.is_ascii_alphanumeric() || b"-_.".contains(&byte) {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect()
}

fn decode_name(part: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = part.as_bytes();
    while let Some((&first, more)) = rest.split_first() {
        let escaped = more
            .get(..2)
            .filter(|_| first == b'%')
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(escaped.unwrap_or(first));
        rest = if escaped.is_some() { &more[2..] } else { more };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_any_script_survive_an_address() {
        for name in ["alice", "жук", "a b/c%"] {
            assert_eq!(decode_name(&encode_name(name)), name);
        }
    }
}
