//! Problems of members' own trees and of submissions, in real repositories.

use crate::broken_team::{BrokenTeam, broken_team, kinds, name};
use command::Surroundings;
use doctor::{Finding, Kind, Trees};
use integration::{Integration, QueueOutcome, TreeSettings, Work};
use protocol::{Member, SubmissionId, SubmissionStatus};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use teamdir::RosterError;
use test_support::{commit_all, git, init_repository};

fn trees(broken: &BrokenTeam) -> &Integration {
    match &broken.environment.trees {
        Trees::Usable(trees) => trees,
        other => panic!("{other:?}"),
    }
}

/// Makes the workspace a repository in which alice has a tree of her own.
fn give_tree(broken: &mut BrokenTeam) -> PathBuf {
    let folder = broken.temp.workspace().to_path_buf();
    init_repository(&folder);
    git(
        &folder,
        ["commit", "--quiet", "--allow-empty", "--message", "Begin"],
    );
    let confine = Arc::new(|_: integration::TreeCommand<'_>| Surroundings::Inherited);
    let opened = Integration::open(broken.team(), TreeSettings::default(), confine).unwrap();
    opened.ensure_tree(&name("alice")).unwrap();
    broken.environment.trees = Trees::Usable(Box::new(opened));
    broken.team().layout().tree(&name("alice"))
}

/// Commits a file in alice's tree.
fn commit(broken: &BrokenTeam, file: &str) {
    let tree = broken.team().layout().tree(&name("alice"));
    fs::write(tree.join(file), "work\n").unwrap();
    commit_all(&tree, file);
}

pub(crate) fn stalled_submission(broken: &mut BrokenTeam) {
    give_tree(broken);
    submit(broken);
}

fn submit(broken: &BrokenTeam) {
    commit(broken, "work.txt");
    trees(broken)
        .submit(&name("alice"), &Work::default())
        .unwrap();
}

pub(crate) fn without_member(broken: &mut BrokenTeam) {
    give_tree(broken);
    commit(broken, "work.txt");
    let removed = broken.team().update_roster(|roster| {
        roster
            .members
            .retain(|member| member.spec.name != name("alice"));
        Ok::<_, RosterError>(())
    });
    removed.unwrap();
}

pub(crate) fn broken_tree(broken: &mut BrokenTeam) {
    let tree = give_tree(broken);
    fs::write(tree.join("draft.txt"), "half").unwrap();
    fs::remove_file(tree.join(".git/HEAD")).unwrap();
}

#[test]
fn a_tree_with_work_and_read_only_objects_is_no_problem() {
    let mut broken = BrokenTeam::healthy();
    give_tree(&mut broken);
    submit(&broken);
    trees(&broken).run_queue().unwrap();
    assert_eq!(broken.examine(), []);
}

#[test]
fn the_work_in_a_tree_without_member_is_kept_under_references() {
    let mut broken = BrokenTeam::healthy();
    without_member(&mut broken);
    let tree = broken.team().layout().tree(&name("alice"));
    fs::write(tree.join("draft.txt"), "half\n").unwrap();
    assert!(broken.fix_all().left.is_empty());
    assert!(!tree.exists());
    let folder = broken.temp.workspace();
    let format = "--format=%(refname)";
    let rescued = git(folder, &["for-each-ref", format, "refs/team/rescue/alice"]);
    let shown: Vec<String> = rescued
        .lines()
        .map(|reference| git(folder, &["ls-tree", "--name-only", reference]))
        .collect();
    assert!(shown.concat().contains("draft.txt"), "{shown:?}");
    assert!(shown.concat().contains("work.txt"), "{shown:?}");
}

#[test]
fn a_broken_tree_is_kept_whole_and_the_member_gets_a_new_one() {
    let mut broken = BrokenTeam::healthy();
    broken_tree(&mut broken);
    let guard = broken.start_alice(protocol::MemberStatus::Idle);
    let found = broken.examine();
    assert_eq!(kinds(&found), [Kind::BrokenTree]);
    let tried = broken.fix_all();
    let error = tried.fixed[0].outcome.as_ref().unwrap_err().to_string();
    assert!(error.contains("'alice' still runs"), "{error}");
    drop(guard);
    let trash = || broken.trash("trees/alice/draft.txt");
    broken.fix_all();
    assert_eq!(trash(), "half");
    let again = trees(&broken).ensure_tree(&name("alice")).unwrap();
    assert!(again.is_new);
}

#[test]
fn a_damaged_submission_is_written_anew_and_merged() {
    let mut broken = BrokenTeam::healthy();
    give_tree(&mut broken);
    submit(&broken);
    let path = broken.team().layout().submission(SubmissionId(1));
    let before = broken.team().submission(SubmissionId(1)).unwrap();
    fs::write(&path, "{").unwrap();
    let found = broken.examine();
    assert_eq!(kinds(&found), [Kind::DamagedFile], "{found:#?}");
    let left = broken.fix_all().left;
    assert_eq!(kinds(&left), [Kind::StalledSubmissions]);
    assert_eq!(broken.trash("submissions/1.json"), "{");
    let after = broken.team().submission(SubmissionId(1)).unwrap();
    assert_eq!(
        (&after.member, &after.commit),
        (&before.member, &before.commit)
    );
    assert_eq!(after.subject, before.subject);
    let ran = trees(&broken).run_queue().unwrap();
    let merged = SubmissionStatus::Merged;
    assert_eq!(ran, QueueOutcome::Done(vec![(SubmissionId(1), merged)]));
    // One that had ended stays so.
    fs::write(&path, "").unwrap();
    broken.fix_all();
    let again = broken.team().submission(SubmissionId(1)).unwrap();
    assert_eq!(again.status, merged);
}

#[test]
fn submissions_behind_a_checked_out_branch_are_explained() {
    let mut broken = BrokenTeam::healthy();
    give_tree(&mut broken);
    submit(&broken);
    let folder = broken.temp.workspace();
    git(folder, &["switch", "--quiet", "team/main"]);
    let found: Vec<Finding> = broken.examine();
    assert_eq!(kinds(&found), [Kind::StalledSubmissions]);
    assert!(found[0].problem.contains("is checked out in"), "{found:?}");
    let status = Command::new("sh").args(["-c", &found[0].command]).status();
    assert!(status.unwrap().success());
    assert_eq!(git(folder, &["branch", "--show-current"]).trim(), "main");
}

#[test]
fn a_running_member_with_a_tree_is_expected_to_integrate() {
    let mut broken = broken_team(Kind::StalledSubmissions);
    let guard = broken.start_alice(protocol::MemberStatus::Idle);
    assert_eq!(broken.examine(), []);
    broken.keep(guard);
    let added = broken.team().update_roster(|roster| {
        roster.members.push(Member::new(name("bob"), "coder"));
        Ok::<_, RosterError>(())
    });
    added.unwrap();
    assert_eq!(broken.examine(), [], "bob needs no tree");
}
