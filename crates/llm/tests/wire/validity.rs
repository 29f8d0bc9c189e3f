//! Whatever a conversation holds, what is sent is valid by the published schemas. The server of the tests
//! applies them and refuses a request that breaks a rule.

use llm::{
    Block, Effort, Image, Provider, RawJson, Request, Role, Thinking, ToolChoice, ToolResult,
    ToolSpec, ToolUse, Tuning, Turn, WebHosts, WebTools,
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

/// What the provider's own tools did, on both wire formats that have them.
fn any_web() -> impl Strategy<Value = Vec<Block>> {
    let opaque = |provider, json: Value| Block::Opaque {
        provider,
        json: RawJson::from(json),
    };
    let found = json!([{"type": "web_search_result", "url": "https://a.org", "title": "A",
        "encrypted_content": "c2VhbGVk"}]);
    let messages = [
        json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search",
            "input": {"query": "tea"}}),
        json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": found}),
    ];
    let search = |action: Value| json!({"type": "web_search_call", "id": "ws_1", "status": "completed", "action": action});
    let responses = [
        search(json!({"type": "search", "query": "tea", "queries": ["tea"],
            "sources": [{"type": "url", "url": "https://a.org"}]})),
        search(json!({"type": "open_page", "url": null})),
        search(json!({"type": "find_in_page", "url": "https://a.org", "pattern": "tea"})),
    ];
    prop_oneof![
        Just(
            messages
                .map(|json| opaque(Provider::Anthropic, json))
                .to_vec()
        ),
        Just(
            responses
                .map(|json| opaque(Provider::Responses, json))
                .to_vec()
        ),
    ]
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
    let said = prop_oneof![
        8 => any_said().prop_map(|block| vec![block]),
        2 => any_web(),
    ];
    (
        prop::collection::vec(said, 0..5),
        prop::collection::vec(call, 0..4),
        prop::collection::vec(any_text(), 0..3),
        prop::option::of(any_image()),
    )
        .prop_map(|(said, calls, texts, image)| {
            let mut reply: Vec<Block> = said.into_iter().flatten().collect();
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

/// Settings that a model may get, with a limit of output that leaves room for thoughts.
fn any_tuning() -> impl Strategy<Value = (Tuning, u32)> {
    let thinking = vec![
        (None, 1),
        (Some(Thinking::Adaptive), 1),
        (Some(Thinking::Disabled), 16),
        (Some(Thinking::Budget(1_024)), 4_096),
    ];
    let effort = vec![
        None,
        Some(Effort::None),
        Some(Effort::High),
        Some(Effort::Max),
    ];
    (
        prop::sample::select(thinking),
        prop::sample::select(effort),
        prop::option::of(0.0..=1.0),
        (any_hosts(), any_hosts(), any_hosts()),
    )
        .prop_map(
            |((thinking, max_tokens), effort, temperature, (search, fetch, both))| {
                let tuning = Tuning {
                    thinking,
                    effort,
                    temperature,
                    top_p: None,
                    web: WebTools {
                        search,
                        fetch,
                        both,
                    },
                };
                (tuning, max_tokens)
            },
        )
}

fn any_hosts() -> impl Strategy<Value = Option<WebHosts>> {
    let hosts = || vec!["a.org".to_owned(), "x.b.org".to_owned()];
    prop::sample::select(vec![
        None,
        Some(WebHosts::Any),
        Some(WebHosts::Only(hosts())),
        Some(WebHosts::AllBut(hosts())),
    ])
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
        any_tuning(),
    )
        .prop_map(
            |(rounds, system, has_tools, tool_choice, (tuning, max_tokens))| {
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
                    max_tokens,
                    tool_choice,
                    tuning,
                    ..Request::default()
                }
            },
        )
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

/// A request of each wire format that is taken, with its path.
fn taken() -> [(&'static str, Value); 3] {
    [
        (
            "v1/messages",
            json!({"model": "m", "max_tokens": 2_000, "messages": [
                {"role": "user", "content": [{"type": "text", "text": "go"}]}]}),
        ),
        (
            "v1/chat/completions",
            json!({"model": "m", "messages": [{"role": "user", "content": "go"}]}),
        ),
        (
            "v1/responses",
            json!({"model": "m", "max_output_tokens": 16, "store": false, "input": [
                {"type": "message", "role": "user",
                    "content": [{"type": "input_text", "text": "go"}]}]}),
        ),
    ]
}

/// The same with one change: the value at this place, or none.
fn changed(body: &Value, place: &str, value: Option<Value>) -> Value {
    let mut body = body.clone();
    let (parent, key) = place.rsplit_once('/').unwrap();
    let parent = body.pointer_mut(parent).unwrap().as_object_mut().unwrap();
    match value {
        Some(value) => parent.insert(key.to_owned(), value),
        None => parent.remove(key),
    };
    body
}

/// One change of a request, and the rule that it breaks.
type Case = (&'static str, Option<Value>, &'static str);

/// Sends a request that is taken, and then one with each of these changes.
#[track_caller]
fn assert_refused<const N: usize>((path, body): &(&str, Value), cases: [Case; N]) {
    let server = LlmServer::start();
    server.always("a", ServerReply::text("ok"));
    let answer = server.post("a", path, body);
    assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
    for (place, value, rule) in cases {
        let answer = server.post("a", path, &changed(body, place, value));
        assert!(answer.contains(rule), "{path} {place}: {answer}");
    }
}

#[test]
fn the_server_of_the_tests_refuses_what_the_messages_api_refuses() {
    let call = json!([{"role": "user", "content": [{"type": "text", "text": "go"}]},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "a", "name": "b", "input": {}}]},
        {"role": "user", "content": [{"type": "text", "text": "so?"}]}]);
    let budget = json!({"type": "enabled", "budget_tokens": 2_000});
    let mark = "/messages/0/content/0/cache_control";
    let web = json!([{"type": "web_search"}]);
    let two_lists = json!([{"type": "web_search_20250305", "name": "web_search",
        "allowed_domains": ["a.org"], "blocked_domains": ["b.org"]}]);
    let [messages, _, _] = taken();
    assert_refused(
        &messages,
        [
            ("/messages/0/content/0/text", Some(json!(" ")), "not blank"),
            ("/messages", Some(call), "no result right after it"),
            ("/max_tokens", None, "max_tokens is missing"),
            ("/thinking", Some(budget), "less than max_tokens"),
            (
                "/output_config",
                Some(json!({"effort": "none"})),
                "one of low",
            ),
            ("/temperature", Some(json!(1.5)), "from 0 to 1"),
            ("/tool_choice", Some(json!({"type": "any"})), "with tools"),
            ("/tools", Some(web), "no tool of type"),
            ("/tools", Some(two_lists), "only one of allowed_domains"),
            (mark, Some(json!({"type": "for ever"})), "one of ephemeral"),
        ],
    );
}

