//! What a reply may have at most. A server may send without an end, and everything it sends is kept in
//! memory and in the journal.

use crate::decode::DecodeError;
use crate::model::Usage;

/// The most bytes of text, thinking and tool inputs of one reply together. The longest replies of
/// today's models have a hundredth of it.
pub const MAX_REPLY_BYTES: usize = 32 << 20;
/// The most tool uses of one reply.
pub const MAX_TOOL_USES: usize = 128;
/// The most bytes of the input of one tool use.
pub const MAX_TOOL_INPUT_BYTES: usize = 8 << 20;
/// The most characters of the name of a tool.
const MAX_TOOL_NAME: usize = 128;
/// The most blocks of any kind.
const MAX_BLOCKS: usize = 1024;
/// The most tokens that one reply can have cost. Beyond that a count is a mistake or a lie, and its
/// price could not be stored.
const MAX_TOKENS: u64 = 1_000_000_000;

/// A limit that a reply exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplyLimit {
    #[error("it has more than {MAX_REPLY_BYTES} bytes")]
    Bytes,
    #[error("it uses more than {MAX_TOOL_USES} tools at once")]
    ToolUses,
    #[error("the input of a tool has more than {MAX_TOOL_INPUT_BYTES} bytes")]
    ToolInput,
    #[error("it has more than {MAX_BLOCKS} parts")]
    Blocks,
}

/// The size of a reply so far.
#[derive(Debug, Default)]
pub(crate) struct ReplySize {
    bytes: usize,
}

impl ReplySize {
    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn add(&mut self, bytes: usize) -> Result<(), DecodeError> {
        self.bytes = self.bytes.saturating_add(bytes);
        check(self.bytes <= MAX_REPLY_BYTES, ReplyLimit::Bytes)
    }
}

/// Bounds the name of a tool use in a reply: models invent names, and a server may send anything. The name
/// is stored in the conversation. When it is sent back, `plain_name` makes it one that every provider
/// accepts.
pub(crate) fn tool_name(name: &str) -> String {
    let is_plain = |char: &char| char.is_ascii_alphanumeric() || "_-.:/".contains(*char);
    let chars = name.chars().take(MAX_TOOL_NAME);
    chars
        .map(|char| if is_plain(&char) { char } else { '_' })
        .collect()
}

pub(crate) fn check_tool_uses(count: usize) -> Result<(), DecodeError> {
    check(count <= MAX_TOOL_USES, ReplyLimit::ToolUses)
}

pub(crate) fn check_tool_input(bytes: usize) -> Result<(), DecodeError> {
    check(bytes <= MAX_TOOL_INPUT_BYTES, ReplyLimit::ToolInput)
}

pub(crate) fn check_blocks(count: usize) -> Result<(), DecodeError> {
    check(count <= MAX_BLOCKS, ReplyLimit::Blocks)
}

fn check(holds: bool, limit: ReplyLimit) -> Result<(), DecodeError> {
    match holds {
        true => Ok(()),
        false => Err(DecodeError::TooLarge(limit)),
    }
}

