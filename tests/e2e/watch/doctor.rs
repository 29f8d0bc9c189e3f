//! `doctor` and `clean` with real members.

use crate::harness::{LIMIT, Workspace};
use protocol::{AgentName, Recipient};
use serde_json::Value;
use std::fs::{self, File};
use std::io::Write;
use std::process::Command;
use std::time::{Duration, SystemTime};
use teamdir::{RosterError, now};
use test_support::wait_until;

/// The kinds of what is wrong. How many notifications are left is the machine's affair.
fn kinds(report: &Value) -> Vec<&str> {
    let findings = report["findings"].as_array().unwrap().iter();
    let kinds = findings.map(|finding| finding["kind"].as_str().unwrap());
    kinds.filter(|kind| *kind != "inotify").collect()
}

#[test]
fn a_dead_member_is_found_and_reaped_and_mail_is_left_alone() {
    let workspace = Workspace::new();
    workspace.ok(&["spawn", "alice", "coder"]);
    let (_, healthy) = workspace.json_and_code(&["doctor"]);
    assert_eq!(kinds(&healthy), [""; 0], "{healthy:#}");
    assert_eq!(healthy["model"], "offline");
    assert_eq!(healthy["keys"]["OPENAI_API_KEY"], false);
    workspace.kill9("alice");
    workspace.ok(&["send", "alice", "are you there?"]);
    let (code, found) = workspace.json_and_code(&["doctor"]);
    assert_eq!(code, 1);
    assert_eq!(kinds(&found), ["unreaped_death"], "{found:#}");
    // Looking has changed nothing.
    assert_eq!(
        kinds(&workspace.json_and_code(&["doctor"]).1),
        ["unreaped_death"]
    );
    let (_, report) = workspace.json_and_code(&["doctor", "--fix"]);
    assert_eq!(kinds(&report), [""; 0], "{report:#}");
    assert_eq!(report["fixed"][0]["kind"], "unreaped_death");
    assert_eq!(report["fixed"][0]["error"], Value::Null);
    workspace.ok(&["clean"]);
    let inbox = workspace.json_and_code(&["inbox", "alice"]).1;
    assert_eq!(inbox["messages"].as_array().unwrap().len(), 1);
}

#[test]
fn a_key_is_told_of_and_never_shown() {
    let workspace = Workspace::new();
    let secret = "sk-very-secret";
    let mut command = workspace.command(&["doctor"]);
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
    let workspace = Workspace::new();
    let mut command = workspace.command(&["--json", "doctor", "--fix"]);
    command
        .env("TEAM_MODEL", "openai:x")
        .env("TEAMMATE_BIN", "/nowhere/teammate");
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(kinds(&report), ["no_teammate", "no_model"]);
    assert_eq!(report["findings"][0]["fixable"], false);
    assert_eq!(report["findings"][0]["fix"], "unset TEAMMATE_BIN");
    assert_eq!(report["findings"][1]["fix"], "export TEAM_MODEL=offline");
    assert_eq!(report["teammate"], Value::Null);
    // As it says: without the one variable, and with the other.
    let mut command = workspace.command(&["--json", "doctor"]);
    command.env("TEAM_MODEL", "offline");
    let output = command.output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(kinds(&report), [""; 0], "{report:#}");
}

#[test]
fn broken_skills_and_notes_are_reported() {
    let workspace = Workspace::new();
    let folder = workspace.path().join(".agents/skills/silent");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("SKILL.md"), "---\nname: silent\n---\nText.\n").unwrap();
    fs::create_dir_all(workspace.path().join(".claude/skills/odd")).unwrap();
    workspace.write(".claude/skills/odd/SKILL.md", "No front matter.\n");
    fs::write(workspace.path().join(".team/notes.jsonl"), "words\n").unwrap();
    let (code, found) = workspace.json_and_code(&["doctor", "--fix"]);
    assert_eq!(code, 1, "{found:#}");
    assert_eq!(
        kinds(&found),
        ["unusable_text", "unusable_text", "damaged_file"],
        "{found:#}"
    );
    for part in ["no description", "begin with a line ---"] {
        let mut findings = found["findings"].as_array().unwrap().iter();
        let has = |finding: &Value| finding["problem"].as_str().unwrap().contains(part);
        assert!(findings.any(has), "{part} is not in {found:#}");
    }
    assert_eq!(found["findings"][0]["fix"], "team-lead prompt show");
    let shown = workspace.run(&["prompt", "show"]);
    assert!(shown.err.contains("no description"), "{shown:?}");
}

