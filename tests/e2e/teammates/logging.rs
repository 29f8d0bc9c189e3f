//! What members log: filters, formats, spans, and no key.

use crate::harness::{KEY, Run, Workspace, call, say};
use serde_json::{Value, json};

/// Lets alice run a command and report, with these variables. Returns her log.
fn logged(variables: &[(&str, &str)]) -> String {
    let workspace = Workspace::new();
    let run = call("bash", json!({"command": "echo hello"}));
    workspace.script("alice", [run, say("Done.")]);
    let mut spawn = workspace.spawn_command("alice", "coder", &["--prompt", "Say hello."]);
    spawn.envs(variables.iter().copied());
    Run::of(&mut spawn).has_code(0);
    assert_eq!(workspace.wait_reports("alice", 1), ["Done."]);
    let headers = workspace.server.last_request("alice");
    assert_eq!(headers.header("x-api-key"), Some(KEY));
    workspace.check_secret();
    workspace.ok(&["kill", "alice"]);
    let log = workspace.log("alice");
    workspace.end();
    log
}

#[test]
fn a_member_logs_a_line_per_event_for_people() {
    let log = logged(&[]);
    assert!(log.contains("alice is ready"), "{log}");
    assert!(log.contains("> bash {\"command\":\"echo hello\"}"), "{log}");
    assert!(
        !log.contains("DEBUG") && !log.contains("model_call"),
        "{log}"
    );
}

#[test]
fn a_filter_shows_model_calls_and_tool_calls_in_their_spans_and_never_the_key() {
    let log = logged(&[("TEAM_LOG", "trace")]);
    for text in [
        "incarnation{member=alice n=1} turn{n=1} model_call{",
        "tool_call{tool=\"bash\" id=",
        "DEBUG llm::http",
        "TRACE llm::http",
    ] {
        assert!(log.contains(text), "{text} is missing in:\n{log}");
    }
    let log = logged(&[("TEAM_LOG", "info,agent=debug")]);
    assert!(
        log.contains("DEBUG agent::") && !log.contains("DEBUG llm"),
        "{log}"
    );
}

#[test]
fn a_log_may_be_json() {
    let log = logged(&[("TEAM_LOG", "debug"), ("TEAM_LOG_FORMAT", "json")]);
    let events: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).expect(line))
        .collect();
    let is_model_call = |event: &&Value| event["span"]["name"] == "model_call";
    let event = events.iter().find(is_model_call).expect("a model call");
    assert_eq!(event["spans"][0]["name"], "incarnation", "{event}");
    assert_eq!(event["spans"][1]["name"], "turn", "{event}");
}

#[test]
fn a_wrong_filter_is_wrong_use_and_a_command_logs_to_standard_error() {
    let workspace = Workspace::new();
    let run = workspace.run(&["--log", "llm=loud", "status"]);
    assert!(
        run.has_code(2).err.contains("team=debug,llm=trace"),
        "{run:?}"
    );
    let run = workspace.run(&["-vv", "status"]);
    assert!(run.has_code(0).err.contains("DEBUG team_lead"), "{run:?}");
    assert!(workspace.run(&["status"]).err.is_empty());
    workspace.end();
}
