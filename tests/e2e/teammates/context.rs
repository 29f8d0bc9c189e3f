//! What consecutive requests have in common: all that came before, byte by byte, so that the provider
//! has it in its cache.

use crate::harness::{KEY, LIMIT, Run, Workspace, bash, call, say};
use protocol::RequestKind;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex};
use test_support::llm_server::{CapturedRequest, ServerReply};
use test_support::wait_until;

/// The window of the model in tokens, small enough for a clearing and a compaction.
const WINDOW: u64 = 24_000;
const MARK: &str = r#","cache_control":{"type":"ephemeral"}"#;
/// What the model does in its turns, without the answers to requests for a summary.
const STEPS: usize = 19;

/// The replies of the model, by how often it was asked.
fn step(number: usize, inbox: &Path) -> ServerReply {
    match number {
        0 => call("plan_approval", json!({"plan": "Look, then write."})),
        1 => say("I wait."),
        3 => call(
            "todo",
            json!({"items": [{"text": "Paint the door", "status": "pending"}]}),
        ),
        // The plan was approved. Mail comes while a command runs.
        4 => {
            let line = json!({"type": "message", "from": "bob", "content": "The door is blue."});
            let mut file = fs::OpenOptions::new()
                .create(true)
                .append(true)
                .open(inbox)
                .unwrap();
            writeln!(file, "{line}").unwrap();
            bash("echo with mail")
        }
        // The task is claimed when the first work is done.
        11 => say("The first work is done."),
        14 => call("compact", json!({})),
        16 => call(
            "task_update",
            json!({"task_id": 1, "status": "completed", "result": "It stands."}),
        ),
        17 => say("All is done."),
        18 => say("Green it is."),
        _ => bash(&format!("yes {number} | head -c 4000")),
    }
}

/// All requests of a session on one wire.
fn session(model: &str) -> Vec<CapturedRequest> {
    let workspace = Workspace::new();
    let inbox = workspace.path().join(".team/inbox/alice.jsonl");
    let requests: Arc<Mutex<Vec<CapturedRequest>>> = Arc::default();
    let seen = Arc::clone(&requests);
    workspace.server.decide("alice", move |request| {
        let size = request.raw_body().len() as u64 / 4;
        let mut seen = seen.lock().unwrap();
        let number = seen
            .iter()
            .filter(|asked| !asked.asks_for_summary())
            .count();
        let is_summary = request.asks_for_summary();
        seen.push(request);
        let reply = match is_summary {
            true => ServerReply::summary("A house is built."),
            false => step(number, &inbox),
        };
        reply.usage(size, 20, 0, 0)
    });
    let asked = || {
        let requests = requests.lock().unwrap();
        requests
            .iter()
            .filter(|asked| !asked.asks_for_summary())
            .count()
    };
    let prompt = "Build a house with a blue door.";
    let mut spawn = workspace.spawn_command(
        "alice",
        "coder",
        &["--model", model, "--require-plan", "--prompt", prompt],
    );
    spawn
        .env("OPENAI_API_KEY", KEY)
        .env("OPENAI_BASE_URL", workspace.server.openai_base_url("alice"))
        .env("TEAM_WINDOW", WINDOW.to_string());
    let run = Run::of(&mut spawn);
    assert_eq!(run.code, 0, "{run:?}");
    let plan = workspace.pending(RequestKind::Plan);
    wait_until("the end of the first turn", LIMIT, || asked() == 2);
    workspace.ok(&[
        "task",
        "create",
        "Build the roof",
        "--description",
        "Of red tiles.",
    ]);
    workspace.ok(&["approve", plan.id.as_str()]);
    wait_until("the end of the work", LIMIT, || asked() == STEPS - 1);
    workspace.wait_reports("alice", 1);
    workspace.ok(&["send", "alice", "Make it green."]);
    wait_until("the answer to the person", LIMIT, || asked() == STEPS);
    workspace.wait_reports("alice", 2);
    let asked = requests.lock().unwrap().clone();
    workspace.end();
    asked
}

