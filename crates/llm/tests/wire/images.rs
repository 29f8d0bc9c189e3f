//! Images on every wire format, and servers that refuse them.

use std::sync::Arc;

use llm::{Block, Image, Model, OpenAi, OpenAiWire, Request, Role, ToolResult, ToolUse, Turn};
use serde_json::{Value, json};
use test_support::llm_server::{LlmServer, ServerReply};

use crate::harness::{anthropic, ask, openai_config, request, waits};

const DATA: &str = "iVBORw==";
const URL: &str = "data:image/png;base64,iVBORw==";
const HIDDEN: &str = "[image/png of 4 bytes, not shown]";

fn image() -> Image {
    Image::new("image/png", b"\x89PNG")
}

/// A person shows an image, and a tool another one.
fn conversation() -> Request {
    request(vec![
        Turn {
            role: Role::User,
            blocks: vec![Block::text("Look."), Block::Image(image())],
        },
        Turn::assistant(vec![Block::ToolUse(ToolUse::new("c1", "read_file", "{}"))]),
        Turn {
            role: Role::User,
            blocks: vec![
                Block::ToolResult(ToolResult::ok("c1", "Image a.png").with_images(vec![image()])),
                Block::text("Well?"),
            ],
        },
    ])
}

pub(crate) fn model(server: &LlmServer, agent: &str) -> Arc<dyn Model> {
    let wire = match agent {
        "anthropic" => return anthropic(server, agent),
        "chat" => OpenAiWire::Chat,
        _ => OpenAiWire::Responses,
    };
    let mut config = openai_config(server, agent);
    config.wire = Some(wire);
    Arc::new(OpenAi::new(config).unwrap())
}

pub(crate) const WIRES: [&str; 3] = ["anthropic", "chat", "responses"];

fn sent(wire: &str) -> Vec<Value> {
    let server = LlmServer::start();
    server.enqueue(wire, ServerReply::text("ok"));
    ask(&model(&server, wire), conversation()).0.unwrap();
    server.last_request(wire).messages().to_vec()
}

#[test]
fn images_of_the_messages_api() {
    let source = json!({"type": "base64", "media_type": "image/png", "data": DATA});
    let mut messages = sent("anthropic");
    assert_eq!(
        messages[0]["content"][1],
        json!({"type": "image", "source": source, "cache_control": {"type": "ephemeral"}})
    );
    assert_eq!(
        messages[2]["content"][0]["content"].take(),
        json!([{"type": "text", "text": "Image a.png"}, {"type": "image", "source": source}])
    );
}

#[test]
fn images_of_chat_completions_follow_the_results() {
    let seen = json!({"type": "image_url", "image_url": {"url": URL}});
    let messages = sent("chat");
    assert_eq!(
        messages[1],
        json!({"role": "user", "content": [{"type": "text", "text": "Look."}, seen]})
    );
    assert_eq!(
        messages[3..],
        [
            json!({"role": "tool", "tool_call_id": "c1", "content": "Image a.png"}),
            json!({"role": "user", "content": [seen, {"type": "text", "text": "Well?"}]}),
        ]
    );
}

#[test]
fn images_of_the_responses_api() {
    let seen = json!({"type": "input_image", "detail": "auto", "image_url": URL});
    let items = sent("responses");
    assert_eq!(items[0]["content"][1], seen);
    assert_eq!(
        items[2]["output"],
        json!([{"type": "input_text", "text": "Image a.png"}, seen])
    );
}

#[test]
fn a_server_that_refuses_images_gets_texts_instead_and_the_conversation_goes_on() {
    for wire in WIRES {
        for (status, message) in [
            (
                400,
                "Invalid content type. image_url is only supported by certain models.",
            ),
            (
                500,
                "image input is not supported - hint: you may need to provide the mmproj",
            ),
        ] {
            let server = LlmServer::start();
            let model = model(&server, wire);
            let refusal = ServerReply::error(status, "invalid_request_error", message);
            server.enqueue(wire, refusal);
            server.always(wire, ServerReply::text("ok"));
            for _ in 0..2 {
                let (reply, events) = ask(&model, conversation());
                assert_eq!(reply.unwrap().text(), "ok", "{wire}");
                assert_eq!(waits(&events), [""; 0], "{wire}");
            }
            let requests = server.requests(wire);
            assert_eq!(requests.len(), 3, "{wire}: it is remembered");
            for (place, request) in requests.iter().enumerate() {
                let body = request.body().to_string();
                assert_eq!(body.contains(DATA), place == 0, "{wire} {body}");
                assert_eq!(body.matches(HIDDEN).count(), usize::from(place > 0) * 2);
            }
        }
    }
}

#[test]
fn another_refusal_is_not_taken_for_one_of_images() {
    for wire in WIRES {
        let server = LlmServer::start();
        let refusal = ServerReply::error(400, "invalid_request_error", "max_tokens: too large");
        server.always(wire, refusal);
        ask(&model(&server, wire), conversation()).0.unwrap_err();
        assert_eq!(server.requests(wire).len(), 1, "{wire}");
    }
}
