//! A client learns from refusals how its server wants to be asked.

use std::sync::Arc;

use llm::{
    Block, Event, LearnedSettings, Model, OpenAi, OpenAiWire, Provider, RawJson, Request, Turn,
};
use serde_json::json;
use test_support::llm_server::{LlmServer, ServerReply, Wire};

use crate::harness::{ask, hello, openai, openai_config, request, waits};

const NEEDS_RESPONSES: &str =
    "This model is only supported in v1/responses and not in v1/chat/completions.";

fn refusal(status: u16, message: &str) -> ServerReply {
    ServerReply::error(status, "invalid_request_error", message)
}

fn wires(server: &LlmServer) -> Vec<Wire> {
    server.requests("a").iter().map(|it| it.wire()).collect()
}

#[test]
fn the_wire_follows_what_the_server_says_and_is_remembered() {
    let server = LlmServer::start();
    let model = openai(&server, "a");
    server.enqueue("a", refusal(404, NEEDS_RESPONSES));
    server.always("a", ServerReply::text("ok"));
    for _ in 0..2 {
        let (reply, events) = ask(&model, hello());
        assert_eq!(reply.unwrap().text(), "ok");
        assert_eq!(waits(&events), [""; 0]);
    }
    assert_eq!(
        wires(&server),
        [Wire::OpenAi, Wire::Responses, Wire::Responses]
    );
}

/// What was learned in a call, by its events.
fn learned_in(events: &[Event]) -> Vec<LearnedSettings> {
    let learned = events.iter().filter_map(|event| match event {
        Event::Learned(learned) => Some((**learned).clone()),
        _ => None,
    });
    learned.collect()
}

#[test]
fn a_later_client_begins_with_what_was_learned() {
    let server = LlmServer::start();
    let model = openai(&server, "a");
    server.enqueue("a", refusal(404, NEEDS_RESPONSES));
    server.enqueue(
        "a",
        refusal(400, "Encrypted content is not supported with this model."),
    );
    server.always("a", ServerReply::text("ok"));
    let (_, events) = ask(&model, hello());
    let learned = learned_in(&events);
    assert_eq!(learned.len(), 1, "{learned:?}");
    assert_eq!(learned[0].wire, Some(OpenAiWire::Responses));
    assert!(learned[0].has_no_encrypted_reasoning);
    assert_eq!(learned_in(&ask(&model, hello()).1), [], "nothing new");

    let mut config = openai_config(&server, "a");
    config.learned = learned[0].clone();
    let later: Arc<dyn Model> = Arc::new(OpenAi::new(config.clone()).unwrap());
    let before = server.requests("a").len();
    assert_eq!(learned_in(&ask(&later, hello()).1), []);
    assert_eq!(
        server.requests("a").len(),
        before + 1,
        "nothing was refused"
    );
    assert_eq!(server.last_request("a").body().get("include"), None);
    config.wire = Some(OpenAiWire::Chat);
    let chosen: Arc<dyn Model> = Arc::new(OpenAi::new(config).unwrap());
    ask(&chosen, hello()).0.unwrap();
    assert_eq!(
        server.last_request("a").wire(),
        Wire::OpenAi,
        "a choice counts more"
    );
}

#[test]
fn nothing_is_learned_from_a_failure() {
    let server = LlmServer::start();
    let model = openai(&server, "a");
    server.enqueue("a", refusal(404, NEEDS_RESPONSES));
    server.enqueue("a", refusal(401, "who are you?"));
    let (reply, events) = ask(&model, hello());
    reply.unwrap_err();
    assert_eq!(learned_in(&events), []);
}

