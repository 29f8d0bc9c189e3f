//! Hooks: what they are told, what they may block, and what becomes of those that fail.

use crate::harness::{LIMIT, Workspace, bash, call, say};
use nix::sys::signal::Signal;
use protocol::{Phase, Request, RequestKind};
use serde_json::{Value, json};
use std::fs;
use test_support::wait_until;

/// A `team.toml` in which each of these hooks runs a command.
fn team_with(hooks: &[(&str, &str)]) -> Workspace {
    let tables = hooks
        .iter()
        .map(|(event, rest)| format!("[[hooks.{event}]]\n{rest}\n"));
    Workspace::with_config(&tables.collect::<String>())
}

/// What hooks that append their input to `told.jsonl` were told.
fn told(workspace: &Workspace) -> Vec<Value> {
    let text = fs::read_to_string(workspace.path().join("told.jsonl")).unwrap_or_default();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.collect()
}

fn failures(workspace: &Workspace) -> Vec<Value> {
    let events = workspace.events().into_iter();
    events
        .filter(|event| event["event"] == "hook_failed")
        .collect()
}

/// What alice's model was told last.
fn last_text(workspace: &Workspace) -> String {
    workspace.server.last_request("alice").last_text()
}

fn assert_counted(told: &[Value]) {
    let count = |event: &str| {
        let found = told.iter().filter(|one| one["hook_event_name"] == event);
        found.count()
    };
    for (event, expected) in [
        ("PreToolUse", 4),
        ("PostToolUse", 4),
        ("UserPromptSubmit", 1),
        ("Stop", 1),
        ("SessionStart", 1),
        ("PermissionRequest", 1),
        ("TaskCreated", 1),
        ("TaskCompleted", 1),
        ("TeammateIdle", 1),
        ("Notification", 1),
    ] {
        assert_eq!(count(event), expected, "{event} {told:?}");
    }
}

/// The first time that an event was told, about this tool if one is named.
fn first(told: &[Value], event: &str, tool: &str) -> Value {
    let mut all = told.iter();
    let found = all.find(|one| {
        one["hook_event_name"] == event && (tool.is_empty() || one["tool_name"] == tool)
    });
    found.unwrap().clone()
}

fn assert_tools_told(told: &[Value]) {
    let before = first(told, "PreToolUse", "Bash");
    assert_eq!(before["tool_input"]["command"], "echo hi");
    assert_eq!(before["task_id"], 1, "she holds the task");
    let after = first(told, "PostToolUse", "Bash");
    assert_eq!(after["tool_use_id"], before["tool_use_id"]);
    assert!(
        after["tool_response"]["content"]
            .as_str()
            .unwrap()
            .contains("hi")
    );
    assert_eq!(after["tool_response"]["is_error"], false);
}

fn assert_events_told(told: &[Value], request: &Request) {
    assert!(
        first(told, "UserPromptSubmit", "")["prompt"]
            .as_str()
            .unwrap()
            .contains("Paint it.")
    );
    assert_eq!(first(told, "SessionStart", "")["source"], "startup");
    assert_eq!(first(told, "Stop", "")["stop_hook_active"], false);
    assert_eq!(first(told, "Stop", "")["last_assistant_message"], "Done.");
    assert_eq!(first(told, "TaskCreated", "")["task_subject"], "Paint");
    assert_eq!(first(told, "TaskCreated", "")["task_description"], "Blue.");
    assert_eq!(first(told, "TaskCompleted", "")["task_id"], 1);
    assert_eq!(first(told, "TaskCompleted", "")["task_subject"], "Paint");
    assert_eq!(first(told, "TeammateIdle", "")["teammate_name"], "alice");
    assert_eq!(
        first(told, "PermissionRequest", "Bash")["tool_input"]["needs_network"],
        true
    );
    let notified = first(told, "Notification", "");
    assert_eq!(notified["notification_type"], "permission_prompt");
    assert_eq!(notified["request_id"], request.id.as_str());
}

#[test]
fn each_event_is_told_once_with_what_it_is_about() {
    let record = "command = 'cat >> told.jsonl'";
    let events = [
        "PreToolUse",
        "PostToolUse",
        "UserPromptSubmit",
        "Stop",
        "SessionStart",
        "PermissionRequest",
        "TaskCreated",
        "TaskCompleted",
        "TeammateIdle",
        "Notification",
    ];
    let workspace = team_with(&events.map(|event| (event, record)));
    workspace.script(
        "alice",
        [
            call(
                "task_create",
                json!({"subject": "Paint", "description": "Blue."}),
            ),
            call("claim_task", json!({"task_id": 1})),
            call("bash", json!({"command": "echo hi", "needs_network": true})),
            call(
                "task_update",
                json!({"task_id": 1, "status": "completed", "result": "Blue."}),
            ),
            say("Done."),
        ],
    );
    workspace.spawn("alice", &["--prompt", "Paint it."]);
    let request = workspace.pending(RequestKind::Permission);
    workspace.ok(&["approve", request.id.as_str()]);
    workspace.wait_reports("alice", 1);
    wait_until("the notification", LIMIT, || {
        let told = told(&workspace);
        told.iter()
            .any(|one| one["hook_event_name"] == "Notification")
    });
    let told = told(&workspace);
    assert_counted(&told);
    for one in &told {
        assert_eq!(one["member"], "alice");
        assert_eq!(one["role"], "coder", "{one}");
        assert_eq!(one["incarnation"], 1);
        assert!(one["transcript_path"].as_str().unwrap().contains("alice"));
        assert_eq!(one["cwd"], workspace.path().to_str().unwrap());
        assert_eq!(one["session_id"], "alice-1");
    }
    assert_tools_told(&told);
    assert_events_told(&told, &request);
    assert_eq!(failures(&workspace), [] as [Value; 0]);
    workspace.end();
}

