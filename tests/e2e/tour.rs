//! The tour that a new user takes: teammates that think, are talked to, killed and brought back.

use crate::harness::{LIMIT, Run, Workspace, recipient, wait_for_text};
use protocol::exit;
use serde_json::Value;
use test_support::{wait_for, wait_until};

const OFFLINE: &[&str] = &["--model", "offline"];

/// The texts of one kind of message in the lead's inbox.
fn messages(workspace: &Workspace, kind: &str) -> Vec<String> {
    let inbox = workspace.run(&["inbox", "--json"]).json();
    let messages = inbox["messages"].as_array().unwrap().iter();
    let messages = messages.filter(|message| message["type"] == kind);
    let text = |message: &Value| message["content"].as_str().unwrap_or_default().to_owned();
    messages.map(text).collect()
}

/// The words that were said to a member's model.
fn said(workspace: &Workspace, name: &str) -> String {
    let mut said = String::new();
    let read = workspace.team().read_journal(&recipient(name), |bytes, _| {
        let record: Value = serde_json::from_slice(bytes).unwrap();
        if record["kind"] == "user" {
            said.push_str(&record["messages"].to_string());
        }
    });
    read.unwrap();
    said
}

fn pending_plan(workspace: &Workspace) -> Value {
    wait_for("a plan that waits", LIMIT, || {
        let found = workspace.run(&["requests", "--json"]).json();
        let requests = found["requests"].as_array().unwrap().iter();
        let mut plans = requests.filter(|r| r["kind"] == "plan" && r["status"] == "pending");
        plans.next().cloned()
    })
}

#[test]
fn mail_reaches_a_member_through_its_death() {
    let workspace = Workspace::new();
    workspace.spawn("alice", OFFLINE);
    assert_eq!(workspace.shown("alice")["state"], "idle");
    workspace
        .run(&["send", "alice", "Write hello to one.txt"])
        .has_code(exit::DONE);
    wait_for_text(&workspace.path().join("one.txt"), "hello");
    workspace.run(&["wait"]).has_code(exit::DONE);
    assert_eq!(messages(&workspace, "idle_notification").len(), 1);

    let pid = workspace.run(&["status", "--pid", "Alice"]);
    assert_eq!(
        pid.has_code(exit::DONE).out,
        format!("{}\n", workspace.shown("alice")["pid"])
    );
    workspace.kill9("alice");
    workspace.wait_state("alice", "dead");
    let pid = workspace.run(&["status", "--pid", "alice"]);
    pid.complains(exit::FAILED, "'alice' is not running", "team-lead status");
    workspace.run(&["wait"]).has_code(exit::TEAM_FAILED);
    workspace
        .run(&["send", "alice", "Write again to two.txt"])
        .has_code(exit::DONE);
    let unread = workspace.run(&["inbox", "alice"]);
    assert_eq!(unread.out, "user (message): Write again to two.txt\n");
    let [notice] = &messages(&workspace, "notice")[..] else {
        panic!("{:?}", messages(&workspace, "notice"));
    };
    assert!(
        notice.contains("alice") && notice.contains("team-lead restart alice"),
        "{notice}"
    );

    workspace.run(&["restart", "alice"]).has_code(exit::DONE);
    wait_for_text(&workspace.path().join("two.txt"), "again");
    workspace.run(&["wait"]).has_code(exit::DONE);
    assert_eq!(workspace.shown("alice")["incarnation"], 2);
    assert_eq!(messages(&workspace, "idle_notification").len(), 2);
    let logs = workspace.run(&["logs", "alice", "-n", "100"]);
    for words in ["incarnation 1", "one.txt", "incarnation 2", "two.txt"] {
        assert!(logs.out.contains(words), "{words} is not in {}", logs.out);
    }
    let run = workspace.run(&["shutdown", "--all", "--wait"]);
    assert!(
        run.has_code(exit::DONE)
            .out
            .ends_with("'alice' agreed and is gone\n"),
        "{run:?}"
    );
    assert_eq!(workspace.shown("alice")["status"], "shutdown");
}

#[test]
fn a_plan_is_rejected_and_then_approved_before_anything_is_changed() {
    let workspace = Workspace::new();
    // The call that it makes at once is refused, so it submits a plan by itself.
    let prompt = "Write hello to one.txt";
    let plan = ["--require-plan", "--prompt", prompt];
    workspace.spawn("alice", &[OFFLINE, &plan].concat());
    let first = pending_plan(&workspace);
    assert_eq!(first["from"], "alice");
    let run = workspace.run(&["reject", "alice", "--feedback", "Say why first."]);
    assert_eq!(run.has_code(exit::DONE).out, "Plan rejected for 'alice'\n");
    assert!(!workspace.path().join("one.txt").exists());
    let second = pending_plan(&workspace);
    assert_ne!(first["request_id"], second["request_id"]);
    assert!(!workspace.path().join("one.txt").exists());
    let id = second["request_id"].as_str().unwrap();
    workspace.run(&["approve", id]).has_code(exit::DONE);
    wait_for_text(&workspace.path().join("one.txt"), "hello");
}

#[test]
fn what_a_person_drained_is_not_shown_to_the_members_next_incarnation() {
    let workspace = Workspace::new();
    workspace.spawn("alice", OFFLINE);
    workspace
        .run(&["shutdown", "alice", "--wait"])
        .has_code(exit::DONE);
    workspace
        .run(&["send", "alice", "Write no to drained.txt"])
        .has_code(exit::DONE);
    let drained = workspace.run(&["inbox", "alice", "--drain"]);
    assert_eq!(
        drained.has_code(exit::DONE).out,
        "user (message): Write no to drained.txt\n"
    );
    workspace
        .run(&["send", "alice", "Write yes to kept.txt"])
        .has_code(exit::DONE);
    workspace.run(&["restart", "alice"]).has_code(exit::DONE);
    wait_for_text(&workspace.path().join("kept.txt"), "yes");
    workspace.run(&["wait"]).has_code(exit::DONE);
    assert!(!workspace.path().join("drained.txt").exists());
    let said = said(&workspace, "alice");
    assert!(
        said.contains("kept.txt") && !said.contains("drained.txt"),
        "{said}"
    );
    assert_eq!(workspace.shown("alice")["incarnation"], 2);
}

#[test]
fn a_teammate_started_by_hand_must_be_known_and_is_one() {
    let workspace = Workspace::with_members(&["alice"]);
    let teammate = |name: &str| Run::of(&mut workspace.teammate_command(name, &[]));
    let before = workspace.listing();
    let unknown = teammate("alcie");
    unknown.has_code(exit::NOT_FOUND);
    assert!(unknown.err.contains("next: "), "{unknown:?}");
    assert_eq!(workspace.listing(), before, "a typo created something");
    workspace.spawn("bob", OFFLINE);
    let second = teammate("Bob");
    second.has_code(exit::HELD);
    let holder = format!("process {}", workspace.shown("bob")["pid"]);
    assert!(second.err.contains(&holder), "{second:?}");
    let again = workspace.run(&["spawn", "bob", "coder"]);
    again.has_code(exit::DONE);
    let members = || workspace.run(&["status", "--json"]).json()["members"].clone();
    wait_until("one bob", LIMIT, || {
        members().as_array().unwrap().len() == 2
    });
}
