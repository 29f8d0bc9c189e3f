//! How models are asked: settings of files and flags, what is known about models, and lists of models.

use crate::harness::{LIMIT, Run, Workspace, say};
use serde_json::{Value, json};
use test_support::llm_server::{CapturedRequest, ServerReply};
use test_support::wait_until;

#[test]
fn settings_of_models_roles_and_flags_reach_the_server() {
    let config = "effort = \"low\"\n[models.test]\nmax_output = 7000\nthinking = \"adaptive\"\n\
                  [roles.coder]\neffort = \"high\"\n";
    let workspace = Workspace::with_config(config);
    workspace.script("alice", [say("One.")]);
    workspace.spawn("alice", &["--max-output", "3000", "--prompt", "Work."]);
    workspace.wait_reports("alice", 1);
    let body = workspace.server.last_request("alice").body().clone();
    assert_eq!(body["max_tokens"], 3_000, "the member's own");
    assert_eq!(
        body["output_config"],
        json!({"effort": "high"}),
        "its role's"
    );
    assert_eq!(body["thinking"], json!({"type": "adaptive"}), "its model's");
    assert_eq!(body["temperature"], Value::Null, "nobody has set it");
    workspace.end();

    workspace.reply(say("Yes."));
    let run = workspace.run_lead(&["--thinking", "2048", "hello"], "");
    assert_eq!(run.code, 0, "{run:?}");
    let body = workspace.server.last_request("lead").body().clone();
    assert_eq!(body["max_tokens"], 7_000);
    assert_eq!(
        body["output_config"],
        json!({"effort": "low"}),
        "the team's"
    );
    let thinking = json!({"type": "enabled", "budget_tokens": 2_048});
    assert_eq!(body["thinking"], thinking);

    let run = workspace.run(&["spawn", "bob", "coder", "--effort", "hihg"]);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.err.contains("none, minimal, low"), "{run:?}");
}

#[test]
fn what_is_assumed_about_an_unknown_model_is_said_once() {
    let workspace = Workspace::new();
    workspace.server.always("lead", say("Yes."));
    let run = workspace.run_lead(&["hello"], "");
    let remark = "Nothing is known about anthropic:test";
    assert_eq!(run.err.matches(remark).count(), 1, "{run:?}");
    assert_eq!(
        workspace.server.last_request("lead").body()["max_tokens"],
        8_192
    );
    let run = workspace.run_lead(&["--window", "20000", "hello"], "");
    assert!(!run.err.contains(remark), "{run:?}");
    assert_eq!(
        workspace.server.last_request("lead").body()["max_tokens"],
        5_000
    );
    let args = ["run", "--model", "anthropic:claude-sonnet-4-5", "hello"];
    let run = Run::of(&mut workspace.command_as("lead", &args));
    assert_eq!(
        (run.code, run.err.contains("Nothing is known")),
        (0, false),
        "{run:?}"
    );
    assert_eq!(
        workspace.server.last_request("lead").body()["max_tokens"],
        32_000
    );
}

/// A server whose model `a` takes no requests today, and whose model `b` answers.
fn only_b_answers(request: &CapturedRequest) -> ServerReply {
    match request.model() {
        "a" => ServerReply::error(529, "overloaded_error", "no").header("retry-after", "99999"),
        _ => ServerReply::text("From b.").usage(1_000_000, 0, 0, 0),
    }
}

