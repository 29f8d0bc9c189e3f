//! Replies of the Responses API.

use llm::{
    Block, DecodeError, Decoder, Event, InputError, Provider, RawJson, Reply, StopReason, Turn,
    Usage,
};
use serde_json::{Value, json};

use crate::harness::decode;
use crate::streams::RESPONSE;

fn reply(stream: &str) -> Result<Reply, DecodeError> {
    decode(Decoder::responses(7), [stream.as_bytes()]).0
}

/// A stream of one event that ends a response.
fn ended(status: &str, response: Value) -> String {
    let mut response = response;
    response["status"] = json!(status);
    let event = json!({"type": format!("response.{status}"), "response": response});
    format!("event: response.{status}\ndata: {event}\n\n")
}

fn opaque(text: &str) -> Block {
    Block::Opaque {
        provider: Provider::Responses,
        json: RawJson::parse(text).unwrap(),
    }
}

#[test]
fn a_full_response() {
    let (reply, events) = decode(Decoder::responses(7), [RESPONSE.as_bytes()]);
    let reply = reply.unwrap();
    assert_eq!(
        reply.blocks[..3],
        [
            opaque(
                r#"{"id":"rs_1", "type":"reasoning","encrypted_content":"gAAA+/==","summary":[{"type":"summary_text","text":"Hm."}]}"#
            ),
            opaque(r#"{"type":"hologram_call","id":"h_1","z":[1]}"#),
            opaque(
                r#"{"id":"msg_1","type":"message","role":"assistant","status":"completed","phase":"commentary","content":[{"type":"output_text","text":"Two \ud83d\ude00 files.","annotations":[]}]}"#
            ),
        ]
    );
    let uses: Vec<_> = reply.tool_uses().collect();
    assert_eq!((&*uses[0].id, &*uses[0].name), ("call_a", "read_file"));
    assert_eq!(uses[0].arguments().unwrap().get(), r#"{"path": "a.txt"}"#);
    assert_eq!(uses[1].arguments().unwrap().get(), "{}");
    assert_eq!(reply.text(), "Two \u{1f600} files.");
    assert_eq!(reply.stop, StopReason::ToolUse);
    assert_eq!(reply.model, "gpt-x");
    assert_eq!(
        reply.usage,
        Some(Usage {
            input: 36,
            output: 20,
            cache_read: 64,
            cache_write: 0,
            reasoning: Some(11),
            searches: 0,
        })
    );
    assert_eq!(
        events,
        [
            Event::ThinkingDelta("Hm.".into()),
            Event::TextDelta("Two ".into()),
            Event::TextDelta("\u{1f600} files.".into()),
            Event::ToolUseStarted {
                id: "call_a".into(),
                name: "read_file".into(),
            },
        ]
    );
}

#[test]
fn the_journal_keeps_items_and_their_unknown_fields() {
    let turn = Turn::assistant(reply(RESPONSE).unwrap().blocks);
    let stored = serde_json::to_string(&turn).unwrap();
    assert!(stored.contains(r#""item":{"id":"fc_1","new":{"b":1},"status":"completed"}"#));
    assert_eq!(serde_json::from_str::<Turn>(&stored).unwrap(), turn);
}

#[test]
fn a_response_that_is_not_a_stream() {
    let message = json!({"type": "message", "role": "assistant", "id": "m",
        "content": [{"type": "output_text", "text": "hi", "annotations": []}]});
    let whole = json!({"model": "m", "status": "completed", "output": [message], "error": null});
    assert_eq!(reply(&whole.to_string()).unwrap().text(), "hi");
    let queued = json!({"model": "m", "status": "queued", "output": []});
    assert_eq!(reply(&queued.to_string()), Err(DecodeError::Cut));
}

#[test]
fn why_a_response_is_not_complete() {
    let call = json!({"type": "function_call", "call_id": "c", "name": "bash",
        "arguments": "{\"command\":\"rm -", "status": "incomplete"});
    let cut = reply(&ended(
        "incomplete",
        json!({"output": [call], "incomplete_details": {"reason": "max_output_tokens"}}),
    ))
    .unwrap();
    assert_eq!(cut.stop, StopReason::MaxTokens);
    let tool_use = cut.tool_uses().next().unwrap();
    assert_eq!(tool_use.arguments(), Err(InputError::Cut));

    let filtered = reply(&ended(
        "incomplete",
        json!({"output": [], "incomplete_details": {"reason": "content_filter"}}),
    ))
    .unwrap();
    assert!(
        matches!(filtered.stop, StopReason::Refusal { category: Some(it), .. } if it == "content_filter")
    );
}

#[test]
fn failed_and_cancelled_responses_are_errors_of_the_server() {
    let failed = ended(
        "failed",
        json!({"output": [], "error": {"code": "server_error", "message": "our fault"}}),
    );
    let Err(DecodeError::Server(info)) = reply(&failed) else {
        panic!("it failed");
    };
    assert_eq!((&*info.code, &*info.message), ("server_error", "our fault"));
    let cancelled = ended("cancelled", json!({"output": [], "error": null}));
    let Err(DecodeError::Server(info)) = reply(&cancelled) else {
        panic!("it was cancelled");
    };
    assert!(info.message.contains("cancelled"), "{}", info.message);
    let event = r#"{"type":"error","code":"rate_limit_exceeded","message":"slow","param":null}"#;
    let Err(DecodeError::Server(info)) = reply(&format!("event: error\ndata: {event}\n\n")) else {
        panic!("it is an error");
    };
    assert_eq!(info.code, "rate_limit_exceeded");
}

#[test]
fn a_refusal_is_a_stop_with_its_text() {
    let message = json!({"type": "message", "content": [{"type": "refusal", "refusal": "No."}]});
    let refused = reply(&ended("completed", json!({"output": [message]}))).unwrap();
    assert!(matches!(refused.stop, StopReason::Refusal { .. }));
    assert_eq!(refused.text(), "No.");
}

#[test]
fn thoughts_alone_are_an_ended_turn_and_empty_messages_are_dropped() {
    let thought = json!({"type": "reasoning", "encrypted_content": "x", "summary": []});
    let empty = json!({"type": "message", "content": []});
    let silent = reply(&ended("completed", json!({"output": [thought, empty]}))).unwrap();
    assert_eq!(silent.blocks.len(), 1);
    assert_eq!(silent.stop, StopReason::EndTurn);
}

#[test]
fn calls_without_an_id_or_with_a_taken_one_get_their_own() {
    let call =
        |id: &str| json!({"type": "function_call", "call_id": id, "name": "b", "arguments": {}});
    let calls = json!({"output": [call("x"), call("x"), call("")]});
    let reply = reply(&ended("completed", calls)).unwrap();
    let ids: Vec<_> = reply.tool_uses().map(|it| it.id.as_str()).collect();
    assert_eq!(
        ids,
        ["x", "call_0000000000000007_1", "call_0000000000000007_2"]
    );
}