/// The body without the marks of the cache, which move, and without the end of the list of messages.
fn content(request: &CapturedRequest) -> String {
    let body = String::from_utf8(request.raw_body().to_vec()).unwrap();
    let body = body.replace(MARK, "");
    body.strip_suffix("]}").unwrap().to_owned()
}

/// How often a text of the program stands in a request.
fn count(request: &CapturedRequest, text: &str) -> usize {
    content(request).matches(text).count()
}

/// The texts behind the last reply of the model that are no results of tools.
fn new_texts(request: &CapturedRequest) -> Vec<String> {
    let from = request
        .messages()
        .iter()
        .rposition(|message| message["role"] == "assistant" || message["type"] == "function_call");
    let new = &request.messages()[from.map_or(0, |at| at + 1)..];
    let users = new.iter().filter(|message| message["role"] == "user");
    let contents = users.flat_map(|message| match &message["content"] {
        Value::String(text) => vec![text.clone()],
        Value::Array(blocks) => {
            let texts = blocks.iter().filter_map(|block| block["text"].as_str());
            texts.map(str::to_owned).collect()
        }
        _ => Vec::new(),
    });
    contents.collect()
}

fn check(requests: &[CapturedRequest]) {
    let first = &requests[0];
    let (mut clearings, mut compactions) = (0, 0);
    for (at, pair) in requests.windows(2).enumerate() {
        let (before, now) = (&pair[0], &pair[1]);
        assert_eq!(now.tools(), first.tools(), "request {}", at + 1);
        assert_eq!(now.system_text(), first.system_text(), "request {}", at + 1);
        let is_cleared = count(now, "[Cleared: ") > count(before, "[Cleared: ");
        let is_compacted = before.asks_for_summary();
        clearings += usize::from(is_cleared);
        compactions += usize::from(is_compacted);
        let is_kept = content(now).starts_with(&content(before));
        assert_eq!(is_kept, !is_cleared && !is_compacted, "request {}", at + 1);
    }
    assert!((1..=3).contains(&clearings), "{clearings}");
    assert_eq!(compactions, 1);
}

fn check_reminders(requests: &[CapturedRequest]) {
    let told = |request: &CapturedRequest| {
        let texts = new_texts(request).join("\n");
        texts.matches("<team-state>").count()
    };
    let mut with_reminder = BTreeSet::new();
    for (at, request) in requests.iter().enumerate() {
        if told(request) > 0 {
            with_reminder.insert(at);
            let texts = new_texts(request).concat();
            assert!(!texts.starts_with("<team-state>"), "request {at}: {texts}");
        }
    }
    let plan = requests
        .iter()
        .position(|request| count(request, "is approved.") > 0);
    let mail = requests
        .iter()
        .position(|request| count(request, "The door is blue.") > 0);
    let summary = requests.iter().position(CapturedRequest::asks_for_summary);
    // A task that is claimed is told with its text, and its end is what the model did itself.
    let expected = [Some(0), plan, mail, summary.map(|at| at + 1)];
    let expected: BTreeSet<usize> = expected.into_iter().map(Option::unwrap).collect();
    assert_eq!(with_reminder, expected);
}

#[test]
fn a_request_begins_with_the_bytes_of_the_one_before_on_every_wire() {
    for model in [
        "anthropic:test",
        "openai-chat:test",
        "openai-responses:test",
    ] {
        let requests = session(model);
        check(&requests);
        check_reminders(&requests);
        let summary = requests.iter().position(CapturedRequest::asks_for_summary);
        for request in &requests[summary.unwrap() + 1..] {
            let text = content(request);
            assert!(text.contains("Build a house with a blue door."), "{text}");
            assert!(text.contains("[ ] Paint the door"), "{text}");
            let is_held = !text.contains("It stands.");
            assert!(text.contains("Of red tiles.") || !is_held, "{text}");
        }
    }
}
