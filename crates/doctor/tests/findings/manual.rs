//! Problems that a person has to fix: the suggested command removes the finding.

use crate::broken_team::{BrokenTeam, LIMIT, broken_team, inherit_lock, kinds};
use doctor::{Finding, FixReport, Inotify, Kind};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use test_support::wait_until;

/// Tries to fix the problem, and returns the one finding that is left.
#[track_caller]
fn left(broken: &BrokenTeam) -> Finding {
    let FixReport { fixed, mut left } = broken.fix_all();
    assert!(fixed.is_empty(), "{fixed:#?}");
    assert_eq!(left.len(), 1, "{left:#?}");
    left.remove(0)
}

/// Runs the command of the finding.
#[track_caller]
fn run_command(finding: &Finding) {
    let status = Command::new("sh").args(["-c", &finding.command]).status();
    assert!(status.unwrap().success(), "{}", finding.command);
}

#[test]
fn a_foreign_process_that_holds_a_lock_is_reported_and_left_alone() {
    let broken = BrokenTeam::healthy();
    let mut holder = inherit_lock(&broken, None);
    wait_until("a finding with the holder's name", LIMIT, || {
        let found = broken.examine();
        found.iter().any(|f| f.problem.contains("sleep 600"))
    });
    let held = left(&broken);
    assert_eq!(held.kind, Kind::HeldLock);
    assert_eq!(held.command, format!("kill {}", holder.0.id()));
    assert!(holder.0.try_wait().unwrap().is_none(), "it still runs");
    run_command(&held);
    holder.0.wait().unwrap();
    assert_eq!(broken.examine(), []);
}

#[test]
fn an_unreadable_budget_is_never_removed() {
    for path in ["budget.json", "limits.json"] {
        let broken = BrokenTeam::healthy();
        let path = broken.team().layout().root().join(path);
        fs::write(&path, "{\"team\":").unwrap();
        let finding = left(&broken);
        assert_eq!(finding.kind, Kind::DamagedFile);
        assert!(finding.meaning.contains("Only a person"), "{finding:?}");
        run_command(&finding);
        assert_eq!(broken.examine(), []);
    }
}

#[test]
fn broken_lines_of_the_notes_are_removed_by_a_person() {
    let broken = BrokenTeam::healthy();
    let path = broken.team().layout().notes();
    fs::write(
        &path,
        "{\"text\":\"one\"}\nwords\n\n{\"text\":\"two\"}\n{\n",
    )
    .unwrap();
    let finding = left(&broken);
    assert_eq!(finding.kind, Kind::DamagedFile);
    assert_eq!(finding.problem, "2 lines are not notes");
    run_command(&finding);
    assert_eq!(broken.examine(), []);
    let notes = broken.team().notes().unwrap().notes;
    let texts: Vec<&str> = notes.iter().map(|note| note.text.as_str()).collect();
    assert_eq!(texts, ["one", "two"]);
}

#[test]
fn a_setting_that_only_root_may_change_is_reported() {
    let mut broken = BrokenTeam::healthy();
    let inotify = |limit| Inotify {
        used: 127,
        limit,
        setting: PathBuf::from("/nowhere/max_user_instances"),
    };
    broken.environment.inotify = Some(inotify(128));
    let finding = left(&broken);
    let command = "sudo sysctl fs.inotify.max_user_instances=1024";
    assert_eq!(finding.command, command);
    broken.environment.inotify = Some(inotify(1024));
    assert_eq!(broken.examine(), []);
}

#[test]
fn a_missing_program_a_model_without_a_key_and_a_broken_skill_are_reported() {
    for kind in [Kind::NoTeammate, Kind::NoModel, Kind::UnusableText] {
        let mut broken = broken_team(kind);
        let found = left(&broken);
        assert_eq!(kinds(std::slice::from_ref(&found)), [kind]);
        // `tests/e2e/watch` runs both commands.
        assert!(!found.command.is_empty());
        let BrokenTeam { environment, .. } = BrokenTeam::healthy();
        broken.environment = environment;
        assert_eq!(broken.examine(), []);
    }
}
