//! An agent that does what its prompt says: everything that can go wrong, and that nothing is done twice.

use crate::harness::{LIMIT, Run, Workspace, recipient, with_variable};
use nix::sys::signal::Signal;
use protocol::{Phase, RequestKind};
use serde_json::{Value, json};
use std::fs;
use std::process::Command;
use test_support::wait_until;

/// The value of `--engine` for the scripted agent.
fn engine(options: &str) -> String {
    let agent = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/python/acp_agent.py");
    format!("acp:/usr/bin/python3 {agent} {options}")
        .trim()
        .to_owned()
}

fn spawn_command(workspace: &Workspace, options: &str, args: &[&str]) -> Command {
    let mut command = workspace.command(&["spawn", "carol", "coder", "--engine", &engine(options)]);
    command.args(["--network", "on"]).args(args);
    command
}

fn spawn(workspace: &Workspace, options: &str, args: &[&str]) {
    let run = Run::of(&mut spawn_command(workspace, options, args));
    assert_eq!(run.code, 0, "{run:?}");
}

/// The lines of a file that the agent writes.
fn lines(workspace: &Workspace, name: &str) -> Vec<Value> {
    let text = fs::read_to_string(workspace.path().join(name)).unwrap_or_default();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.collect()
}

fn prompts(workspace: &Workspace) -> Vec<String> {
    let lines = lines(workspace, "prompts.jsonl").into_iter();
    lines
        .map(|line| line.as_str().unwrap().to_owned())
        .collect()
}

fn wait_for_lines(workspace: &Workspace, name: &str) {
    wait_until(name, LIMIT, || !lines(workspace, name).is_empty());
}

#[test]
fn mail_becomes_a_prompt_and_the_answer_a_report() {
    let workspace = Workspace::new();
    spawn(&workspace, "", &["--prompt", "Say hello."]);
    assert_eq!(workspace.wait_reports("carol", 1), ["Done."]);
    workspace.ok(&["send", "carol", "Once more, please."]);
    assert_eq!(workspace.wait_reports("carol", 2), ["Done.", "Done."]);
    workspace.wait_phase("carol", Phase::Idle);
    let prompts = prompts(&workspace);
    assert_eq!(prompts.len(), 2, "{prompts:?}");
    assert!(prompts[0].contains("You are carol") && prompts[0].contains("Say hello."));
    assert!(!prompts[1].contains("You are carol"), "it knows that");
    assert!(prompts[1].contains("Once more, please."));
    let model = workspace
        .events()
        .into_iter()
        .find(|event| event["event"] == "model");
    let model = model.unwrap();
    assert_eq!(
        (&model["input"], &model["output"]),
        (&json!(20), &json!(10)),
        "{model}"
    );
    assert_eq!(workspace.team().budget().map(|_| ()).ok(), Some(()));
    workspace.run(&["shutdown", "carol", "--wait"]).has_code(0);
    workspace.wait_until_gone("carol");
    assert_eq!(
        self::prompts(&workspace).len(),
        2,
        "nobody asked the agent about that"
    );
    workspace.end();
}

#[test]
fn what_it_asks_joins_the_queue_and_is_answered_by_kind() {
    let workspace =
        Workspace::with_config("[permissions]\nask = ['Bash(touch *)']\ndeny = ['Bash(rm *)']\n");
    spawn(&workspace, "", &["--prompt", "DO: run touch first"]);
    let request = workspace.pending(RequestKind::Permission);
    wait_until("carol to wait", LIMIT, || {
        workspace.phase("carol") == Some(Phase::Waiting)
    });
    assert!(!workspace.path().join("first").exists());
    workspace.ok(&["approve", request.id.as_str()]);
    let report = workspace.wait_reports("carol", 1).remove(0);
    assert!(report.starts_with("The answer was b:"), "{report}");
    assert!(workspace.path().join("first").exists());
    workspace.ok(&["send", "carol", "DO: run touch second"]);
    workspace.pending(RequestKind::Permission);
    workspace.ok(&["reject", "carol", "--feedback", "no"]);
    assert!(workspace.wait_reports("carol", 2)[1].starts_with("The answer was c:"));
    assert!(!workspace.path().join("second").exists());
    // Rules that allow or deny ask nobody.
    workspace.ok(&["send", "carol", "DO: run rm first"]);
    assert!(workspace.wait_reports("carol", 3)[2].starts_with("The answer was c:"));
    workspace.ok(&["send", "carol", "DO: run echo free"]);
    assert!(workspace.wait_reports("carol", 4)[3].contains("free"));
    let tools = workspace.events().into_iter();
    let tools = tools.filter(|event| event["event"] == "tool" && event["member"] == "carol");
    assert_eq!(tools.count(), 4);
    workspace.end();
}

