//! Members with trees of their own: from the commit in a member's turn to the user's branch.

use crate::harness::{LIMIT, Run, Terminal, Workspace, bash, call, say};
use protocol::{TreeMode, exit};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use test_support::{git, init_repository, wait_until};

const COMMIT: &str = "git add --all && git commit --quiet --message done";

/// A workspace that is a repository with one commit.
pub(crate) fn repository() -> Workspace {
    let workspace = Workspace::new();
    let folder = workspace.path();
    init_repository(folder);
    workspace.write("shared.txt", "one\n");
    git(folder, ["add", "shared.txt"]);
    git(folder, ["commit", "--quiet", "--message", "Begin"]);
    workspace
}

fn submissions(workspace: &Workspace) -> Vec<Value> {
    let listed = workspace.json(&["submissions"]);
    listed["submissions"].as_array().unwrap().clone()
}

fn wait_status(workspace: &Workspace, id: usize, status: &str) {
    wait_until(&format!("submission {id} is {status}"), LIMIT, || {
        let all = submissions(workspace);
        all.get(id - 1)
            .is_some_and(|found| found["status"] == status)
    });
}

/// The branch and the submission of alice are in `status` and `watch`, and nothing about her tree is a problem.
fn is_shown(workspace: &Workspace) {
    let status = workspace.json(&["status"]);
    let member = &status["members"][0];
    assert_eq!(member["branch"], "team/alice");
    assert_eq!(member["submission"], json!({"id": 1, "status": "merged"}));
    let shown = workspace.ok(&["status"]);
    let both = "branch team/alice, submission 1 merged";
    assert!(shown.contains(both), "{shown}");
    let terminal = Terminal::start(workspace.command(&["watch"]), 24, 160);
    terminal.wait_for(&["team/alice  1 merged"]);
    let doctor = workspace.run(&["doctor"]);
    assert!(!doctor.out.contains(".team/"), "{doctor:?}");
    assert!(workspace.ok(&["clean"]).contains("Nothing to remove"));
}

#[test]
fn a_member_commits_in_its_tree_submits_and_the_user_lands() {
    let workspace = repository();
    workspace.script(
        "alice",
        [
            call("write_file", json!({"path": "a.txt", "content": "hello\n"})),
            bash(COMMIT),
            call("submit", json!({})),
            say("Submitted."),
        ],
    );
    workspace.spawn(
        "alice",
        &["--tree", "own", "--prompt", "Say hello in a.txt."],
    );
    workspace.wait_reports("alice", 1);
    wait_status(&workspace, 1, "merged");
    assert!(!workspace.path().join("a.txt").exists());
    let view = workspace.json(&["trees"]);
    let tree = &view["trees"][0];
    assert_eq!(
        (&tree["name"], &tree["branch"]),
        (&json!("alice"), &json!("team/alice"))
    );
    assert_eq!(tree["uncommitted"], json!([]));
    assert!(workspace.ok(&["diff"]).contains("+hello"));
    let landed = workspace.json(&["land"]);
    assert_eq!(
        (&landed["branch"], &landed["landed"]),
        (&json!("main"), &json!(true))
    );
    let text = fs::read_to_string(workspace.path().join("a.txt")).unwrap();
    assert_eq!(text, "hello\n");
    assert_eq!(git(workspace.path(), &["status", "--porcelain"]), "");
    let authors = git(workspace.path(), &["log", "--format=%an"]);
    let own = authors.lines().filter(|author| *author == "alice");
    assert_eq!(own.count(), 2, "the commit and the merge: {authors}");
    let words = workspace.ok(&["events", "--words"]);
    for part in [
        "the tree of alice was created",
        "submission 1 is merged",
        "landed in main",
    ] {
        assert!(words.contains(part), "{part} in {words}");
    }
    is_shown(&workspace);
    // The model was told where it works.
    let request = &workspace.server.requests("alice")[0];
    assert!(request.body().to_string().contains("It is yours alone"));
}

#[test]
fn completing_a_task_submits_and_the_task_is_done_when_the_work_is_merged() {
    let workspace = repository();
    workspace.script(
        "alice",
        [
            bash(&format!("echo done > task.txt; {COMMIT}")),
            call(
                "task_update",
                json!({"task_id": 1, "status": "completed", "result": "It is there."}),
            ),
            say("Done."),
        ],
    );
    workspace.spawn("alice", &["--tree", "own"]);
    workspace.ok(&["task", "create", "Make task.txt"]);
    workspace.ok(&["wait", "--tasks", "--timeout", "60"]);
    let all = submissions(&workspace);
    assert_eq!(
        (&all[0]["status"], &all[0]["task"]),
        (&json!("merged"), &json!(1))
    );
    let task = workspace.json(&["task", "show", "1"]);
    assert!(task.to_string().contains("It is there."), "{task}");
    let text = git(workspace.path(), &["show", "team/main:task.txt"]);
    assert_eq!(text, "done\n");
}

