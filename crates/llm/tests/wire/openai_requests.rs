//! Requests of Chat Completions, field by field.

use std::sync::Arc;

use llm::{
    Block, Dialect, Effort, Model, OpenAi, OpenAiConfig, Provider, RawJson, Request, Role,
    ToolChoice, ToolResult, ToolUse, Turn,
};
use serde_json::{Value, json};
use test_support::llm_server::{CapturedRequest, LlmServer, ServerReply, Wire};

use crate::harness::{KEY, ask, hello, openai_config, request, tool};

pub(crate) fn sent(request: Request) -> CapturedRequest {
    sent_with(request, |_| {})
}

fn sent_with(request: Request, change: impl FnOnce(&mut OpenAiConfig)) -> CapturedRequest {
    let server = LlmServer::start();
    server.enqueue("a", ServerReply::text("ok"));
    let mut config = openai_config(&server, "a");
    change(&mut config);
    let model: Arc<dyn Model> = Arc::new(OpenAi::new(config).unwrap());
    ask(&model, request).0.unwrap();
    server.last_request("a")
}

fn conversation() -> Request {
    let mut request = request(vec![
        Turn::user("Look."),
        Turn::assistant(vec![
            Block::Opaque {
                provider: Provider::OpenAi,
                json: RawJson::parse(r#"{"reasoning_details":[{"data": "x"}]}"#).unwrap(),
            },
            Block::Thinking {
                text: "Hm.".into(),
                signature: None,
            },
            Block::ToolUse(ToolUse::new("c1", "read_file", r#"{"path": "a.txt"}"#)),
            Block::ToolUse(ToolUse::new("c2", "bash", "not json")),
        ]),
        Turn {
            role: Role::User,
            blocks: vec![
                Block::text("One."),
                Block::text("Two."),
                Block::ToolResult(ToolResult::ok("c1", "content")),
                Block::ToolResult(ToolResult::error("c2", "failed")),
            ],
        },
    ]);
    request.tools = vec![tool("read_file"), tool("bash")];
    request
}

#[test]
fn the_smallest_request() {
    let got = sent(hello());
    assert_eq!(got.wire(), Wire::OpenAi);
    assert_eq!(got.path(), "/a/v1/chat/completions");
    assert_eq!(got.header("authorization"), Some(&*format!("Bearer {KEY}")));
    assert_eq!(got.header("content-type"), Some("application/json"));
    assert_eq!(
        *got.body(),
        json!({
            "model": "gpt-test", "max_tokens": 1000, "stream": true,
            "stream_options": {"include_usage": true},
            "messages": [
                {"role": "system", "content": "You are a test."},
                {"role": "user", "content": "Hello?"},
            ],
        })
    );
}

#[test]
fn a_server_of_ones_own_needs_no_key() {
    let got = sent_with(hello(), |config| config.key = None);
    assert_eq!(got.header("authorization"), None);
}

#[test]
fn a_conversation_with_calls_as_text_and_results_right_after() {
    let got = sent(conversation());
    assert_eq!(
        got.messages()[1..],
        [
            json!({"role": "user", "content": "Look."}),
            json!({"role": "assistant", "content": null, "reasoning_details": [{"data": "x"}],
            "tool_calls": [
                {"id": "c1", "type": "function",
                    "function": {"name": "read_file", "arguments": "{\"path\": \"a.txt\"}"}},
                {"id": "c2", "type": "function",
                    "function": {"name": "bash", "arguments": "{\"INVALID_JSON\":\"not json\"}"}},
            ]}),
            json!({"role": "tool", "tool_call_id": "c1", "content": "content"}),
            json!({"role": "tool", "tool_call_id": "c2", "content": "ERROR: failed"}),
            json!({"role": "user", "content": "One.\n\nTwo."}),
        ]
    );
}

#[test]
fn tools_and_choices() {
    let got = sent(conversation());
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    assert_eq!(
        got.tools()[1],
        json!({"type": "function",
            "function": {"name": "bash", "description": "Does bash.", "parameters": schema}})
    );
    assert_eq!(got.tool_names(), ["read_file", "bash"]);
    let choice = |choice| -> Value {
        let mut request = conversation();
        request.tool_choice = choice;
        sent(request).body()["tool_choice"].clone()
    };
    assert_eq!(choice(ToolChoice::Auto), Value::Null);
    assert_eq!(choice(ToolChoice::Any), json!("required"));
    assert_eq!(choice(ToolChoice::None), json!("none"));
    assert_eq!(
        choice(ToolChoice::Tool("bash".into())),
        json!({"type": "function", "function": {"name": "bash"}})
    );
}

#[test]
fn settings_are_sent_only_if_they_are_set() {
    let got = sent(hello());
    for name in [
        "temperature",
        "top_p",
        "reasoning_effort",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
    ] {
        assert_eq!(got.body().get(name), None, "{name}");
    }
    let mut request = hello();
    request.tuning.temperature = Some(0.5);
    request.tuning.top_p = Some(0.9);
    request.tuning.effort = Some(Effort::None);
    let got = sent(request);
    assert_eq!(got.body()["temperature"], json!(0.5));
    assert_eq!(got.body()["top_p"], json!(0.9));
    assert_eq!(got.body()["reasoning_effort"], json!("none"));
}

#[test]
fn the_switches_of_a_dialect() {
    let with =
        |dialect: Dialect| sent_with(conversation(), |config| config.dialect = Some(dialect));
    let got = with(Dialect::openai());
    assert_eq!(got.body()["max_completion_tokens"], 1000);
    assert_eq!(got.body().get("max_tokens"), None);
    let got = with(Dialect {
        asks_for_usage: false,
        parallel_tool_calls: Some(false),
        ..Dialect::compatible()
    });
    assert_eq!(got.body()["max_tokens"], 1000);
    assert_eq!(got.body().get("max_completion_tokens"), None);
    assert_eq!(got.body().get("stream_options"), None);
    assert_eq!(got.body()["parallel_tool_calls"], false);
}

#[test]
fn deepseek_gets_thoughts_back_beside_calls_even_empty_ones() {
    let deepseek =
        |request| sent_with(request, |config| config.dialect = Some(Dialect::deepseek()));
    let got = deepseek(conversation());
    assert_eq!(got.messages()[2]["reasoning_content"], "Hm.");
    let got = deepseek(request(vec![
        Turn::user("go"),
        Turn::assistant(vec![Block::ToolUse(ToolUse::new("c", "bash", "{}"))]),
        Turn::results([ToolResult::ok("c", "ok")]),
    ]));
    assert_eq!(got.messages()[2]["reasoning_content"], "");
    let got = sent(conversation());
    assert_eq!(
        got.messages()[2].get("reasoning_content"),
        None,
        "others do not"
    );
}

#[test]
fn blocks_of_the_other_wire_are_not_sent() {
    let got = sent(request(vec![
        Turn::user("go"),
        Turn::assistant(vec![
            Block::Thinking {
                text: "sealed".into(),
                signature: Some("s".into()),
            },
            Block::RedactedThinking { data: "x".into() },
            Block::Opaque {
                provider: Provider::Anthropic,
                json: RawJson::parse(r#"{"type":"hologram"}"#).unwrap(),
            },
            Block::text("said"),
        ]),
        Turn::user("more"),
    ]));
    assert_eq!(
        got.messages()[2],
        json!({"role": "assistant", "content": "said"})
    );
}