#[test]
fn the_next_model_of_a_list_answers_and_everybody_can_see_it() {
    let config = "[models.a]\nprice = { input = 7, output = 7 }\n[models.b]\nprice = { input = 2, output = 2 }\n";
    let workspace = Workspace::with_config(config);
    for agent in ["lead", "alice"] {
        workspace
            .server
            .decide(agent, |request| only_b_answers(&request));
    }
    let args = ["run", "--model", "anthropic:a,anthropic:b", "hello"];
    let run = Run::of(&mut workspace.command_as("lead", &args));
    assert_eq!((run.code, run.out.as_str()), (0, "From b.\n"), "{run:?}");
    let notice = "anthropic:b answers instead of anthropic:a (overloaded)";
    assert!(run.err.contains(notice), "{run:?}");
    let events = workspace.events();
    let mut switches = events
        .iter()
        .filter(|event| event["event"] == "model_switched");
    let switch = switches.next().unwrap();
    assert_eq!(
        (&switch["to"], &switch["reason"]),
        (&json!("anthropic:b"), &json!("overloaded"))
    );
    let mut calls = events.iter().filter(|event| event["event"] == "model");
    let is_two_dollars = |cost: &Value| (cost.as_f64().unwrap() - 2.0).abs() < 0.001;
    let cost = &calls.next().unwrap()["cost"];
    assert!(is_two_dollars(cost), "at its own price: {cost}");
    let shown = workspace.json(&["costs", "--by", "model"]);
    let costs = shown["costs"].as_array().unwrap();
    let of = |name: &str| costs.iter().find(|line| line["model"] == name);
    assert!(
        is_two_dollars(&of("anthropic:b").unwrap()["cost"]),
        "{shown}"
    );
    assert_eq!(of("anthropic:a").unwrap()["cost"], 0.0, "{shown}");

    workspace.write(
        "team.toml",
        &format!("model = ['anthropic:a', 'anthropic:b']\n{config}"),
    );
    let spawn = ["spawn", "alice", "coder", "--prompt", "Work."];
    let run = Run::of(&mut workspace.command_as("alice", &spawn));
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(workspace.wait_reports("alice", 1), ["From b."]);
    wait_until("the live state to name the model", LIMIT, || {
        let live = workspace.live("alice");
        live.is_some_and(|live| live.model.as_deref() == Some("anthropic:b"))
    });
    assert!(workspace.log("alice").contains(notice));
    let status = workspace.run(&["status"]).out;
    assert!(status.contains("asks anthropic:b"), "{status}");
    let member = workspace.json(&["status"])["members"][0].clone();
    assert_eq!(member["asked_model"], "anthropic:b", "{member}");
    workspace.end();
}

#[test]
fn a_list_of_models_takes_no_scripts() {
    let workspace = Workspace::new();
    let run = workspace.run(&["run", "--model", "anthropic:a,script:x", "hello"]);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.err.contains("list"), "{run:?}");
}

/// A reply in which the provider searched the web and paused the turn.
fn searched_web() -> ServerReply {
    let stream = [
        json!({"type": "message_start", "message": {"model": "test", "usage": {"input_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block":
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}}),
        json!({"type": "content_block_delta", "index": 0, "delta":
            {"type": "input_json_delta", "partial_json": "{\"query\":\"tea\"}"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "content_block_start", "index": 1, "content_block":
            {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [
                {"type": "web_search_result", "url": "https://tea.example", "title": "Tea",
                 "encrypted_content": "c2VhbGVk", "page_age": null}]}}),
        json!({"type": "content_block_stop", "index": 1}),
        json!({"type": "content_block_start", "index": 2, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 2, "delta": {"type": "text_delta", "text": "Tea."}}),
        json!({"type": "content_block_stop", "index": 2}),
        json!({"type": "message_delta", "delta": {"stop_reason": "pause_turn"}, "usage": {"output_tokens": 5}}),
        json!({"type": "message_stop"}),
    ];
    let chunks: Vec<String> = stream
        .iter()
        .map(|event| format!("data: {event}\n\n"))
        .collect();
    let chunks: Vec<&str> = chunks.iter().map(String::as_str).collect();
    ServerReply::raw(200, "text/event-stream", &chunks)
}

#[test]
fn the_web_is_used_where_it_is_allowed_and_everybody_can_see_it() {
    let workspace = Workspace::new();
    workspace.script("alice", [searched_web(), say(" Hot.")]);
    workspace.spawn(
        "alice",
        &["--web", "--require-plan", "--prompt", "Find out about tea."],
    );
    assert_eq!(
        workspace.wait_reports("alice", 1),
        ["Tea. Hot."],
        "a plan gate forbids no reading"
    );
    let requests = workspace.server.requests("alice");
    for request in &requests {
        let names: Vec<&str> = request
            .tools()
            .iter()
            .filter_map(|tool| tool["type"].as_str())
            .collect();
        assert_eq!(names, ["web_search_20250305", "web_fetch_20250910"]);
    }
    let replayed = &requests[1].messages().last().unwrap()["content"];
    assert_eq!(replayed[0]["input"], json!({"query": "tea"}), "{replayed}");
    assert_eq!(
        replayed[1]["content"][0]["encrypted_content"], "c2VhbGVk",
        "as it came"
    );
    assert!(workspace.journal("alice").contains("c2VhbGVk"));
    assert!(workspace.log("alice").contains("https://tea.example"));
    let is_search = |event: &Value| event["event"] == "tool" && event["name"] == "web_search";
    assert_eq!(
        workspace
            .events()
            .iter()
            .filter(|event| is_search(event))
            .count(),
        1
    );
    workspace.end();

    workspace.script("bob", [say("No web.")]);
    workspace.spawn("bob", &["--prompt", "Work."]);
    workspace.wait_reports("bob", 1);
    let request = workspace.server.last_request("bob");
    assert!(
        request
            .tools()
            .iter()
            .all(|tool| tool["type"] == Value::Null)
    );
    workspace.end();
}

/// The same by the Responses API, whose search is one item.
fn searched_web_by_item() -> ServerReply {
    let search = json!({"id": "ws_1", "type": "web_search_call", "status": "completed", "action":
        {"type": "search", "query": "tea", "sources": [{"type": "url", "url": "https://tea.example"}]}});
    let answer = json!({"id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": "Tea.", "annotations": []}]});
    let end = json!({"model": "x", "status": "completed", "output": [search, answer],
        "usage": {"input_tokens": 0, "output_tokens": 0}});
    let stream = [
        json!({"type": "response.output_item.done", "output_index": 0, "item": search}),
        json!({"type": "response.output_item.done", "output_index": 1, "item": answer}),
        json!({"type": "response.completed", "response": end}),
    ];
    let chunks = stream.map(|event| format!("data: {event}\n\n"));
    let chunks: Vec<&str> = chunks.iter().map(String::as_str).collect();
    ServerReply::raw(200, "text/event-stream", &chunks)
}