#[test]
fn exit_code_2_keeps_it_from_happening_and_the_model_reads_why() {
    let workspace = team_with(&[
        (
            "PreToolUse",
            "matcher = 'Bash'\ncommand = 'echo no shells here >&2; exit 2'",
        ),
        ("TaskCreated", "command = 'echo no tasks today >&2; exit 2'"),
        (
            "PostToolUse",
            "matcher = 'Write'\ncommand = 'echo run the formatter >&2; exit 2'",
        ),
        // The second time it is told so, it lets the turn end.
        (
            "Stop",
            "command = 'grep -q stop_hook_active.:true || { echo and the tests >&2; exit 2; }'",
        ),
    ]);
    workspace.script("alice", [bash("touch ran"), say("I may not.")]);
    workspace.script("alice", [say("All of it.")]);
    workspace.spawn("alice", &["--prompt", "Run it."]);
    assert_eq!(workspace.wait_reports("alice", 1), ["All of it."]);
    assert!(!workspace.path().join("ran").exists());
    let told = last_text(&workspace);
    assert!(
        told.contains("<hook event=\"Stop\">\nand the tests"),
        "{told}"
    );
    let all = workspace.server.last_request("alice").body().to_string();
    assert!(
        all.contains("bash was not run: a hook blocks it: no shells here"),
        "{all}"
    );

    let write = json!({"path": "a.txt", "content": "x"});
    workspace.script(
        "alice",
        [
            call("task_create", json!({"subject": "More"})),
            call("write_file", write),
            say("Well."),
            say("Well, well."),
        ],
    );
    workspace.ok(&["send", "alice", "Once more."]);
    workspace.wait_reports("alice", 2);
    assert!(
        workspace.path().join("a.txt").exists(),
        "it had happened already"
    );
    let all = workspace.server.last_request("alice").body().to_string();
    assert!(all.contains("a hook blocks it: no tasks today"), "{all}");
    assert!(all.contains("run the formatter"), "{all}");
    assert!(
        !workspace.ok(&["task", "list"]).contains("More"),
        "none was created"
    );
    workspace.end();
}