#[test]
fn work_that_conflicts_comes_back_and_starts_a_turn() {
    let workspace = repository();
    for name in ["alice", "bob"] {
        let write = format!("echo {name} > shared.txt; {COMMIT}");
        let answers = [
            "Committed.",
            "Not yet.",
            "I see.",
            "I see.",
            "I see.",
            "I see.",
        ];
        let replies = std::iter::once(bash(&write)).chain(answers.map(say));
        workspace.script(name, replies);
        workspace.spawn(name, &["--tree", "own", "--prompt", "Change shared.txt."]);
        workspace.wait_reports(name, 1);
    }
    let first = workspace.json(&["submit", "alice"]);
    assert_eq!(first["submission"]["status"], "merged");
    let second = workspace.json(&["submit", "bob"]);
    assert_eq!(second["submission"]["status"], "conflict");
    wait_until("bob's model reads it", LIMIT, || {
        let requests = workspace.server.requests("bob");
        requests.iter().any(|request| {
            let body = request.body().to_string();
            body.contains("Your submission 2") && body.contains("changed there by alice")
        })
    });
    let shown = workspace.ok(&["submissions", "2"]);
    assert!(shown.contains("in conflict: shared.txt"), "{shown}");
}

#[test]
fn what_is_not_committed_is_named_to_the_model_once() {
    let workspace = repository();
    workspace.script(
        "alice",
        [
            bash("echo half > draft.txt"),
            say("Done."),
            say("It is not finished."),
        ],
    );
    workspace.spawn("alice", &["--tree", "own", "--prompt", "Begin a draft."]);
    workspace.wait_reports("alice", 1);
    let requests = workspace.server.requests("alice");
    assert_eq!(requests.len(), 3);
    let last = requests[2].messages().last().unwrap()["content"].to_string();
    assert!(
        last.contains("Not committed in your tree: draft.txt"),
        "{last}"
    );
}

#[test]
fn a_restarted_member_finds_its_tree_as_it_left_it() {
    let workspace = repository();
    let write = bash("echo half > draft.txt");
    workspace.script("alice", [write, say("Begun."), say("Not yet.")]);
    workspace.spawn("alice", &["--tree", "own", "--prompt", "Begin."]);
    workspace.wait_reports("alice", 1);
    workspace.ok(&["kill", "alice"]);
    workspace.script(
        "alice",
        [bash("cat draft.txt"), say("Still there."), say("Not yet.")],
    );
    workspace.restart("alice");
    workspace.ok(&["send", "alice", "Go on."]);
    workspace.wait_reports("alice", 2);
    let tree = workspace.path().join(".team/trees/alice");
    assert_eq!(
        fs::read_to_string(tree.join("draft.txt")).unwrap(),
        "half\n"
    );
    let requests = workspace.server.requests("alice");
    let shown = requests
        .iter()
        .any(|request| request.body().to_string().contains("half"));
    assert!(shown, "the command ran in the tree");
}

#[test]
fn doctor_and_clean_know_a_tree_whose_member_is_gone() {
    let workspace = repository();
    workspace.spawn("alice", &["--tree", "own"]);
    workspace.ok(&["shutdown", "alice", "--wait", "--force"]);
    let tree = workspace.path().join(".team/trees/alice");
    fs::write(tree.join("draft.txt"), "half\n").unwrap();
    fs::create_dir(workspace.path().join(".team/trees/.check-3")).unwrap();
    let removed = workspace.team().update_roster(|roster| {
        roster.members.clear();
        Ok::<_, teamdir::RosterError>(())
    });
    removed.unwrap();
    let run = workspace.run(&["doctor"]);
    run.has_code(exit::FAILED);
    assert!(run.out.contains("the tree of 'alice'"), "{run:?}");
    let cleaned = workspace.run(&["clean"]);
    cleaned.has_code(exit::DONE);
    assert!(cleaned.out.contains(".check-3"), "{cleaned:?}");
    assert!(cleaned.err.contains("trees --remove alice"), "{cleaned:?}");
    let run = workspace.run(&["trees", "--remove", "alice"]);
    run.has_code(exit::FAILED);
    assert!(run.err.contains("draft.txt") && tree.exists(), "{run:?}");
    let fixed = workspace.ok(&["doctor", "--fix"]);
    assert!(
        fixed.contains("refs/team/rescue/alice/uncommitted"),
        "{fixed}"
    );
    assert!(!tree.exists());
}

