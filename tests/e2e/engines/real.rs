//! The agents of others, installed by `scripts/install-test-agents`, against a model that a server plays.

use crate::harness::{LIMIT, Run, Workspace, say, with_variable};
use protocol::{Phase, RequestKind};
use serde_json::json;
use std::path::PathBuf;
use std::process::Command;
use test_support::llm_server::{CapturedRequest, ServerReply};
use test_support::wait_until;

/// Where the agents are installed, if they are.
fn cache() -> PathBuf {
    let chosen = std::env::var_os("TEAM_TEST_CACHE").map(PathBuf::from);
    let home = || std::env::home_dir().unwrap_or_default();
    chosen.unwrap_or_else(|| home().join(".cache/team-lead-tests"))
}

/// The folders with the programs of an agent, if it is installed.
fn programs(name: &str) -> Option<Vec<PathBuf>> {
    let folder = cache().join(name);
    if !folder.join(".complete").is_file() {
        return None;
    }
    let packages = folder.join("node_modules");
    Some(vec![
        packages.join("@aaif/goose-binary-linux-x64/bin"),
        packages.join(".bin"),
        cache().join("node22/node_modules/.bin"),
    ])
}

/// A command in the workspace that finds the agent and its model.
fn with_agent(workspace: &Workspace, name: &str, mut command: Command) -> Command {
    let usual = std::env::var_os("PATH").unwrap();
    let paths = programs(name).unwrap().into_iter();
    let paths = paths.chain(std::env::split_paths(&usual));
    command.env("PATH", std::env::join_paths(paths).unwrap());
    let (messages, chat) = (
        workspace.server.base_url("carol"),
        workspace.server.openai_base_url("carol"),
    );
    let host = chat.trim_end_matches("/v1").to_owned();
    let variables: Vec<(&str, &str)> = match name {
        "claude" => vec![
            ("ANTHROPIC_BASE_URL", messages.as_str()),
            ("ANTHROPIC_API_KEY", "sk-test"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("DISABLE_AUTOUPDATER", "1"),
        ],
        "goose" => vec![
            ("GOOSE_PROVIDER", "openai"),
            ("GOOSE_MODEL", "fake-1"),
            ("OPENAI_HOST", host.as_str()),
            ("OPENAI_API_KEY", "x"),
            ("GOOSE_DISABLE_KEYRING", "1"),
            ("GOOSE_MODE", "approve"),
        ],
        "opencode" => vec![
            ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
            ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
        ],
        _ => vec![("OPENAI_API_KEY", "x")],
    };
    command.envs(variables);
    command
}

/// The files in which opencode and Codex are told of the model's server.
fn configure(workspace: &Workspace) {
    let chat = workspace.server.openai_base_url("carol");
    let opencode = format!(
        r#"{{"model":"fake/f1","small_model":"fake/f1","permission":{{"bash":"ask"}},"provider":{{"fake":{{"npm":"@ai-sdk/openai-compatible",
            "options":{{"baseURL":"{chat}","apiKey":"x"}},"models":{{"f1":{{"name":"f1","limit":{{"context":200000,"output":8000}}}}}}}}}}}}"#
    );
    workspace.write_home(".config/opencode/opencode.json", &opencode);
    let codex = format!(
        "model = 'fake-1'\nmodel_provider = 'fake'\ncheck_for_update_on_startup = false\n\
         [model_providers.fake]\nname = 'fake'\nbase_url = '{chat}'\nwire_api = 'responses'\nenv_key = 'OPENAI_API_KEY'\n"
    );
    workspace.write_home(".codex/config.toml", &codex);
}

