//! `doctor` and `clean` with real members.

use crate::support::Office;
use serde_json::Value;
use std::fs::{self, File};
use std::time::{Duration, SystemTime};

/// The kinds of what is wrong. How many notifications are left is the machine's affair.
fn kinds(report: &Value) -> Vec<&str> {
    let findings = report["findings"].as_array().unwrap().iter();
    let kinds = findings.map(|finding| finding["kind"].as_str().unwrap());
    kinds.filter(|kind| *kind != "inotify").collect()
}

#[test]
fn a_dead_member_is_found_and_mended_and_mail_is_left_alone() {
    let office = Office::new();
    office.verb(&["spawn", "alice", "coder"]);
    let (_, healthy) = office.json(&["doctor"]);
    assert_eq!(kinds(&healthy), [""; 0], "{healthy:#}");
    assert_eq!(healthy["model"], "offline");
    assert_eq!(healthy["keys"]["OPENAI_API_KEY"], false);
    office.kill("alice");
    office.verb(&["send", "alice", "are you there?"]);
    let (code, found) = office.json(&["doctor"]);
    assert_eq!(code, Some(1));
    assert_eq!(kinds(&found), ["unmourned_death"], "{found:#}");
    // Looking has changed nothing.
    assert_eq!(kinds(&office.json(&["doctor"]).1), ["unmourned_death"]);
    let (_, mended) = office.json(&["doctor", "--fix"]);
    assert_eq!(kinds(&mended), [""; 0], "{mended:#}");
    assert_eq!(mended["cured"][0]["kind"], "unmourned_death");
    assert_eq!(mended["cured"][0]["error"], Value::Null);
    office.verb(&["clean"]);
    let inbox = office.json(&["inbox", "alice"]).1;
    assert_eq!(inbox["messages"].as_array().unwrap().len(), 1);
}

#[test]
fn a_key_is_told_of_and_never_shown() {
    let office = Office::new();
    let secret = "sk-very-secret";
    let mut command = office.command(&["doctor"]);
    command
        .env("OPENAI_API_KEY", secret)
        .env("TEAM_MODEL", "openai:x");
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("OPENAI_API_KEY is set"), "{text}");
    assert!(text.contains("Model: openai:x"), "{text}");
    assert!(!text.contains(secret), "{text}");
}

#[test]
fn a_model_without_its_key_and_a_missing_teammate_are_for_a_person() {
    let office = Office::new();
    let mut command = office.command(&["--json", "doctor", "--fix"]);
    command
        .env("TEAM_MODEL", "openai:x")
        .env("TEAMMATE_BIN", "/nowhere/teammate");
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(kinds(&report), ["no_teammate", "no_model"]);
    assert_eq!(report["findings"][0]["curable"], false);
    assert_eq!(report["teammate"], Value::Null);
}

#[test]
fn clean_lists_first_and_then_removes_the_same() {
    let office = Office::new();
    let path = office.team.layout().root().join(".config.json.aaaaaa.tmp");
    fs::write(&path, "{").unwrap();
    let file = File::options().append(true).open(&path).unwrap();
    let old = SystemTime::now() - Duration::from_secs(3600);
    file.set_modified(old).unwrap();
    let (_, listed) = office.json(&["clean", "--dry-run"]);
    assert!(path.exists());
    let (_, removed) = office.json(&["clean"]);
    assert!(!path.exists());
    assert_eq!(listed["removed"], removed["removed"]);
    assert_eq!(removed["removed"][0]["kind"], "temporary_file");
    let nothing = office.verb(&["clean", "--dry-run"]);
    assert_eq!(nothing.trim(), "Nothing to remove");
}