#[test]
fn a_member_with_a_model_of_its_own_gets_another_one() {
    let workspace = Workspace::new();
    workspace.ok(&["spawn", "alice", "coder", "--model", "offline"]);
    let name = AgentName::new("alice").unwrap();
    let changed = workspace.team().update_roster(|roster| {
        roster.member_mut(&name).unwrap().spec.model = Some("openai:x".to_owned());
        Ok::<_, RosterError>(())
    });
    changed.unwrap();
    let (_, found) = workspace.json_and_code(&["doctor", "--fix"]);
    assert_eq!(kinds(&found), ["no_model"], "{found:#}");
    let fix = found["findings"][0]["fix"].as_str().unwrap();
    let fix = fix.replace("team-lead", env!("CARGO_BIN_EXE_team-lead"));
    let model = workspace.command(&[]);
    let mut shell = Command::new("sh");
    shell.args(["-c", &fix]).current_dir(workspace.path());
    for (variable, value) in model.get_envs() {
        match value {
            Some(value) => shell.env(variable, value),
            None => shell.env_remove(variable),
        };
    }
    let output = shell.output().unwrap();
    assert!(output.status.success(), "{fix}: {output:?}");
    let (_, report) = workspace.json_and_code(&["doctor"]);
    assert_eq!(kinds(&report), [""; 0], "{report:#}");
}

#[test]
fn a_running_member_updates_its_state_when_the_clock_was_ahead() {
    let workspace = Workspace::new();
    workspace.ok(&["spawn", "alice", "coder"]);
    workspace.ok(&["wait", "--idle", "--timeout", "120"]);
    let alice: Recipient = "alice".parse().unwrap();
    let mut live = workspace.team().live_state(&alice).unwrap().unwrap();
    live.since = now().plus(Duration::from_secs(7200));
    let text = serde_json::to_vec(&live).unwrap();
    let edited = workspace.path().join("edited.json");
    // It corrects that itself whenever it wakes up, so it must be idle.
    wait_until("a state from the future", LIMIT, || {
        fs::write(&edited, &text).unwrap();
        fs::rename(&edited, workspace.team().layout().live_state(&alice)).unwrap();
        kinds(&workspace.json_and_code(&["doctor"]).1) == ["clock"]
    });
    let (_, report) = workspace.json_and_code(&["doctor", "--fix"]);
    assert_eq!(kinds(&report), [""; 0], "{report:#}");
    let live = workspace.team().live_state(&alice).unwrap().unwrap();
    assert_eq!(live.incarnation.0, 1, "the same incarnation");
    assert!(live.since <= now());
}

#[test]
fn damaged_files_are_moved_to_the_trash_while_a_member_runs() {
    let workspace = Workspace::new();
    workspace.ok(&["spawn", "alice", "coder"]);
    let layout = workspace.team().layout();
    fs::write(layout.requests_dir().join("1a2b3c4d.json"), "{}").unwrap();
    fs::write(layout.tasks_dir().join("task_1.json"), "{").unwrap();
    let inbox = layout.inbox(&"alice".parse().unwrap());
    let mut file = File::options().append(true).create(true).open(inbox);
    let inbox = file.as_mut().unwrap();
    inbox.write_all(b"{\"type\":\"message\",\"cont\n").unwrap();
    drop(file);
    wait_until("a dead letter", LIMIT, || {
        kinds(&workspace.json_and_code(&["doctor"]).1).contains(&"dead_letters")
    });
    let (code, report) = workspace.json_and_code(&["doctor", "--fix"]);
    assert_eq!(kinds(&report), [""; 0], "{report:#}");
    let fixed = report["fixed"].as_array().unwrap();
    let done: Vec<&str> = fixed.iter().filter_map(|c| c["done"].as_str()).collect();
    assert_eq!(done.len(), 3, "{report:#}");
    let trash = layout.trash().display().to_string();
    assert!(done.iter().all(|done| done.contains(&trash)), "{done:?}");
    assert!(code == 0 || report["findings"][0]["kind"] == "inotify");
    // The number of the task is not given out again, and the member works on.
    workspace.ok(&["task", "create", "Run `echo two`."]);
    workspace.ok(&["wait", "--tasks", "--timeout", "120"]);
    let board = workspace.ok(&["task", "list"]);
    assert!(board.contains("[x] #2"), "{board}");
}

