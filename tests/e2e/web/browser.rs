//! The page in a real browser: `page.mjs` drives it, and this test does what happens around it.
//!
//! The two take turns by lines: the script says what it needs or has done, and gets a line when that is so.
//! With `TEAM_LEAD_PICTURES=FOLDER` the scripts leave their pictures there.

use super::{Served, parts, start};
use crate::harness::{LIMIT, Session, Workspace, call, say};
use protocol::{Phase, RequestKind};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use test_support::{Worker, wait_until};

/// The folder into which `scripts/install-test-tools` puts packages of npm.
fn tools() -> Option<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache"));
    let folder = cache
        .or_else(home)?
        .join("team-lead-test-tools/browser/node_modules");
    let is_there = |name: &str| folder.join(name).is_dir();
    (is_there("playwright-core") && is_there("axe-core")).then_some(folder)
}

/// What a test says that was left out.
pub(super) const LEFT_OUT: &str =
    "left out: no chromium, node or playwright; scripts/install-test-tools installs them";

fn is_installed(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output();
    found.is_ok_and(|output| output.status.success())
}

/// A team in which a plan, a tool call and a question wait, and one member works.
pub(super) fn team_that_waits() -> Workspace {
    let workspace = Workspace::with_config("[permissions]\nask = ['Bash(touch *)']\n");
    for subject in ["Write the lexer", "Write the parser", "Write the manual"] {
        workspace.ok(&["task", "create", subject, "--role", "nobody"]);
    }
    let release = [
        "task",
        "create",
        "Release it",
        "--blocked-by",
        "2",
        "--blocked-by",
        "3",
    ];
    workspace.ok(&release);
    let plan = "## The parser\n\n1. Read `src/lexer.rs`.\n2. Write **src/parser.rs**.\n\n<img src=x onerror=alert(1)>";
    workspace.script(
        "alice",
        [
            call("plan_approval", json!({"plan": plan})),
            say("I wait for a decision."),
            call(
                "write_file",
                json!({"path": "src/parser.rs", "content": "fn parse() {}\n"}),
            ),
            say("The parser is written."),
        ],
    );
    workspace.spawn(
        "alice",
        &["--require-plan", "--prompt", "Write the parser."],
    );
    workspace.pending(RequestKind::Plan);
    workspace.script(
        "bob",
        [
            call(
                "bash",
                json!({"command": "touch allowed && echo yes > allowed"}),
            ),
            say("Done."),
        ],
    );
    workspace.spawn("bob", &["--prompt", "Touch it."]);
    workspace.pending(RequestKind::Permission);
    carol_speaks(&workspace);
    workspace.spawn("carol", &["--prompt", "Write notes."]);
    workspace.wait_phase("carol", Phase::Idle);
    workspace
}

/// What the model of carol says: a file, a message, and markdown with markup in it.
fn carol_speaks(workspace: &Workspace) {
    let reply = "I have **read** the notes:\n\n- `<script>alert(1)</script>` is text\n- nothing else\n\n```sh\ncargo test\n```";
    workspace.script(
        "carol",
        [
            call(
                "write_file",
                json!({"path": "notes.md", "content": "# Notes\n"}),
            ),
            call(
                "send_message",
                json!({"to": "bob", "content": "The notes are there."}),
            ),
            call("bash", json!({"command": "ls"})),
            say(reply),
            say("Thank you."),
        ],
    );
}

/// Runs a script against a page. `act` does what its lines ask for. `None` where there is no browser.
#[must_use]
pub(super) fn drive(name: &str, url: &str, mut act: impl FnMut(&str)) -> Option<()> {
    let tools = tools().filter(|_| is_installed("chromium") && is_installed("node"));
    let tools = tools?;
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e/web");
    let own = tempfile::tempdir().unwrap();
    let wanted = std::env::var_os("TEAM_LEAD_PICTURES").map(PathBuf::from);
    let pictures = wanted.unwrap_or_else(|| own.path().to_path_buf());
    let mut command = Command::new("node");
    command.arg(file.join(name)).stdin(Stdio::piped());
    command
        .stdout(Stdio::piped())
        .env("TOOLS", tools)
        .env("URL", url)
        .env("PICTURES", &pictures);
    let mut script = Worker::spawn(&mut command).unwrap();
    loop {
        let line = script.line(LIMIT);
        if line == "all is well" {
            break;
        }
        act(&line);
        script.send_line("done").unwrap();
    }
    assert!(script.wait(LIMIT).success());
    Some(())
}

/// Does what a line of the script asks for.
fn act(workspace: &Workspace, server: &mut Option<Session>, address: &str, line: &str) {
    match line {
        "approved the plan" => {
            assert_eq!(workspace.wait_for_file("src/parser.rs"), "fn parse() {}");
        }
        "allowed the call" => assert_eq!(workspace.wait_for_file("allowed"), "yes"),
        "wrote to carol" => {
            wait_until("carol is told", LIMIT, || {
                let requests = workspace.server.requests("carol");
                let mut texts = requests.iter().map(|request| request.body().to_string());
                texts.any(|body| body.contains("From the page."))
            });
            workspace.wait_phase("carol", Phase::Idle);
        }
        "kill carol" => workspace.kill9("carol"),
        "restarted carol" => {
            workspace.wait_alive("carol", Phase::Idle);
            assert_eq!(workspace.incarnation("carol"), 2);
        }
        "dragged task 3 before task 1" => wait_until("a higher priority", LIMIT, || {
            let task = team::get(workspace.team(), protocol::TaskId(3)).unwrap();
            task.priority.get() == 6
        }),
        "kill the server" => drop(server.take().map(|mut session| session.kill9())),
        "start the server" => {
            workspace.ok(&[
                "task",
                "create",
                "Made while nobody served",
                "--role",
                "nobody",
            ]);
            let port = address.split(':').next_back().unwrap();
            *server = Some(start(workspace, &["--port", port]).0);
        }
        "end all sessions" => drop(workspace.ok(&["web", "--revoke", "all"])),
        other => panic!("the script says {other:?}"),
    }
}

#[test]
fn a_person_answers_watches_drags_and_comes_back_after_a_restart() {
    let workspace = team_that_waits();
    let served: Served = super::serve(&workspace, &[]);
    let address = served.client.address.clone();
    let link = workspace.json(&["web", "--link"]);
    let url = link["url"].as_str().unwrap();
    assert_eq!(parts(url).0, address);
    let mut server = Some(served.session);
    let driven = drive("page.mjs", url, |line| {
        act(&workspace, &mut server, &address, line);
    });
    if driven.is_none() {
        eprintln!("{LEFT_OUT}");
    }
    drop(server);
    workspace.end();
}