/// The counts of a server, none of them beyond what a reply can cost.
pub(crate) fn clamp_usage(usage: Usage) -> Usage {
    let most = |count: u64| count.min(MAX_TOKENS);
    Usage {
        input: most(usage.input),
        output: most(usage.output),
        cache_read: most(usage.cache_read),
        cache_write: most(usage.cache_write),
        reasoning: usage.reasoning.map(most),
        searches: most(usage.searches),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::Decoder;

    /// What becomes of a stream that repeats one event without an end.
    fn endless(mut decoder: Decoder, start: &str, event: impl Fn(usize) -> String) -> ReplyLimit {
        let mut nobody = |_| {};
        let start = format!("data: {start}\n\n");
        decoder.push(start.as_bytes(), &mut nobody).unwrap();
        for number in 0..1 << 20 {
            let event = format!("data: {}\n\n", event(number));
            match decoder.push(event.as_bytes(), &mut nobody) {
                Ok(()) => {}
                Err(DecodeError::TooLarge(limit)) => return limit,
                Err(error) => panic!("{error}"),
            }
        }
        panic!("no limit was met");
    }

    const START: &str = r#"{"type":"message_start","message":{"model":"m"}}"#;

    fn delta(kind: &str, field: &str, bytes: usize) -> String {
        let text = "x".repeat(bytes);
        format!(
            r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"{kind}","{field}":"{text}"}}}}"#
        )
    }

    #[test]
    fn a_reply_without_an_end_is_abandoned() {
        let piece = 1 << 18;
        for (kind, field) in [("text_delta", "text"), ("thinking_delta", "thinking")] {
            let event = |_| delta(kind, field, piece);
            assert_eq!(
                endless(Decoder::anthropic(), START, event),
                ReplyLimit::Bytes
            );
        }
        let text = "x".repeat(piece);
        for field in ["content", "reasoning_content"] {
            let event = |_| format!(r#"{{"choices":[{{"delta":{{"{field}":"{text}"}}}}]}}"#);
            assert_eq!(endless(Decoder::openai(1), "{}", event), ReplyLimit::Bytes);
        }
    }

    #[test]
    fn the_input_of_a_tool_has_a_limit() {
        let start = r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"bash"}}"#;
        let event = |_| delta("input_json_delta", "partial_json", 1 << 18);
        assert_eq!(
            endless(Decoder::anthropic(), start, event),
            ReplyLimit::ToolInput
        );
        let text = "x".repeat(1 << 18);
        let event = |_| {
            format!(
                r#"{{"choices":[{{"delta":{{"tool_calls":[{{"index":0,"id":"a","function":{{"name":"bash","arguments":"{text}"}}}}]}}}}]}}"#
            )
        };
        assert_eq!(
            endless(Decoder::openai(1), "{}", event),
            ReplyLimit::ToolInput
        );
    }

    #[test]
    fn the_name_of_a_tool_is_short_and_plain() {
        assert_eq!(tool_name("send_message"), "send_message");
        assert_eq!(tool_name("functions.bash:0"), "functions.bash:0");
        assert_eq!(tool_name("a b\u{1b}]0;x\u{7}\u{202e}"), "a_b__0_x__");
        assert_eq!(tool_name(&"x".repeat(1 << 20)).len(), MAX_TOOL_NAME);
        let name = "b\u{1b}[2J".to_owned() + &"y".repeat(1000);
        let quoted = serde_json::to_string(&name).unwrap();
        let anthropic = format!(
            "data: {START}\n\ndata: {{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{{\"type\":\
             \"tool_use\",\"id\":\"a\",\"name\":{quoted}}}}}\n\ndata: {{\"type\":\"message_delta\",\"delta\":\
             {{\"stop_reason\":\"tool_use\"}}}}\n\ndata: {{\"type\":\"message_stop\"}}\n\n"
        );
        let openai = format!(
            "data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{{\"index\":0,\"id\":\"a\",\"function\":\
             {{\"name\":{quoted},\"arguments\":\"{{}}\"}}}}]}},\"finish_reason\":\"tool_calls\"}}]}}\n\ndata: [DONE]\n\n"
        );
        for (mut decoder, stream) in [
            (Decoder::anthropic(), anthropic),
            (Decoder::openai(1), openai),
        ] {
            let mut started = Vec::new();
            let mut sink = |event| {
                if let crate::Event::ToolUseStarted { name, .. } = event {
                    started.push(name);
                }
            };
            decoder.push(stream.as_bytes(), &mut sink).unwrap();
            let reply = decoder.finish().unwrap();
            let used: Vec<_> = reply.tool_uses().map(|used| used.name.clone()).collect();
            assert_eq!(used, [tool_name(&name)]);
            assert_eq!(started, used);
        }
    }

    #[test]
    fn a_hundred_thousand_tool_uses_are_too_many() {
        let event = |number| {
            format!(
                r#"{{"type":"content_block_start","index":{number},"content_block":{{"type":"tool_use","id":"{number}","name":"bash"}}}}"#
            )
        };
        assert_eq!(
            endless(Decoder::anthropic(), START, event),
            ReplyLimit::ToolUses
        );
        let event = |number| {
            format!(
                r#"{{"type":"content_block_start","index":{number},"content_block":{{"type":"text","text":"x"}}}}"#
            )
        };
        assert_eq!(
            endless(Decoder::anthropic(), START, event),
            ReplyLimit::Blocks
        );
        let calls: Vec<String> = (0..100_000)
            .map(|number| format!(r#"{{"index":{number},"id":"{number}","function":{{"name":"bash","arguments":"{{}}"}}}}"#))
            .collect();
        let event = |_| {
            format!(
                r#"{{"choices":[{{"delta":{{"tool_calls":[{}]}}}}]}}"#,
                calls.join(",")
            )
        };
        assert_eq!(
            endless(Decoder::openai(1), "{}", event),
            ReplyLimit::ToolUses
        );
    }

    #[test]
    fn a_reply_that_is_no_stream_has_the_same_limits() {
        let mut decoder = Decoder::anthropic();
        let uses: Vec<String> = (0..200)
            .map(|number| {
                format!(r#"{{"type":"tool_use","id":"{number}","name":"bash","input":{{}}}}"#)
            })
            .collect();
        let body = format!(
            r#"{{"type":"message","content":[{}],"stop_reason":"end_turn"}}"#,
            uses.join(",")
        );
        decoder.push(body.as_bytes(), &mut |_| {}).unwrap();
        assert_eq!(
            decoder.finish(),
            Err(DecodeError::TooLarge(ReplyLimit::ToolUses))
        );
    }

    #[test]
    fn implausible_counts_are_clamped() {
        let mut decoder = Decoder::anthropic();
        let body = r#"{"type":"message","content":[{"type":"text","text":"x"}],"stop_reason":"end_turn",
            "usage":{"input_tokens":1000000000000000,"output_tokens":7}}"#;
        decoder.push(body.as_bytes(), &mut |_| {}).unwrap();
        let usage = decoder.finish().unwrap().usage.unwrap();
        assert_eq!((usage.input, usage.output), (MAX_TOKENS, 7));
    }
}
