//! Requests of the Responses API, field by field.

use std::sync::Arc;

use llm::{
    Block, Decoder, Effort, Model, OpenAi, OpenAiWire, Provider, RawJson, Request, ToolChoice,
    ToolResult, ToolUse, Turn,
};
use serde_json::{Value, json};
use test_support::llm_server::{CapturedRequest, LlmServer, ServerReply, Wire};

use crate::harness::{KEY, anthropic, ask, decode, hello, openai_config, request, tool};
use crate::streams::RESPONSE;

fn model(server: &LlmServer) -> Arc<dyn Model> {
    let mut config = openai_config(server, "a");
    config.wire = Some(OpenAiWire::Responses);
    Arc::new(OpenAi::new(config).unwrap())
}

fn sent(request: Request) -> CapturedRequest {
    let server = LlmServer::start();
    server.enqueue("a", ServerReply::text("ok"));
    ask(&model(&server), request).0.unwrap();
    server.last_request("a")
}

/// A conversation that began on this wire format.
fn conversation() -> Request {
    let reply = decode(Decoder::responses(7), [RESPONSE.as_bytes()])
        .0
        .unwrap();
    let mut request = request(vec![
        Turn::user("Look."),
        Turn::assistant(reply.blocks),
        Turn::results([
            ToolResult::ok("call_a", "content"),
            ToolResult::error("call_b", "failed"),
        ]),
        Turn::user("And?"),
    ]);
    request.tools = vec![tool("read_file"), tool("list")];
    request
}

#[test]
fn the_smallest_request() {
    let got = sent(hello());
    assert_eq!(got.wire(), Wire::Responses);
    assert_eq!(got.path(), "/a/v1/responses");
    assert_eq!(got.header("authorization"), Some(&*format!("Bearer {KEY}")));
    assert_eq!(
        *got.body(),
        json!({
            "model": "gpt-test", "max_output_tokens": 1000, "stream": true, "store": false,
            "include": ["reasoning.encrypted_content"],
            "instructions": "You are a test.",
            "input": [
                {"type": "message", "role": "user",
                    "content": [{"type": "input_text", "text": "Hello?"}]},
            ],
        })
    );
}

#[test]
fn items_go_back_as_they_came() {
    let got = sent(conversation());
    let raw = String::from_utf8_lossy(got.raw_body()).into_owned();
    for verbatim in [
        r#"{"id":"rs_1", "type":"reasoning","encrypted_content":"gAAA+/==","summary":[{"type":"summary_text","text":"Hm."}]}"#,
        r#"{"type":"hologram_call","id":"h_1","z":[1]}"#,
        r#""phase":"commentary""#,
    ] {
        assert!(raw.contains(verbatim), "{verbatim}");
    }
    assert_eq!(
        got.messages()[4..],
        [
            json!({"type": "function_call", "call_id": "call_a", "name": "read_file",
                "arguments": "{\"path\": \"a.txt\"}",
                "id": "fc_1", "status": "completed", "new": {"b": 1}}),
            json!({"type": "function_call", "call_id": "call_b", "name": "list", "arguments": "{}"}),
            json!({"type": "function_call_output", "call_id": "call_a", "output": "content"}),
            json!({"type": "function_call_output", "call_id": "call_b", "output": "ERROR: failed"}),
            json!({"type": "message", "role": "user",
                "content": [{"type": "input_text", "text": "And?"}]}),
        ]
    );
}

#[test]
fn tools_choices_and_settings() {
    let got = sent(conversation());
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    assert_eq!(
        got.tools()[1],
        json!({"type": "function", "name": "list", "description": "Does list.",
            "parameters": schema, "strict": false})
    );
    let choice = |choice| -> Value {
        let mut request = conversation();
        request.tool_choice = choice;
        sent(request).body()["tool_choice"].clone()
    };
    assert_eq!(choice(ToolChoice::Any), json!("required"));
    assert_eq!(
        choice(ToolChoice::Tool("list".into())),
        json!({"type": "function", "name": "list"})
    );
    let mut request = hello();
    request.tuning.effort = Some(Effort::High);
    request.max_tokens = 1;
    let got = sent(request);
    assert_eq!(got.body()["reasoning"], json!({"effort": "high"}));
    assert_eq!(
        got.body()["max_output_tokens"],
        16,
        "the least that is taken"
    );
}

#[test]
fn a_thought_that_only_the_servers_memory_has_stays_here() {
    let thought = |json: &str| Block::Opaque {
        provider: Provider::Responses,
        json: RawJson::parse(json).unwrap(),
    };
    let got = sent(request(vec![
        Turn::user("go"),
        Turn::assistant(vec![
            thought(r#"{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":null}"#),
            thought(
                r#"{"type":"reasoning","id":"rs_2","summary":[],"content":[{"type":"reasoning_text","text":"open"}]}"#,
            ),
            Block::text("said"),
        ]),
        Turn::user("more"),
    ]));
    let kinds: Vec<_> = got.messages().iter().map(|item| &item["id"]).collect();
    assert_eq!(
        kinds,
        [&Value::Null, &json!("rs_2"), &Value::Null, &Value::Null]
    );
}

#[test]
fn a_conversation_of_another_wire_goes_on_here() {
    let got = sent(request(vec![
        Turn::user("go"),
        Turn::assistant(vec![
            Block::Thinking {
                text: "sealed".into(),
                signature: Some("s".into()),
            },
            Block::Opaque {
                provider: Provider::Anthropic,
                json: RawJson::parse(r#"{"type":"text","text":"cited","citations":[1]}"#).unwrap(),
            },
            Block::Opaque {
                provider: Provider::OpenAi,
                json: RawJson::parse(r#"{"reasoning_details":[]}"#).unwrap(),
            },
            Block::text("said"),
            Block::ToolUse(ToolUse::new("functions.bash:0", "functions.bash", "{}")),
        ]),
        Turn::results([ToolResult::ok("functions.bash:0", "done")]),
    ]));
    let input = got.messages();
    let said = |text: &str| json!({"type": "message", "role": "assistant", "content": text});
    assert_eq!(input[1..3], [said("cited"), said("said")]);
    assert_eq!(input[3]["name"], "functions_bash");
    assert_eq!(input[3]["call_id"], input[4]["call_id"]);
    assert_ne!(input[3]["call_id"], "functions.bash:0");
    assert_eq!(input.len(), 5);
}

#[test]
fn a_conversation_of_this_wire_goes_on_elsewhere() {
    let server = LlmServer::start();
    server.enqueue("a", ServerReply::text("ok"));
    ask(&anthropic(&server, "a"), conversation()).0.unwrap();
    let got = server.last_request("a");
    assert_eq!(
        got.messages()[1]["content"],
        json!([
            {"type": "text", "text": "Two \u{1f600} files."},
            {"type": "tool_use", "id": "call_a", "name": "read_file", "input": {"path": "a.txt"}},
            {"type": "tool_use", "id": "call_b", "name": "list", "input": {}},
        ])
    );
    let got = crate::openai_requests::sent(conversation());
    let message = &got.messages()[2];
    assert_eq!(message["content"], "Two \u{1f600} files.");
    let fields: Vec<_> = message["tool_calls"][0]
        .as_object()
        .unwrap()
        .keys()
        .collect();
    assert_eq!(fields, ["function", "id", "type"]);
}
