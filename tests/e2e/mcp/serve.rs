//! `mcp serve`, with the SDK for Python as its client.

use super::test_tool;
use crate::harness::{LIMIT, Run, Workspace};
use crate::trees::repository;
use protocol::exit;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use test_support::{report_skip, wait_until};

const CLIENT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/e2e/python/mcp_client.py"
);
const PYTHON: &str = "python/bin/python";

/// Calls tools in order and returns the protocol's version, the names of the tools and the results.
fn client(workspace: &Workspace, mode: &str, args: &[&str], calls: &Value) -> Option<Value> {
    let python = test_tool(PYTHON, "the SDK as a client")?;
    let mut server = workspace.command(&["mcp", "serve"]);
    server.args(args);
    let mut command = Command::new(python);
    command.arg(CLIENT).arg(mode).arg(calls.to_string());
    command.arg(server.get_program()).args(server.get_args());
    command.current_dir(workspace.path());
    command.envs(
        server
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

#[test]
fn the_sdk_for_python_leads_a_team_in_both_eras() {
    for (mode, version) in [("auto", "2026-07-28"), ("legacy", "2025-11-25")] {
        let workspace = Workspace::new();
        let calls = json!([
            ["spawn_teammate", {"name": "bob", "role": "coder", "prompt": "Send lead the message done.", "model": "offline"}],
            ["wait", {"seconds": 60}],
            ["list_teammates", {}],
            ["read_inbox", {}],
            ["read_inbox", {}],
            ["task_create", {"subject": "Later", "role": "nobody"}],
            ["task_list", {}],
            ["send_message", {"to": "nobody", "content": "x"}],
            ["requests", {}],
            ["task_update", {"task_id": 1, "status": "completed", "result": "By hand."}],
            ["wait", {"until": "tasks"}],
        ]);
        let Some(seen) = client(&workspace, mode, &[], &calls) else {
            return;
        };
        assert_eq!(seen["version"], version);
        assert_eq!(seen["tools"].as_array().unwrap().len(), 11);
        let result = |place: usize| seen["results"][place]["text"].as_str().unwrap();
        assert_eq!(result(0), "Spawned 'bob' (role: coder)");
        assert_eq!(result(1), "The team is quiet.");
        assert!(result(2).contains("bob (coder): idle"), "{seen}");
        assert!(result(3).contains("idle_notification"), "{seen}");
        assert_eq!(result(4), "[]", "a message is returned once");
        assert!(result(6).contains("#1: Later"), "{seen}");
        assert_eq!(seen["results"][7]["error"], true);
        assert_eq!(result(8), "[]");
        assert_eq!(result(10), "All 1 tasks are completed.");
    }
}

#[test]
fn a_member_s_server_does_what_the_member_may_and_ends_with_its_incarnation() {
    let workspace = Workspace::new();
    workspace.spawn("alice", &["--model", "offline"]);
    workspace.spawn("bob", &["--model", "offline"]);
    let calls = json!([
        ["send_message", {"to": "bob", "content": "from the engine"}],
        ["note", {"text": "Found it."}],
        ["notes", {}],
        ["claim_task", {}],
    ]);
    let Some(seen) = client(&workspace, "auto", &["--member", "alice"], &calls) else {
        return;
    };
    let tools = seen["tools"].to_string();
    for absent in ["spawn_teammate", "answer_request", "read_inbox", "bash"] {
        assert!(!tools.contains(absent), "{tools}");
    }
    assert_eq!(seen["results"][0]["text"], "Sent message to bob");
    assert!(
        seen["results"][2]["text"]
            .as_str()
            .unwrap()
            .contains("alice"),
        "{seen}"
    );
    workspace.ok(&["kill", "alice"]);
    let refused = workspace.run(&["mcp", "serve", "--member", "alice"]);
    refused.complains(exit::FAILED, "does not run", "team-lead restart alice");
    let mut other = workspace.command(&["mcp", "serve", "--member", "bob"]);
    other
        .env("TEAM_MEMBER", "alice")
        .env("TEAM_INCARNATION", "1");
    let refused = Run::of(&mut other);
    assert!(refused.err.contains("does not act as bob"), "{refused:?}");
}

#[test]
fn a_question_of_a_member_s_program_is_answered_by_a_person() {
    let workspace = Workspace::new();
    workspace.spawn("alice", &["--model", "offline"]);
    let mut command = workspace.command(&["mcp", "serve", "--member", "alice"]);
    let mut server = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = server.stdin.take().unwrap();
    let begin = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25",
        "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let ask = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "ask_user",
        "arguments": {"question": "Which port?"}}});
    for message in [begin, ready, ask] {
        writeln!(input, "{message}").unwrap();
    }
    wait_until("the question", LIMIT, || !workspace.requests().is_empty());
    workspace.ok(&["answer", "alice", "8080"]);
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let answer = lines.find(|line| line.as_ref().unwrap().contains("\"id\":2"));
    assert!(answer.unwrap().unwrap().contains("8080"));
    drop(input);
    assert!(server.wait().unwrap().success());
}

