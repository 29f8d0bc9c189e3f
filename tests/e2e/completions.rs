//! Completion in real shells, at a terminal: a person presses Tab.

use crate::harness::{Terminal, Workspace};
use crate::readme::programs;
use protocol::RequestKind;
use std::fs;
use std::process::{Command, Stdio};

/// Clears the line that was typed.
const CLEAR: &str = "\x15";

/// A team with something of every kind that has a name or a number.
fn team() -> (Workspace, String) {
    let workspace = Workspace::new();
    workspace.ok(&["spawn", "alice", "coder"]);
    workspace.ok(&["spawn", "bertha", "tester"]);
    let plan = ["--require-plan", "--prompt", "Write hello to a.txt"];
    workspace.ok(&[&["spawn", "carol", "writer"][..], &plan].concat());
    workspace.ok(&["task", "create", "Write it", "--role", "painter"]);
    for _ in 0..11 {
        workspace.ok(&["task", "create", "Write more", "--blocked-by", "1"]);
    }
    let request = workspace.pending(RequestKind::Plan);
    (workspace, request.id.to_string())
}

/// A shell at a terminal, in the workspace, with the programs on its path.
fn shell(workspace: &Workspace, program: &str, args: &[&str]) -> Terminal {
    let mut command = Command::new(program);
    command.args(args).env_clear().current_dir(workspace.path());
    for (variable, value) in workspace.command(&[]).get_envs() {
        value.map(|value| command.env(variable, value));
    }
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", programs().display());
    command
        .env("PATH", path)
        .env("LANG", "C.UTF-8")
        .env("PS1", "ready> ");
    Terminal::start(command, 40, 100)
}

fn is_installed(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdout(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Types a beginning and Tab for each of these, and waits for the whole.
#[track_caller]
fn complete(terminal: &mut Terminal, request: &str) {
    let beginning: String = request.chars().take(6).collect();
    let id = format!("team-lead approve {beginning}\t");
    let approve = format!("team-lead approve {request}");
    let cases = [
        ("team-lead broadc\t", "team-lead broadcast"),
        ("team-lead send ali\t", "team-lead send alice"),
        ("team-lead send le\t", "team-lead send lead"),
        ("team-lead kill ber\t", "team-lead kill bertha"),
        ("team-lead -C . kill ber\t", "team-lead -C . kill bertha"),
        (
            "team-lead shutdown alice ber\t",
            "team-lead shutdown alice bertha",
        ),
        (
            "team-lead events --member ca\t",
            "team-lead events --member carol",
        ),
        ("team-lead spawn dora wri\t", "team-lead spawn dora writer"),
        ("team-lead task show 12\t", "team-lead task show 12"),
        ("team-lead task sh\t", "team-lead task show"),
        (
            "team-lead task list --status in\t",
            "team-lead task list --status in_progress",
        ),
        ("team-lead approve car\t", "team-lead approve carol"),
        (&id, &approve),
        ("team-lead shutdown --forc\t", "team-lead shutdown --force"),
    ];
    for (typed, expected) in cases {
        terminal.type_keys(typed);
        let line = format!("> {expected}");
        terminal.wait_until(&line, |screen| {
            screen
                .lines()
                .any(|shown| shown.trim_end().ends_with(&line))
        });
        terminal.type_keys(CLEAR);
        terminal.wait_for_last_line("ready>");
    }
}

/// Installs the script of a shell where it looks for it.
fn install(workspace: &Workspace, name: &str, file: &str) {
    let script = workspace.ok(&["completions", name]);
    let path = workspace.home().join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, script).unwrap();
}

#[test]
fn bash_completes_names_and_numbers() {
    let (workspace, request) = team();
    install(&workspace, "bash", "team-lead.bash");
    let mut terminal = shell(&workspace, "bash", &["--norc", "--noprofile", "-i"]);
    terminal.wait_for_last_line("ready>");
    terminal.type_keys("source ~/team-lead.bash; clear\r");
    terminal.wait_until("an empty screen", |screen| screen.trim() == "ready>");
    complete(&mut terminal, &request);
    // Several candidates are listed.
    terminal.type_keys("team-lead logs \t\t");
    terminal.wait_for(&["alice", "bertha", "carol", "lead"]);
}

#[test]
fn zsh_completes_names_and_numbers() {
    if !is_installed("zsh") {
        eprintln!("left out: zsh is not installed; scripts/install-test-tools installs it");
        return;
    }
    let (workspace, request) = team();
    install(&workspace, "zsh", ".zfunc/_team-lead");
    let settings = "fpath=(~/.zfunc $fpath)\nautoload -Uz compinit && compinit -u\nPS1='ready> '\nunsetopt prompt_sp\n";
    workspace.write_home(".zshrc", settings);
    let mut terminal = shell(&workspace, "zsh", &["-d", "-i"]);
    terminal.wait_for_last_line("ready>");
    complete(&mut terminal, &request);
}

#[test]
fn fish_completes_names_and_numbers() {
    if !is_installed("fish") {
        eprintln!("left out: fish is not installed; scripts/install-test-tools installs it");
        return;
    }
    let (workspace, request) = team();
    install(
        &workspace,
        "fish",
        ".config/fish/completions/team-lead.fish",
    );
    let prompt = "function fish_prompt; echo 'ready> '; end\nset fish_greeting\n";
    workspace.write_home(".config/fish/config.fish", prompt);
    let mut terminal = shell(&workspace, "fish", &["-i"]);
    terminal.wait_for_last_line("ready>");
    complete(&mut terminal, &request);
}
