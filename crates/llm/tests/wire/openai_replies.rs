//! Replies of Chat Completions, in the dialects of several servers.

use llm::{
    Block, DecodeError, Decoder, Event, InputError, Provider, RawJson, Reply, StopReason, ToolUse,
    Usage,
};
use serde_json::{Value, json};

use crate::harness::decode;
use crate::streams::{CHAT, HALVES, OPENROUTER};

fn reply(stream: &str) -> Result<Reply, DecodeError> {
    decode(Decoder::openai(7), [stream.as_bytes()]).0
}

/// A stream of these deltas that ends for this reason.
fn stream(deltas: &[Value], finish: &str) -> String {
    let mut chunks: Vec<_> = deltas
        .iter()
        .map(|delta| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]}))
        .collect();
    chunks.push(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}));
    let chunks: String = chunks
        .iter()
        .map(|chunk| format!("data: {chunk}\n\n"))
        .collect();
    format!("{chunks}data: [DONE]\n\n")
}

fn call(piece: Value) -> Value {
    json!({"tool_calls": [piece]})
}

/// The ids, names and arguments of the calls.
fn calls(deltas: &[Value]) -> Vec<(String, String, String)> {
    let reply = reply(&stream(deltas, "stop")).unwrap();
    assert_eq!(
        reply.stop,
        StopReason::ToolUse,
        "known by the presence of tool calls"
    );
    reply
        .tool_uses()
        .map(|it| {
            let arguments = it.arguments().unwrap().get().to_owned();
            (it.id.clone(), it.name.clone(), arguments)
        })
        .collect()
}

fn expected_call(id: &str, name: &str, arguments: &str) -> (String, String, String) {
    (id.into(), name.into(), arguments.into())
}

#[test]
fn a_full_chat() {
    let (reply, events) = decode(Decoder::openai(7), [CHAT.as_bytes()]);
    let expected = Reply {
        blocks: vec![
            Block::text("Two \u{1f600} files."),
            Block::ToolUse(ToolUse::new("call_a", "read_file", r#"{"path": "a.txt"}"#)),
            Block::ToolUse(ToolUse::new("call_b", "list", "{}")),
        ],
        stop: StopReason::ToolUse,
        usage: Some(Usage {
            input: 30,
            output: 20,
            cache_read: 64,
            cache_write: 6,
            reasoning: Some(11),
            searches: 0,
        }),
        model: "gpt-x".into(),
    };
    assert_eq!(reply, Ok(expected));
    let started = |id: &str, name: &str| Event::ToolUseStarted {
        id: id.into(),
        name: name.into(),
    };
    assert_eq!(
        events,
        [
            Event::TextDelta("Two \u{1f600}".into()),
            Event::TextDelta(" files.".into()),
            started("call_a", "read_file"),
            started("call_b", "list"),
        ]
    );
}

#[test]
fn a_gateway_with_comments_thoughts_and_usage_beside_a_choice() {
    let reply = reply(OPENROUTER).unwrap();
    assert_eq!(
        reply.blocks,
        [
            Block::Opaque {
                provider: Provider::OpenAi,
                json: RawJson::parse(
                    r#"{"reasoning_details":[{"type":"reasoning.encrypted", "data":"abc"}]}"#
                )
                .unwrap(),
            },
            Block::Thinking {
                text: "Hm.".into(),
                signature: None,
            },
            Block::text("Yes."),
        ]
    );
    assert_eq!(
        reply.usage.map(|usage| (usage.input, usage.output)),
        Some((9, 2))
    );
}

#[test]
fn a_character_in_two_halves_is_joined() {
    assert_eq!(reply(HALVES).unwrap().text(), "smile \u{1f600}!");
    let pieces = [
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"n","arguments":"{\"a\":\"\ud83d"}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\ude00\"}"}}]},"finish_reason":"tool_calls"}]}"#,
    ];
    let stream: String = pieces.iter().map(|it| format!("data: {it}\n\n")).collect();
    let reply = reply(&stream).unwrap();
    let input = reply.tool_uses().next().unwrap().arguments().unwrap();
    assert_eq!(input.get(), "{\"a\":\"\u{1f600}\"}");
}