/// Starts the server, calls these tools in order, and returns the results.
fn call_tools(command: &mut Command, calls: &[(&str, Value)]) -> Vec<Value> {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut server = command.stderr(Stdio::null()).spawn().unwrap();
    let mut input = server.stdin.take().unwrap();
    let output = BufReader::new(server.stdout.take().unwrap());
    let mut answers = output
        .lines()
        .map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let begin = json!({"protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"}});
    let begin = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": begin});
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    writeln!(input, "{begin}\n{ready}").unwrap();
    let results = calls.iter().zip(1..).map(|((tool, arguments), id)| {
        let call = json!({"name": tool, "arguments": arguments});
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call});
        writeln!(input, "{call}").unwrap();
        answers.find(|answer| answer["id"] == id).unwrap()["result"].clone()
    });
    let results = results.collect();
    drop(input);
    assert!(server.wait().unwrap().success());
    results
}

const TASK_HOOKS: &str = "
[[hooks.TaskCreated]]
command = 'read -r told; echo \"$told\" >> told.jsonl; case \"$told\" in *Forbidden*) echo not that >&2; exit 2;; esac'
[[hooks.TaskCompleted]]
command = 'cat >> told.jsonl; exit 7'
";

/// No member has the role, so that nobody works on the task.
fn create(subject: &str) -> (&'static str, Value) {
    let arguments = json!({"subject": subject, "role": "nobody"});
    ("task_create", arguments)
}

#[test]
fn hooks_hear_of_the_tasks_of_a_program_that_leads_or_is_a_member() {
    let workspace = Workspace::empty();
    workspace.write("team.toml", TASK_HOOKS);
    workspace.ok(&["init"]);
    let told = || {
        let told = fs::read_to_string(workspace.path().join("told.jsonl")).unwrap_or_default();
        let lines = told.lines().map(|line| serde_json::from_str(line).unwrap());
        lines.collect::<Vec<Value>>()
    };
    let mut serve = workspace.command(&["mcp", "serve"]);
    let results = call_tools(&mut serve, &[create("Unheard")]);
    assert_eq!(results[0]["isError"], false, "{results:?}");
    assert_eq!(told(), [] as [Value; 0], "nobody has trusted the hooks");

    workspace.ok(&["trust", "--yes"]);
    let done = json!({"task_id": 1, "status": "completed", "result": "By hand."});
    let calls = [create("Paint"), create("Forbidden"), ("task_update", done)];
    let results = call_tools(&mut serve, &calls);
    assert_eq!(results[0]["isError"], false, "{results:?}");
    assert_eq!(results[1]["isError"], true, "{results:?}");
    let refused = results[1].to_string();
    assert!(refused.contains("a hook blocks it: not that"), "{refused}");
    // A hook that fails blocks nothing, and is reported.
    assert_eq!(results[2]["isError"], false, "{results:?}");
    let events = workspace.ok(&["events", "--words"]);
    assert!(events.contains("TaskCompleted hook"), "{events}");
    let tasks = workspace.ok(&["task", "list"]);
    assert!(
        tasks.contains("Paint") && !tasks.contains("Forbidden"),
        "{tasks}"
    );
    let heard = told();
    let events = heard
        .iter()
        .map(|one| one["hook_event_name"].as_str().unwrap());
    let events: Vec<&str> = events.collect();
    assert_eq!(events, ["TaskCreated", "TaskCreated", "TaskCompleted"]);
    assert_eq!(heard[0]["task_subject"], "Paint");
    assert_eq!(
        (&heard[2]["task_id"], &heard[2]["task_subject"]),
        (&json!(1), &json!("Unheard"))
    );
    assert!(
        heard
            .iter()
            .all(|one| one["member"] == "user" && one["role"] == "user")
    );

    workspace.spawn("alice", &["--model", "offline"]);
    let mut serve = workspace.command(&["mcp", "serve", "--member", "alice"]);
    let results = call_tools(&mut serve, &[create("Shelve"), create("Forbidden too")]);
    assert_eq!(results[0]["isError"], false, "{results:?}");
    assert_eq!(results[1]["isError"], true, "{results:?}");
    let heard = told();
    assert_eq!(heard.len(), 5, "{heard:?}");
    assert_eq!(
        (&heard[3]["member"], &heard[3]["role"]),
        (&json!("alice"), &json!("coder"))
    );
    workspace.end();
}

