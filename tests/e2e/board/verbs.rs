//! Each verb, its words, its objects and its exit codes.

use super::board;
use crate::harness::Workspace;
use serde_json::{Value, json};

/// Setup, then code and documentation, then a release for testers.
fn diamond(workspace: &Workspace) {
    workspace.task(&["create", "Setup"]);
    workspace.task(&[
        "create",
        "Write code",
        "--blocked-by",
        "1",
        "--priority",
        "8",
    ]);
    workspace.task(&["create", "Write docs", "--blocked-by", "#1"]);
    workspace.task(&[
        "create",
        "Release",
        "--blocked-by",
        "2,3",
        "--role",
        "tester",
    ]);
}

#[test]
fn from_an_empty_board_to_the_last_task() {
    let workspace = board();
    assert_eq!(workspace.task(&["list"]), "No tasks.");
    assert_eq!(workspace.task_json(&["list"]), json!({"tasks": []}));
    diamond(&workspace);
    let wanted = "[ ] #1: Setup\n\
        [ ] #2: Write code (blocked by: [1])\n\
        [ ] #3: Write docs (blocked by: [1])\n\
        [ ] #4: Release (blocked by: [2, 3])";
    assert_eq!(workspace.task(&["list"]), wanted);
    assert_eq!(workspace.task(&["claim", "1"]), "Claimed task #1 for user");
    assert_eq!(
        workspace.task(&["list", "--status", "in_progress"]),
        "[>] #1: Setup @user"
    );
    assert_eq!(
        workspace.task(&["complete", "1", "--result", "It stands."]),
        "Completed task #1; now ready: #2, #3"
    );
    let tasks = workspace.task_json(&["list"]);
    let ready = tasks["tasks"].as_array().unwrap().iter();
    let ready: Vec<&Value> = ready.filter(|task| task["ready"] == true).collect();
    assert_eq!((ready.len(), &ready[0]["id"]), (2, &json!(2)));
    assert_eq!(ready[0]["blockedBy"], json!([1]));
    let done = ["update", "2", "--status", "completed", "--note", "by hand"];
    assert_eq!(workspace.task(&done), "Updated [x] #2: Write code");
    workspace.task(&["complete", "3"]);
    workspace.task(&["complete", "4"]);
    assert!(workspace.task(&["list", "--status", "pending"]) == "No tasks.");
}

#[test]
fn a_task_tells_its_whole_story() {
    let workspace = board();
    let create = ["create", "Setup", "--description", "All of it.\nSoon."];
    let created = workspace.task_json(&create);
    assert_eq!(
        (&created["id"], &created["status"]),
        (&json!(1), &json!("pending"))
    );
    workspace.task(&["claim", "1"]);
    workspace.task(&["update", "1", "--note", "half done"]);
    workspace.task(&["release", "1", "--why", "lunch"]);
    workspace.task(&["complete", "1", "--result", "It stands."]);
    let shown = workspace.task(&["show", "1"]);
    let story = [
        "created by user",
        "claimed by user",
        "noted by user: half done",
        "released by user: lunch",
        "completed by user",
    ];
    let places: Vec<Option<usize>> = story.iter().map(|words| shown.find(words)).collect();
    assert!(places.iter().all(Option::is_some), "{shown}");
    assert!(places.is_sorted(), "{shown}");
    for words in [
        "    All of it.\n    Soon.",
        "    It stands.",
        "status: completed",
    ] {
        assert!(shown.contains(words), "{shown}");
    }
    let object = workspace.task_json(&["show", "1"]);
    assert_eq!(object["history"].as_array().unwrap().len(), 5);
    let on_disk = std::fs::read(workspace.team().layout().task(protocol::TaskId(1))).unwrap();
    assert_eq!(object, serde_json::from_slice::<Value>(&on_disk).unwrap());
}

