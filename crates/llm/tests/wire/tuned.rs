//! What is set for a model, what its server names, and lists of models.

use std::sync::Arc;

use llm::{
    Effort, Event, FallbackModel, LearnedSettings, Model, ModelError, ModelSettings, Request,
    Switch, Thinking, TunedModel, Tuning, WaitReason,
};
use serde_json::{Value, json};
use test_support::llm_server::{LlmServer, ServerReply};

use crate::harness::{anthropic, ask, both, hello, openai, waits};

fn tuned(model: &Arc<dyn Model>, settings: ModelSettings) -> Arc<dyn Model> {
    Arc::new(TunedModel::new(Arc::clone(model), settings))
}

fn with_max_output(tokens: u32) -> ModelSettings {
    ModelSettings {
        max_output: Some(tokens),
        ..ModelSettings::default()
    }
}

/// A request with room for any reply.
fn any_length() -> Request {
    Request {
        max_tokens: 1_000_000,
        ..hello()
    }
}

/// The limits of output that a server was asked for.
fn limits(server: &LlmServer, agent: &str) -> Vec<u64> {
    let requests = server.requests(agent);
    let limit = |body: &Value| {
        let names = ["max_tokens", "max_completion_tokens"];
        names.iter().find_map(|name| body[name].as_u64()).unwrap()
    };
    requests
        .iter()
        .map(|request| limit(request.body()))
        .collect()
}

#[test]
fn what_is_set_is_sent_and_nothing_else() {
    let server = LlmServer::start();
    for (agent, model) in both(&server) {
        server.always(agent, ServerReply::text("yes"));
        ask(&tuned(&model, with_max_output(5_000)), any_length())
            .0
            .unwrap();
        let plain = server.last_request(agent).body().clone();
        for name in [
            "temperature",
            "top_p",
            "thinking",
            "output_config",
            "reasoning_effort",
        ] {
            assert_eq!(plain[name], Value::Null, "{agent} {name}");
        }
        let settings = ModelSettings {
            max_output: Some(5_000),
            tuning: Tuning {
                temperature: Some(0.5),
                effort: Some(Effort::Minimal),
                thinking: Some(Thinking::Budget(2_000)),
                ..Tuning::default()
            },
            ..ModelSettings::default()
        };
        ask(&tuned(&model, settings), any_length()).0.unwrap();
        let body = server.last_request(agent).body().clone();
        assert_eq!(body["temperature"], 0.5, "{agent}");
    }
    let body = server.last_request("anthropic").body().clone();
    assert_eq!(body["output_config"], json!({"effort": "low"}));
    let thinking = json!({"type": "enabled", "budget_tokens": 2_000});
    assert_eq!(body["thinking"], thinking);
    let body = server.last_request("openai").body().clone();
    assert_eq!(body["reasoning_effort"], "minimal");
    for agent in ["anthropic", "openai"] {
        assert_eq!(limits(&server, agent), [5_000, 5_000], "{agent}");
    }
}

#[test]
fn a_request_for_less_gets_less() {
    let server = LlmServer::start();
    server.always("a", ServerReply::text("yes"));
    let model = tuned(&anthropic(&server, "a"), with_max_output(5_000));
    ask(&model, hello()).0.unwrap();
    assert_eq!(limits(&server, "a"), [1_000]);
}

#[test]
fn a_server_names_its_limit_once() {
    let sentences = [
        (
            "anthropic",
            "max_tokens: 20000 > 4096, which is the maximum allowed number of output tokens for m",
        ),
        (
            "openai",
            "max_tokens is too large: 20000. This model supports at most 4096 completion tokens, \
             whereas you provided 20000.",
        ),
    ];
    let server = LlmServer::start();
    for ((agent, model), (_, sentence)) in both(&server).into_iter().zip(sentences) {
        let model = tuned(&model, with_max_output(20_000));
        server.enqueue(
            agent,
            ServerReply::error(400, "invalid_request_error", sentence),
        );
        server.enqueue(agent, ServerReply::text("one"));
        server.enqueue(agent, ServerReply::text("two"));
        let (reply, events) = ask(&model, any_length());
        assert_eq!(reply.unwrap().text(), "one", "{agent}");
        assert_eq!(waits(&events), [""; 0], "nothing is waited for");
        let learned = Event::Learned(Box::new(LearnedSettings {
            max_output: Some(4_096),
            ..LearnedSettings::default()
        }));
        assert!(events.contains(&learned), "{events:?}");
        assert_eq!(ask(&model, any_length()).0.unwrap().text(), "two");
        assert_eq!(limits(&server, agent), [20_000, 4_096, 4_096], "{agent}");
    }
}

