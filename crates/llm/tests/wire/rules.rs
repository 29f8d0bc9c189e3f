//! The eight rules for clients, one test each. What a rule has in detail is
//! tested beside the part that it belongs to.

use std::sync::Arc;

use llm::{
    Anthropic, Block, ClientOptions, Decoder, Event, Model, RawJson, StopReason, ToolResult, Turn,
};
use serde_json::json;
use test_support::llm_server::{Gate, LlmServer, ServerReply};

use crate::harness::{
    Call, LIMIT, anthropic_config, ask, both, decode, hello, quick, request, tool, waits,
};
use crate::streams::{CHAT, MESSAGE};

/// Streams are split on bytes, with any line ends, comments, split data and
/// unknown events; plain JSON is read whatever its content type is.
#[test]
fn rule_1_streams_of_every_make_and_plain_json() {
    let expected = decode(Decoder::anthropic(), [MESSAGE.as_bytes()]);
    let split_data = MESSAGE.replace(
        "data: {\"type\":\"content_block_delta\",",
        ": note\ndata: {\ndata:\"type\":\"content_block_delta\",\nid: 7\ndata:",
    );
    let unknown = MESSAGE.replace(
        "event: ping\ndata: {\"type\":\"ping\"}",
        "event: new\ndata: {}",
    );
    for stream in [
        MESSAGE.replace('\n', "\r\n"),
        MESSAGE.replace('\n', "\r"),
        format!("\u{feff}{MESSAGE}"),
        split_data,
        unknown,
    ] {
        let decoded = decode(Decoder::anthropic(), stream.as_bytes().chunks(7));
        assert_eq!(decoded, expected, "{stream:?}");
    }
    let server = LlmServer::start();
    for (agent, model) in both(&server) {
        for reply in [
            ServerReply::text("same").plain(),
            ServerReply::text("same")
                .plain()
                .content_type("text/event-stream"),
            ServerReply::text("same").content_type("application/octet-stream"),
        ] {
            server.enqueue(agent, reply);
            let (reply, events) = ask(&model, hello());
            assert_eq!(reply.unwrap().text(), "same", "{agent}");
            assert_eq!(waits(&events), [""; 0], "{agent}");
        }
    }
}

/// Only the end marker makes a success. All else is tried again, and no tool use
/// of it is given out.
#[test]
fn rule_2_only_the_end_marker_is_a_success() {
    let without_stop = MESSAGE.replace("data: {\"type\":\"message_stop\"}", ": gone");
    assert!(
        decode(Decoder::anthropic(), [without_stop.as_bytes()])
            .0
            .is_err()
    );
    let without_finish = CHAT.replace("\"finish_reason\":\"tool_calls\"", "\"finish_reason\":null");
    assert!(without_finish.contains("[DONE]"));
    assert!(
        decode(Decoder::openai(1), [without_finish.as_bytes()])
            .0
            .is_err()
    );

    let server = LlmServer::start();
    for (agent, model) in both(&server) {
        let calls = ServerReply::calls([("bash", json!({"command": "rm x"}))]);
        server.enqueue(agent, calls.cut_after(4));
        server.enqueue(agent, ServerReply::text("safe"));
        let (reply, events) = ask(&model, hello());
        let reply = reply.unwrap();
        assert_eq!(reply.tool_uses().count(), 0, "{agent}");
        assert_eq!(waits(&events), ["stream cut"], "{agent}");
    }
}

/// Tool uses are recognised by their presence, whatever the stop reason says.
#[test]
fn rule_3_tool_uses_are_told_by_their_presence() {
    let server = LlmServer::start();
    for ((agent, model), end) in both(&server).into_iter().zip(["end_turn", "stop"]) {
        let calls = ServerReply::calls([("bash", json!({"command": "ls"}))]);
        server.enqueue(agent, calls.stop(end));
        let reply = ask(&model, hello()).0.unwrap();
        assert_eq!(reply.stop, StopReason::ToolUse, "{agent}");
        assert_eq!(reply.tool_uses().count(), 1, "{agent}");
    }
    let repeated = CHAT.replace(
        "{\"index\":0,\"function\":{\"arguments\":\"\\\"a.txt",
        "{\"index\":0,\"id\":\"call_a\",\"function\":{\"name\":\"read_file\",\"arguments\":\"\\\"a.txt",
    );
    assert_ne!(repeated, CHAT);
    assert_eq!(
        decode(Decoder::openai(1), [repeated.as_bytes()]),
        decode(Decoder::openai(1), [CHAT.as_bytes()])
    );
    let without_id = CHAT.replace("\"id\":\"call_a\",", "");
    let reply = decode(Decoder::openai(1), [without_id.as_bytes()])
        .0
        .unwrap();
    assert!(reply.tool_uses().all(|tool_use| !tool_use.id.is_empty()));
}

