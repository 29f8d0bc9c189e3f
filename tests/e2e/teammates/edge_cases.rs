//! Edge cases of tasks and mail: a task that nobody can do, a task that is held while its owner waits, and
//! input that must not make a member loop.

use crate::harness::{LIMIT, Workspace, call, say};
use protocol::{Phase, TaskId, TaskStatus};
use serde_json::json;
use std::fs::OpenOptions;
use std::io::Write;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use test_support::llm_server::ServerReply;
use test_support::wait_until;

fn status(workspace: &Workspace, number: u64) -> TaskStatus {
    workspace.team().task(TaskId(number)).unwrap().status
}

/// Whether a request of a member's model contains the text.
fn heard(workspace: &Workspace, name: &str, words: &str) -> bool {
    let requests = workspace.server.requests(name);
    requests
        .iter()
        .any(|asked| asked.last_text().contains(words))
}

/// How often a member entered the phase `working`.
fn turns(workspace: &Workspace, name: &str) -> usize {
    let events = workspace.events();
    let begun = events.iter().filter(|event| {
        event["event"] == "state" && event["member"] == name && event["phase"] == "working"
    });
    begun.count()
}

/// A team with alice, who is idle and answers everything with `Heard.`
fn idle_alice() -> Workspace {
    let workspace = Workspace::new();
    workspace.server.always("alice", say("Heard."));
    workspace.spawn("alice", &[]);
    workspace.wait_phase("alice", Phase::Idle);
    workspace
}

/// The inbox of a member that waits for mail.
fn watched_inbox(workspace: &Workspace, name: &str) -> PathBuf {
    let inbox = workspace.team().layout().inbox(&name.parse().unwrap());
    wait_until("it waits for mail", LIMIT, || inbox.exists());
    inbox
}

#[track_caller]
fn wait_until_heard(workspace: &Workspace, name: &str, words: &str) {
    wait_until(words, LIMIT, || heard(workspace, name, words));
}

/// Replies that complete a task and then say this.
fn complete_and_say(task: u64, text: &str) -> [ServerReply; 2] {
    let complete = json!({"task_id": task, "status": "completed"});
    [call("task_update", complete), say(text)]
}

#[track_caller]
fn wait_until_done(workspace: &Workspace, tasks: RangeInclusive<u64>) {
    wait_until("the tasks are done", LIMIT, || {
        let mut tasks = tasks.clone();
        tasks.all(|task| status(workspace, task) == TaskStatus::Completed)
    });
}

#[test]
fn a_task_that_nobody_can_do_goes_through_each_hand_once() {
    let workspace = Workspace::new();
    for name in ["alice", "bob"] {
        workspace.server.always(name, say("I only talk."));
        workspace.spawn(name, &[]);
    }
    workspace.ok(&["task", "create", "Square the circle"]);
    wait_until("both gave it back", LIMIT, || {
        let task = workspace.team().task(TaskId(1)).unwrap();
        let back = task.history.iter().filter(|line| line.action == "released");
        back.count() == 2
    });
    workspace.ok(&["wait", "--timeout", "90"]);
    assert_eq!(status(&workspace, 1), TaskStatus::Pending);
    for name in ["alice", "bob"] {
        // Once for the task, once for its outcome.
        assert_eq!(workspace.server.requests(name).len(), 2, "{name}");
    }
    workspace.end();
}

#[test]
fn a_turn_that_is_ended_on_purpose_does_not_leave_a_task_in_hand() {
    let workspace = Workspace::new();
    workspace.script("alice", [call("idle", json!({}))]);
    workspace.script("alice", complete_and_say(1, "Done."));
    workspace.spawn("alice", &[]);
    workspace.ok(&["task", "create", "Something"]);
    wait_until_done(&workspace, 1..=1);
    let asked = workspace.server.requests("alice")[1].last_text();
    assert!(asked.contains("<task-outcome>"), "{asked}");
    workspace.wait_phase("alice", Phase::Idle);
    workspace.end();
}