#[test]
fn refusals_have_reasons_hints_and_exit_codes() {
    let workspace = board();
    diamond(&workspace);
    let (code, words) = workspace.task_refused(&["show", "9"]);
    assert_eq!(code, 3);
    assert_eq!(words, "error: Task 9 not found\nnext: team-lead task list");
    for verb in ["claim", "release", "complete", "delete", "update"] {
        assert_eq!(workspace.task_refused(&[verb, "9"]).0, 3, "{verb}");
    }
    let refused = |args: &[&str], wanted: &str| {
        let (code, words) = workspace.task_refused(args);
        assert_eq!(code, 1, "{words}");
        assert!(words.contains(wanted), "{words}");
    };
    refused(&["claim", "2"], "blocked by [1]");
    refused(&["claim", "2"], "next: team-lead task show 2");
    refused(&["complete", "4"], "blocked by [2, 3]");
    refused(&["update", "1", "--blocked-by", "1"], "itself");
    refused(&["update", "1", "--blocked-by", "4"], "1 -> 4 -> 2 -> 1");
    refused(
        &["update", "1", "--unblock", "4"],
        "does not wait for task 4",
    );
    refused(&["update", "1"], "say what to change");
    refused(&["update", "1", "--result", "x"], "status completed");
    refused(&["delete", "1"], "[2, 3] wait for it");
    refused(&["release", "1"], "nothing to release");
    refused(&["create", " "], "subject is empty");
    refused(&["claim", "1", "--as", "alice"], "alice is not running");
    workspace.task(&["claim", "1"]);
    refused(&["claim"], "user has task 1 in progress");
    for args in [
        &["update", "1", "--status", "done"][..],
        &["create", "x", "--priority", "11"],
        &["create", "x", "--blocked-by", "one"],
        &["show"],
    ] {
        assert_eq!(workspace.task_refused(args).0, 2, "{args:?}");
    }
    assert_eq!(workspace.task_refused(&["claim", "--as", "nobody"]).0, 3);
    let (code, words) = workspace.task_refused(&["show", "9", "--json"]);
    let error: Value = serde_json::from_str(&words).unwrap();
    assert_eq!((code, &error["error"]["kind"]), (3, &json!("unknown_task")));
}

#[test]
fn a_person_can_play_a_member_that_runs() {
    let workspace = board();
    diamond(&workspace);
    let alice = workspace.join("alice");
    assert_eq!(
        workspace.task(&["claim", "--as", "Alice"]),
        "Claimed task #1 for alice"
    );
    let task = workspace.task_json(&["show", "1"]);
    assert_eq!(task["owner_incarnation"], json!(1));
    let (code, words) = workspace.task_refused(&["complete", "1", "--as", "bob"]);
    assert_eq!(code, 1);
    assert!(words.contains("belongs to alice"), "{words}");
    workspace.task(&["complete", "1", "--as", "alice"]);
    workspace.task(&["complete", "3"]);
    workspace.task(&["claim", "2", "--as", "alice"]);
    drop(alice);
    // Alice is gone, and whoever looks first gives her task back.
    let listed = workspace.task(&["list"]);
    assert!(listed.contains("[ ] #2: Write code\n"), "{listed}");
    let _bob = workspace.join("bob");
    workspace.task(&["complete", "2"]);
    assert_eq!(
        workspace.task(&["claim", "--as", "bob"]),
        "Claimed task #4 for bob"
    );
}

#[test]
fn the_graph_in_every_language() {
    let workspace = board();
    assert_eq!(workspace.task(&["graph"]), "No tasks.");
    diamond(&workspace);
    workspace.task(&["complete", "1"]);
    let wanted = "Step 1\n  [x] #1: Setup\n\
        Step 2\n  [ ] #2: Write code  <- #1\n  [ ] #3: Write docs  <- #1\n\
        Step 3\n  [ ] #4: Release  <- #2, #3";
    assert_eq!(workspace.task(&["graph"]), wanted);
    let dot = workspace.task(&["graph", "--format", "dot"]);
    assert!(
        dot.starts_with("digraph tasks {") && dot.contains("t2 -> t4;"),
        "{dot}"
    );
    let mermaid = workspace.task(&["graph", "--format", "mermaid"]);
    assert!(
        mermaid.starts_with("graph LR") && mermaid.contains("t3 --> t4"),
        "{mermaid}"
    );
    let object = workspace.task_json(&["graph"]);
    assert_eq!(object["nodes"].as_array().unwrap().len(), 4);
    assert_eq!(object["edges"][0], json!({"from": 1, "to": 2}));
}

#[test]
fn tasks_change_and_go_but_numbers_stay_used() {
    let workspace = board();
    diamond(&workspace);
    let change = [
        "update",
        "4",
        "--subject",
        "Ship it",
        "--priority",
        "9",
        "--unblock",
        "2,3",
    ];
    assert_eq!(workspace.task(&change), "Updated [ ] #4: Ship it");
    assert_eq!(workspace.task(&["delete", "4"]), "Deleted task #4");
    assert_eq!(workspace.task(&["create", "Next"]), "Created task #5");
    // A file that another program broke is said, and hinders nobody.
    std::fs::write(workspace.team().layout().task(protocol::TaskId(5)), "{").unwrap();
    let run = workspace.run_task(&["list"]);
    assert!(run.code == 0 && run.err.contains("task_5.json"), "{run:?}");
    assert_eq!(workspace.task(&["claim", "1"]), "Claimed task #1 for user");
}
