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
    assert_eq!(calls.next().unwrap()["cost"], 2.0, "at its own price");
    let shown = workspace.json(&["costs", "--by", "model"]);
    let costs = shown["costs"].as_array().unwrap();
    let of = |name: &str| costs.iter().find(|line| line["model"] == name);
    assert_eq!(of("anthropic:b").unwrap()["cost"], 2.0, "{shown}");
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
    workspace.end();
}

#[test]
fn a_list_of_models_takes_no_scripts() {
    let workspace = Workspace::new();
    let run = workspace.run(&["run", "--model", "anthropic:a,script:x", "hello"]);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.err.contains("list"), "{run:?}");
}
