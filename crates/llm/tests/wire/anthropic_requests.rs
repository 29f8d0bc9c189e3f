//! Requests of the Messages API, field by field.

use std::sync::Arc;

use llm::{
    Anthropic, AnthropicAuth, AnthropicConfig, Block, Effort, Model, Provider, RawJson, Request,
    Role, Secret, SharedStart, Thinking, ToolChoice, ToolResult, ToolUse, Turn,
};
use serde_json::{Value, json};
use test_support::llm_server::{CapturedRequest, LlmServer, ServerReply, Wire};

use crate::harness::{KEY, anthropic, anthropic_config, ask, hello, request, tool};

/// Sends a request and returns what the server got.
fn sent(request: Request) -> CapturedRequest {
    let server = LlmServer::start();
    server.enqueue("a", ServerReply::text("ok"));
    ask(&anthropic(&server, "a"), request).0.unwrap();
    server.last_request("a")
}

fn sent_with(change: impl FnOnce(&mut AnthropicConfig)) -> CapturedRequest {
    let server = LlmServer::start();
    server.enqueue("a", ServerReply::text("ok"));
    let mut config = anthropic_config(&server, "a");
    change(&mut config);
    let model: Arc<dyn Model> = Arc::new(Anthropic::new(config).unwrap());
    ask(&model, hello()).0.unwrap();
    server.last_request("a")
}

