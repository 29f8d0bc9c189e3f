//! Members whose part is played by another program.

use crate::harness::{LIMIT, Workspace, signal};
use nix::sys::signal::Signal;
use protocol::{Body, Recipient, RequestStatus};
use serde_json::json;
use std::process::Command;
use test_support::{report_skip, wait_for, wait_until};

const MINIMAL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/python/minimal.py");

/// A team with carol, who is a Python program; `None`, with a message, where there is no Python.
fn with_carol(test: &str) -> Option<Workspace> {
    if Command::new("python3").arg("--version").output().is_err() {
        report_skip(test, "python3 is not installed");
        return None;
    }
    let workspace = Workspace::new();
    let program = format!("exec python3 '{MINIMAL}'");
    workspace.spawn_as("carol", "reviewer", &["--exec", &program]);
    Some(workspace)
}

/// The plain messages that the lead has from carol.
fn echoes(workspace: &Workspace) -> Vec<String> {
    let mail = workspace.inbox(&Recipient::Lead).into_iter();
    let words = mail.filter_map(|message| match message.body {
        Body::Message { content } => Some(content),
        _ => None,
    });
    words.collect()
}

fn ping(workspace: &Workspace, text: &str) {
    workspace.write_line(
        "carol",
        &json!({"type": "message", "from": "lead", "content": text}),
    );
    wait_until("the echo", LIMIT, || {
        echoes(workspace).contains(&text.to_owned())
    });
}

/// The number of the program itself.
fn program(workspace: &Workspace) -> u32 {
    wait_for("the program", LIMIT, || {
        let processes = workspace.processes();
        let mut found = processes
            .iter()
            .filter(|(_, line)| line.contains("minimal.py") && !line.contains("exec "));
        found.next().map(|(pid, _)| *pid)
    })
}

#[test]
fn a_program_takes_part_through_files_and_agrees_to_end() {
    let Some(workspace) = with_carol("a_program_takes_part_through_files") else {
        return;
    };
    assert_eq!(workspace.state("carol"), "idle");
    assert_eq!(workspace.incarnation("carol"), 1);
    ping(&workspace, "one");
    ping(&workspace, "two");
    assert_eq!(echoes(&workspace), ["one", "two"]);
    let run = workspace.run(&["shutdown", "carol", "--wait", "--timeout", "80"]);
    assert_eq!(run.code, 0, "{run:?}");
    let request = workspace.requests().pop().unwrap();
    assert_eq!(request.status(), RequestStatus::Approved);
    assert_eq!(workspace.state("carol"), "shutdown");
    assert!(workspace.notices().is_empty(), "{:?}", workspace.notices());
    workspace.check_gone();
}

#[test]
fn a_program_that_is_killed_is_a_death_and_comes_back() {
    let Some(workspace) = with_carol("a_program_that_is_killed_is_a_death") else {
        return;
    };
    ping(&workspace, "one");
    let process = workspace.process("carol");
    signal(program(&workspace), Signal::SIGKILL);
    wait_until("its supervisor to end", LIMIT, || process.is_gone());
    assert_eq!(workspace.state("carol"), "dead");
    let notices = workspace.notices();
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert!(notices[0].0.starts_with("death/carol/1"), "{notices:?}");
    assert!(workspace.log("carol").contains("was killed by signal 9"));
    workspace.restart("carol");
    assert_eq!(workspace.incarnation("carol"), 2);
    ping(&workspace, "two");
    workspace.end();
    assert_eq!(workspace.state("carol"), "shutdown");
}

#[test]
fn a_program_ends_with_its_supervisor() {
    let Some(workspace) = with_carol("a_program_ends_with_its_supervisor") else {
        return;
    };
    program(&workspace);
    workspace.kill9("carol");
    workspace.check_gone();
    assert_eq!(workspace.state("carol"), "dead");
    workspace.restart("carol");
    let process = workspace.process("carol");
    signal(process.holder().pid, Signal::SIGTERM);
    wait_until("its end", LIMIT, || process.is_gone());
    assert_eq!(workspace.state("carol"), "shutdown");
    workspace.check_gone();
}
