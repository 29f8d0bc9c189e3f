//! The README's tour: two programs, one folder, a kill in between.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;
use test_support::{Worker, wait_until};

const LIMIT: Duration = Duration::from_secs(30);

/// A workspace of its own for each test.
struct Workspace {
    dir: tempfile::TempDir,
}

impl Workspace {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self { dir }
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn lead(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_team-lead"));
        command.current_dir(self.path()).env_remove("TEAM_FSYNC");
        command.args(args).output().unwrap()
    }

    fn teammate(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_teammate"));
        command.current_dir(self.path()).env_remove("TEAM_FSYNC");
        command.args(["--dir", "."]).args(args);
        command
    }

    /// Starts alice and waits until she says she is ready.
    fn alice(&self, more: &[&str]) -> (Worker, String) {
        let mut command = self.teammate(&["--name", "alice"]);
        let mut worker = Worker::spawn(command.args(more)).unwrap();
        let ready = worker.line(LIMIT);
        (worker, ready)
    }

    fn member(&self) -> Value {
        let output = self.lead(&["status", "--json"]);
        let status: Value = serde_json::from_slice(&output.stdout).unwrap();
        status["members"][0].clone()
    }
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn mail_reaches_a_member_through_its_death() {
    let workspace = Workspace::new();
    let (mut alice, ready) = workspace.alice(&["--role", "coder"]);
    assert!(
        ready.starts_with("alice is ready") && ready.ends_with("life 1)"),
        "{ready}"
    );
    let sent = workspace.lead(&["send", "alice", "hello"]);
    assert_eq!(out(&sent), "Sent message to alice\n");
    assert_eq!(alice.line(LIMIT), "user: hello");
    assert_eq!(workspace.member()["state"], "idle");
    assert_eq!(workspace.member()["pid"], alice.id());

    alice.kill9();
    wait_until("alice is shown dead", LIMIT, || {
        workspace.member()["state"] == "dead"
    });
    assert!(
        workspace
            .lead(&["send", "alice", "while you were dead"])
            .status
            .success()
    );
    assert_eq!(workspace.member()["unread"], 1);
    assert_eq!(
        out(&workspace.lead(&["inbox", "alice"])),
        "user (message): while you were dead\n"
    );

    let (mut alice, ready) = workspace.alice(&[]);
    assert!(ready.ends_with("life 2)"), "{ready}");
    assert_eq!(alice.line(LIMIT), "user: while you were dead");
    assert_eq!(
        out(&workspace.lead(&["inbox", "alice"])),
        "No unread mail for alice.\n"
    );
}

#[test]
fn a_shutdown_request_is_answered_and_obeyed() {
    let workspace = Workspace::new();
    let (mut alice, _) = workspace.alice(&["--role", "coder"]);
    let inbox = workspace.path().join(".team/inbox/alice.jsonl");
    let request = r#"{"type":"shutdown_request","from":"lead","request_id":"1a2b3c4d"}"#;
    let echo = Command::new("sh")
        .args(["-c", "echo \"$1\" >> \"$2\"", "sh", request])
        .arg(&inbox)
        .status();
    assert!(echo.unwrap().success());
    assert!(alice.wait(LIMIT).success());
    assert_eq!(workspace.member()["state"], "shutdown");
    assert_eq!(workspace.member()["status"], "shutdown");
    assert_eq!(
        std::fs::read(&inbox).unwrap(),
        b"",
        "read mail is shown as unread"
    );
    let answers = workspace.lead(&["inbox", "--json"]);
    let answers: Value = serde_json::from_slice(&answers.stdout).unwrap();
    let answer = &answers["messages"][0];
    assert_eq!(answer["type"], "shutdown_response");
    assert_eq!(answer["request_id"], "1a2b3c4d");
    assert_eq!(answer["approve"], true);
}

#[test]
fn inv_16_a_shutdown_meant_for_an_earlier_life_is_not_obeyed() {
    let workspace = Workspace::new();
    let (mut alice, _) = workspace.alice(&["--role", "coder"]);
    alice.kill9();
    let (mut alice, _) = workspace.alice(&[]);
    let inbox = workspace.path().join(".team/inbox/alice.jsonl");
    let stale = concat!(
        r#"{"type":"shutdown_request","from":"lead","request_id":"1","to_incarnation":1,"#,
        r#""content":"stale"}"#
    );
    let echo = Command::new("sh")
        .args(["-c", "echo \"$1\" >> \"$2\"", "sh", stale])
        .arg(&inbox)
        .status();
    assert!(echo.unwrap().success());
    assert_eq!(alice.line(LIMIT), "lead: stale");
    assert!(alice.line(LIMIT).starts_with("not obeyed:"));
    assert!(alice.try_wait().is_none());
}

#[test]
fn errors_say_what_and_what_next_and_create_nothing() {
    let workspace = Workspace::new();
    let none = workspace.lead(&["status"]);
    assert_eq!(none.status.code(), Some(3));
    assert!(err(&none).contains("no team folder") && err(&none).contains("next: "));
    let unknown = workspace.teammate(&["--name", "alice"]).output().unwrap();
    assert_eq!(unknown.status.code(), Some(3));
    assert_eq!(
        std::fs::read_dir(workspace.path()).unwrap().count(),
        0,
        "a typo created something"
    );

    let (_alice, _) = workspace.alice(&["--role", "coder"]);
    let typo = workspace.lead(&["--json", "send", "alcie", "hello"]);
    assert_eq!(typo.status.code(), Some(3));
    let error: Value = serde_json::from_str(&err(&typo)).unwrap();
    assert_eq!(error["error"]["kind"], "unknown_member");
    assert!(
        error["error"]["message"]
            .as_str()
            .unwrap()
            .contains("the members are alice")
    );
    let path = workspace.lead(&["send", "../alice", "hello"]);
    assert_eq!(path.status.code(), Some(2));
    let second = workspace.teammate(&["--name", "Alice"]).output().unwrap();
    assert_eq!(second.status.code(), Some(7));
    assert!(
        err(&second).contains("already runs as process"),
        "{}",
        err(&second)
    );
    let mode = Command::new(env!("CARGO_BIN_EXE_team-lead"))
        .current_dir(workspace.path())
        .env("TEAM_FSYNC", "maybe")
        .arg("status")
        .output()
        .unwrap();
    assert_eq!(mode.status.code(), Some(2));
}

#[test]
fn the_folder_is_found_from_below_and_kept_out_of_git() {
    let workspace = Workspace::new();
    let (_alice, _) = workspace.alice(&["--role", "coder"]);
    let deep = workspace.path().join("a/b");
    std::fs::create_dir_all(&deep).unwrap();
    let status = workspace.lead(&["-C", "a/b", "status"]);
    assert!(out(&status).starts_with("Team: default\n  alice (coder): idle, process "));
    let ignore = std::fs::read_to_string(workspace.path().join(".team/.gitignore")).unwrap();
    assert_eq!(ignore, "*\n");
}
