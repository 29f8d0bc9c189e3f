//! Every fault has its promised outcome, over real connections.

use std::sync::Arc;
use std::time::Duration;

use llm::{
    Anthropic, AnthropicAuth, AnthropicConfig, ClientOptions, Event, Model, ModelError, OpenAi,
    OpenAiConfig, Secret, WaitReason,
};
use serde_json::json;
use test_support::llm_server::{Gate, LlmServer, ServerReply, refused_url};

use crate::harness::{
    Call, KEY, LIMIT, anthropic, anthropic_config, ask, both, hello, quick, request, waits,
};

/// The fault passes: the next try gives the reply, and the wait was reported.
fn passes(fault: ServerReply, reason: &str) {
    let server = LlmServer::start();
    for (agent, model) in both(&server) {
        server.enqueue(agent, fault.clone());
        server.enqueue(agent, ServerReply::text("at last"));
        let (reply, events) = ask(&model, hello());
        assert_eq!(reply.unwrap().text(), "at last", "{agent}");
        assert_eq!(waits(&events), [reason], "{agent}");
        assert_eq!(server.requests(agent).len(), 2, "{agent}");
    }
}

/// The fault is final: one request, and this kind of error.
fn is_final(fault: ServerReply, kind: &str) {
    let server = LlmServer::start();
    for (agent, model) in both(&server) {
        server.enqueue(agent, fault.clone());
        let (reply, events) = ask(&model, hello());
        let error = reply.unwrap_err();
        assert_eq!(error.kind(), kind, "{agent}: {error}");
        assert_eq!(waits(&events), [""; 0], "{agent}");
        assert_eq!(server.requests(agent).len(), 1, "{agent}");
    }
}

#[test]
fn faults_that_pass() {
    passes(ServerReply::rate_limited(None), "rate limit");
    passes(ServerReply::rate_limited(Some("0")), "rate limit");
    passes(ServerReply::overloaded(), "overloaded");
    passes(ServerReply::failed(), "server error 500");
    passes(
        ServerReply::raw(502, "text/html", &["<html>", "</html>"]),
        "server error 502",
    );
    passes(ServerReply::raw(503, "application/json", &[]), "overloaded");
    passes(
        ServerReply::error(408, "timeout", "late"),
        "server error 408",
    );
    passes(ServerReply::closed(), "stream cut");
    passes(ServerReply::text("never seen").cut_after(0), "stream cut");
    passes(ServerReply::text("half a reply").cut_after(3), "stream cut");
    passes(ServerReply::text("torn").corrupt(2), "unreadable answer");
    passes(
        ServerReply::raw(200, "text/html", &["<html>Sign in"]),
        "unreadable answer",
    );
    passes(
        ServerReply::raw(200, "application/json", &["{\"torn\": "]),
        "stream cut",
    );
    passes(ServerReply::new().stop("odd"), "empty answer");
    passes(
        ServerReply::error(400, "odd", "m").header("x-should-retry", "true"),
        "server error 400",
    );
    passes(
        ServerReply::raw(
            200,
            "text/event-stream",
            &[
                "event: error\ndata: {\"error\":{\"type\":\"overloaded_error\",\"message\":\"m\"}}\n\n",
            ],
        ),
        "overloaded",
    );
}

#[test]
fn faults_that_are_final() {
    is_final(
        ServerReply::error(400, "invalid_request_error", "odd"),
        "bad_request",
    );
    is_final(
        ServerReply::error(401, "authentication_error", "no"),
        "key_refused",
    );
    is_final(ServerReply::error(402, "billing_error", "pay"), "billing");
    is_final(
        ServerReply::error(403, "permission_error", "no"),
        "forbidden",
    );
    is_final(
        ServerReply::error(404, "not_found_error", "what"),
        "model_not_found",
    );
    is_final(
        ServerReply::raw(413, "text/html", &["<html>big"]),
        "request_too_large",
    );
    is_final(ServerReply::error(422, "odd", "m"), "bad_request");
    is_final(
        ServerReply::error(429, "insufficient_quota", "pay"),
        "billing",
    );
    is_final(
        ServerReply::error(400, "exceed_context_size_error", "m"),
        "context_too_long",
    );
    is_final(
        ServerReply::error(400, "invalid_request_error", "prompt is too long: 2 > 1"),
        "context_too_long",
    );
    is_final(
        ServerReply::raw(307, "text/plain", &[]).header("location", "http://elsewhere/"),
        "model_not_found",
    );
    is_final(
        ServerReply::raw(
            200,
            "text/event-stream",
            &["data: {\"error\":{\"type\":\"authentication_error\",\"message\":\"m\"}}\n\n"],
        ),
        "key_refused",
    );
}

