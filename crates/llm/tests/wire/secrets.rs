//! The key is nowhere to be seen.

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use llm::{
    Anthropic, ClientOptions, Event, Model, ModelChoice, ModelError, OpenAi, Variables,
    parse_dotenv,
};
use test_support::llm_server::{LlmServer, ServerReply};

use crate::harness::{KEY, anthropic_config, ask, both, hello, openai_config};

/// A server that repeats the key wherever it can.
fn faults() -> Vec<ServerReply> {
    let repeated = format!("your key {KEY} is not good, {KEY}!");
    let mut faults: Vec<_> = [400, 401, 402, 403, 404, 413, 422, 429, 500, 529]
        .into_iter()
        .map(|status| ServerReply::error(status, "some_error", &repeated))
        .collect();
    let stream = |payload: String| {
        ServerReply::raw(200, "text/event-stream", &[&format!("data: {payload}\n\n")])
    };
    faults.extend([
        ServerReply::error(429, "rate_limit_error", &repeated).header("retry-after", "99999"),
        ServerReply::error(500, &repeated, &repeated).header("request-id", KEY),
        ServerReply::raw(500, "text/html", &[&format!("<title>{KEY}</title>")]),
        ServerReply::raw(500, "text/plain", &[KEY]),
        ServerReply::raw(302, "text/plain", &[]).header("location", &format!("http://x/{KEY}")),
        stream(format!(
            "{{\"error\":{{\"type\":\"x\",\"message\":\"{KEY}\"}}}}"
        )),
        stream(format!("{{\"type\":\"error\",\"error\":\"{KEY}\"}}")),
        stream(format!(
            "{{\"type\":\"{KEY}\", \"choices\": \"{KEY}\", \"delta\": \"{KEY}\"}}"
        )),
        stream(format!("{{{KEY}")),
        ServerReply::raw(200, "text/plain", &[&format!("{{\"{KEY}\":1}}")]),
        ServerReply::closed(),
        ServerReply::new().stop("odd"),
    ]);
    faults
}

/// A model of each wire format that waits for a busy server only for a moment.
fn impatient(server: &LlmServer) -> [(&'static str, Arc<dyn Model>); 2] {
    let total = Duration::from_millis(50);
    let mut anthropic = anthropic_config(server, "anthropic");
    anthropic.options.retry.total = total;
    let mut openai = openai_config(server, "openai");
    openai.options.retry.total = total;
    [
        ("anthropic", Arc::new(Anthropic::new(anthropic).unwrap())),
        ("openai", Arc::new(OpenAi::new(openai).unwrap())),
    ]
}

fn show(seen: &mut String, error: &ModelError, events: &[Event]) {
    writeln!(seen, "{error} {error:?} {:#?} {}", error, error.hint()).unwrap();
    for event in events {
        writeln!(seen, "{event:?}").unwrap();
        if let Event::Waiting(waiting) = event {
            writeln!(seen, "{waiting}").unwrap();
        }
    }
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        writeln!(seen, "{error} {error:?}").unwrap();
        cause = error.source();
    }
}

#[test]
fn errors_and_events_never_show_the_key() {
    let mut seen = String::new();
    let faults = faults();
    let count = faults.len();
    for fault in faults {
        let server = LlmServer::start();
        for (agent, model) in impatient(&server) {
            server.always(agent, fault.clone());
            let (reply, events) = ask(&model, hello());
            show(&mut seen, &reply.unwrap_err(), &events);
            let request = server.last_request(agent);
            let sent = [request.header("x-api-key"), request.header("authorization")];
            assert!(sent.iter().flatten().any(|value| value.contains(KEY)));
            assert!(!String::from_utf8_lossy(request.raw_body()).contains(KEY));
        }
    }
    assert!(
        seen.lines().count() > count,
        "there is something to look at"
    );
    assert!(seen.contains("[secret]"), "something was taken out");
    assert!(!seen.contains(KEY), "{seen}");
}

#[test]
fn clients_and_configurations_never_show_the_key() {
    let server = LlmServer::start();
    let (anthropic, openai) = (anthropic_config(&server, "a"), openai_config(&server, "o"));
    let text = format!("ANTHROPIC_API_KEY={KEY}\nOPENAI_API_KEY={KEY}");
    let dotenv = parse_dotenv(&text);
    let mut seen = format!("{anthropic:?} {openai:#?} {dotenv:?}");
    let variables = Variables::default().with_file(Path::new(".env"), dotenv);
    let clients = (
        Anthropic::new(anthropic).unwrap(),
        OpenAi::new(openai).unwrap(),
    );
    write!(seen, "{clients:?} {clients:#?} {variables:?}").unwrap();
    for value in ["anthropic:m", "openai:m"] {
        let choice = ModelChoice::parse(value, &variables).unwrap();
        let model: Arc<dyn Model> = choice
            .build(
                &variables,
                "alice",
                ClientOptions::default(),
                llm::LearnedSettings::default(),
            )
            .unwrap()
            .unwrap();
        write!(seen, "{choice:?} {choice} {}", model.name()).unwrap();
    }
    assert!(!seen.contains(KEY), "{seen}");
}

#[test]
fn a_reply_that_repeats_the_key_comes_without_it() {
    let server = LlmServer::start();
    for (agent, model) in both(&server) {
        let reply = ServerReply::text(&format!("You sent {KEY}, did you not?")).call(
            "bash",
            serde_json::json!({"command": format!("echo {KEY}")}),
        );
        server.enqueue(agent, reply);
        let reply = ask(&model, hello()).0.unwrap();
        let stored = serde_json::to_string(&reply.blocks).unwrap();
        assert!(!stored.contains(KEY), "{stored}");
        assert!(
            stored.contains("You sent [secret], did you not?"),
            "{stored}"
        );
        assert!(stored.contains("echo [secret]"), "{stored}");
    }
}