/// Odd chunks do no harm, and arguments that are no JSON become an error result
/// for the model.
#[test]
fn rule_4_odd_chunks_do_no_harm() {
    let odd = r#"data: {"choices":[]}

data: {}

data: {"choices":[{"delta":{"content":null,"tool_calls":null}}]}

data: {"choices":[{"delta":{"content":"\ud800 ok"}}],"usage":null}

data: {"choices":[{"delta":{"tool_calls":[{"id":"x","function":{"name":"bash","arguments":"ls -l"}}]},"finish_reason":"tool_calls"}]}

"#;
    let reply = decode(Decoder::openai(1), [odd.as_bytes()]).0.unwrap();
    assert_eq!(reply.text(), "\u{fffd} ok");
    let tool_use = reply.tool_uses().next().unwrap();
    let flaw = tool_use.arguments().unwrap_err();
    let result = ToolResult::error(&tool_use.id, flaw.to_string());
    let next = request(vec![
        Turn::user("go"),
        Turn::assistant(reply.blocks.clone()),
        Turn::results([result]),
    ]);
    assert_eq!(next.validate(), Ok(()));
    let server = LlmServer::start();
    for (agent, model) in both(&server) {
        server.enqueue(agent, ServerReply::text("I see."));
        assert_eq!(ask(&model, next.clone()).0.unwrap().text(), "I see.");
    }
}

/// Errors are understood in both shapes on both wires, as HTML, empty, and
/// inside a success; the server's delay is kept, with a cap.
#[test]
fn rule_5_errors_in_every_shape() {
    let server = LlmServer::start();
    let anthropic = r#"{"type":"error","error":{"type":"overloaded_error","message":"m"}}"#;
    let openai = r#"{"error":{"message":"m","type":"overloaded_error","param":null,"code":null}}"#;
    for (agent, model) in both(&server) {
        for body in [anthropic, openai] {
            server.enqueue(agent, ServerReply::raw(529, "application/json", &[body]));
            server.enqueue(agent, ServerReply::raw(200, "application/json", &[body]));
            server.enqueue(agent, ServerReply::text("ok"));
            let (reply, events) = ask(&model, hello());
            assert_eq!(reply.unwrap().text(), "ok", "{agent}");
            assert_eq!(waits(&events), ["overloaded"; 2], "{agent}");
        }
        let html = ServerReply::raw(502, "text/html", &["<html><title>Bad</title></html>"]);
        server.enqueue(agent, html.header("retry-after-ms", "1"));
        server.enqueue(agent, ServerReply::raw(504, "text/plain", &[]));
        server.enqueue(agent, ServerReply::rate_limited(Some("86400")));
        let (reply, events) = ask(&model, hello());
        assert_eq!(
            waits(&events),
            ["server error 502", "server error 504"],
            "{agent}"
        );
        let error = reply.unwrap_err().to_string();
        assert!(error.contains("asks to wait 86400 s"), "{error}");
    }
}

/// Nothing is sent that was not asked for, and what differs between servers can
/// be set.
#[test]
fn rule_6_nothing_unasked_is_sent() {
    let server = LlmServer::start();
    for (agent, model) in both(&server) {
        server.enqueue(agent, ServerReply::text("ok"));
        let mut request = hello();
        request.tools = vec![tool("bash")];
        ask(&model, request).0.unwrap();
        let got = server.last_request(agent);
        let names: Vec<_> = got.body().as_object().unwrap().keys().cloned().collect();
        let mut expected = vec!["max_tokens", "messages", "model", "stream", "tools"];
        expected.push(if agent == "anthropic" {
            "system"
        } else {
            "stream_options"
        });
        expected.sort_unstable();
        assert_eq!(names, expected, "{agent}");
    }
}

