//! `team-lead sandbox`: what it says about the machine, and a command inside.

use crate::harness::{Run, Workspace};
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use std::process::Stdio;

/// Whether everything that is promised can be tested on this machine.
fn is_full(workspace: &Workspace) -> bool {
    let level = workspace.json(&["sandbox", "check", "--json"])["level"].clone();
    let is_full = level == "full";
    if !is_full {
        let note = format!("not run: the sandbox level here is {level}\n");
        let _ = std::io::Write::write_all(&mut std::io::stderr(), note.as_bytes());
    }
    is_full
}

fn run(workspace: &Workspace, script: &str) -> Run {
    workspace.run(&["sandbox", "run", "--", "sh", "-c", script])
}

#[test]
fn check_lists_each_layer_and_says_how_to_get_a_missing_one() {
    let workspace = Workspace::empty();
    let found = workspace.json(&["sandbox", "check", "--json"]);
    let layers = found["layers"].as_array().unwrap();
    let names: Vec<&str> = layers
        .iter()
        .filter_map(|layer| layer["name"].as_str())
        .collect();
    assert_eq!(
        names,
        [
            "namespaces",
            "landlock",
            "landlock scopes",
            "seccomp",
            "limits",
            "environment"
        ]
    );
    for layer in layers {
        let is_missing = layer["present"] == false;
        assert_eq!(layer["why"].is_string(), is_missing, "{layer}");
        assert_eq!(layer["how"].is_string(), is_missing, "{layer}");
    }
    let text = workspace.ok(&["sandbox", "check"]);
    assert!(
        text.starts_with(&format!("level: {}", found["level"].as_str().unwrap())),
        "{text}"
    );
}

#[test]
fn a_command_inside_has_its_own_exit_code_and_output() {
    let workspace = Workspace::empty();
    let ended = run(&workspace, "echo out; exit 42");
    ended.has_code(42);
    assert_eq!(ended.out, "out\n");
    run(&workspace, "kill -9 $$").has_code(137);
    workspace
        .run(&["sandbox", "run", "--", "no-such-program"])
        .has_code(127);
}

#[test]
fn a_command_inside_changes_the_workspace_but_not_the_team() {
    let workspace = Workspace::with_members(&["alice"]);
    if !is_full(&workspace) {
        return;
    }
    workspace.write("team.toml", "");
    workspace.write(".env", "KEY=secret\n");
    let protected = || {
        let mut files = workspace.listing();
        files.retain(|(path, _)| {
            let name = path.strip_prefix(workspace.path()).unwrap();
            [".team", "team.toml", ".env"]
                .iter()
                .any(|start| name.starts_with(start))
        });
        files
    };
    let before = protected();
    let script = "cat .env; echo x > made; for f in .team/config.json team.toml .env; do \
         echo x >> $f && echo through; rm $f && echo through; done; mv .team away && echo through; \
         echo x > .mcp.json; exit 0";
    let ended = run(&workspace, script);
    ended.has_code(0);
    assert_eq!(ended.out, "", "{ended:?}");
    assert_eq!(protected(), before);
    assert_eq!(
        std::fs::read_to_string(workspace.path().join("made")).unwrap(),
        "x\n"
    );
    // The name did not exist before, so that it cannot be protected; it does not stay.
    assert!(!workspace.path().join(".mcp.json").exists());
    assert!(ended.err.contains(".mcp.json.from-sandbox"), "{ended:?}");
}

#[test]
fn a_read_only_workspace_and_its_home_are_safe() {
    let workspace = Workspace::empty();
    if !is_full(&workspace) {
        return;
    }
    workspace.write("file", "before");
    workspace.write_home(".ssh/id", "secret");
    let script =
        "cat ~/.ssh/id; echo x > file; echo x > new; echo x > /tmp/new && cat /tmp/new file";
    let arguments = ["sandbox", "run", "--read-only", "--", "sh", "-c", script];
    let ended = workspace.run(&arguments);
    assert_eq!(ended.out, "x\nbefore", "{ended:?}");
}

#[test]
fn nothing_survives_the_command_or_a_kill_of_the_program() {
    let workspace = Workspace::empty();
    if !is_full(&workspace) {
        return;
    }
    let survivor = workspace.path().join("survivor");
    run(&workspace, "(sleep 1; echo x > survivor) & exit 0").has_code(0);
    let script = "setsid sh -c 'echo x > started; sleep 1; echo x > survivor' & sleep 1000";
    let mut command = workspace.command(&["sandbox", "run", "--", "sh", "-c", script]);
    let mut child = command.stdin(Stdio::null()).spawn().unwrap();
    workspace.wait_for_file("started");
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
    nix::sys::signal::kill(pid, Signal::SIGKILL).unwrap();
    child.wait().unwrap();
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert!(!survivor.exists());
}
