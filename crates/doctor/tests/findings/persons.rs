//! What only a person can do something about: following the hint makes the finding go away.

use crate::stage::{LIMIT, Stage, heir, kinds, stage};
use doctor::{Checked, Finding, Inotify, Kind};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use test_support::wait_until;

/// Looks, tries to mend, and returns the one thing that is left.
#[track_caller]
fn left(stage: &Stage) -> Finding {
    let Checked { cured, mut left } = stage.mend();
    assert_eq!(cured, []);
    assert_eq!(left.len(), 1, "{left:#?}");
    left.remove(0)
}

/// Types what the finding says.
#[track_caller]
fn obey(finding: &Finding) {
    let status = Command::new("sh").args(["-c", &finding.fix]).status();
    assert!(status.unwrap().success(), "{}", finding.fix);
}

#[test]
fn a_stranger_that_holds_a_lock_is_named_and_left_alone() {
    let stage = Stage::healthy();
    let mut holder = heir(&stage, None);
    wait_until("a finding with the holder's name", LIMIT, || {
        let found = stage.examine();
        found.iter().any(|f| f.problem.contains("sleep 600"))
    });
    let held = left(&stage);
    assert_eq!(held.kind, Kind::HeldLock);
    assert_eq!(held.fix, format!("kill {}", holder.0.id()));
    assert!(holder.0.try_wait().unwrap().is_none(), "it still runs");
    obey(&held);
    holder.0.wait().unwrap();
    assert_eq!(stage.examine(), []);
}

#[test]
fn a_budget_that_cannot_be_read_is_never_lifted() {
    for path in ["budget.json", "limits.json"] {
        let stage = Stage::healthy();
        let path = stage.team().layout().root().join(path);
        fs::write(&path, "{\"team\":").unwrap();
        let finding = left(&stage);
        assert_eq!(finding.kind, Kind::DamagedFile);
        assert!(finding.meaning.contains("only a person"), "{finding:?}");
        obey(&finding);
        assert_eq!(stage.examine(), []);
    }
}

#[test]
fn a_setting_that_only_root_may_change_is_named() {
    let mut stage = Stage::healthy();
    let inotify = |limit| Inotify {
        used: 127,
        limit,
        setting: PathBuf::from("/nowhere/max_user_instances"),
    };
    stage.surroundings.inotify = Some(inotify(128));
    let finding = left(&stage);
    let fix = "sudo sysctl fs.inotify.max_user_instances=1024";
    assert_eq!(finding.fix, fix);
    stage.surroundings.inotify = Some(inotify(1024));
    assert_eq!(stage.examine(), []);
}

#[test]
fn a_missing_program_and_a_model_without_a_key_are_named() {
    for kind in [Kind::NoTeammate, Kind::NoModel] {
        let mut stage = stage(kind);
        let found = left(&stage);
        assert_eq!(kinds(std::slice::from_ref(&found)), [kind]);
        // Both come with what to type; `tests/e2e/watch` types it.
        assert!(!found.fix.is_empty());
        let Stage { surroundings, .. } = Stage::healthy();
        stage.surroundings = surroundings;
        assert_eq!(stage.examine(), []);
    }
}