#[test]
fn what_it_does_is_in_the_journal_and_hooks_hear_of_it() {
    let workspace = Workspace::with_config(
        "[[hooks.PostToolUse]]\nmatcher = 'Bash'\n\
         command = 'cat > heard.json; echo Look at it again. >&2; exit 2'\n",
    );
    let run = Run::of(&mut spawn_command(
        &workspace,
        "",
        &["--trust", "--prompt", "DO: run echo free"],
    ));
    assert_eq!(run.code, 0, "{run:?}");
    let report = workspace.wait_reports("carol", 1).remove(0);
    assert_eq!(report, "Done.", "what the hook says is given to the agent");
    let prompts = prompts(&workspace);
    assert_eq!(prompts.len(), 2, "{prompts:?}");
    assert!(prompts[1].contains("Look at it again."), "{prompts:?}");
    let heard = fs::read_to_string(workspace.path().join("heard.json")).unwrap();
    let heard: Value = serde_json::from_str(&heard).unwrap();
    assert_eq!(heard["tool_input"]["command"], "echo free", "{heard}");
    let response = heard["tool_response"]["content"].as_str().unwrap();
    assert!(response.contains("free"), "{heard}");
    let journal = workspace.journal("carol");
    let records = journal
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let tools: Vec<Value> = records
        .filter(|record| record["kind"] == "engine_tool")
        .collect();
    assert_eq!(tools.len(), 2, "{tools:?}");
    assert_eq!(tools[0]["name"], "bash");
    assert_eq!(tools[1]["input"]["command"], "echo free");
    let text = tools[1]["result"]["text"].as_str().unwrap();
    assert!(text.contains("free"), "{tools:?}");
    workspace.end();
}

#[test]
fn what_it_spends_is_booked_and_a_limit_stops_it() {
    let workspace = Workspace::new();
    let args = ["--max-cost", "2", "--prompt", "DO: spend"];
    spawn(&workspace, "--load", &args);
    wait_for_lines(&workspace, "spent");
    workspace.wait_for_budget("carol");
    let cost = |workspace: &Workspace| {
        let budget = workspace.team().budget().unwrap();
        let nanos = budget.booked.iter().map(|row| row.cost.as_nanos());
        nanos.sum::<u64>()
    };
    assert_eq!(cost(&workspace), 2_750_000_000);
    wait_until("the prompt to be cancelled", LIMIT, || {
        lines(&workspace, "told.jsonl").contains(&json!("session/cancel"))
    });
    workspace.ok(&["budget", "raise", "--member", "carol", "--max-cost", "10"]);
    assert_eq!(workspace.wait_reports("carol", 1), ["Spent."]);
    assert!(prompts(&workspace)[1].contains("<interrupted>"));
    // It has begun to count anew.
    assert_eq!(cost(&workspace), 3_000_000_000);
    workspace.end();
}

#[test]
fn a_question_outlives_its_agent_where_the_session_goes_on() {
    let config = "[permissions]\nask = ['Bash(touch *)']\n";
    for (options, goes_on) in [("--load", true), ("", false)] {
        let workspace = Workspace::with_config(config);
        spawn(&workspace, options, &["--prompt", "DO: run touch first"]);
        let first = workspace.pending(RequestKind::Permission);
        workspace.kill9("carol");
        workspace.ok(&["restart", "carol"]);
        wait_until("the second prompt", LIMIT, || {
            prompts(&workspace).len() == 2
        });
        wait_until("carol to wait", LIMIT, || {
            workspace.phase("carol") == Some(Phase::Waiting)
        });
        let second = workspace.pending(RequestKind::Permission);
        assert_eq!(second.id == first.id, goes_on, "{options}");
        assert_eq!(workspace.requests().len(), if goes_on { 1 } else { 2 });
        let pending = team::pending(workspace.team()).unwrap();
        assert_eq!(pending.len(), 1, "the other one has ended");
        workspace.ok(&["approve", second.id.as_str()]);
        let report = workspace.wait_reports("carol", 1).remove(0);
        assert!(report.starts_with("The answer was b:"), "{report}");
        assert!(workspace.path().join("first").exists());
        workspace.end();
    }
}