/// A hook that says where it runs, and what it was given.
const PLACE_HOOKS: &str = "
[tree]
mode = \"own\"
[[hooks.TaskCompleted]]
command = 'pwd -P > /dev/stderr; exit 2'
";

#[test]
fn hooks_of_a_member_with_its_own_tree_run_there() {
    let workspace = repository();
    workspace.write("team.toml", PLACE_HOOKS);
    workspace.ok(&["trust", "--yes"]);
    workspace.spawn("alice", &["--model", "offline"]);
    workspace.ok(&["task", "create", "Paint", "--role", "nobody"]);
    let mut serve = workspace.command(&["mcp", "serve", "--member", "alice"]);
    let done = json!({"task_id": 1, "status": "completed", "result": "Red."});
    let results = call_tools(&mut serve, &[("task_update", done)]);
    let tree = workspace.path().join(".team/trees/alice");
    let tree = tree.canonicalize().unwrap().display().to_string();
    assert!(results[0].to_string().contains(&tree), "{results:?}");
    workspace.end();
}

#[test]
fn a_call_whose_hook_outlives_the_incarnation_is_not_run() {
    let workspace = Workspace::empty();
    let wait = "echo asked > asked; while [ ! -e go ]; do sleep 0.05; done";
    let hook = format!("[[hooks.TaskCreated]]\ncommand = '{wait}'\n");
    workspace.write("team.toml", &hook);
    workspace.ok(&["init"]);
    workspace.ok(&["trust", "--yes"]);
    workspace.spawn("alice", &["--model", "offline"]);
    let mut serve = workspace.command(&["mcp", "serve", "--member", "alice"]);
    let create = ("task_create", json!({"subject": "Too late"}));
    let results = thread::scope(|scope| {
        let calls = scope.spawn(|| call_tools(&mut serve, &[create]));
        workspace.wait_for_file("asked");
        workspace.ok(&["kill", "alice"]);
        workspace.write("go", "");
        calls.join().unwrap()
    });
    let said = results[0].to_string();
    assert!(said.contains("does not run"), "{said}");
    let tasks = workspace.ok(&["task", "list"]);
    assert!(!tasks.contains("Too late"), "{tasks}");
}

/// The command of the official inspector, if it is installed by `scripts/install-test-agents`.
fn inspector() -> Option<Command> {
    let chosen = std::env::var_os("TEAM_TEST_CACHE").map(PathBuf::from);
    let home = || std::env::home_dir().unwrap_or_default();
    let cache = chosen.unwrap_or_else(|| home().join(".cache/team-lead-tests"));
    let program = cache.join("inspector/node_modules/.bin/mcp-inspector");
    if !program.exists() {
        let path = program.display();
        report_skip(
            "the_inspector_calls_tools_of_the_team",
            format_args!("{path} is missing: scripts/install-test-agents"),
        );
        return None;
    }
    let mut command = Command::new(program);
    let usual = std::env::var_os("PATH").unwrap();
    let node = cache.join("node22/node_modules/.bin");
    let paths = std::iter::once(node).chain(std::env::split_paths(&usual));
    command.env("PATH", std::env::join_paths(paths).unwrap());
    Some(command)
}

#[test]
fn the_inspector_calls_tools_of_the_team() {
    let workspace = Workspace::new();
    let server = workspace.command(&["-C", ".", "mcp", "serve"]);
    let inspect = |args: &[&str]| {
        let mut command = inspector()?;
        command.arg("--cli").arg(server.get_program());
        command.args(server.get_args()).args(args);
        command.current_dir(workspace.path());
        let variables = server.get_envs();
        let variables = variables.filter(|(name, _)| *name != "PATH");
        command.envs(variables.filter_map(|(name, value)| Some((name, value?))));
        let output = command.output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        Some(serde_json::from_slice::<Value>(&output.stdout).unwrap())
    };
    let Some(listed) = inspect(&["--method", "tools/list"]) else {
        return;
    };
    assert_eq!(listed["tools"].as_array().unwrap().len(), 11, "{listed}");
    let create = ["--method", "tools/call", "--tool-name", "task_create"];
    let create = [&create[..], &["--tool-arg", "subject=Paint"]].concat();
    let created = inspect(&create).unwrap();
    assert_eq!(created["isError"], false, "{created}");
    assert!(workspace.ok(&["task", "list"]).contains("Paint"));
}