#[test]
fn in_a_shared_tree_a_refused_change_names_who_has_changed_the_file() {
    let workspace = Workspace::new();
    workspace.write("file.txt", "one\n");
    let read = || call("read_file", json!({"path": "file.txt"}));
    let edit = |old: &str| {
        call(
            "edit_file",
            json!({"path": "file.txt", "old_text": old, "new_text": "alice"}),
        )
    };
    workspace.script("alice", [read(), say("Read.")]);
    workspace.spawn("alice", &["--prompt", "Read file.txt."]);
    workspace.wait_reports("alice", 1);
    let write = call(
        "write_file",
        json!({"path": "file.txt", "content": "two\n"}),
    );
    workspace.script("bob", [read(), write, say("Written.")]);
    workspace.spawn("bob", &["--prompt", "Change file.txt."]);
    workspace.wait_reports("bob", 1);
    workspace.script("alice", [edit("one"), read(), say("I see.")]);
    workspace.ok(&["send", "alice", "Change it."]);
    workspace.wait_reports("alice", 2);
    // A command of bob, after a restart of alice: nothing of it was in her memory.
    workspace.ok(&["kill", "alice"]);
    workspace.script("alice", [read(), say("Read.")]);
    workspace.restart("alice");
    workspace.ok(&["send", "alice", "Read it again."]);
    workspace.wait_reports("alice", 3);
    workspace.script("bob", [bash("echo three > file.txt"), say("Done.")]);
    workspace.ok(&["send", "bob", "Again."]);
    workspace.wait_reports("bob", 2);
    workspace.script("alice", [edit("two"), say("I see.")]);
    workspace.ok(&["send", "alice", "Change it."]);
    workspace.wait_reports("alice", 4);
    let requests = workspace.server.requests("alice");
    let told = |text: &str| requests.iter().any(|r| r.body().to_string().contains(text));
    assert!(told("(bob changed it with a file tool)"));
    assert!(told("(while a command of bob ran)"));
}

#[test]
fn without_a_repository_there_is_no_own_tree_and_nothing_is_left() {
    let workspace = Workspace::new();
    let run = workspace.run(&["spawn", "alice", "coder", "--tree", "own"]);
    run.has_code(exit::FAILED);
    assert!(run.err.contains("is not in a git repository"), "{run:?}");
    let status = workspace.json(&["status"]);
    assert_eq!(status["members"], json!([]));
    workspace.spawn("bob", &["--tree", "shared"]);
    let run = workspace.run(&["spawn", "carol", "coder", "--tree", "mine"]);
    run.has_code(exit::USAGE);
}

/// A folder with a git that says that it is of an old version, and is the usual one otherwise.
fn old_git(folder: &Path) {
    let folders = std::env::var_os("PATH").unwrap();
    let mut found = std::env::split_paths(&folders).map(|folder| folder.join("git"));
    let real = found.find(|path| path.is_file()).unwrap();
    let script = format!(
        "#!/bin/sh\nfor word in \"$@\"; do\n[ \"$word\" = version ] && echo 'git version 2.37.1' && exit 0\n\
         done\nexec {} \"$@\"\n",
        real.display()
    );
    let path = folder.join("git");
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn with_an_old_git_own_is_an_error_and_shared_the_default() {
    let workspace = repository();
    let programs = tempfile::tempdir().unwrap();
    old_git(programs.path());
    let usual = std::env::var_os("PATH").unwrap();
    let folders = std::iter::once(programs.path().to_path_buf());
    let path = std::env::join_paths(folders.chain(std::env::split_paths(&usual))).unwrap();
    let spawn = |name: &str, args: &[&str]| {
        let mut command = workspace.spawn_command(name, "coder", args);
        Run::of(command.env("PATH", &path))
    };
    let run = spawn("alice", &["--tree", "own"]);
    run.has_code(exit::FAILED);
    let said = "git version 2.37.1 is too old: 2.38 or later is needed";
    assert!(run.err.contains(said), "{run:?}");
    assert_eq!(workspace.json(&["status"])["members"], json!([]));
    assert!(!workspace.path().join(".team/trees/alice").exists());
    workspace.script("bob", [bash("git log --format=%s"), say("Done.")]);
    let run = spawn("bob", &["--prompt", "Work."]);
    run.has_code(exit::DONE);
    workspace.wait_reports("bob", 1);
    let last = workspace.server.last_request("bob");
    assert!(
        last.body().to_string().contains("Begin"),
        "in the workspace"
    );
    let tree = workspace.member("bob").spec.tree;
    assert!(matches!(tree, None | Some(TreeMode::Shared)), "{tree:?}");
}

#[test]
fn a_branch_called_team_is_named_before_anything_starts() {
    let workspace = repository();
    git(workspace.path(), ["branch", "team"]);
    let run = workspace.run(&["spawn", "alice", "coder", "--tree", "own"]);
    run.has_code(exit::FAILED);
    assert!(run.err.contains("git branch -m team OTHER"), "{run:?}");
    assert_eq!(workspace.json(&["status"])["members"], json!([]));
}

#[test]
fn a_check_needs_trust_and_decides() {
    let workspace = repository();
    workspace.write(
        "team.toml",
        "[tree]\nmode = 'own'\ncheck = 'test ! -e bad.txt'\n",
    );
    let refused = workspace.run(&["spawn", "alice", "coder"]);
    refused.has_code(exit::FAILED);
    assert!(refused.err.contains("tree.check"), "{refused:?}");
    workspace.ok(&["trust", "--yes"]);
    let work = bash(&format!("echo x > bad.txt; {COMMIT}"));
    let replies = [work, call("submit", json!({}))].into_iter();
    let replies = replies.chain(["Submitted.", "I see.", "I see."].map(say));
    workspace.script("alice", replies);
    workspace.spawn("alice", &["--prompt", "Work."]);
    wait_status(&workspace, 1, "failed");
    assert_eq!(
        submissions(&workspace)[0]["check"]["command"],
        "test ! -e bad.txt"
    );
}
