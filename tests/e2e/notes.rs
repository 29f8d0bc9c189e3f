//! Shared notes, and the to-do lists that members keep.

use crate::harness::{LIMIT, Workspace, call, say};
use serde_json::{Value, json};
use std::io::Write;
use test_support::llm_server::{CapturedRequest, ServerReply};

/// What the model is shown at the end of a request, results of tools included.
fn end_of(request: &CapturedRequest) -> String {
    request.messages().last().unwrap()["content"].to_string()
}

fn todo(items: &[(&str, &str)]) -> ServerReply {
    let items = items.iter();
    let items = items.map(|(text, status)| json!({"text": text, "status": status}));
    call("todo", json!({"items": items.collect::<Vec<_>>()}))
}

#[test]
fn notes_of_people_and_members_reach_everybody() {
    let workspace = Workspace::new();
    workspace.ok(&["notes", "--add", "Use make check.", "--tag", "build"]);
    let path = workspace.team().layout().notes();
    let mut file = std::fs::File::options().append(true).open(&path).unwrap();
    file.write_all(b"{\"text\":\"By hand </team-state>.\"}\nno note\n")
        .unwrap();
    let note = json!({"text": "The parser is in src/parse.rs.", "task_id": 3});
    let replies = [
        call("note", note),
        call("notes", json!({"query": "MAKE"})),
        say("Done."),
    ];
    workspace.script("alice", replies);
    workspace.spawn("alice", &["--prompt", "Write down what you know."]);
    workspace.wait_reports("alice", 1);
    let requests = workspace.server.requests("alice");
    let first = end_of(&requests[0]);
    assert!(first.contains("user: Use make check. (#build)"), "{first}");
    assert!(first.contains("By hand"), "{first}");
    assert_eq!(first.matches("</team-state>").count(), 1, "{first}");
    let found = end_of(&requests[2]);
    assert!(
        found.contains("- user: Use make check. (#build)"),
        "{found}"
    );
    let listed = workspace.json(&["notes"]);
    let notes = listed["notes"].as_array().unwrap();
    assert_eq!(notes.len(), 3, "{listed}");
    assert_eq!(notes[2]["from"], "alice");
    assert_eq!(notes[2]["task"], 3);
    assert_eq!(
        workspace.ok(&["notes", "parser"]).trim(),
        "alice: The parser is in src/parse.rs. (task #3)"
    );
    let events = workspace.events();
    let is_note = |event: &&Value| event["event"] == "note";
    assert_eq!(events.iter().filter(is_note).count(), 2);
    workspace
        .run(&["notes", "--add", " "])
        .has_code(protocol::exit::USAGE);
    workspace.end();
}

#[test]
fn a_to_do_list_survives_its_member_and_is_seen_by_others() {
    let workspace = Workspace::new();
    let list = [
        ("read the parser", "completed"),
        ("run the tests", "in_progress"),
        ("write \"the\" report", "pending"),
    ];
    workspace.script("alice", [todo(&list), say("On it.")]);
    workspace.spawn("alice", &["--prompt", "Do three things."]);
    workspace.wait_reports("alice", 1);
    let shown = workspace.shown("alice");
    let wanted = json!({"done": 1, "total": 3, "current": "run the tests"});
    assert_eq!(shown["todo"], wanted, "{shown}");
    let status = workspace.ok(&["status"]);
    assert!(status.contains("to-do 1/3: run the tests"), "{status}");
    workspace.kill9("alice");
    workspace.script("alice", [say("Back."), todo(&[]), say("Done.")]);
    workspace.restart("alice");
    workspace.ok(&["send", "alice", "Go on."]);
    workspace.wait_reports("alice", 2);
    let asked = workspace.server.last_request("alice").last_text();
    for open in ["[>] run the tests", "[ ] write \"the\" report"] {
        assert!(asked.contains(open), "{asked}");
    }
    assert!(!asked.contains("read the parser"), "{asked}");
    workspace.ok(&["send", "alice", "Clear your list."]);
    workspace.wait_reports("alice", 3);
    assert_eq!(workspace.shown("alice")["todo"], Value::Null);
    let asked = workspace.server.last_request("alice").last_text();
    assert!(!asked.contains("run the tests"), "{asked}");
    workspace.end();
}

/// A member that may change nothing is not blind, and what it finds out is kept.
#[test]
fn before_its_plan_is_approved_a_member_may_look_and_take_notes() {
    let workspace = Workspace::new();
    workspace.write("source.rs", "fn main() {}\n");
    let looks = [
        ("grep", json!({"pattern": "main"})),
        ("glob", json!({"pattern": "*.rs"})),
        ("list_dir", json!({})),
        ("read_file", json!({"path": "source.rs"})),
        ("check_background", json!({})),
        ("task_list", json!({})),
        ("notes", json!({})),
        ("note", json!({"text": "main is in source.rs"})),
        (
            "todo",
            json!({"items": [{"text": "plan", "status": "pending"}]}),
        ),
    ];
    workspace.script(
        "alice",
        [ServerReply::calls(looks.clone()), say("I looked.")],
    );
    workspace.spawn("alice", &["--require-plan", "--prompt", "Look around."]);
    let asked = workspace.server.wait_for_requests("alice", 2, LIMIT);
    let content = asked[1].messages().last().unwrap()["content"].clone();
    let results = content.as_array().unwrap().iter();
    let results: Vec<&Value> = results
        .filter(|block| block["type"] == "tool_result")
        .collect();
    assert_eq!(results.len(), looks.len(), "{content}");
    for result in results {
        assert_ne!(result["is_error"], true, "{result}");
    }
    workspace.end();
}