#[test]
fn clean_lists_first_and_then_removes_the_same() {
    let workspace = Workspace::new();
    let path = workspace
        .team()
        .layout()
        .root()
        .join(".config.json.aaaaaa.tmp");
    fs::write(&path, "{").unwrap();
    let file = File::options().append(true).open(&path).unwrap();
    let old = SystemTime::now() - Duration::from_secs(3600);
    file.set_modified(old).unwrap();
    let (_, listed) = workspace.json_and_code(&["clean", "--dry-run"]);
    assert!(path.exists());
    let (_, removed) = workspace.json_and_code(&["clean"]);
    assert!(!path.exists());
    assert_eq!(listed["removed"], removed["removed"]);
    assert_eq!(removed["removed"][0]["kind"], "temporary_file");
    let nothing = workspace.ok(&["clean", "--dry-run"]);
    assert_eq!(nothing.trim(), "Nothing to remove");
}

#[test]
fn a_roster_that_cannot_be_read_is_named_and_nothing_is_made_up() {
    let workspace = Workspace::new();
    let path = workspace.team().layout().roster();
    let copy = fs::read(&path).unwrap();
    fs::write(&path, "{\"members\": [").unwrap();
    let (code, found) = workspace.json_and_code(&["doctor", "--fix"]);
    assert_eq!(code, 1);
    assert_eq!(kinds(&found), ["damaged_file"], "{found:#}");
    let fix = found["findings"][0]["fix"].as_str().unwrap();
    assert!(fix.starts_with("${EDITOR:-vi} "), "{fix}");
    assert_eq!(fs::read(&path).unwrap(), b"{\"members\": [");
    let run = workspace.run(&["doctor"]);
    assert!(run.out.contains("Only a person knows"), "{run:?}");
    fs::remove_file(&path).unwrap();
    assert_eq!(
        kinds(&workspace.json_and_code(&["doctor"]).1),
        ["no_access"]
    );
    // What a person restores is found whole.
    fs::write(&path, copy).unwrap();
    assert_eq!(kinds(&workspace.json_and_code(&["doctor"]).1), [""; 0]);
}

#[test]
fn what_is_older_than_people_want_is_removed_and_nothing_else() {
    let config = "[retention]\ntrash = 30\nsessions = 30\n";
    let workspace = Workspace::with_config(config);
    workspace.ok(&["init"]);
    let layout = workspace.team().layout();
    let log = layout.member_log(&Recipient::Lead);
    let old = layout
        .member_sessions(&Recipient::Lead)
        .join("1a2b3c4d.jsonl");
    for path in [&log, &old] {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "{}\n").unwrap();
        let file = File::options().write(true).open(path).unwrap();
        let long_ago = SystemTime::now() - Duration::from_secs(40 * 86_400);
        file.set_modified(long_ago).unwrap();
    }
    workspace.run_lead(&["--keep", "hello"], "").has_code(0);
    // The file says how long sessions are kept, and nothing about logs.
    let (_, listed) = workspace.json_and_code(&["clean", "--dry-run"]);
    let removed = listed["removed"].as_array().unwrap();
    assert_eq!(removed.len(), 1, "{listed:#}");
    assert_eq!(removed[0]["kind"], "old_conversation");
    let text = workspace.ok(&["clean", "--older-than", "60d"]);
    assert!(text.contains("Nothing to remove"), "{text}");
    assert!(old.exists());
    let text = workspace.ok(&["clean"]);
    assert!(text.contains("'lead' left it over 30 days ago"), "{text}");
    assert!(!old.exists());
    assert_eq!(
        workspace.json(&["sessions"])["sessions"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    let wrong = workspace.run(&["clean", "--older-than", "long"]);
    assert_eq!(wrong.code, 2, "{wrong:?}");
}