#[test]
fn llama_cpp_begins_with_null_and_thinks_in_its_own_field() {
    let reply = reply(&stream(
        &[
            json!({"role": "assistant", "content": null}),
            json!({"reasoning_content": "Hm."}),
            json!({"content": "Yes."}),
        ],
        "stop",
    ))
    .unwrap();
    let thought = Block::Thinking {
        text: "Hm.".into(),
        signature: None,
    };
    assert_eq!(reply.blocks, [thought, Block::text("Yes.")]);
    assert_eq!(reply.usage, None, "none was reported");
}

#[test]
fn vllm_thinks_in_a_field_with_the_newer_name() {
    let reply = reply(&stream(
        &[json!({"reasoning": "Hm."}), json!({"content": "Yes."})],
        "stop",
    ));
    assert!(matches!(&reply.unwrap().blocks[0], Block::Thinking { text, .. } if text == "Hm."));
}

#[test]
fn llama_cpp_python_repeats_id_and_name_and_the_old_call() {
    let piece = |arguments: &str| {
        json!({
            "function_call": {"name": "read", "arguments": arguments},
            "tool_calls": [{"index": 0, "id": "call__0_read", "type": "function",
                "function": {"name": "read", "arguments": arguments}}],
        })
    };
    assert_eq!(
        calls(&[piece("{\"a\""), piece(":1}")]),
        [expected_call("call__0_read", "read", "{\"a\":1}")]
    );
}

#[test]
fn the_old_call_alone_counts() {
    let deltas = [
        json!({"function_call": {"name": "read", "arguments": "{\"a\""}}),
        json!({"function_call": {"arguments": ":1}"}}),
    ];
    assert_eq!(
        calls(&deltas),
        [expected_call(
            "call_0000000000000007_0",
            "read",
            "{\"a\":1}"
        )]
    );
}

#[test]
fn missing_ids_are_made_and_missing_indexes_are_positions() {
    let both = json!({"tool_calls": [
        {"function": {"name": "a", "arguments": "{}"}},
        {"function": {"name": "b", "arguments": "{}"}},
    ]});
    let made = |n| format!("call_0000000000000007_{n}");
    assert_eq!(
        calls(&[both]),
        [
            expected_call(&made(0), "a", "{}"),
            expected_call(&made(1), "b", "{}")
        ]
    );
    let one = |name: &str| call(json!({"function": {"name": name, "arguments": "{}"}}));
    assert_eq!(
        calls(&[one("a"), one("b")]),
        [
            expected_call(&made(0), "a", "{}"),
            expected_call(&made(1), "b", "{}")
        ],
        "each whole in a chunk of its own"
    );
}

#[test]
fn calls_that_share_an_index_are_distinguished_by_id() {
    let one = |id: &str| {
        call(json!({"index": 0, "id": id, "function": {"name": "a", "arguments": "{}"}}))
    };
    assert_eq!(
        calls(&[one("x"), one("y")]),
        [expected_call("x", "a", "{}"), expected_call("y", "a", "{}")]
    );
}

#[test]
fn calls_that_share_an_id_get_one_each() {
    let one = |index: u64| {
        call(json!({"index": index, "id": "same", "function": {"name": "a", "arguments": "{}"}}))
    };
    assert_eq!(
        calls(&[one(0), one(1)]),
        [
            expected_call("same", "a", "{}"),
            expected_call("call_0000000000000007_1", "a", "{}")
        ]
    );
}

#[test]
fn arguments_may_be_an_object_or_nothing() {
    let with = |arguments: Value| {
        calls(&[call(
            json!({"index": 0, "id": "x", "function": {"name": "a", "arguments": arguments}}),
        )])
    };
    assert_eq!(
        with(json!({"k": [1]})),
        [expected_call("x", "a", "{\"k\":[1]}")]
    );
    assert_eq!(with(Value::Null), [expected_call("x", "a", "{}")]);
    assert_eq!(with(json!("")), [expected_call("x", "a", "{}")]);
}

#[test]
fn a_call_without_a_name_cannot_be_used() {
    let result = reply(&stream(
        &[call(json!({"index": 0, "id": "x"}))],
        "tool_calls",
    ));
    assert!(
        matches!(result, Err(DecodeError::Malformed { .. })),
        "{result:?}"
    );
}