#[test]
fn a_refused_key_is_named_with_its_variable_and_the_remedy() {
    let server = LlmServer::start();
    for (agent, model) in both(&server) {
        server.enqueue(
            agent,
            ServerReply::error(401, "authentication_error", "invalid key"),
        );
        let error = ask(&model, hello()).0.unwrap_err().to_string();
        let variable = format!("{}_API_KEY", agent.to_uppercase());
        assert!(
            error.contains(&format!("{variable} was refused")),
            "{error}"
        );
        assert!(
            error.contains(&format!("set {variable} to a valid key")),
            "{error}"
        );
        assert!(error.contains("req_"), "{error}");
    }
    let mut config = anthropic_config(&server, "token");
    config.auth = AnthropicAuth::Bearer(Secret::new(KEY));
    let model: Arc<dyn Model> = Arc::new(Anthropic::new(config).unwrap());
    server.enqueue(
        "token",
        ServerReply::error(401, "authentication_error", "no"),
    );
    let error = ask(&model, hello()).0.unwrap_err().to_string();
    assert!(
        error.contains("ANTHROPIC_AUTH_TOKEN was refused"),
        "{error}"
    );
}

#[test]
fn it_gives_up_after_its_tries_and_reports_the_reason() {
    let server = LlmServer::start();
    for (agent, model) in both(&server) {
        server.always(agent, ServerReply::failed());
        let (reply, events) = ask(&model, hello());
        match reply.unwrap_err() {
            ModelError::GaveUp { tries, reason, .. } => {
                assert_eq!((tries, reason), (4, WaitReason::ServerError(500)));
            }
            other => panic!("{other}"),
        }
        assert_eq!(waits(&events), ["server error 500"; 3]);
        assert_eq!(server.requests(agent).len(), 4);
    }
}

#[test]
fn a_busy_server_is_asked_more_often_than_a_broken_one() {
    let server = LlmServer::start();
    for (agent, model) in both(&server) {
        for _ in 0..10 {
            server.enqueue(agent, ServerReply::rate_limited(Some("0")));
        }
        server.enqueue(agent, ServerReply::text("at last"));
        let (reply, events) = ask(&model, hello());
        assert_eq!(reply.unwrap().text(), "at last", "{agent}");
        assert_eq!(waits(&events), ["rate limit"; 10], "{agent}");
    }
}

#[test]
fn a_wait_that_is_too_long_ends_the_call_at_once() {
    let server = LlmServer::start();
    let tomorrow = ServerReply::rate_limited(Some("86400"));
    for (agent, model) in both(&server) {
        server.enqueue(agent, tomorrow.clone());
        let (reply, events) = ask(&model, hello());
        let error = reply.unwrap_err().to_string();
        assert!(error.contains("86400 s"), "{error}");
        assert_eq!(events, []);
    }
}

#[test]
fn the_delay_named_by_the_server_is_waited() {
    for (name, value, shortest) in [
        ("retry-after", "7", 7_000),
        ("retry-after-ms", "6500", 6_500),
        ("llm_provider-retry-after", "5", 5_000),
    ] {
        let server = LlmServer::start();
        let fault = ServerReply::rate_limited(None).header(name, value);
        server.enqueue("a", fault);
        let call = Call::start(&anthropic(&server, "a"), hello());
        test_support::wait_until("the wait", LIMIT, || !call.events().is_empty());
        match &call.events()[..] {
            [Event::Waiting(waiting)] => {
                let shortest = Duration::from_millis(shortest);
                assert!(waiting.delay >= shortest && waiting.delay <= shortest * 5 / 4);
                assert!(waiting.to_string().starts_with("waiting: rate limit, "));
            }
            other => panic!("{other:?}"),
        }
        call.cancel.cancel();
        assert_eq!(call.end(LIMIT).0, Err(ModelError::Cancelled));
    }
}

#[test]
fn nobody_listens() {
    let base_url = refused_url().unwrap();
    let key = Secret::new(KEY);
    let models: [Arc<dyn Model>; 2] = [
        Arc::new(
            Anthropic::new(AnthropicConfig {
                base_url: base_url.clone(),
                options: quick(),
                ..AnthropicConfig::new("m", AnthropicAuth::ApiKey(key.clone()))
            })
            .unwrap(),
        ),
        Arc::new(
            OpenAi::new(OpenAiConfig {
                base_url,
                options: quick(),
                ..OpenAiConfig::new("m", Some(key))
            })
            .unwrap(),
        ),
    ];
    for model in models {
        let (reply, events) = ask(&model, hello());
        let error = reply.unwrap_err().to_string();
        assert!(error.contains("cannot connect"), "{error}");
        assert!(error.contains("check the address"), "{error}");
        // A server of this machine that was never there is reported at once, with its address.
        assert!(error.contains("http://127.0.0.1:"), "{error}");
        assert_eq!(waits(&events), [""; 0]);
    }
}

