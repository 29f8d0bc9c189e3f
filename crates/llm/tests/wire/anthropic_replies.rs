//! Replies of the Messages API.

use llm::{
    Block, DecodeError, Decoder, Event, InputError, Provider, RawJson, Reply, StopReason, ToolUse,
    Usage,
};
use serde_json::{Value, json};

use crate::harness::decode;
use crate::streams::{MESSAGE, OVERLOADED, UNKNOWN_KINDS, WHOLE_MESSAGE};

fn reply(stream: &str) -> Result<Reply, DecodeError> {
    decode(Decoder::anthropic(), [stream.as_bytes()]).0
}

/// A stream of a message with this content and end.
fn stream(events: &[Value], end: Value) -> String {
    let start = json!({"type": "message_start", "message": {"model": "m", "content": []}});
    let end = json!({"type": "message_delta", "delta": end});
    let stop = json!({"type": "message_stop"});
    [start]
        .iter()
        .chain(events)
        .chain([&end, &stop])
        .map(|event| format!("data: {event}\n\n"))
        .collect()
}

fn start(index: u64, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn text_events(text: &str) -> [Value; 1] {
    [start(0, json!({"type": "text", "text": text}))]
}

#[test]
fn a_full_message() {
    let (reply, events) = decode(Decoder::anthropic(), [MESSAGE.as_bytes()]);
    let expected = Reply {
        blocks: vec![
            Block::Thinking {
                text: "Let me look.".into(),
                signature: Some("EqQBCgIYAhIM/+==".into()),
            },
            Block::RedactedThinking {
                data: "EmwKAhgBEgy".into(),
            },
            Block::text("Zwei Dateien: é\n\u{1f600} é."),
            Block::ToolUse(ToolUse::new(
                "toolu_1",
                "read_file",
                r#"{"path": "a.txt", "all": true}"#,
            )),
            Block::ToolUse(ToolUse::new("toolu_2", "list", "{}")),
        ],
        stop: StopReason::ToolUse,
        usage: Some(Usage {
            input: 12,
            output: 87,
            cache_read: 4000,
            cache_write: 300,
            reasoning: Some(40),
            searches: 0,
        }),
        model: "claude-x".into(),
    };
    assert_eq!(reply, Ok(expected));
    let started = |id: &str, name: &str| Event::ToolUseStarted {
        id: id.into(),
        name: name.into(),
    };
    assert_eq!(
        events,
        [
            Event::ThinkingDelta("Let me ".into()),
            Event::ThinkingDelta("look.".into()),
            Event::TextDelta("Zwei Dateien: é".into()),
            Event::TextDelta("\n\u{1f600} é.".into()),
            started("toolu_1", "read_file"),
            started("toolu_2", "list"),
        ]
    );
}

#[test]
fn unknown_kinds_are_kept_as_they_came() {
    let reply = reply(UNKNOWN_KINDS).unwrap();
    let opaque = |json: &str| Block::Opaque {
        provider: Provider::Anthropic,
        json: RawJson::parse(json).unwrap(),
    };
    assert_eq!(
        reply.blocks,
        [
            opaque(
                r#"{"id":"srvtoolu_1","input":{"q":1},"name":"web_search","type":"server_tool_use"}"#
            ),
            opaque(r#"{"type":"hologram", "z":1.0, "a":{"k":[]}}"#),
            opaque(
                r#"{"type":"text","text":"cited","citations":[{"type":"char_location", "start":0}]}"#
            ),
        ]
    );
    assert_eq!(reply.text(), "cited");
}

#[test]
fn every_stop_reason() {
    for (end, expected) in [
        (json!({"stop_reason": "end_turn"}), StopReason::EndTurn),
        (json!({"stop_reason": "max_tokens"}), StopReason::MaxTokens),
        (
            json!({"stop_reason": "stop_sequence"}),
            StopReason::StopSequence,
        ),
        (json!({"stop_reason": "pause_turn"}), StopReason::Paused),
        (
            json!({"stop_reason": "model_context_window_exceeded"}),
            StopReason::ContextWindowExceeded,
        ),
        (
            json!({"stop_reason": "refusal", "stop_details": {"type": "refusal", "category": "cyber", "explanation": "no"}}),
            StopReason::Refusal {
                category: Some("cyber".into()),
                explanation: Some("no".into()),
            },
        ),
        (
            json!({"stop_reason": "refusal", "stop_details": null}),
            StopReason::Refusal {
                category: None,
                explanation: None,
            },
        ),
        (
            json!({"stop_reason": "tired"}),
            StopReason::Other("tired".into()),
        ),
        (json!({"stop_reason": null}), StopReason::EndTurn),
    ] {
        let reply = reply(&stream(&text_events("hm"), end)).unwrap();
        assert_eq!(reply.stop, expected);
    }
}

#[test]
fn a_refusal_and_a_limit_may_come_without_content() {
    for reason in [
        "refusal",
        "max_tokens",
        "model_context_window_exceeded",
        "stop_sequence",
    ] {
        let reply = reply(&stream(&[], json!({"stop_reason": reason}))).unwrap();
        assert_eq!(reply.blocks, [], "{reason}");
    }
}

#[test]
fn a_tool_use_at_a_limit_is_marked_as_cut() {
    for reason in ["max_tokens", "model_context_window_exceeded"] {
        let events = [
            start(
                0,
                json!({"type": "tool_use", "id": "a", "name": "x", "input": {}}),
            ),
            start(
                1,
                json!({"type": "tool_use", "id": "b", "name": "x", "input": {}}),
            ),
        ];
        let reply = reply(&stream(&events, json!({"stop_reason": reason}))).unwrap();
        let flaws: Vec<_> = reply.tool_uses().map(|it| it.arguments().err()).collect();
        assert_eq!(flaws, [None, Some(InputError::Cut)], "{reason}");
    }
}

#[test]
fn an_error_in_the_stream_is_typed() {
    let (result, events) = decode(Decoder::anthropic(), [OVERLOADED.as_bytes()]);
    match result {
        Err(DecodeError::Server(info)) => assert_eq!(info.kind, "overloaded_error"),
        other => panic!("{other:?}"),
    }
    assert_eq!(events, [Event::TextDelta("I was about".into())]);
    let openai_shaped = "data: {\"error\":{\"code\":503,\"message\":\"Loading\",\"type\":\"unavailable_error\"}}\n\n";
    assert!(matches!(reply(openai_shaped), Err(DecodeError::Server(_))));
    let named = "event: error\ndata: {\"message\":\"gone\"}\n\n";
    assert!(matches!(reply(named), Err(DecodeError::Server(_))));
}

#[test]
fn a_plain_message_is_read_as_well() {
    let reply = reply(WHOLE_MESSAGE).unwrap();
    assert_eq!(reply.text(), "hi");
    let input = reply.tool_uses().next().unwrap().arguments().unwrap();
    assert_eq!(input.get(), r#"{"b":1,"a":2}"#);
    assert_eq!(
        reply.usage.map(|usage| (usage.input, usage.output)),
        Some((3, 4))
    );
}

#[test]
fn plain_bodies_that_are_no_message() {
    for (body, expected) in [
        (
            r#"{"type":"error","error":{"type":"api_error","message":"m"}}"#,
            "Server",
        ),
        (r#"{"error":{"message":"m"}}"#, "Server"),
        (r#"{"hello":"world"}"#, "Malformed"),
        (r#"{"type":"message","content":[{"type""#, "Cut"),
        ("<html><body>Sign in</body></html>", "NotAStream"),
        ("", "Cut"),
        ("  \n ", "Cut"),
        ("just words", "Cut"),
    ] {
        let error = format!("{:?}", reply(body).unwrap_err());
        assert!(error.starts_with(expected), "{body}: {error}");
    }
}

#[test]
fn a_message_of_nothing_is_a_success_only_if_the_turn_has_ended() {
    for events in [
        vec![],
        text_events("").to_vec(),
        text_events(" \n").to_vec(),
        vec![start(
            0,
            json!({"type": "thinking", "thinking": "hm", "signature": "s"}),
        )],
    ] {
        let ended = reply(&stream(&events, json!({"stop_reason": "end_turn"})));
        assert_eq!(ended.unwrap().text().trim(), "", "{events:?}");
        for reason in ["tool_use", "odd"] {
            let result = reply(&stream(&events, json!({"stop_reason": reason})));
            assert_eq!(result, Err(DecodeError::Empty), "{events:?}");
        }
    }
}

#[test]
fn deltas_without_a_start_and_starts_with_everything() {
    let events = [
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "said"}}),
        start(
            2,
            json!({"type": "tool_use", "id": "t", "name": "n", "input": {"all": "here"}}),
        ),
    ];
    let reply = reply(&stream(&events, json!({"stop_reason": "end_turn"}))).unwrap();
    assert_eq!(reply.text(), "said");
    assert_eq!(reply.stop, StopReason::ToolUse);
    let input = reply.tool_uses().next().unwrap().arguments().unwrap();
    assert_eq!(input.get(), r#"{"all":"here"}"#);
}

#[test]
fn an_empty_signature_is_none() {
    let thinking = json!({"type": "thinking", "thinking": "hm", "signature": ""});
    let events = [vec![start(0, thinking)], text_events("so").to_vec()].concat();
    let reply = reply(&stream(&events, json!({"stop_reason": "end_turn"}))).unwrap();
    let unsigned = Block::Thinking {
        text: "hm".into(),
        signature: None,
    };
    assert_eq!(reply.blocks[0], unsigned);
}