/// What the model said goes back byte for byte, and every tool use has one
/// result.
#[test]
fn rule_7_turns_go_back_as_they_came() {
    let reply = decode(Decoder::anthropic(), [MESSAGE.as_bytes()])
        .0
        .unwrap();
    let stored = serde_json::to_string(&Turn::assistant(reply.blocks.clone())).unwrap();
    let turn: Turn = serde_json::from_str(&stored).unwrap();
    assert_eq!(turn.blocks, reply.blocks, "the journal keeps it");
    let server = LlmServer::start();
    let [(agent, model), _] = both(&server);
    let unanswered = request(vec![Turn::user("go"), turn.clone(), Turn::user("so?")]);
    assert_eq!(
        ask(&model, unanswered).0.unwrap_err().kind(),
        "invalid_conversation"
    );
    let results = reply.tool_uses().map(|it| ToolResult::ok(&it.id, "ok"));
    server.enqueue(agent, ServerReply::text("ok"));
    let answered = request(vec![Turn::user("go"), turn, Turn::results(results)]);
    ask(&model, answered).0.unwrap();
    let sent = server.last_request(agent);
    let raw = String::from_utf8_lossy(sent.raw_body()).into_owned();
    for verbatim in [
        r#"{"type":"thinking","thinking":"Let me look.","signature":"EqQBCgIYAhIM/+=="}"#,
        r#"{"type":"redacted_thinking","data":"EmwKAhgBEgy"}"#,
        r#""input":{"path": "a.txt", "all": true}"#,
    ] {
        assert!(raw.contains(verbatim), "{verbatim}");
    }
    assert!(
        reply
            .blocks
            .iter()
            .any(|block| matches!(block, Block::Thinking { .. }))
    );
}

/// The limit is on silence, not on the whole: a reply that takes many times the
/// limit comes through as long as something arrives.
#[test]
fn rule_8_only_silence_has_a_limit() {
    let idle = std::time::Duration::from_secs(2);
    let server = LlmServer::start();
    let mut config = anthropic_config(&server, "a");
    config.options = ClientOptions {
        idle_timeout: idle,
        ..quick()
    };
    let model: Arc<dyn Model> = Arc::new(Anthropic::new(config).unwrap());
    let gates: Vec<_> = (0..8).map(|_| Gate::new()).collect();
    let reply = gates.iter().enumerate().fold(
        ServerReply::text("slow but steady"),
        |reply, (chunk, gate)| reply.gate(chunk, gate),
    );
    server.enqueue("a", reply);
    let start = std::time::Instant::now();
    let call = Call::start(&model, hello());
    for gate in &gates {
        gate.wait_until_reached(LIMIT);
        // Each chunk comes well within the limit, all of them together do not.
        let due = start.elapsed() + idle * 3 / 20;
        test_support::wait_until("the next chunk", LIMIT, || start.elapsed() >= due);
        gate.open();
    }
    let (outcome, events) = call.end(LIMIT);
    assert_eq!(outcome.unwrap().text(), "slow but steady");
    assert!(start.elapsed() > idle, "it took longer than the limit");
    assert!(
        !events
            .iter()
            .any(|event| matches!(event, Event::Waiting(_)))
    );
}

/// Models write arguments in the order of the schema, so it reaches the server byte for byte.
#[test]
fn a_schema_is_sent_as_it_was_given() {
    const SCHEMA: &str = r#"{"type":"object","properties":{"path":{"type":"string"},"old_text":{"type":"string"},"new_text":{"type":"string"}},"required":["path"]}"#;
    let server = LlmServer::start();
    for (agent, model) in both(&server) {
        server.enqueue(agent, ServerReply::text("done"));
        let mut request = hello();
        let mut edit = tool("edit_file");
        edit.input_schema = RawJson::parse(SCHEMA).unwrap();
        request.tools = vec![edit];
        ask(&model, request).0.unwrap();
        let sent = server.last_request(agent);
        let sent = String::from_utf8_lossy(sent.raw_body());
        assert!(sent.contains(SCHEMA), "{agent}: {sent}");
    }
}