#[test]
fn hooks_may_allow_ask_and_change_but_never_widen_what_a_rule_denies() {
    let output = |decision: &str| {
        format!(r#"{{"hookSpecificOutput":{{"hookEventName":"PreToolUse",{decision}}}}}"#)
    };
    let workspace = Workspace::empty();
    workspace.write("allow.json", &output(r#""permissionDecision":"allow""#));
    let changed = r#""permissionDecision":"allow","updatedInput":{"command":"touch safe"}"#;
    workspace.write("change.json", &output(changed));
    workspace.write(
        "ask.json",
        &output(r#""permissionDecision":"ask","permissionDecisionReason":"look at it""#),
    );
    workspace.write(
        "team.toml",
        "[permissions]\ndeny = ['Bash(touch denied)']\nask = ['Bash(touch ruled)']\n\
         [[hooks.PreToolUse]]\nmatcher = 'Bash'\n\
         command = 'case \"$(cat)\" in *unsafe*) cat change.json;; *asked*) cat ask.json;; *) cat allow.json;; esac'\n",
    );
    workspace.ok(&["trust", "--yes"]);
    workspace.script(
        "alice",
        [
            bash("touch denied"),
            bash("touch unsafe"),
            call(
                "bash",
                json!({"command": "touch reached", "needs_network": true}),
            ),
            bash("touch asked"),
            bash("touch ruled"),
            say("Done."),
        ],
    );
    workspace.spawn("alice", &["--prompt", "Run them."]);
    let request = workspace.pending(RequestKind::Permission);
    let shown = workspace.ok(&["requests", "--waiting"]);
    assert!(
        shown.contains("touch asked") && shown.contains("look at it"),
        "{shown}"
    );
    // Neither a kill nor a restart turns a question of a hook into a permission.
    workspace.kill9("alice");
    workspace.restart("alice");
    wait_until("alice to wait again", LIMIT, || {
        workspace
            .live("alice")
            .is_some_and(|live| live.phase == Phase::Waiting)
    });
    assert!(!workspace.path().join("asked").exists());
    workspace.ok(&["approve", request.id.as_str()]);
    wait_until("the question of the rule", LIMIT, || {
        let pending = workspace.ok(&["requests", "--waiting"]);
        pending.contains("touch ruled")
    });
    assert!(workspace.path().join("asked").exists());
    workspace.ok(&["reject", "alice", "--feedback", "no"]);
    workspace.wait_reports("alice", 1);
    let exists = |name: &str| workspace.path().join(name).exists();
    assert!(exists("safe") && exists("reached"));
    assert!(!exists("denied") && !exists("unsafe") && !exists("ruled"));
    workspace.end();
}

#[test]
fn hooks_that_hang_fail_or_print_garbage_are_reported_and_lose_nothing() {
    let workspace = team_with(&[
        ("PreToolUse", "command = 'sleep 100'\ntimeout = 1"),
        ("PreToolUse", "command = 'exit 7'"),
        ("PostToolUse", "command = 'printf \"{ not json\"'"),
        ("PostToolUse", "command = 'head -c 3000000 /dev/zero'"),
        ("Stop", "command = 'kill -9 $$'"),
        ("SessionStart", "command = './is-not-there'"),
        (
            "TeammateIdle",
            "command = 'head -c 300000 /dev/zero >&2; exit 1'",
        ),
    ]);
    workspace.script("alice", [bash("echo ran >> ledger"), say("Done.")]);
    workspace.spawn("alice", &["--prompt", "Run it."]);
    assert_eq!(workspace.wait_reports("alice", 1), ["Done."]);
    assert_eq!(
        fs::read_to_string(workspace.path().join("ledger")).unwrap(),
        "ran\n"
    );
    let reasons: Vec<String> = failures(&workspace)
        .iter()
        .map(|event| format!("{}: {}", event["hook"], event["reason"]))
        .collect();
    assert_eq!(reasons.len(), 7, "{reasons:?}");
    for part in [
        "within 1 s",
        "code 7",
        "none that a hook may print",
        "more than",
        "signal 9",
        "127",
    ] {
        assert!(
            reasons.iter().any(|reason| reason.contains(part)),
            "{part}: {reasons:?}"
        );
    }
    assert!(workspace.log("alice").contains("a PreToolUse hook failed"));
    assert!(
        workspace
            .ok(&["events", "--words"])
            .contains("hook of alice failed")
    );
    workspace.end();
}

#[test]
fn a_kill_while_a_hook_runs_neither_loses_nor_repeats_the_call() {
    let workspace = team_with(&[(
        "PostToolUse",
        "command = 'echo now > begun; sleep 1000'\ntimeout = 900",
    )]);
    workspace.script("alice", [bash("echo ran >> ledger"), say("Done.")]);
    workspace.spawn("alice", &["--prompt", "Run it."]);
    workspace.wait_for_file("begun");
    workspace.signal("alice", Signal::SIGKILL);
    workspace.wait_until_gone("alice");
    workspace.wait_until_commands_ended();
    workspace.restart("alice");
    assert_eq!(workspace.wait_reports("alice", 1), ["Done."]);
    assert_eq!(
        fs::read_to_string(workspace.path().join("ledger")).unwrap(),
        "ran\n"
    );
    assert!(
        !last_text(&workspace).contains("interrupted"),
        "its result was kept"
    );
    workspace.end();
}

#[test]
fn hooks_of_a_workspace_need_trust_and_run_in_the_sandbox_and_those_of_the_user_do_not() {
    let workspace = Workspace::empty();
    let claude = json!({"hooks": {"SessionStart": [{"hooks": [
        {"type": "command", "command": "touch .team/inside; echo \"$CLAUDE_PROJECT_DIR\" > folder; echo The branch is main."}
    ]}]}});
    workspace.write(".claude/settings.json", &claude.to_string());
    let refused = workspace.run(&["spawn", "alice", "coder"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(
        refused.err.contains("hooks.SessionStart"),
        "{}",
        refused.err
    );
    workspace.ok(&["trust", "--yes"]);
    workspace.write_home(
        ".config/team-lead/config.toml",
        "[[hooks.SessionStart]]\ncommand = 'touch .team/outside; touch \"$HOME/seen\"'\n",
    );
    workspace.script("alice", [say("Hello.")]);
    workspace.spawn("alice", &["--prompt", "Say hello."]);
    workspace.wait_reports("alice", 1);
    let all = workspace.server.last_request("alice").body().to_string();
    assert!(all.contains("The branch is main."), "{all}");
    let folder = fs::read_to_string(workspace.path().join("folder")).unwrap();
    assert_eq!(folder.trim(), workspace.path().to_str().unwrap());
    assert!(workspace.path().join(".team/outside").exists());
    assert!(workspace.home().join("seen").exists());
    if workspace.shown("alice")["sandbox"] == "full" {
        assert!(!workspace.path().join(".team/inside").exists());
    }
    let shown = workspace.ok(&["config", "show"]);
    assert!(shown.contains("hooks.SessionStart"), "{shown}");
    workspace.end();
}