#[test]
fn a_limit_without_a_number_is_halved_and_one_beside_a_long_conversation_is_not_kept() {
    let server = LlmServer::start();
    let refuse = |sentence: &str| ServerReply::error(400, "invalid_request_error", sentence);
    let model = tuned(&anthropic(&server, "a"), with_max_output(8_000));
    server.enqueue("a", refuse("max_tokens is too large"));
    server.enqueue("a", refuse("max_tokens is too large"));
    server.enqueue("a", ServerReply::text("yes"));
    ask(&model, any_length()).0.unwrap();
    assert_eq!(limits(&server, "a"), [8_000, 4_000, 2_000]);

    let model = tuned(&anthropic(&server, "b"), with_max_output(8_000));
    let sentence = "input length and `max_tokens` exceed context limit: 195000 + 8000 > 200000";
    server.enqueue("b", refuse(sentence));
    server.enqueue("b", ServerReply::text("yes"));
    server.enqueue("b", ServerReply::text("yes"));
    ask(&model, any_length()).0.unwrap();
    ask(&model, any_length()).0.unwrap();
    assert_eq!(limits(&server, "b"), [8_000, 5_000, 8_000]);
}

#[test]
fn a_server_that_refuses_every_limit_is_not_asked_for_ever() {
    let server = LlmServer::start();
    let refusal = ServerReply::error(400, "invalid_request_error", "max_tokens is too large");
    server.always("a", refusal);
    let model = tuned(&anthropic(&server, "a"), with_max_output(u32::MAX));
    let error = ask(&model, any_length()).0.unwrap_err();
    assert_eq!(error.kind(), "bad_request", "{error}");
    assert!(server.requests("a").len() <= 9);
}

#[test]
fn the_next_model_answers_while_the_first_is_overloaded() {
    let server = LlmServer::start();
    let gone = ServerReply::error(529, "overloaded_error", "no").header("retry-after", "99999");
    server.always("a", gone);
    server.always("b", ServerReply::text("here"));
    let others = vec![openai(&server, "b")];
    let model: Arc<dyn Model> = Arc::new(FallbackModel::new(anthropic(&server, "a"), others));
    let (reply, events) = ask(&model, hello());
    assert_eq!(reply.unwrap().text(), "here");
    let switch = Event::Switched(Switch {
        from: "anthropic:claude-test".into(),
        to: "openai:gpt-test".into(),
        reason: Some(WaitReason::Overloaded),
    });
    assert_eq!(events.first(), Some(&switch));
    let (reply, events) = ask(&model, hello());
    assert_eq!(reply.unwrap().text(), "here");
    assert!(!events.contains(&switch), "it is said once");
    assert_eq!(
        server.requests("a").len(),
        1,
        "it is left alone for a while"
    );
}

#[test]
fn only_a_model_that_cannot_be_reached_is_replaced() {
    let server = LlmServer::start();
    server.always("a", ServerReply::error(401, "authentication_error", "who?"));
    server.always("b", ServerReply::text("here"));
    let others = vec![openai(&server, "b")];
    let model: Arc<dyn Model> = Arc::new(FallbackModel::new(anthropic(&server, "a"), others));
    let error = ask(&model, hello()).0.unwrap_err();
    assert_eq!(error.kind(), "key_refused");
    assert!(server.requests("b").is_empty());

    server.always("a", ServerReply::failed());
    server.always("b", ServerReply::failed());
    let error = ask(&model, hello()).0.unwrap_err();
    assert!(matches!(error, ModelError::GaveUp { .. }), "{error}");
    assert!(!server.requests("b").is_empty(), "all of them were asked");
}