/// Lets a real agent answer, kills it with its member, and lets it answer again.
fn answers_dies_and_answers_again(name: &str) {
    if programs(name).is_none() {
        return skipped(name);
    }
    let workspace = Workspace::new();
    configure(&workspace);
    // They send fields that the rules for our own requests do not know.
    workspace.server.accept_foreign("carol");
    workspace
        .server
        .always("carol", say("Hello from the model."));
    let engine = format!("acp:{name}");
    let spawn = workspace.command(&[
        "spawn",
        "carol",
        "coder",
        "--engine",
        &engine,
        "--network",
        "on",
        "--prompt",
        "Remember the word heron.",
    ]);
    let run = Run::of(&mut with_agent(&workspace, name, spawn));
    assert_eq!(run.code, 0, "{run:?}");
    let report = workspace.wait_reports("carol", 1).remove(0);
    assert!(report.contains("Hello from the model."), "{name}: {report}");
    workspace.wait_phase("carol", Phase::Idle);

    let ours = workspace.path().display().to_string();
    workspace.kill9("carol");
    wait_until("the agent's processes to end", LIMIT, || {
        let marked = with_variable(&format!("TEAM_TEST_WORKSPACE={ours}"));
        !marked.iter().any(|line| line.contains(name))
    });
    let before = workspace.server.requests("carol").len();
    let restart = workspace.command(&["restart", "carol"]);
    let run = Run::of(&mut with_agent(&workspace, name, restart));
    assert_eq!(run.code, 0, "{run:?}");
    workspace.ok(&["send", "carol", "What was the word?"]);
    assert_eq!(workspace.wait_reports("carol", 2).len(), 2, "{name}");
    let later = workspace.server.requests("carol").split_off(before);
    let texts: Vec<String> = later.iter().map(|one| one.body().to_string()).collect();
    // Some agents also ask for a title of the session, with nothing but the new words.
    let has_session =
        |text: &&String| text.contains("What was the word?") && text.contains("heron");
    assert!(
        texts.iter().any(|text| has_session(&text)),
        "{name} has its session"
    );
    assert!(
        workspace.log("carol").contains("restored: true"),
        "{}",
        workspace.log("carol")
    );
    workspace.end();
}

#[expect(
    clippy::print_stderr,
    reason = "whoever runs the tests is told what was left out"
)]
fn skipped(name: &str) {
    eprintln!("left out: {name} is not installed, see scripts/install-test-agents");
}

#[test]
fn claude_answers_dies_and_answers_again() {
    answers_dies_and_answers_again("claude");
}

#[test]
fn codex_answers_dies_and_answers_again() {
    answers_dies_and_answers_again("codex");
}

#[test]
fn goose_answers_dies_and_answers_again() {
    answers_dies_and_answers_again("goose");
}

#[test]
fn opencode_answers_dies_and_answers_again() {
    answers_dies_and_answers_again("opencode");
}

/// The names that agents have for their shell.
const SHELLS: [&str; 4] = ["Bash", "bash", "shell", "developer__shell"];

/// A model that lets its agent run a command, and is done when it has a result.
fn runs(command: &'static str) -> impl Fn(CapturedRequest) -> ServerReply {
    move |request| {
        let messages = request.messages().to_vec();
        let has_result = messages.iter().any(|message| {
            let is_result = message.to_string().contains("\"tool_result\"");
            is_result || message["role"] == "tool"
        });
        let names = request.tool_names();
        let shell = names.iter().find(|name| SHELLS.contains(name));
        match shell {
            Some(shell) if !has_result => {
                let input = json!({"command": command, "description": "Makes a file"});
                ServerReply::calls([(*shell, input)])
            }
            Some(_) | None => say("Done."),
        }
    }
}

