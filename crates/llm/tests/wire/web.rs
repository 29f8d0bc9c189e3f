//! The web, with the tools of the provider.

use llm::{
    Block, Decoder, Event, Provider, RawJson, Request, ToolChoice, ToolResult, Turn, WebHosts,
    WebTools,
};
use serde_json::{Value, json};
use test_support::llm_server::{LlmServer, ServerReply};

use crate::harness::{ask, decode, hello, request, tool};
use crate::images::model;

const SEARCH: &str = r#"{"id":"ws_1", "type":"web_search_call","status":"completed","action":{"type":"search","query":"tea","sources":[{"type":"url","url":"https://tea.example"}]}}"#;
const ANSWER: &str = r#"{"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Tea.","annotations":[{"type":"url_citation","url":"https://tea.example","title":"Tea","start_index":0,"end_index":4}]}]}"#;

/// A response in which the provider searched.
fn searched() -> String {
    let begun = r#"{"id":"ws_1","type":"web_search_call","status":"in_progress"}"#;
    let events = [
        format!(r#"{{"type":"response.output_item.added","output_index":0,"item":{begun}}}"#),
        r#"{"type":"response.web_search_call.in_progress","item_id":"ws_1","output_index":0}"#
            .into(),
        r#"{"type":"response.web_search_call.searching","item_id":"ws_1","output_index":0}"#.into(),
        r#"{"type":"response.web_search_call.completed","item_id":"ws_1","output_index":0}"#.into(),
        format!(r#"{{"type":"response.output_item.done","output_index":0,"item":{SEARCH}}}"#),
        r#"{"type":"response.output_text.delta","item_id":"msg_1","delta":"Tea."}"#.into(),
        format!(r#"{{"type":"response.output_item.done","output_index":1,"item":{ANSWER}}}"#),
        format!(
            r#"{{"type":"response.completed","response":{{"model":"m","status":"completed","output":[{SEARCH},{ANSWER}],"usage":{{"input_tokens":9,"output_tokens":2}}}}}}"#
        ),
    ];
    events.map(|event| format!("data: {event}\n\n")).concat()
}

fn with_web(mut request: Request) -> Request {
    request.tuning.web = WebTools {
        search: Some(WebHosts::Any),
        fetch: Some(WebHosts::Any),
        both: Some(WebHosts::Any),
    };
    request
}

fn opaque(provider: Provider, json: &str) -> Block {
    Block::Opaque {
        provider,
        json: RawJson::parse(json).unwrap(),
    }
}

/// What a request says about the web: the tools that have a type but are no functions, and what is
/// included.
fn web_of(body: &Value) -> (Vec<&str>, String) {
    let tools = body["tools"].as_array().map_or(&[][..], Vec::as_slice);
    let kinds = tools.iter().filter_map(|tool| tool["type"].as_str());
    let kinds = kinds.filter(|kind| *kind != "function").collect();
    (kinds, body["include"].to_string())
}

#[test]
fn the_responses_api_gets_its_search_before_the_other_tools() {
    let server = LlmServer::start();
    server.always("responses", ServerReply::text("ok"));
    let model = model(&server, "responses");
    let mut asked = with_web(hello());
    asked.tools = vec![tool("bash")];
    ask(&model, asked.clone()).0.unwrap();
    let body = server.last_request("responses").body().clone();
    assert_eq!(body["tools"][0], json!({"type": "web_search"}));
    assert_eq!(body["tools"][1]["name"], "bash");
    assert_eq!(body["max_tool_calls"], 16);
    assert_eq!(
        body["include"],
        json!([
            "reasoning.encrypted_content",
            "web_search_call.action.sources"
        ])
    );
    asked.tools = Vec::new();
    asked.tool_choice = ToolChoice::None;
    ask(&model, asked.clone()).0.unwrap();
    let body = server.last_request("responses").body().clone();
    assert_eq!(body["tool_choice"], "none", "also for this tool alone");
    asked.tuning.web = WebTools::default();
    ask(&model, asked).0.unwrap();
    let body = server.last_request("responses").body().clone();
    assert_eq!(
        (&body["tools"], &body["max_tool_calls"]),
        (&Value::Null, &Value::Null)
    );
}

/// The tools that are chosen, and what the Messages and the Responses API are offered.
type Offer = (WebTools, Value, Value);

fn offers() -> Vec<Offer> {
    let hosts = |hosts: &[&str]| hosts.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    let only = || Some(WebHosts::Only(hosts(&["a.org", "b.org"])));
    let all_but = || Some(WebHosts::AllBut(hosts(&["evil.org"])));
    let search = |limit: Value| {
        let own = json!({"type": "web_search_20250305", "name": "web_search", "max_uses": 8});
        merged(own, limit)
    };
    let fetch = |limit: Value| {
        let own = json!({"type": "web_fetch_20250910", "name": "web_fetch", "max_uses": 8,
            "max_content_tokens": 30_000});
        merged(own, limit)
    };
    let allowed = json!({"allowed_domains": ["a.org", "b.org"]});
    let blocked = json!({"blocked_domains": ["evil.org"]});
    let filtered = json!([{"type": "web_search", "filters": allowed}]);
    let offer = |(search, fetch, both), of_messages, of_responses| {
        let chosen = WebTools {
            search,
            fetch,
            both,
        };
        (chosen, of_messages, of_responses)
    };
    vec![
        offer(
            (only(), only(), only()),
            json!([search(allowed.clone()), fetch(allowed.clone())]),
            filtered.clone(),
        ),
        offer(
            (Some(WebHosts::Any), only(), only()),
            json!([search(json!({})), fetch(allowed)]),
            filtered,
        ),
        offer(
            (all_but(), None, None),
            json!([search(blocked.clone())]),
            Value::Null,
        ),
        offer(
            (None, all_but(), None),
            json!([fetch(blocked.clone())]),
            Value::Null,
        ),
        // The Responses API has no list of hosts that are surely not used.
        offer(
            (all_but(), all_but(), all_but()),
            json!([search(blocked.clone()), fetch(blocked)]),
            Value::Null,
        ),
        offer((None, None, None), Value::Null, Value::Null),
    ]
}

/// Chat Completions are offered nothing, whatever is chosen.
#[test]
fn the_hosts_of_a_tool_go_along_where_the_wire_can_say_them() {
    let server = LlmServer::start();
    for (chosen, of_messages, of_responses) in offers() {
        let mut asked = hello();
        asked.tuning.web = chosen;
        for (wire, offered) in [
            ("anthropic", &of_messages),
            ("responses", &of_responses),
            ("chat", &Value::Null),
        ] {
            server.always(wire, ServerReply::text("ok"));
            ask(&model(&server, wire), asked.clone()).0.unwrap();
            let body = server.last_request(wire).body().clone();
            assert_eq!(&body["tools"], offered, "{wire} {:?}", asked.tuning.web);
            let is_search = wire == "responses" && !offered.is_null();
            assert_eq!(body["max_tool_calls"].is_null(), !is_search);
        }
    }
}

fn merged(mut tool: Value, limit: Value) -> Value {
    let (tool_fields, limit) = (tool.as_object_mut().unwrap(), limit);
    tool_fields.extend(limit.as_object().unwrap().clone());
    tool
}

/// A server that does not know a limit gets no tool without it.
#[test]
fn a_refused_limit_ends_the_tool_and_is_never_left_out_alone() {
    let server = LlmServer::start();
    let model = model(&server, "responses");
    let message = "Unknown parameter: 'tools[0].filters' of web_search.";
    server.enqueue(
        "responses",
        ServerReply::error(400, "invalid_request_error", message),
    );
    server.always("responses", ServerReply::text("ok"));
    let mut asked = hello();
    asked.tuning.web.both = Some(WebHosts::Only(vec!["a.org".to_owned()]));
    ask(&model, asked).0.unwrap();
    let requests = server.requests("responses");
    let tools: Vec<_> = requests
        .iter()
        .map(|it| it.body()["tools"].clone())
        .collect();
    let limited = json!([{"type": "web_search", "filters": {"allowed_domains": ["a.org"]}}]);
    assert_eq!(tools, [limited, Value::Null]);
}

#[test]
fn searches_are_kept_shown_and_counted() {
    let stream = searched();
    let (reply, events) = decode(Decoder::responses(1), [stream.as_bytes()]);
    let reply = reply.unwrap();
    assert_eq!(events, [Event::TextDelta("Tea.".into())]);
    let kept = [SEARCH, ANSWER].map(|json| opaque(Provider::Responses, json));
    assert_eq!(reply.blocks, kept);
    assert_eq!(reply.usage.unwrap().searches, 1);
    let used = reply.provider_tools();
    assert_eq!(
        (used[0].name.as_str(), used[0].text.as_str()),
        ("web_search", "https://tea.example")
    );

    let server = LlmServer::start();
    let turns = vec![
        Turn::user("go"),
        Turn::assistant(reply.blocks),
        Turn::user("on"),
    ];
    for wire in ["responses", "chat", "anthropic"] {
        server.always(wire, ServerReply::text("ok"));
        ask(&model(&server, wire), with_web(request(turns.clone())))
            .0
            .unwrap();
        let sent = server.last_request(wire);
        let sent = String::from_utf8_lossy(sent.raw_body());
        let is_whole = sent.contains(SEARCH) && sent.contains(ANSWER);
        assert_eq!(is_whole, wire == "responses", "{wire}: {sent}");
        assert!(sent.contains("Tea."), "{wire}: {sent}");
    }
}

#[test]
fn the_messages_api_says_how_often_it_searched() {
    let message = json!({"type": "message", "model": "m", "stop_reason": "end_turn", "content": [
        {"type": "text", "text": "Tea."}], "usage": {"input_tokens": 1, "output_tokens": 1,
        "server_tool_use": {"web_search_requests": 3, "web_fetch_requests": 1}}});
    let (reply, _) = decode(Decoder::anthropic(), [message.to_string().as_bytes()]);
    assert_eq!(reply.unwrap().usage.unwrap().searches, 3);
}

#[test]
fn a_model_without_a_search_works_on_without_it() {
    let server = LlmServer::start();
    let model = model(&server, "responses");
    let message = "Hosted tool 'web_search' is not supported with gpt-test.";
    let refusal = ServerReply::error(400, "invalid_request_error", message);
    server.enqueue("responses", refusal);
    server.always("responses", ServerReply::text("ok"));
    for _ in 0..2 {
        assert_eq!(ask(&model, with_web(hello())).0.unwrap().text(), "ok");
    }
    let requests = server.requests("responses");
    let offered: Vec<_> = requests.iter().map(|it| web_of(it.body())).collect();
    let without = (vec![], json!(["reasoning.encrypted_content"]).to_string());
    assert_eq!(offered[0].0, ["web_search"]);
    assert_eq!(offered[1..], [without.clone(), without], "and remembers it");
}

/// What followed a thought that is left out would be refused under its own id.
#[test]
fn searches_and_ids_stay_behind_with_their_thoughts() {
    let server = LlmServer::start();
    let model = model(&server, "responses");
    let thought = r#"{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"}"#;
    let call = r#"{"type":"tool_use","id":"call_1","name":"bash","input":{},"item":{"id":"fc_1"}}"#;
    let call: Block = serde_json::from_str(call).unwrap();
    let ours = |json| opaque(Provider::Responses, json);
    let said = vec![ours(thought), ours(SEARCH), ours(ANSWER), call];
    let mut turns = vec![
        Turn::user("go"),
        Turn::assistant(said),
        Turn::results([ToolResult::ok("call_1", "done")]),
    ];
    let message = "Item 'ws_1' of type 'web_search_call' was provided without its required \
                   'reasoning' item: 'rs_1'.";
    server.enqueue(
        "responses",
        ServerReply::error(400, "invalid_request_error", message),
    );
    server.always("responses", ServerReply::text("ok"));
    ask(&model, request(turns.clone())).0.unwrap();
    let items = server.last_request("responses").messages().to_vec();
    assert_eq!(
        items[1..3],
        [
            json!({"type": "message", "role": "assistant", "content": "Tea."}),
            json!({"type": "function_call", "call_id": "call_1", "name": "bash", "arguments": "{}"}),
        ]
    );
    let later = thought.replace("rs_1", "rs_2");
    turns.push(Turn::assistant(vec![ours(&later), ours(ANSWER)]));
    turns.push(Turn::user("on"));
    ask(&model, request(turns)).0.unwrap();
    let items = server.last_request("responses").messages().to_vec();
    assert_eq!(
        (&items[4]["id"], &items[5]["id"]),
        (&json!("rs_2"), &json!("msg_1"))
    );
    assert_eq!(
        server.requests("responses").len(),
        3,
        "only one was refused"
    );
}