/// A conversation with all that a turn can have.
fn long_conversation() -> Request {
    let mut request = request(vec![
        Turn::user("Look at a.txt."),
        Turn::assistant(vec![
            Block::Thinking {
                text: "Hm.".into(),
                signature: Some("sig==".into()),
            },
            Block::RedactedThinking {
                data: "sealed".into(),
            },
            Block::text("I look."),
            Block::Opaque {
                provider: Provider::Anthropic,
                json: RawJson::parse(r#"{"type":"hologram", "z":1.0}"#).unwrap(),
            },
            Block::ToolUse(ToolUse::new("t1", "read_file", r#"{"path": "a.txt"}"#)),
            Block::ToolUse(ToolUse::new("t2", "bash", "")),
        ]),
        Turn {
            role: Role::User,
            blocks: vec![
                Block::text("Mail came meanwhile."),
                Block::ToolResult(ToolResult::ok("t1", "content")),
                Block::ToolResult(ToolResult::error("t2", "failed")),
            ],
        },
    ]);
    request.tools = vec![tool("read_file"), tool("bash")];
    request
}

#[test]
fn the_smallest_request() {
    let got = sent(hello());
    assert_eq!(got.wire(), Wire::Anthropic);
    assert_eq!(got.path(), "/a/v1/messages");
    assert_eq!(
        *got.body(),
        json!({
            "model": "claude-test", "max_tokens": 1000, "stream": true,
            "system": [{"type": "text", "text": "You are a test.", "cache_control": {"type": "ephemeral"}}],
            "messages": [{"role": "user", "content": [
                {"type": "text", "text": "Hello?", "cache_control": {"type": "ephemeral"}},
            ]}],
        })
    );
}

#[test]
fn headers() {
    let got = sent(hello());
    assert_eq!(got.header("content-type"), Some("application/json"));
    assert_eq!(got.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(got.header("x-api-key"), Some(KEY));
    assert_eq!(got.header("authorization"), None);
    assert_eq!(got.header("anthropic-beta"), None);
    let got = sent_with(|config| {
        config.auth = AnthropicAuth::Bearer(Secret::new(KEY));
        config.version = "2026-10-21".into();
        config.betas = vec!["one".into(), "two".into()];
    });
    assert_eq!(got.header("authorization"), Some(&*format!("Bearer {KEY}")));
    assert_eq!(got.header("x-api-key"), None);
    assert_eq!(got.header("anthropic-version"), Some("2026-10-21"));
    assert_eq!(got.header("anthropic-beta"), Some("one,two"));
    let got = sent_with(|config| config.auth = AnthropicAuth::None);
    assert_eq!(
        (got.header("authorization"), got.header("x-api-key")),
        (None, None)
    );
}

#[test]
fn an_address_may_end_in_a_slash_or_in_the_version() {
    for ending in ["/", "/v1", "/v1/"] {
        let got = sent_with(|config| config.base_url.push_str(ending));
        assert_eq!(got.path(), "/a/v1/messages", "{ending}");
    }
}

#[test]
fn a_conversation_goes_out_as_it_came_with_results_first() {
    let got = sent(long_conversation());
    let ephemeral = json!({"type": "ephemeral"});
    assert_eq!(
        got.messages(),
        [
            json!({"role": "user", "content": [
                {"type": "text", "text": "Look at a.txt.", "cache_control": ephemeral},
            ]}),
            json!({"role": "assistant", "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "sig=="},
                {"type": "redacted_thinking", "data": "sealed"},
                {"type": "text", "text": "I look."},
                {"type": "hologram", "z": 1.0},
                {"type": "tool_use", "id": "t1", "name": "read_file", "input": {"path": "a.txt"}},
                {"type": "tool_use", "id": "t2", "name": "bash", "input": {}},
            ]}),
            json!({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": "content"},
                {"type": "tool_result", "tool_use_id": "t2", "content": "failed", "is_error": true},
                {"type": "text", "text": "Mail came meanwhile.", "cache_control": ephemeral},
            ]}),
        ]
    );
    let raw = String::from_utf8_lossy(got.raw_body()).into_owned();
    for verbatim in [
        r#"{"type":"hologram", "z":1.0}"#,
        r#""input":{"path": "a.txt"}"#,
    ] {
        assert!(raw.contains(verbatim), "{verbatim} in {raw}");
    }
}

#[test]
fn tools_and_their_breakpoint() {
    let got = sent(long_conversation());
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    assert_eq!(
        got.tools(),
        [
            json!({"name": "read_file", "description": "Does read_file.", "input_schema": schema}),
            json!({"name": "bash", "description": "Does bash.", "input_schema": schema,
                "cache_control": {"type": "ephemeral"}}),
        ]
    );
    assert_eq!(got.tool_names(), ["read_file", "bash"]);
    assert_eq!(got.body().get("tool_choice"), None);
}

#[test]
fn what_other_agents_send_too_has_breakpoints_of_its_own() {
    let mut request = long_conversation();
    request.system = "You are a test.\n\nYou are 'alice'.".to_owned();
    let shared = "You are a test.\n\n";
    request.shared = SharedStart {
        tools: 1,
        system: shared.len(),
    };
    let got = sent(request.clone());
    assert_eq!(got.cache_breakpoints(), 4);
    let ephemeral = json!({"type": "ephemeral"});
    assert_eq!(
        got.body()["system"],
        json!([
            {"type": "text", "text": shared, "cache_control": ephemeral},
            {"type": "text", "text": "You are 'alice'."},
        ])
    );
    assert_eq!(got.tools()[0]["cache_control"], ephemeral);
    assert_eq!(got.tools()[1].get("cache_control"), None);
    request.shared = SharedStart {
        tools: 9,
        system: 999,
    };
    let got = sent(request);
    assert_eq!(got.tools()[1]["cache_control"], ephemeral);
    assert_eq!(got.body()["system"].as_array().unwrap().len(), 1);
}

#[test]
fn there_are_never_more_than_four_breakpoints() {
    let mut request = long_conversation();
    for round in 0..10 {
        let id = format!("r{round}");
        let call = ToolUse::new(&id, "bash", "{}");
        request
            .turns
            .push(Turn::assistant(vec![Block::ToolUse(call)]));
        request
            .turns
            .push(Turn::results([ToolResult::ok(&id, "ok")]));
    }
    assert_eq!(sent(request).cache_breakpoints(), 4);
    assert_eq!(sent(hello()).cache_breakpoints(), 2);
}

#[test]
fn a_longer_conversation_begins_with_the_bytes_of_the_shorter() {
    let short = sent(long_conversation());
    let mut longer = long_conversation();
    longer
        .turns
        .push(Turn::assistant(vec![Block::text("Done.")]));
    longer.turns.push(Turn::user("And now?"));
    let longer = sent(longer);
    let without_marks = |got: &CapturedRequest| {
        let raw = String::from_utf8_lossy(got.raw_body()).into_owned();
        raw.replace(r#","cache_control":{"type":"ephemeral"}"#, "")
    };
    let (short, longer) = (without_marks(&short), without_marks(&longer));
    let start = short.strip_suffix("]}").unwrap();
    assert!(longer.starts_with(start), "{short}\n{longer}");
}

#[test]
fn settings_are_sent_only_if_they_are_set() {
    let got = sent(hello());
    for name in [
        "temperature",
        "top_p",
        "top_k",
        "thinking",
        "output_config",
        "tool_choice",
        "tools",
    ] {
        assert_eq!(got.body().get(name), None, "{name}");
    }
    let mut request = hello();
    request.tuning.temperature = Some(0.5);
    request.tuning.top_p = Some(0.9);
    request.tuning.effort = Some(Effort::XHigh);
    request.tuning.thinking = Some(Thinking::Adaptive);
    let got = sent(request);
    assert_eq!(got.body()["temperature"], json!(0.5));
    assert_eq!(got.body()["top_p"], json!(0.9));
    assert_eq!(got.body()["output_config"], json!({"effort": "xhigh"}));
    assert_eq!(got.body()["thinking"], json!({"type": "adaptive"}));
    let thinking = |mode| {
        let mut request = hello();
        request.max_tokens = 4_096;
        request.tuning.thinking = Some(mode);
        sent(request).body()["thinking"].clone()
    };
    assert_eq!(
        thinking(Thinking::Budget(2048)),
        json!({"type": "enabled", "budget_tokens": 2048})
    );
    assert_eq!(thinking(Thinking::Disabled), json!({"type": "disabled"}));
}

#[test]
fn tool_choices() {
    let choice = |choice| -> Value {
        let mut request = long_conversation();
        request.tool_choice = choice;
        sent(request).body()["tool_choice"].clone()
    };
    assert_eq!(choice(ToolChoice::Auto), Value::Null);
    assert_eq!(choice(ToolChoice::Any), json!({"type": "any"}));
    assert_eq!(choice(ToolChoice::None), json!({"type": "none"}));
    assert_eq!(
        choice(ToolChoice::Tool("bash".into())),
        json!({"type": "tool", "name": "bash"})
    );
}

#[test]
fn blocks_of_the_other_wire_are_not_sent() {
    let got = sent(request(vec![
        Turn::user("go"),
        Turn::assistant(vec![
            Block::Opaque {
                provider: Provider::OpenAi,
                json: RawJson::parse(r#"{"reasoning_details":[]}"#).unwrap(),
            },
            Block::Thinking {
                text: "unsigned".into(),
                signature: None,
            },
        ]),
        Turn::user("more"),
    ]));
    let content = &got.messages()[0]["content"];
    assert_eq!(got.messages().len(), 1, "the empty turn is left out");
    assert_eq!(content[0]["text"], "go");
    assert_eq!(content[1]["text"], "more");
}

#[test]
fn a_paused_turn_is_sent_again_as_it_is() {
    let mut paused = request(vec![
        Turn::user("go"),
        Turn::assistant(vec![Block::text("so far")]),
    ]);
    paused.resume = true;
    let got = sent(paused);
    assert_eq!(
        got.messages()[1],
        json!({"role": "assistant", "content": [{"type": "text", "text": "so far"}]})
    );
}
