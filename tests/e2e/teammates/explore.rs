//! A member lets a helper search for it: what the helper reads stays out of the member's context.

use crate::harness::{LIMIT, Workspace, call, say};
use serde_json::json;
use std::sync::{Arc, Mutex};
use test_support::llm_server::{CapturedRequest, Gate, ServerReply};

const ANSWER: &str = "It is in part_3.txt, line 400.";

fn is_helper(request: &CapturedRequest) -> bool {
    request.system_text().contains("short-lived helper")
}

fn explore() -> ServerReply {
    call("explore", json!({"question": "Where is the needle?"}))
}

/// A workspace with long files.
fn haystack() -> Workspace {
    let workspace = Workspace::new();
    for number in 0..6 {
        let text = format!("hay {number}\n").repeat(2_000);
        workspace.write(&format!("part_{number}.txt"), &text);
    }
    workspace
}

#[test]
fn a_long_search_fills_the_helpers_context_and_not_the_members() {
    let workspace = haystack();
    let read = |number: usize| ("read_file", json!({"path": format!("part_{number}.txt")}));
    workspace.script(
        "alice",
        [
            explore(),
            ServerReply::calls((0..3).map(read)),
            ServerReply::calls((3..6).map(read)),
            call("write_file", json!({"path": "a.txt", "content": "x"})),
            say(ANSWER),
            say("Found."),
        ],
    );
    let prompt = "Find the needle.";
    // A helper can only read, so a member whose plan is not approved may have one.
    workspace.spawn("alice", &["--require-plan", "--prompt", prompt]);
    assert_eq!(workspace.wait_reports("alice", 1), ["Found."]);
    let requests = workspace.server.requests("alice");
    let (helper, member): (Vec<_>, Vec<_>) = requests.iter().partition(|r| is_helper(r));
    assert_eq!((helper.len(), member.len()), (4, 2));
    let size = |request: &CapturedRequest| request.raw_body().len();
    assert!(
        size(helper[3]) - size(helper[0]) > 60_000,
        "it has read much"
    );
    assert!(
        size(member[1]) - size(member[0]) < 2_000,
        "the member has the answer only"
    );
    assert!(member[1].last_text().contains(ANSWER));
    for name in helper[0].tool_names() {
        let only_reads = ["read_file", "grep", "glob", "list_dir", "bash"];
        assert!(only_reads.contains(&name), "{name}");
    }
    assert!(helper[3].last_text().contains("Unknown tool: write_file"));
    let asked =
        |event: &&serde_json::Value| event["event"] == "model" && event["member"] == "alice";
    assert_eq!(workspace.events().iter().filter(asked).count(), 6);
    let live = workspace.live("alice").unwrap();
    assert_eq!(live.usage.unwrap().calls, 6, "its calls are the member's");
    assert!(workspace.log("alice").contains("explore > read_file"));
    workspace.end();
}

/// A server whose helper never stops searching.
fn endless_helper(workspace: &Workspace, tokens: u64) -> Arc<Mutex<Vec<CapturedRequest>>> {
    let requests: Arc<Mutex<Vec<CapturedRequest>>> = Arc::default();
    let seen = Arc::clone(&requests);
    workspace.server.decide("alice", move |request| {
        let (helps, text) = (is_helper(&request), request.last_text());
        seen.lock().unwrap().push(request);
        match helps {
            true => call("list_dir", json!({})).usage(tokens, 1, 0, 0),
            false if text.contains("Find the needle.") => explore(),
            false => say("It was not found."),
        }
    });
    requests
}

/// How often the helper was asked, what it was told last, and what came of it.
fn ended(requests: &Mutex<Vec<CapturedRequest>>) -> (usize, String, String) {
    let requests = requests.lock().unwrap();
    let helper: Vec<_> = requests
        .iter()
        .filter(|request| is_helper(request))
        .collect();
    let told = helper.last().unwrap().last_text();
    (helper.len(), told, requests.last().unwrap().last_text())
}

#[test]
fn a_helper_that_does_not_stop_ends_at_its_limit_of_rounds() {
    let workspace = Workspace::new();
    let requests = endless_helper(&workspace, 1_000);
    workspace.spawn("alice", &["--prompt", "Find the needle."]);
    assert_eq!(workspace.wait_reports("alice", 1), ["It was not found."]);
    let (asked, told, result) = ended(&requests);
    assert_eq!(asked, 40);
    assert!(told.contains("This is your last round."), "{told}");
    assert!(result.contains("limit of rounds"), "{result}");
    workspace.end();
}