#[test]
fn a_member_that_is_restarted_in_the_middle_of_its_task_gets_it_back() {
    let workspace = Workspace::new();
    let wait = json!({"command": "touch began; sleep 600"});
    workspace.script("alice", [call("bash", wait)]);
    workspace.spawn("alice", &[]);
    workspace.ok(&["task", "create", "Something long"]);
    wait_until("the command runs", LIMIT, || {
        workspace.path().join("began").exists()
    });
    workspace.script("alice", complete_and_say(1, "Done."));
    workspace.restart("alice");
    wait_until_done(&workspace, 1..=1);
    workspace.wait_phase("alice", Phase::Idle);
    let results = workspace.server.requests("alice");
    assert!(
        results
            .iter()
            .all(|asked| !asked.last_text().contains("claim it first")),
        "it holds the task again before it goes on"
    );
    workspace.end();
}

#[test]
fn a_member_that_waits_for_its_plan_keeps_its_task_and_takes_no_other() {
    let workspace = Workspace::new();
    workspace.script(
        "alice",
        [
            call("plan_approval", json!({"plan": "Do it."})),
            say("Waiting."),
        ],
    );
    workspace.spawn("alice", &["--require-plan"]);
    for subject in ["First", "Second", "Third"] {
        workspace.ok(&["task", "create", subject]);
    }
    workspace.wait_phase("alice", Phase::Waiting);
    assert_eq!(status(&workspace, 1), TaskStatus::InProgress);
    assert_eq!(status(&workspace, 2), TaskStatus::Pending);
    for (task, text) in [(1, "One."), (2, "Two."), (3, "Three.")] {
        workspace.script("alice", complete_and_say(task, text));
    }
    workspace.decide("alice", &["approve", "alice"]);
    wait_until_done(&workspace, 1..=3);
    workspace.end();
}

#[test]
fn a_plan_can_be_required_of_a_running_member() {
    let workspace = Workspace::new();
    let write = json!({"path": "hacked.txt", "content": "x"});
    workspace.script("alice", [call("write_file", write), say("Refused.")]);
    workspace.spawn("alice", &[]);
    workspace.wait_phase("alice", Phase::Idle);
    workspace.spawn("alice", &["--require-plan", "--prompt", "Write it."]);
    let requests = workspace.server.wait_for_requests("alice", 2, LIMIT);
    assert!(requests[1].last_text().contains("approved plan"));
    assert!(!workspace.path().join("hacked.txt").exists());
    workspace.end();
}

#[test]
fn half_a_line_in_an_inbox_costs_nothing_and_waits_for_its_end() {
    let workspace = idle_alice();
    let inbox = watched_inbox(&workspace, "alice");
    let mut file = OpenOptions::new().append(true).open(inbox).unwrap();
    file.write_all(br#"{"type":"message","from":"bob","#)
        .unwrap();
    // A message by another way shows that it is awake and has looked at the half line.
    workspace.ok(&["task", "create", "Wake up", "--role", "coder"]);
    wait_until("it has worked", LIMIT, || {
        !workspace.server.requests("alice").is_empty()
    });
    workspace.ok(&["wait", "--timeout", "90"]);
    let before = turns(&workspace, "alice");
    file.write_all(b"\"content\":\"the whole line\"}\n")
        .unwrap();
    wait_until_heard(&workspace, "alice", "the whole line");
    assert!(turns(&workspace, "alice") <= before + 2, "it does not spin");
    workspace.end();
}

#[test]
fn an_inbox_that_was_removed_is_watched_again() {
    let workspace = idle_alice();
    let inbox = watched_inbox(&workspace, "alice");
    std::fs::remove_file(&inbox).unwrap();
    workspace.ok(&["send", "alice", "after the removal"]);
    wait_until_heard(&workspace, "alice", "after the removal");
    workspace.end();
}

#[test]
fn a_line_for_an_incarnation_that_does_not_exist_ends_nobody() {
    let workspace = idle_alice();
    let line = json!({"type": "message", "from": "bob", "content": "x", "to_incarnation": 99});
    workspace.write_line("alice", &line);
    wait_until_heard(&workspace, "alice", "an incarnation that does not exist");
    workspace.wait_phase("alice", Phase::Idle);
    assert_eq!(workspace.incarnation("alice"), 1);
    workspace.end();
}