#[test]
fn a_path_that_is_not_there_is_tried_once_and_its_error_is_shown() {
    let server = LlmServer::start();
    let model = openai(&server, "a");
    let nothing = ServerReply::raw(404, "application/json", &[r#"{"detail":"Not Found"}"#]);
    server.enqueue("a", nothing.clone());
    server.enqueue("a", ServerReply::text("ok"));
    assert_eq!(ask(&model, hello()).0.unwrap().text(), "ok");

    let server = LlmServer::start();
    let model = openai(&server, "a");
    server.enqueue("a", ServerReply::raw(404, "text/plain", &["no chat here"]));
    server.enqueue("a", nothing);
    let error = ask(&model, hello()).0.unwrap_err().to_string();
    assert!(error.contains("no chat here"), "{error}");
    server.enqueue("a", ServerReply::text("ok"));
    ask(&model, hello()).0.unwrap();
    assert_eq!(
        wires(&server),
        [Wire::OpenAi, Wire::Responses, Wire::OpenAi],
        "nothing was learned"
    );
}

#[test]
fn a_wire_that_the_user_chose_stays_and_the_server_is_quoted() {
    let server = LlmServer::start();
    let mut config = openai_config(&server, "a");
    config.wire = Some(OpenAiWire::Chat);
    let model: Arc<dyn Model> = Arc::new(OpenAi::new(config).unwrap());
    server.enqueue("a", refusal(404, NEEDS_RESPONSES));
    let error = ask(&model, hello()).0.unwrap_err().to_string();
    assert!(error.contains(NEEDS_RESPONSES), "{error}");
    assert_eq!(wires(&server), [Wire::OpenAi]);
}

#[test]
fn the_name_of_the_token_limit_is_learned_and_remembered() {
    let server = LlmServer::start();
    let model = openai(&server, "a");
    server.enqueue(
        "a",
        refusal(
            400,
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use \
             'max_completion_tokens' instead.",
        ),
    );
    server.always("a", ServerReply::text("ok"));
    for _ in 0..2 {
        ask(&model, hello()).0.unwrap();
    }
    let limits: Vec<_> = server
        .requests("a")
        .iter()
        .map(|it| it.body()["max_completion_tokens"].clone())
        .collect();
    assert_eq!(limits, [json!(null), json!(1000), json!(1000)]);
}

#[test]
fn a_server_that_repeats_one_refusal_is_not_asked_for_ever() {
    let server = LlmServer::start();
    let model = openai(&server, "a");
    let message = "use /v1/responses; use /v1/chat/completions; use max_completion_tokens";
    server.always("a", refusal(400, message));
    let error = ask(&model, hello()).0.unwrap_err().to_string();
    assert!(error.contains(message), "{error}");
    assert!(server.requests("a").len() < 8);
}

/// A conversation with encrypted reasoning.
fn with_encrypted_reasoning() -> Request {
    let thought = r#"{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"}"#;
    request(vec![
        Turn::user("go"),
        Turn::assistant(vec![
            Block::Opaque {
                provider: Provider::Responses,
                json: RawJson::parse(thought).unwrap(),
            },
            Block::text("said"),
        ]),
        Turn::user("more"),
    ])
}

#[test]
fn encrypted_reasoning_that_the_server_cannot_open_does_not_end_the_conversation() {
    let server = LlmServer::start();
    let mut config = openai_config(&server, "a");
    config.wire = Some(OpenAiWire::Responses);
    let model: Arc<dyn Model> = Arc::new(OpenAi::new(config).unwrap());
    let body = r#"{"error":{"message":"The encrypted content gAAA could not be verified.",
        "type":"invalid_request_error","param":null,"code":"invalid_encrypted_content"}}"#;
    server.enqueue("a", ServerReply::raw(400, "application/json", &[body]));
    server.always("a", ServerReply::text("ok"));
    ask(&model, with_encrypted_reasoning()).0.unwrap();
    ask(&model, with_encrypted_reasoning()).0.unwrap();
    let items: Vec<_> = server
        .requests("a")
        .iter()
        .map(|it| it.messages().len())
        .collect();
    assert_eq!(items, [4, 3, 3], "the thought was left out, and stays so");
}

#[test]
fn a_model_without_encrypted_reasoning_is_not_asked_for_them() {
    let server = LlmServer::start();
    let mut config = openai_config(&server, "a");
    config.wire = Some(OpenAiWire::Responses);
    let model: Arc<dyn Model> = Arc::new(OpenAi::new(config).unwrap());
    let message = "Encrypted content is not supported with this model.";
    server.enqueue("a", refusal(400, message));
    server.always("a", ServerReply::text("ok"));
    ask(&model, hello()).0.unwrap();
    assert_eq!(server.last_request("a").body().get("include"), None);
}
