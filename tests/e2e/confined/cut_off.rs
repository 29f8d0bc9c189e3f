//! Members that are killed while their commands run. What such a command had created under protected
//! names gets other names all the same.

use super::place::{Conditions, Level, Place, conditions};
use crate::harness::{LIMIT, bash, call};
use serde_json::json;
use std::process::Command;
use test_support::llm_server::ServerReply;
use test_support::wait_until;

/// Creates what a later program outside would trust, and stays.
const COMMAND: &str =
    "mkdir .vscode; touch .envrc .env.production; echo made > made; exec sleep 300";
const NEW: [&str; 3] = [".vscode", ".envrc", ".env.production"];

/// A killed member, whose command had created all of these.
fn killed(conditions: Conditions, command: ServerReply) -> Place {
    let place = Place::new(conditions);
    place.workspace.write(".env", "KEPT=1");
    place.spawn(&[]);
    let records = place.bash("ls -A .team/commands | wc -l");
    if conditions.level == Level::Full {
        assert_eq!(records.lines().next(), Some("0"), "it sees no records");
    }
    place.workspace.script("alice", [command]);
    let send = place.workspace.command(&["send", "alice", "Work."]);
    assert_eq!(place.run(send).code, 0);
    place.workspace.wait_for_file("made");
    assert_eq!(records_of(&place).len(), 1);
    place.workspace.kill9("alice");
    for name in NEW {
        assert!(place.workspace.path().join(name).exists(), "{name}");
    }
    place
}

fn records_of(place: &Place) -> Vec<String> {
    let folder = place.workspace.path().join(".team/commands");
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    let names = entries.map(|entry| entry.file_name().into_string().unwrap());
    names.collect()
}

#[track_caller]
fn check_finished(place: &Place, command: Command) {
    let run = place.run(command);
    assert_eq!(run.code, 0, "{run:?}");
    // The last processes of the command may still have been ending.
    wait_until("the end of the command's record", LIMIT, || {
        records_of(place).is_empty() || {
            place.run(place.workspace.command(&["status"]));
            records_of(place).is_empty()
        }
    });
    let path = place.workspace.path();
    for name in NEW {
        assert!(!path.join(name).exists(), "{name}");
        assert!(
            path.join(format!("{name}.from-sandbox.1")).exists(),
            "{name}"
        );
    }
    assert_eq!(
        std::fs::read_to_string(path.join(".env")).unwrap(),
        "KEPT=1"
    );
    assert!(path.join("made").exists());
    let notices = place.workspace.notices();
    let told: Vec<_> = notices
        .iter()
        .filter(|(id, _)| id.starts_with("left_files/alice."))
        .collect();
    let [(_, text)] = told[..] else {
        panic!("{notices:?}");
    };
    let names = r#"".env.production", ".envrc", ".vscode""#;
    assert!(text.contains(names), "{text}");
}

#[test]
fn a_command_of_a_killed_member_is_finished_by_whoever_looks_at_the_team() {
    for conditions in conditions(&[Level::Full, Level::Landlock]) {
        let place = killed(conditions, bash(COMMAND));
        check_finished(&place, place.workspace.command(&["status"]));
        place.end();
    }
}

#[test]
fn a_background_command_of_a_killed_member_is_finished_when_it_starts_again() {
    for conditions in conditions(&[Level::Full, Level::Landlock]) {
        let place = killed(
            conditions,
            call("background_run", json!({"command": COMMAND})),
        );
        let spawn = place.workspace.spawn_command("alice", "coder", &[]);
        check_finished(&place, spawn);
        place.end();
    }
}

#[test]
fn a_command_that_ends_leaves_no_record() {
    let [conditions, ..] = conditions(&[Level::Full])[..] else {
        return;
    };
    let place = Place::new(conditions);
    place.spawn(&[]);
    let output = place.bash("touch .envrc");
    assert!(output.contains(".envrc.from-sandbox.1"), "{output}");
    assert_eq!(records_of(&place), [""; 0]);
    place.end();
}
