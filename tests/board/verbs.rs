//! Each verb, its words, its objects and its exit codes.

use crate::Folder;
use serde_json::{Value, json};

/// Setup, then code and documentation, then a release for testers.
fn diamond(folder: &Folder) {
    folder.ok(&["create", "Setup"]);
    folder.ok(&[
        "create",
        "Write code",
        "--blocked-by",
        "1",
        "--priority",
        "8",
    ]);
    folder.ok(&["create", "Write docs", "--blocked-by", "#1"]);
    folder.ok(&[
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
    let folder = Folder::new();
    assert_eq!(folder.ok(&["list"]), "No tasks.");
    assert_eq!(folder.json(&["list"]), json!({"tasks": []}));
    diamond(&folder);
    let wanted = "[ ] #1: Setup\n\
        [ ] #2: Write code (blocked by: [1])\n\
        [ ] #3: Write docs (blocked by: [1])\n\
        [ ] #4: Release (blocked by: [2, 3])";
    assert_eq!(folder.ok(&["list"]), wanted);
    assert_eq!(folder.ok(&["claim", "1"]), "Claimed task #1 for user");
    assert_eq!(
        folder.ok(&["list", "--status", "in_progress"]),
        "[>] #1: Setup @user"
    );
    assert_eq!(
        folder.ok(&["complete", "1", "--result", "It stands."]),
        "Completed task #1; now ready: #2, #3"
    );
    let tasks = folder.json(&["list"]);
    let ready = tasks["tasks"].as_array().unwrap().iter();
    let ready: Vec<&Value> = ready.filter(|task| task["ready"] == true).collect();
    assert_eq!((ready.len(), &ready[0]["id"]), (2, &json!(2)));
    assert_eq!(ready[0]["blockedBy"], json!([1]));
    let done = ["update", "2", "--status", "completed", "--note", "by hand"];
    assert_eq!(folder.ok(&done), "Updated [x] #2: Write code");
    folder.ok(&["complete", "3"]);
    folder.ok(&["complete", "4"]);
    assert!(folder.ok(&["list", "--status", "pending"]) == "No tasks.");
}

#[test]
fn a_task_tells_its_whole_story() {
    let folder = Folder::new();
    let create = ["create", "Setup", "--description", "All of it.\nSoon."];
    let created = folder.json(&create);
    assert_eq!(
        (&created["id"], &created["status"]),
        (&json!(1), &json!("pending"))
    );
    folder.ok(&["claim", "1"]);
    folder.ok(&["update", "1", "--note", "half done"]);
    folder.ok(&["release", "1", "--why", "lunch"]);
    folder.ok(&["complete", "1", "--result", "It stands."]);
    let shown = folder.ok(&["show", "1"]);
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
    let object = folder.json(&["show", "1"]);
    assert_eq!(object["history"].as_array().unwrap().len(), 5);
    let on_disk = std::fs::read(folder.team.layout().task(protocol::TaskId(1))).unwrap();
    assert_eq!(object, serde_json::from_slice::<Value>(&on_disk).unwrap());
}

#[test]
fn refusals_have_reasons_hints_and_exit_codes() {
    let folder = Folder::new();
    diamond(&folder);
    let (code, words) = folder.refused(&["show", "9"]);
    assert_eq!(code, 3);
    assert_eq!(words, "error: Task 9 not found\nnext: team-lead task list");
    for verb in ["claim", "release", "complete", "delete", "update"] {
        assert_eq!(folder.refused(&[verb, "9"]).0, 3, "{verb}");
    }
    let refused = |args: &[&str], wanted: &str| {
        let (code, words) = folder.refused(args);
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
    refused(&["claim", "1", "--as", "alice"], "alice does not run");
    folder.ok(&["claim", "1"]);
    refused(&["claim"], "user has task 1 in progress");
    for args in [
        &["update", "1", "--status", "done"][..],
        &["create", "x", "--priority", "11"],
        &["create", "x", "--blocked-by", "one"],
        &["show"],
    ] {
        assert_eq!(folder.refused(args).0, 2, "{args:?}");
    }
    assert_eq!(folder.refused(&["claim", "--as", "nobody"]).0, 3);
    let (code, words) = folder.refused(&["show", "9", "--json"]);
    let error: Value = serde_json::from_str(&words).unwrap();
    assert_eq!((code, &error["error"]["kind"]), (3, &json!("unknown_task")));
}

#[test]
fn a_person_can_play_a_member_that_lives() {
    let folder = Folder::new();
    diamond(&folder);
    let alice = folder.live("alice");
    assert_eq!(
        folder.ok(&["claim", "--as", "Alice"]),
        "Claimed task #1 for alice"
    );
    let task = folder.json(&["show", "1"]);
    assert_eq!(task["owner_incarnation"], json!(1));
    let (code, words) = folder.refused(&["complete", "1", "--as", "bob"]);
    assert_eq!(code, 1);
    assert!(words.contains("belongs to alice"), "{words}");
    folder.ok(&["complete", "1", "--as", "alice"]);
    folder.ok(&["complete", "3"]);
    folder.ok(&["claim", "2", "--as", "alice"]);
    drop(alice);
    // Alice is gone, and whoever looks first gives her task back.
    let listed = folder.ok(&["list"]);
    assert!(listed.contains("[ ] #2: Write code\n"), "{listed}");
    let _bob = folder.live("bob");
    folder.ok(&["complete", "2"]);
    assert_eq!(
        folder.ok(&["claim", "--as", "bob"]),
        "Claimed task #4 for bob"
    );
}

#[test]
fn the_graph_in_every_language() {
    let folder = Folder::new();
    assert_eq!(folder.ok(&["graph"]), "No tasks.");
    diamond(&folder);
    folder.ok(&["complete", "1"]);
    let wanted = "Step 1\n  [x] #1: Setup\n\
        Step 2\n  [ ] #2: Write code  <- #1\n  [ ] #3: Write docs  <- #1\n\
        Step 3\n  [ ] #4: Release  <- #2, #3";
    assert_eq!(folder.ok(&["graph"]), wanted);
    let dot = folder.ok(&["graph", "--format", "dot"]);
    assert!(
        dot.starts_with("digraph tasks {") && dot.contains("t2 -> t4;"),
        "{dot}"
    );
    let mermaid = folder.ok(&["graph", "--format", "mermaid"]);
    assert!(
        mermaid.starts_with("graph LR") && mermaid.contains("t3 --> t4"),
        "{mermaid}"
    );
    let object = folder.json(&["graph"]);
    assert_eq!(object["nodes"].as_array().unwrap().len(), 4);
    assert_eq!(object["edges"][0], json!({"from": 1, "to": 2}));
}

#[test]
fn tasks_change_and_go_but_numbers_stay_used() {
    let folder = Folder::new();
    diamond(&folder);
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
    assert_eq!(folder.ok(&change), "Updated [ ] #4: Ship it");
    assert_eq!(folder.ok(&["delete", "4"]), "Deleted task #4");
    assert_eq!(folder.ok(&["create", "Next"]), "Created task #5");
    // A file that another program broke is said, and hinders nobody.
    std::fs::write(folder.team.layout().task(protocol::TaskId(5)), "{").unwrap();
    let output = folder.run(&["list"]);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(
        output.status.success() && errors.contains("task_5.json"),
        "{errors}"
    );
    assert_eq!(folder.ok(&["claim", "1"]), "Claimed task #1 for user");
}
