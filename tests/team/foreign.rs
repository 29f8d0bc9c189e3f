//! Members whose part is played by another program.

use crate::harness::{LIMIT, Team, signal};
use protocol::{Body, Recipient, RequestStatus};
use serde_json::json;
use std::process::Command;
use test_support::{skip_with_a_word, wait_for, wait_until};

const MINIMAL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/python/minimal.py");

/// A team with carol, who is a Python program; `None`, with a word about it, where there is none.
fn with_carol(test: &str) -> Option<Team> {
    if Command::new("python3").arg("--version").output().is_err() {
        skip_with_a_word(test, "python3 is not installed");
        return None;
    }
    let team = Team::new();
    let program = format!("exec python3 '{MINIMAL}'");
    team.spawn_as("carol", "reviewer", &["--exec", &program]);
    Some(team)
}

/// The plain messages that the lead has from carol.
fn echoes(team: &Team) -> Vec<String> {
    let mail = team.inbox(&Recipient::Lead).into_iter();
    let words = mail.filter_map(|message| match message.body {
        Body::Message { content } => Some(content),
        _ => None,
    });
    words.collect()
}

fn ping(team: &Team, text: &str) {
    team.write_line(
        "carol",
        &json!({"type": "message", "from": "lead", "content": text}),
    );
    wait_until("the echo", LIMIT, || {
        echoes(team).contains(&text.to_owned())
    });
}

/// The number of the program itself.
fn program(team: &Team) -> u32 {
    wait_for("the program", LIMIT, || {
        let processes = team.processes();
        let mut found = processes
            .iter()
            .filter(|(_, line)| line.contains("minimal.py") && !line.contains("exec "));
        found.next().and_then(|(pid, _)| u32::try_from(*pid).ok())
    })
}

#[test]
fn a_program_takes_part_through_files_and_agrees_to_end() {
    let Some(team) = with_carol("a_program_takes_part_through_files") else {
        return;
    };
    assert_eq!(team.state("carol"), "idle");
    assert_eq!(team.incarnation("carol"), 1);
    ping(&team, "one");
    ping(&team, "two");
    assert_eq!(echoes(&team), ["one", "two"]);
    let run = team.lead(&["shutdown", "carol", "--wait", "--timeout", "80"]);
    assert_eq!(run.code, 0, "{run:?}");
    let request = team.requests().pop().unwrap();
    assert_eq!(request.status(), RequestStatus::Approved);
    assert_eq!(team.state("carol"), "shutdown");
    assert!(team.notices().is_empty(), "{:?}", team.notices());
    team.check_gone();
}

#[test]
fn a_program_that_is_killed_is_a_death_and_comes_back() {
    let Some(team) = with_carol("a_program_that_is_killed_is_a_death") else {
        return;
    };
    ping(&team, "one");
    let process = team.process("carol");
    signal(program(&team), "KILL");
    wait_until("its supervisor to end", LIMIT, || process.is_gone());
    assert_eq!(team.state("carol"), "dead");
    let notices = team.notices();
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert!(notices[0].0.starts_with("death/carol/1"), "{notices:?}");
    assert!(team.log("carol").contains("was killed by signal 9"));
    team.restart("carol");
    assert_eq!(team.incarnation("carol"), 2);
    ping(&team, "two");
    team.end();
    assert_eq!(team.state("carol"), "shutdown");
}

#[test]
fn a_program_ends_with_its_supervisor() {
    let Some(team) = with_carol("a_program_ends_with_its_supervisor") else {
        return;
    };
    program(&team);
    team.kill9("carol");
    team.check_gone();
    assert_eq!(team.state("carol"), "dead");
    team.restart("carol");
    let process = team.process("carol");
    signal(process.holder().pid, "TERM");
    wait_until("its end", LIMIT, || process.is_gone());
    assert_eq!(team.state("carol"), "shutdown");
    team.check_gone();
}