#[test]
fn every_finish_reason() {
    let refusal = |category: Option<&str>| StopReason::Refusal {
        category: category.map(str::to_owned),
        explanation: None,
    };
    let said = [json!({"content": "hm"})];
    for (finish, expected) in [
        ("stop", StopReason::EndTurn),
        ("length", StopReason::MaxTokens),
        ("tool_calls", StopReason::EndTurn),
        ("content_filter", refusal(Some("content_filter"))),
        ("eos", StopReason::Other("eos".into())),
    ] {
        assert_eq!(
            reply(&stream(&said, finish)).unwrap().stop,
            expected,
            "{finish}"
        );
    }
    let refused = reply(&stream(&[json!({"refusal": "I will not."})], "stop")).unwrap();
    assert_eq!(
        (refused.text().as_str(), refused.stop),
        ("I will not.", refusal(None))
    );
    for failed in ["error", "insufficient_system_resource"] {
        let result = reply(&stream(&said, failed));
        assert!(matches!(result, Err(DecodeError::Server(_))), "{failed}");
    }
}

#[test]
fn a_call_at_the_limit_is_marked_as_cut() {
    let deltas = [call(
        json!({"index": 0, "id": "x", "function": {"name": "a", "arguments": "{\"k\":"}}),
    )];
    let reply = reply(&stream(&deltas, "length")).unwrap();
    assert_eq!(reply.stop, StopReason::MaxTokens);
    let cut = reply.tool_uses().next().unwrap();
    assert_eq!(cut.arguments(), Err(InputError::Cut));
}

#[test]
fn errors_in_the_stream() {
    for stream in [
        "data: {\"error\":{\"message\":\"m\",\"type\":\"server_error\"}}\n\n",
        "event: error\ndata: {\"message\":\"m\"}\n\n",
        "event: error\ndata: gone\n\n",
        "data: {\"id\":\"g\",\"error\":{\"code\":502,\"message\":\"m\"},\"choices\":[{\"delta\":{\"content\":\"\"},\"finish_reason\":\"error\"}]}\n\n",
        "{\"error\":{\"code\":400,\"message\":\"m\"}}",
        "{\"detail\":\"m\"}",
    ] {
        let result = reply(stream);
        assert!(
            matches!(result, Err(DecodeError::Server(_))),
            "{stream}: {result:?}"
        );
    }
}

#[test]
fn deepseek_counts_cached_tokens_under_its_own_name() {
    let stream = "data: {\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":1,\"prompt_cache_hit_tokens\":60,\"prompt_cache_miss_tokens\":40}}\n\n";
    let usage = reply(stream).unwrap().usage.unwrap();
    assert_eq!((usage.input, usage.cache_read), (40, 60));
}

#[test]
fn other_choices_and_content_in_parts() {
    let stream = stream(
        &[json!({"content": [{"type": "text", "text": "in "}, {"type": "text", "text": "parts"}]})],
        "stop",
    );
    let other = "data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"not me\"}}]}\n\n";
    assert_eq!(
        reply(&format!("{other}{stream}")).unwrap().text(),
        "in parts"
    );
}

#[test]
fn a_chat_of_nothing_is_a_success_only_if_the_turn_has_ended() {
    for deltas in [
        vec![],
        vec![json!({"content": ""})],
        vec![json!({"reasoning": "hm"})],
    ] {
        let ended = reply(&stream(&deltas, "stop"));
        assert_eq!(ended.unwrap().text(), "", "{deltas:?}");
        assert_eq!(
            reply(&stream(&deltas, "tool_calls")),
            Err(DecodeError::Empty)
        );
    }
}

/// Gemini puts encrypted reasoning into the call and refuses the next request without it.
#[test]
fn what_a_server_attaches_to_a_call_goes_back_with_it() {
    let signature = r#"{"google":{"thought_signature":"sig+/=="}}"#;
    let extra: Value = serde_json::from_str(signature).unwrap();
    let call = json!({"tool_calls": [{"index": 0, "id": "c1", "extra_content": extra,
        "function": {"name": "bash", "arguments": "{}"}}]});
    let reply = reply(&stream(&[call], "tool_calls")).unwrap();
    let stored = serde_json::to_string(&reply.blocks).unwrap();
    let read: Vec<Block> = serde_json::from_str(&stored).unwrap();
    assert_eq!(read, reply.blocks);
    let turns = vec![
        llm::Turn::user("go"),
        llm::Turn::assistant(read),
        llm::Turn::results([llm::ToolResult::ok("c1", "done")]),
    ];
    let request = llm::Request {
        turns,
        max_tokens: 1,
        ..llm::Request::default()
    };
    let sent = crate::openai_requests::sent(request);
    assert_eq!(sent.messages()[1]["tool_calls"][0]["extra_content"], extra);
}
