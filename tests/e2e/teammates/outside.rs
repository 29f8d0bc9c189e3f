//! File tools with paths outside of the workspace, the network of background commands, and what rules hide.

use crate::harness::{LIMIT, Workspace, call, say};
use protocol::RequestKind;
use serde_json::json;
use std::fs;
use std::path::PathBuf;
use test_support::wait_until;

/// A file beside the workspace, which no member may use by itself.
fn note() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap().join("note.txt");
    fs::write(&path, "the note").unwrap();
    (folder, path)
}

#[test]
fn an_approved_path_outside_is_used_and_no_other() {
    let workspace = Workspace::new();
    let (_folder, path) = note();
    let other = path.with_file_name("other.txt");
    let edit = json!({"path": path, "old_text": "note", "new_text": "answer"});
    let write = json!({"path": other, "content": "x"});
    workspace.script(
        "alice",
        [
            call("read_file", json!({"path": path})),
            call("edit_file", edit),
            call("write_file", write),
            say("Done."),
        ],
    );
    workspace.spawn("alice", &["--prompt", "Read it."]);
    let told = |number: usize| {
        wait_until("alice to go on", LIMIT, || {
            workspace.server.requests("alice").len() > number
        });
        workspace.server.requests("alice")[number].last_text()
    };
    let first = workspace.pending(RequestKind::Permission);
    let listed = workspace.ok(&["requests", "--waiting"]);
    assert!(listed.contains("is outside the workspace"), "{listed}");
    workspace.ok(&["approve", first.id.as_str()]);
    assert!(told(1).contains("the note"), "{}", told(1));
    let second = workspace.pending(RequestKind::Permission);
    workspace.ok(&["approve", second.id.as_str()]);
    assert!(told(2).contains("Edited"), "{}", told(2));
    assert_eq!(fs::read_to_string(&path).unwrap(), "the answer");
    let third = workspace.pending(RequestKind::Permission);
    workspace.ok(&["reject", third.id.as_str(), "--feedback", "No."]);
    assert!(told(3).contains("refused by"), "{}", told(3));
    assert!(!other.exists());
    workspace.wait_reports("alice", 1);
    workspace.end();
}

#[test]
fn a_rule_allows_a_path_outside_and_a_secret_stays_one() {
    let workspace = Workspace::new();
    let (_folder, path) = note();
    let secret = path.with_file_name(".env");
    fs::write(&secret, "KEY=1").unwrap();
    workspace.script(
        "alice",
        [
            call("read_file", json!({"path": path})),
            call("read_file", json!({"path": secret})),
            say("Done."),
        ],
    );
    let rule = |path: &PathBuf| format!("Read(/{})", path.display());
    let (one, other) = (rule(&path), rule(&secret));
    let args = ["--allow", &one, "--allow", &other, "--prompt", "Read it."];
    workspace.spawn("alice", &args);
    workspace.wait_reports("alice", 1);
    let texts: Vec<String> = workspace.server.requests("alice")[1..]
        .iter()
        .map(|request| request.last_text())
        .collect();
    assert!(texts[0].contains("the note"), "{texts:?}");
    assert!(texts[1].contains("it holds secrets"), "{texts:?}");
    assert!(workspace.requests().is_empty());
    workspace.end();
}

#[test]
fn a_background_command_gets_the_network_once_somebody_allows_it() {
    let workspace = Workspace::new();
    let run = |file: &str, network: bool| {
        let command = format!("readlink /proc/self/ns/net > {file}.part && mv {file}.part {file}");
        let arguments = json!({"command": command, "needs_network": network});
        call("background_run", arguments)
    };
    workspace.script("alice", [run("with", true), say("Started.")]);
    workspace.spawn("alice", &["--prompt", "Run it."]);
    let request = workspace.pending(RequestKind::Permission);
    let listed = workspace.ok(&["requests", "--waiting"]);
    assert!(listed.contains("background_run: readlink"), "{listed}");
    assert!(listed.contains("it needs the network"), "{listed}");
    assert!(!workspace.path().join("with").exists());
    workspace.ok(&["approve", request.id.as_str()]);
    let result = |file: &str| {
        let path = workspace.path().join(file);
        wait_until("the command to end", LIMIT, || path.exists());
        fs::read_to_string(path).unwrap().trim().to_owned()
    };
    let own = fs::read_link("/proc/self/ns/net").unwrap();
    assert_eq!(result("with"), own.display().to_string());
    workspace.end();
}

#[test]
fn what_rules_deny_is_not_found_by_searches_or_by_a_helper() {
    let workspace = Workspace::with_config("[permissions]\ndeny = ['Read(/private/**)']\n");
    workspace.write("open.txt", "needle 1\n");
    workspace.write("private/hidden.txt", "needle 2\n");
    workspace.script(
        "alice",
        [
            call("grep", json!({"pattern": "needle"})),
            call("glob", json!({"pattern": "**/*.txt"})),
            call("list_dir", json!({"path": "private"})),
            call("explore", json!({"question": "Where is the needle?"})),
            // The helper's model.
            call("grep", json!({"pattern": "needle"})),
            say("I know."),
            say("Done."),
        ],
    );
    workspace.spawn("alice", &["--prompt", "Search."]);
    workspace.wait_reports("alice", 1);
    let requests = workspace.server.requests("alice");
    let all: String = requests.iter().map(|request| request.last_text()).collect();
    assert!(all.contains("needle 1"), "{all}");
    assert!(!all.contains("needle 2"), "{all}");
    assert!(!all.contains("hidden.txt"), "{all}");
    let greps = requests
        .iter()
        .filter(|request| request.last_text().contains("1:needle 1"));
    assert_eq!(greps.count(), 2, "the member and its helper: {all}");
    workspace.end();
}