#[test]
fn it_takes_part_in_the_team_through_the_server_beside_it() {
    let workspace = Workspace::with_config(
        "[[hooks.TaskCreated]]\ncommand = 'echo no more tasks >&2; exit 2'\n\
         [[hooks.TaskCompleted]]\ncommand = 'cat >> heard.jsonl; echo key: $ANTHROPIC_API_KEY, level: $TEAM_SANDBOX_LEVEL >> key.txt'\n",
    );
    workspace.ok(&["init"]);
    let calls = json!([
        ["task_create", {"subject": "Another one"}],
        ["send_message", {"to": "lead", "content": "From inside."}],
        ["task_update", {"task_id": 1, "status": "completed", "result": "Painted."}],
    ]);
    let description = format!("DO: team {calls}");
    workspace.ok(&["task", "create", "Paint", "--description", &description]);
    let mut command = spawn_command(&workspace, "", &[]);
    let run = Run::of(command.env("ANTHROPIC_API_KEY", "kept from hooks"));
    assert_eq!(run.code, 0, "{run:?}");
    let report = workspace.wait_reports("carol", 1).remove(0);
    // The hooks for tasks hear of it, and keep it from creating any.
    assert!(report.contains("no more tasks"), "{report}");
    assert_eq!(report.matches("\"isError\": true").count(), 1, "{report}");
    let told = lines(&workspace, "heard.jsonl");
    assert_eq!(told.len(), 1, "{told:?}");
    let told = [
        &told[0]["member"],
        &told[0]["hook_event_name"],
        &told[0]["task_subject"],
    ];
    assert_eq!(told, ["carol", "TaskCompleted", "Paint"]);
    let given = workspace.wait_for_file("key.txt");
    assert!(given.starts_with("key: , level: "), "{given}");
    let shown = workspace.ok(&["task", "show", "1"]);
    assert!(
        shown.contains("completed") && shown.contains("Painted."),
        "{shown}"
    );
    let lead = workspace.inbox(&protocol::Recipient::Lead);
    assert!(
        lead.iter().any(|mail| mail.body.text() == "From inside."),
        "{lead:?}"
    );
    workspace.end();
}

#[test]
fn an_agent_that_dies_is_started_again_and_told_that_it_was_interrupted() {
    for (options, restores) in [
        ("--load", "session/load"),
        ("--resume", "session/resume"),
        ("", "session/new"),
    ] {
        let workspace = Workspace::new();
        spawn(&workspace, options, &["--prompt", "Remember 17."]);
        workspace.wait_reports("carol", 1);
        workspace.ok(&["send", "carol", "DO: die"]);
        assert_eq!(workspace.wait_reports("carol", 2)[1], "Done.", "{options}");
        let prompts = prompts(&workspace);
        assert_eq!(prompts.len(), 3, "{prompts:?}");
        assert!(!prompts[1].contains("<interrupted>"));
        assert!(prompts[2].contains("<interrupted>") && prompts[2].contains("DO: die"));
        let told = lines(&workspace, "told.jsonl");
        let last = told.iter().rev().find(|method| {
            let method = method.as_str().unwrap();
            ["session/new", "session/load", "session/resume"].contains(&method)
        });
        assert_eq!(last.unwrap(), restores);
        // A new session is told what was said in the one before.
        assert_eq!(
            prompts[2].contains("Remember 17."),
            options.is_empty(),
            "{prompts:?}"
        );
        assert_eq!(
            workspace.incarnation("carol"),
            1,
            "the member itself goes on"
        );
        workspace.end();
    }
}

#[test]
fn a_killed_member_takes_its_agent_along_and_no_turn_is_done_twice() {
    let workspace = Workspace::new();
    spawn(&workspace, "--load", &["--prompt", "Remember 17."]);
    workspace.wait_reports("carol", 1);
    workspace.ok(&["send", "carol", "DO: hang"]);
    wait_for_lines(&workspace, "hanging");
    let mark = "TEAM_JOB=";
    let alive = || {
        let all = with_variable(mark).into_iter();
        all.filter(|line| line.contains("4321") || line.contains("acp_agent"))
            .count()
    };
    workspace.kill9("carol");
    wait_until("the agent and its child to end", LIMIT, || alive() == 0);
    workspace.ok(&["restart", "carol"]);
    assert_eq!(workspace.wait_reports("carol", 2), ["Done.", "Done."]);
    workspace.wait_phase("carol", Phase::Idle);
    let prompts = prompts(&workspace);
    assert_eq!(prompts.len(), 3, "{prompts:?}");
    assert!(prompts[2].contains("<interrupted>") && prompts[2].contains("DO: hang"));
    assert!(
        !prompts[2].contains("Remember 17."),
        "the agent has its session"
    );
    assert!(lines(&workspace, "told.jsonl").contains(&json!("session/load")));
    // A turn that was answered is not sent again.
    workspace.kill9("carol");
    workspace.ok(&["restart", "carol"]);
    workspace.ok(&["send", "carol", "And now?"]);
    workspace.wait_reports("carol", 3);
    assert_eq!(self::prompts(&workspace).len(), 4);
    workspace.end();
}