#[test]
fn the_web_of_the_responses_api_is_used_kept_and_paid_for() {
    let workspace =
        Workspace::with_config("[models.x]\nprice = { input = 1, output = 1, searches = 5 }\n");
    workspace.script("alice", [searched_web_by_item(), say("Hot.")]);
    let args = [
        "--model",
        "openai-responses:x",
        "--web",
        "--prompt",
        "Find out about tea.",
    ];
    let mut spawn = workspace.spawn_command("alice", "coder", &args);
    spawn.env("OPENAI_BASE_URL", workspace.server.openai_base_url("alice"));
    let run = Run::of(&mut spawn);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(workspace.wait_reports("alice", 1), ["Tea."]);
    assert!(workspace.log("alice").contains("https://tea.example"));
    let is_search = |event: &&Value| event["event"] == "tool" && event["name"] == "web_search";
    assert_eq!(workspace.events().iter().filter(is_search).count(), 1);
    let spent = workspace.json(&["costs"])["total"].clone();
    assert_eq!(
        (&spent["searches"], &spent["cost"]),
        (&json!(1), &json!(0.005)),
        "{spent}"
    );

    workspace.ok(&["send", "alice", "And?"]);
    assert_eq!(workspace.wait_reports("alice", 2)[1], "Hot.");
    let last = workspace.server.last_request("alice");
    assert_eq!(last.tools()[0], json!({"type": "web_search"}));
    let replayed = last
        .messages()
        .iter()
        .find(|item| item["type"] == "web_search_call");
    assert_eq!(replayed.unwrap()["action"]["query"], "tea", "{replayed:?}");
    workspace.end();
}

#[test]
fn a_workspace_allows_no_web_by_itself() {
    let workspace = Workspace::new();
    workspace.write("team.toml", "web = true\n");
    workspace.server.always("lead", say("Yes."));
    let run = workspace.run_lead(&["hello"], "");
    run.complains(1, "web", "team-lead trust");
    assert!(workspace.server.requests("lead").is_empty());
    let run = workspace.run_lead(&["--trust", "hello"], "");
    assert_eq!(run.code, 0, "{run:?}");
    let request = workspace.server.last_request("lead");
    assert!(
        request
            .tools()
            .iter()
            .any(|tool| tool["name"] == "web_fetch")
    );
}