#[test]
fn a_helper_that_reads_too_much_ends_at_its_limit_of_tokens() {
    let workspace = Workspace::new();
    let requests = endless_helper(&workspace, 600_000);
    workspace.spawn("alice", &["--prompt", "Find the needle."]);
    assert_eq!(workspace.wait_reports("alice", 1), ["It was not found."]);
    let (asked, _, result) = ended(&requests);
    assert_eq!(asked, 3, "1,800,000 tokens are more than 1,500,000");
    assert!(result.contains("limit of tokens"), "{result}");
    workspace.end();
}

#[test]
fn a_cheaper_model_searches_if_one_is_set_and_is_paid_at_its_price() {
    let workspace = Workspace::with_config(
        "explore_model = 'anthropic:small'\n[models.test]\nprice = { input = 100, output = 100 }\n\
         [models.small]\nprice = { input = 1, output = 1 }\n",
    );
    workspace.script(
        "alice",
        [
            explore().usage(0, 10_000, 0, 0),
            say(ANSWER).usage(0, 1_000_000, 0, 0),
            say("Found.").usage(0, 10_000, 0, 0),
        ],
    );
    workspace.spawn("alice", &["--prompt", "Find the needle."]);
    assert_eq!(workspace.wait_reports("alice", 1), ["Found."]);
    let requests = workspace.server.requests("alice");
    let models: Vec<_> = requests.iter().map(CapturedRequest::model).collect();
    assert_eq!(models, ["test", "small", "test"]);
    let shown = workspace.json(&["costs", "--by", "model"]);
    let cost = |name: &str| {
        let lines = shown["costs"].as_array().unwrap();
        let line = lines.iter().find(|line| line["model"] == name).unwrap();
        line["cost"].as_f64().unwrap()
    };
    let costs = (cost("anthropic:test"), cost("anthropic:small"));
    assert_eq!(costs, (2.0, 1.0), "{shown}");
    let events = workspace.events();
    let costs = events.iter().filter(|event| event["event"] == "model");
    let costs: Vec<_> = costs.map(|event| event["cost"].as_f64().unwrap()).collect();
    assert_eq!(costs, [1.0, 1.0, 1.0], "the event log has the same prices");
    workspace.end();
}

/// The member's model has not seen what the helper read, so it may not replace it.
#[test]
fn what_only_the_helper_has_read_is_not_replaced() {
    let workspace = haystack();
    let write = json!({"path": "part_0.txt", "content": "x"});
    workspace.script(
        "alice",
        [
            explore(),
            call("read_file", json!({"path": "part_0.txt"})),
            say(ANSWER),
            call("write_file", write),
            say("It did not work."),
        ],
    );
    workspace.spawn("alice", &["--prompt", "Replace the hay."]);
    workspace.wait_reports("alice", 1);
    let told = workspace.server.last_request("alice").last_text();
    assert!(told.contains("you have not read it"), "{told}");
    let left = std::fs::read_to_string(workspace.path().join("part_0.txt")).unwrap();
    assert!(left.starts_with("hay 0"));
    workspace.end();
}

#[test]
fn a_helper_ends_with_its_member_and_counts_as_interrupted() {
    let workspace = haystack();
    let gate = Gate::new();
    workspace.script("alice", [explore(), say("Too late.").gate_head(&gate)]);
    workspace.spawn("alice", &["--prompt", "Find the needle."]);
    gate.wait_until_reached(LIMIT);
    workspace.kill9("alice");
    workspace.script("alice", [say("I begin again.")]);
    workspace.restart("alice");
    assert_eq!(workspace.wait_reports("alice", 1), ["I begin again."]);
    let last = workspace.server.last_request("alice");
    assert!(!is_helper(&last));
    assert!(last.last_text().contains("interrupted, outcome unknown"));
    workspace.end();
}

#[test]
fn a_member_stops_while_its_helper_waits_for_the_model() {
    let workspace = haystack();
    let gate = Gate::new();
    workspace.script("alice", [explore(), say("Too late.").gate_head(&gate)]);
    let mut alice = workspace.start_teammate("alice");
    workspace.ok(&["send", "alice", "Find the needle."]);
    gate.wait_until_reached(LIMIT);
    let live = workspace.live("alice").unwrap();
    assert_eq!(live.activity.unwrap().name, "explore");
    alice.terminate();
    assert_eq!(alice.wait(LIMIT).code(), Some(0));
    workspace.check_gone();
}