#[test]
fn the_server_of_the_tests_refuses_what_chat_completions_refuse() {
    let late = json!([{"role": "tool", "tool_call_id": "x", "content": "late"}]);
    let [_, chat, _] = taken();
    assert_refused(
        &chat,
        [
            ("/surprise", Some(json!(1)), "Extra inputs"),
            ("/messages", Some(late), "no call before it"),
            ("/reasoning_effort", Some(json!("much")), "one of none"),
            ("/stream_options", Some(json!({})), "with a stream"),
            ("/messages/0/name", Some(json!("al")), "Extra inputs"),
        ],
    );
}

#[test]
fn the_server_of_the_tests_refuses_what_the_responses_api_refuses() {
    let thought =
        json!([{"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "x"}]);
    let search = json!([{"type": "web_search_call", "id": "w", "status": "done",
        "action": {"type": "search"}}]);
    let tool = json!([{"type": "function", "name": "b", "parameters": {"type": "object"}}]);
    let [_, _, responses] = taken();
    assert_refused(
        &responses,
        [
            ("/input", Some(thought), "required following item"),
            ("/input", Some(search), "one of in_progress"),
            ("/include", Some(json!(["everything"])), "unknown value"),
            ("/tools", Some(tool), "strict is missing"),
            ("/store", Some(json!(true)), "kept by the server"),
            ("/max_output_tokens", Some(json!(15)), "from 16 on"),
        ],
    );
}