#[test]
fn silence_is_a_fault_that_passes() {
    let server = LlmServer::start();
    let mut config = anthropic_config(&server, "a");
    config.options = ClientOptions {
        idle_timeout: Duration::from_millis(400),
        ..quick()
    };
    let model: Arc<dyn Model> = Arc::new(Anthropic::new(config).unwrap());
    let (head, middle) = (Gate::new(), Gate::new());
    server.enqueue("a", ServerReply::text("late").gate_head(&head));
    server.enqueue("a", ServerReply::text("stuck").gate(4, &middle));
    server.always("a", ServerReply::text("at last"));
    let (reply, events) = ask(&model, hello());
    assert_eq!(reply.unwrap().text(), "at last");
    // On a busy machine the server itself may be silent once more.
    assert_eq!(waits(&events)[..2], ["no answer"; 2]);
}

#[test]
fn a_slow_first_byte_is_waited_for() {
    let server = LlmServer::start();
    for (agent, model) in both(&server) {
        let gate = Gate::new();
        server.enqueue(agent, ServerReply::text("patience").gate_head(&gate));
        let call = Call::start(&model, hello());
        gate.wait_until_reached(LIMIT);
        assert_eq!(call.events(), []);
        gate.open();
        let (reply, events) = call.end(LIMIT);
        assert_eq!(reply.unwrap().text(), "patience");
        assert_eq!(waits(&events), [""; 0]);
    }
}

#[test]
fn pieces_are_passed_on_as_they_come() {
    let server = LlmServer::start();
    let gate = Gate::new();
    // The chunks are: start, ping, start of the block, first half, second half.
    server.enqueue("a", ServerReply::text("abcd").gate(4, &gate));
    let call = Call::start(&anthropic(&server, "a"), hello());
    test_support::wait_until("the first half", LIMIT, || {
        call.events() == [Event::TextDelta("ab".into())]
    });
    gate.open();
    assert_eq!(call.end(LIMIT).0.unwrap().text(), "abcd");
}

#[test]
fn a_chat_that_is_complete_survives_the_loss_of_its_last_line() {
    let server = LlmServer::start();
    // The chunks are: role, two halves, finish, usage, [DONE].
    let reply = ServerReply::text("whole");
    for cut in [4, 5] {
        server.enqueue("openai", reply.clone().cut_after(cut));
        let (_, model) = &both(&server)[1];
        let (reply, events) = ask(model, hello());
        assert_eq!(reply.unwrap().text(), "whole");
        assert_eq!(waits(&events), [""; 0]);
    }
}

#[test]
fn a_connection_serves_many_requests() {
    let server = LlmServer::start();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    for (agent, model) in both(&server) {
        let before = server.connections();
        server.always(agent, ServerReply::text("again"));
        for _ in 0..5 {
            let (request, cancel) = (hello(), llm::CancellationToken::new());
            let reply = runtime.block_on(model.complete(&request, &mut |_| {}, &cancel));
            assert_eq!(reply.unwrap().text(), "again");
        }
        assert_eq!(server.connections() - before, 1, "{agent}");
    }
}

#[test]
fn a_broken_conversation_is_never_sent() {
    let server = LlmServer::start();
    for (agent, model) in both(&server) {
        let error = ask(&model, request(vec![])).0.unwrap_err();
        assert_eq!(error.kind(), "invalid_conversation");
        assert!(server.requests(agent).is_empty());
    }
}

#[test]
fn a_whole_turn_over_the_wire() {
    let server = LlmServer::start();
    for (agent, model) in both(&server) {
        let reply = ServerReply::thinking("hm", "sig")
            .say("look: ")
            .call("bash", json!({"command": "ls"}))
            .call("list", json!({}))
            .usage(7, 8, 9, 10);
        server.enqueue(agent, reply);
        let reply = ask(&model, hello()).0.unwrap();
        assert_eq!(reply.text(), "look: ");
        let uses: Vec<_> = reply
            .tool_uses()
            .map(|it| (it.name.as_str(), it.arguments().unwrap().get()))
            .collect();
        assert_eq!(uses, [("bash", r#"{"command":"ls"}"#), ("list", "{}")]);
        let usage = reply.usage.unwrap();
        assert_eq!(
            [
                usage.input,
                usage.output,
                usage.cache_read,
                usage.cache_write
            ],
            [7, 8, 9, 10]
        );
    }
}