#[test]
fn a_prompt_ends_with_its_member_and_is_given_again_and_the_stubborn_are_killed() {
    let workspace = Workspace::new();
    spawn(&workspace, "--load", &["--prompt", "DO: wait"]);
    wait_for_lines(&workspace, "waiting");
    workspace.signal("carol", Signal::SIGTERM);
    workspace.wait_until_gone("carol");
    workspace.wait_until_commands_ended();
    let told = fs::read_to_string(workspace.path().join("cancelled"));
    assert!(told.is_ok(), "the agent has read that its prompt ends");
    workspace.ok(&["restart", "carol"]);
    assert_eq!(workspace.wait_reports("carol", 1), ["Done."]);
    fs::remove_file(workspace.path().join("waiting")).unwrap();
    workspace.ok(&["send", "carol", "DO: stubborn"]);
    wait_for_lines(&workspace, "waiting");
    // Its process answers in its place, in time.
    workspace
        .run(&["shutdown", "carol", "--wait", "--timeout", "6"])
        .has_code(0);
    workspace.wait_until_gone("carol");
    workspace.wait_until_commands_ended();
    workspace.end();
}

#[test]
fn floods_garbage_and_late_answers_are_taken() {
    let workspace = Workspace::new();
    spawn(&workspace, "", &["--prompt", "DO: garbage"]);
    assert_eq!(workspace.wait_reports("carol", 1), ["Still here."]);
    workspace.ok(&["send", "carol", "DO: late"]);
    assert_eq!(workspace.wait_reports("carol", 2)[1], "Late.");
    workspace.ok(&["send", "carol", "DO: flood"]);
    assert!(workspace.wait_reports("carol", 3)[2].contains("19999"));
    workspace.end();
}

#[test]
fn a_missing_program_login_or_network_is_said_with_the_remedy() {
    let workspace = Workspace::new();
    let refused = |args: &[&str]| {
        let run = workspace.run(args);
        assert_eq!(run.code, 1, "{run:?}");
        run.err
    };
    let missing = refused(&[
        "spawn",
        "carol",
        "coder",
        "--engine",
        "acp:qwen",
        "--network",
        "on",
    ]);
    assert!(
        missing.contains("npm install -g @qwen-code/qwen-code"),
        "{missing}"
    );
    let cut_off = refused(&["spawn", "carol", "coder", "--engine", &engine("")]);
    assert!(cut_off.contains("--network on"), "{cut_off}");
    let unknown = workspace.run(&["spawn", "carol", "coder", "--engine", "acp:cloude"]);
    assert!(unknown.err.contains("acp:claude"), "{unknown:?}");
    spawn(&workspace, "--login", &["--prompt", "Say hello."]);
    workspace.wait_phase("carol", Phase::Failed);
    assert!(workspace.log("carol").contains("the agent wants a login"));
    workspace.end();
}

#[test]
fn before_its_plan_is_approved_it_can_change_nothing() {
    let workspace = Workspace::new();
    let plan = json!([["plan_approval", {"plan": "Touch it."}]]);
    let prompt = format!("DO: team {plan}");
    spawn(
        &workspace,
        "--load",
        &["--require-plan", "--prompt", &prompt],
    );
    let request = workspace.pending(RequestKind::Plan);
    assert!(
        !workspace.path().join("prompts.jsonl").exists(),
        "the workspace was read-only"
    );
    workspace.ok(&["approve", request.id.as_str()]);
    workspace.ok(&["send", "carol", "DO: run touch painted"]);
    wait_until("the work", LIMIT, || {
        workspace.path().join("painted").exists()
    });
    workspace.end();
}

#[test]
fn a_booking_that_a_kill_interrupted_is_made_once() {
    let workspace = Workspace::new();
    spawn(&workspace, "--load", &["--prompt", "Say hello."]);
    workspace.wait_reports("carol", 1);
    let cost = || {
        let budget = workspace.team().budget().unwrap();
        let costs = budget.booked.iter().map(|row| row.cost.as_nanos());
        costs.sum::<u64>()
    };
    let kept = workspace
        .team()
        .layout()
        .member_outputs(&recipient("carol"))
        .join("engine.json");
    // The process was killed before the booking, and then after it.
    for (number, booked, expected) in [(2, 0, 1_000_000_000), (3, 0, 1_000_000_000)] {
        workspace.wait_phase("carol", Phase::Idle);
        workspace.kill9("carol");
        let mut stored: Value = serde_json::from_slice(&fs::read(&kept).unwrap()).unwrap();
        stored["charging"] = json!({"amount": 1.0, "total": 1.0, "booked": booked});
        fs::write(&kept, stored.to_string()).unwrap();
        workspace.ok(&["restart", "carol"]);
        workspace.ok(&["send", "carol", "Go on."]);
        workspace.wait_reports("carol", number);
        assert_eq!(cost(), expected, "{number}");
        let stored: Value = serde_json::from_slice(&fs::read(&kept).unwrap()).unwrap();
        assert!(stored["charging"].is_null(), "{stored}");
    }
    workspace.end();
}
