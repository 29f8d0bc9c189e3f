//! Takes a key out of a reply before anybody stores it. A server that repeats the key it was sent, in an
//! echo or on purpose, would put it into journals and logs.

use serde_json::Value;

use super::{Block, ToolUse};
use crate::json::RawJson;
use crate::model::{Reply, StopReason};
use crate::secret::Secret;

/// Replaces every occurrence of the key in the texts of a reply.
pub(crate) fn scrub_reply(reply: &mut Reply, secret: &Secret) {
    if !secret.is_secret() {
        return;
    }
    let scrub = Scrub { secret };
    for block in &mut reply.blocks {
        scrub.block(block);
    }
    scrub.text(&mut reply.model);
    match &mut reply.stop {
        StopReason::Refusal {
            category,
            explanation,
        } => {
            for text in [category, explanation].into_iter().flatten() {
                scrub.text(text);
            }
        }
        StopReason::Other(text) => drop(scrub.text(text)),
        StopReason::EndTurn
        | StopReason::ToolUse
        | StopReason::MaxTokens
        | StopReason::StopSequence
        | StopReason::Paused
        | StopReason::ContextWindowExceeded => {}
    }
}

struct Scrub<'a> {
    secret: &'a Secret,
}

impl Scrub<'_> {
    /// Returns whether the key was in the text.
    fn text(&self, text: &mut String) -> bool {
        if !text.contains(self.secret.expose()) {
            return false;
        }
        let clean = self.secret.scrub(text);
        let has_changed = clean != *text;
        *text = clean;
        has_changed
    }

    fn block(&self, block: &mut Block) {
        match block {
            Block::Text { text } => drop(self.text(text)),
            Block::Thinking { text, signature } => {
                let has_changed = self.text(text);
                // A signature of a changed text is invalid.
                if has_changed || signature.as_mut().is_some_and(|seal| self.text(seal)) {
                    *signature = None;
                }
            }
            Block::RedactedThinking { data } => drop(self.text(data)),
            Block::ToolUse(ToolUse {
                id,
                name,
                input,
                flaw: _,
                extra_content,
                item,
            }) => {
                self.text(id);
                self.text(name);
                self.json(input);
                for json in [extra_content, item].into_iter().flatten() {
                    self.json(json);
                }
            }
            Block::ToolResult(result) => drop(self.text(&mut result.content)),
            Block::Opaque { json, .. } => self.json(json),
            // A reply has no images.
            Block::Image(_) => {}
        }
    }

    /// The text of a value stays as it came unless the key is in one of its strings, escaped or not.
    fn json(&self, json: &mut RawJson) {
        let text = json.get();
        if !text.contains(self.secret.expose()) && !text.contains('\\') {
            return;
        }
        let Ok(mut value) = json.read::<Value>() else {
            return;
        };
        if self.value(&mut value) {
            *json = RawJson::from(value);
        }
    }

    /// Returns whether the key was in the value.
    fn value(&self, value: &mut Value) -> bool {
        match value {
            Value::String(text) => self.text(text),
            Value::Array(values) => {
                let mut found = false;
                for value in values {
                    found |= self.value(value);
                }
                found
            }
            Value::Object(fields) => {
                let mut found = false;
                for (mut name, mut value) in std::mem::take(fields) {
                    found |= self.text(&mut name) | self.value(&mut value);
                    fields.insert(name, value);
                }
                found
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::Provider;

    const KEY: &str = "sk-0123456789abcdef";

    fn scrubbed(key: &str, mut blocks: Vec<Block>) -> String {
        blocks.push(Block::text("the end"));
        let mut reply = Reply {
            blocks,
            stop: StopReason::Other(format!("because of {KEY}")),
            usage: None,
            model: format!("m {KEY}"),
        };
        scrub_reply(&mut reply, &Secret::new(key));
        let blocks = serde_json::to_string(&reply.blocks).unwrap();
        format!("{blocks} {:?} {}", reply.stop, reply.model)
    }

    #[test]
    fn a_key_is_taken_out_of_every_part_of_a_reply() {
        let escaped = KEY.replace('s', "\\u0073");
        let opaque = format!(r#"{{"type":"new","list":[["{KEY}"]],"{KEY}":1}}"#);
        let blocks = vec![
            Block::text(format!("Your key is {KEY}, {KEY}.")),
            Block::Thinking {
                text: format!("hm {KEY}"),
                signature: Some("seal".into()),
            },
            Block::Thinking {
                text: String::new(),
                signature: Some(KEY.into()),
            },
            Block::RedactedThinking { data: KEY.into() },
            Block::ToolUse(ToolUse::new(
                KEY,
                KEY,
                &format!(r#"{{"command":"echo {escaped}"}}"#),
            )),
            Block::ToolUse(ToolUse::new("a", "b", &format!("not JSON {KEY}"))),
            Block::Opaque {
                provider: Provider::Anthropic,
                json: RawJson::parse(opaque).unwrap(),
            },
        ];
        let text = scrubbed(KEY, blocks);
        assert!(!text.contains("0123456789"), "{text}");
        assert!(!text.contains("seal"), "{text}");
        assert!(text.contains("Your key is [secret], [secret]."), "{text}");
        assert!(text.contains(r#"{"command":"echo [secret]"}"#), "{text}");
    }

    #[test]
    fn nothing_else_changes() {
        let input = r#"{ "b" : 1.50, "a" : "\u0041\n" }"#;
        let blocks = vec![Block::ToolUse(ToolUse::new("a", "b", input))];
        let text = scrubbed(KEY, blocks);
        assert!(
            text.contains(r#"{ "b" : 1.50, "a" : "\u0041\n" }"#),
            "{text}"
        );
        // A short key counts where it stands alone, and a word is no key.
        let text = scrubbed("sk-12345", vec![Block::text("sk-12345, not risk-12345")]);
        assert!(text.contains("[secret], not risk-12345"), "{text}");
        let text = scrubbed("the", vec![Block::text("then they went there")]);
        assert!(text.contains("then they went there"), "{text}");
    }
}