/// Lets a real agent ask for permission, and answers it.
fn asks_and_is_answered(name: &str) {
    if programs(name).is_none() {
        return skipped(name);
    }
    for is_allowed in [true, false] {
        let workspace = Workspace::with_config("[permissions]\nask = ['Bash(touch *)']\n");
        configure(&workspace);
        workspace.server.accept_foreign("carol");
        workspace.server.decide("carol", runs("touch made"));
        let engine = format!("acp:{name}");
        let spawn = workspace.command(&["spawn", "carol", "coder", "--engine", &engine]);
        let mut spawn = with_agent(&workspace, name, spawn);
        spawn.args(["--network", "on", "--prompt", "Make a file."]);
        let run = Run::of(&mut spawn);
        assert_eq!(run.code, 0, "{run:?}");
        let asked = workspace.pending(RequestKind::Permission);
        assert!(!workspace.path().join("made").exists());
        match is_allowed {
            true => workspace.ok(&["approve", asked.id.as_str()]),
            false => workspace.ok(&["reject", asked.id.as_str(), "--feedback", "no"]),
        };
        workspace.wait_reports("carol", 1);
        assert_eq!(workspace.path().join("made").exists(), is_allowed, "{name}");
        assert!(workspace.journal("carol").contains("touch made"), "{name}");
        workspace.end();
    }
}

#[test]
fn claude_asks_and_is_answered() {
    asks_and_is_answered("claude");
}

#[test]
fn opencode_asks_and_is_answered() {
    asks_and_is_answered("opencode");
}

/// How many tools have given a result so far.
fn results(request: &CapturedRequest) -> usize {
    let messages = request.messages().iter();
    let counts = messages.map(|message| {
        let parts = message.to_string().matches("\"tool_result\"").count();
        parts.max(usize::from(message["role"] == "tool"))
    });
    counts.sum()
}

/// A model that works on the first task with the agent's shell, and completes it with the team's tools. Claude has
/// to look for these first.
fn completes_task(request: CapturedRequest) -> ServerReply {
    let names = request.tool_names();
    let Some(shell) = names.iter().find(|name| SHELLS.contains(name)) else {
        return say("Done.");
    };
    let update = names.iter().find(|name| name.ends_with("task_update"));
    let completed = json!({"task_id": 1, "status": "completed", "result": "Painted."});
    match (results(&request), update) {
        (0, _) => {
            let input = json!({"command": "touch made", "description": "Makes a file"});
            ServerReply::calls([(*shell, input)])
        }
        (1, Some(update)) => ServerReply::calls([(*update, completed)]),
        (1, None) => {
            let input = json!({"query": "select:mcp__team__task_update"});
            ServerReply::calls([("ToolSearch", input)])
        }
        (2, _) if names.contains(&"ToolSearch") => {
            ServerReply::calls([("mcp__team__task_update", completed)])
        }
        (_, _) => say("Done."),
    }
}

/// Lets a real agent finish a task of the board.
fn finishes_a_task(name: &str) {
    if programs(name).is_none() {
        return skipped(name);
    }
    let workspace = Workspace::new();
    configure(&workspace);
    workspace.server.accept_foreign("carol");
    workspace.server.decide("carol", completes_task);
    workspace.ok(&["task", "create", "Paint"]);
    let engine = format!("acp:{name}");
    let spawn = workspace.command(&["spawn", "carol", "coder", "--engine", &engine]);
    let mut spawn = with_agent(&workspace, name, spawn);
    let run = Run::of(spawn.args(["--network", "on"]));
    assert_eq!(run.code, 0, "{run:?}");
    workspace.wait_reports("carol", 1);
    assert!(workspace.path().join("made").exists(), "{name}");
    let shown = workspace.ok(&["task", "show", "1"]);
    let is_done = shown.contains("completed") && shown.contains("Painted.");
    assert!(is_done, "{name}: {shown} {}", workspace.log("carol"));
    workspace.end();
}

#[test]
fn claude_finishes_a_task() {
    finishes_a_task("claude");
}

#[test]
fn goose_finishes_a_task() {
    finishes_a_task("goose");
}

#[test]
fn opencode_finishes_a_task() {
    finishes_a_task("opencode");
}

#[test]
fn goose_asks_and_is_answered() {
    asks_and_is_answered("goose");
}
