//! Whatever a conversation holds, what is sent is valid by the published schemas. The server of the tests
//! applies them and refuses a request that breaks a rule.

use llm::{
    Block, Image, Provider, RawJson, Request, Role, ToolChoice, ToolResult, ToolSpec, ToolUse, Turn,
};
use proptest::prelude::*;
use serde_json::{Value, json};
use test_support::llm_server::{LlmServer, ServerReply};

use crate::harness::ask;
use crate::images::{WIRES, model};

/// Texts that occur: also none, only space, and what is no plain name.
fn any_text() -> impl Strategy<Value = String> {
    let texts = [
        "",
        " \n",
        "said",
        "functions.bash:0",
        "ö\u{1f600}\0\"\\",
        "<x>",
    ];
    prop::sample::select(texts.map(str::to_owned).to_vec())
}

fn any_image() -> impl Strategy<Value = Image> {
    let kind = prop::sample::select(vec!["image/png", "image/webp"]);
    (kind, 1..40_u8).prop_map(|(kind, size)| Image::new(kind, &vec![size; size.into()]))
}

/// A block of the model other than a tool use, of any wire format.
fn any_said() -> impl Strategy<Value = Block> {
    let opaque = |provider, json: Value| Block::Opaque {
        provider,
        json: RawJson::from(json),
    };
    prop_oneof![
        any_text().prop_map(Block::text),
        (any_text(), prop::option::of(Just("c2ln".to_owned())))
            .prop_map(|(text, signature)| Block::Thinking { text, signature }),
        Just(Block::RedactedThinking { data: "x".into() }),
        any_text().prop_map(move |text| opaque(
            Provider::Anthropic,
            json!({"type": "text", "text": format!("cited {text}"), "citations": []})
        )),
        Just(opaque(Provider::OpenAi, json!({"reasoning_details": [{"data": "x"}]}))),
        Just(opaque(
            Provider::Responses,
            json!({"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "g"})
        )),
        Just(opaque(
            Provider::Responses,
            json!({"type": "reasoning", "id": "rs", "summary": []})
        )),
        any_text().prop_map(move |text| opaque(
            Provider::Responses,
            json!({"type": "message", "id": "m", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": format!("{text}."), "annotations": []}]})
        )),
    ]
}

/// A round: what the model says and calls, the results, and what the user says then.
fn any_round() -> impl Strategy<Value = [Turn; 2]> {
    let call = (
        any_text(),
        any_text(),
        any_text(),
        any::<bool>(),
        prop::option::of(any_image()),
    );
    (
        prop::collection::vec(any_said(), 0..5),
        prop::collection::vec(call, 0..4),
        prop::collection::vec(any_text(), 0..3),
        prop::option::of(any_image()),
    )
        .prop_map(|(said, calls, texts, image)| {
            let mut reply = said;
            let mut answer = Vec::new();
            for (place, (id, name, content, is_error, image)) in calls.into_iter().enumerate() {
                let id = format!("{id}{place}");
                let arguments = ["", "{\"a\": 1}", "no json"][place % 3];
                reply.push(Block::ToolUse(ToolUse::new(&id, name, arguments)));
                let result = match is_error {
                    true => ToolResult::error(id, content),
                    false => ToolResult::ok(id, content),
                };
                answer.push(Block::ToolResult(
                    result.with_images(image.into_iter().collect()),
                ));
            }
            answer.extend(texts.into_iter().map(Block::text));
            answer.extend(image.map(Block::Image));
            let answer = Turn {
                role: Role::User,
                blocks: answer,
            };
            [Turn::assistant(reply), answer]
        })
}

fn any_request() -> impl Strategy<Value = Request> {
    let choice = prop::sample::select(vec![
        ToolChoice::Auto,
        ToolChoice::None,
        ToolChoice::Any,
        ToolChoice::Tool("bash".into()),
    ]);
    (
        prop::collection::vec(any_round(), 0..6),
        any_text(),
        any::<bool>(),
        choice,
    )
        .prop_map(|(rounds, system, has_tools, tool_choice)| {
            let mut turns = vec![Turn::user("begin")];
            turns.extend(rounds.into_iter().flatten());
            turns.push(Turn::user("end"));
            let tool = ToolSpec {
                name: "bash".into(),
                description: String::new(),
                input_schema: json!({"type": "object"}).into(),
            };
            Request {
                system,
                tools: has_tools.then_some(tool).into_iter().collect(),
                turns,
                max_tokens: 1,
                tool_choice,
                ..Request::default()
            }
        })
}

#[test]
fn every_conversation_is_sent_in_a_valid_form() {
    let server = LlmServer::start();
    let models = WIRES.map(|wire| {
        server.always(wire, ServerReply::text("ok"));
        (wire, model(&server, wire))
    });
    let config = ProptestConfig::with_cases(120);
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let outcome = runner.run(&any_request(), |request| {
        for (wire, model) in &models {
            let (reply, _) = ask(model, request.clone());
            prop_assert!(reply.is_ok(), "{wire}: {}", reply.unwrap_err());
        }
        Ok(())
    });
    outcome.unwrap();
}

#[test]
fn the_server_of_the_tests_refuses_what_a_provider_refuses() {
    let server = LlmServer::start();
    server.always("a", ServerReply::text("ok"));
    for (path, body, rule) in [
        (
            "v1/messages",
            json!({"model": "m", "max_tokens": 1, "messages": [
                {"role": "user", "content": [{"type": "text", "text": " "}]}]}),
            "must not be blank",
        ),
        (
            "v1/messages",
            json!({"model": "m", "max_tokens": 1, "messages": [
                {"role": "user", "content": [{"type": "text", "text": "go"}]},
                {"role": "assistant", "content": [
                    {"type": "tool_use", "id": "a", "name": "b", "input": {}}]},
                {"role": "user", "content": [{"type": "text", "text": "so?"}]}]}),
            "no result right after it",
        ),
        (
            "v1/chat/completions",
            json!({"model": "m", "surprise": 1, "messages": [{"role": "user", "content": "go"}]}),
            "Extra inputs",
        ),
        (
            "v1/chat/completions",
            json!({"model": "m", "messages": [
                {"role": "tool", "tool_call_id": "x", "content": "late"}]}),
            "no call before it",
        ),
        (
            "v1/responses",
            json!({"model": "m", "max_output_tokens": 16, "store": false, "input": [
                {"type": "reasoning", "summary": [], "encrypted_content": "x"}]}),
            "required following item",
        ),
    ] {
        let answer = server.post("a", path, &body);
        assert!(answer.contains(rule), "{path}: {answer}");
    }
}
