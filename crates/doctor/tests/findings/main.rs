//! Every kind of finding, produced in a real folder and fixed: by the program, or by the command that
//! it suggests.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod broken_team;
mod manual;
mod owners;
mod trees;

use broken_team::{BrokenTeam, LIMIT, STRANGER, alice, broken_team, kinds, marked_command};
use doctor::{Finding, Kind, fix};
use nix::unistd::geteuid;
use protocol::{MemberStatus, Recipient, TaskId, Timestamp};
use std::os::unix::fs::MetadataExt;
use std::time::Duration;
use teamdir::now;
use test_support::wait_until;

/// Whether a person always has to fix it.
const fn is_manual(kind: Kind) -> bool {
    match kind {
        Kind::NoTeammate
        | Kind::NoModel
        | Kind::UnusableText
        | Kind::StalledSubmissions
        | Kind::MissingRole => true,
        Kind::HeldLock
        | Kind::DeadLetters
        | Kind::DamagedJournal
        | Kind::SplitJournal
        | Kind::DamagedFile
        | Kind::ForeignOwner
        | Kind::Inotify
        | Kind::Clock
        | Kind::UnreapedDeath
        | Kind::OrphanClaim
        | Kind::OverdueRequest
        | Kind::UnfinishedCommand
        | Kind::UnfinishedLine
        | Kind::TemporaryFile
        | Kind::NoAccess
        | Kind::Misplaced
        | Kind::SeveralNames
        | Kind::TreeWithoutMember
        | Kind::BrokenTree
        | Kind::OrphanProcess => false,
    }
}

/// The number of findings of a kind.
const fn expected(kind: Kind) -> usize {
    match kind {
        Kind::OrphanProcess | Kind::Misplaced => 2,
        Kind::DamagedFile => 3,
        _ => 1,
    }
}

#[test]
fn a_healthy_team_has_no_findings() {
    let broken = BrokenTeam::healthy();
    let _alice = broken.start_alice(MemberStatus::Idle);
    broken.claimed_by("alice");
    assert_eq!(broken.examine(), []);
}

#[test]
fn a_folder_without_access_hides_no_other_problem() {
    let broken = broken_team(Kind::NoAccess);
    std::fs::create_dir(broken.team().layout().events()).unwrap();
    assert_eq!(kinds(&broken.examine()), [Kind::NoAccess, Kind::Misplaced]);
}

#[test]
fn every_finding_is_explained_and_fixed_or_left_to_a_person() {
    for kind in Kind::ALL {
        if kind == Kind::ForeignOwner && !geteuid().is_root() {
            eprintln!("skipped: only root can change the owner of a file");
            continue;
        }
        let broken = broken_team(kind);
        // A process that was just started needs a moment until its exec.
        wait_until(kind.name(), LIMIT, || {
            broken.examine().len() >= expected(kind)
        });
        let found = broken.examine();
        assert_eq!(kinds(&found), [kind], "{found:#?}");
        for finding in &found {
            assert!(!finding.about.is_empty(), "{finding:?}");
            assert!(!finding.problem.is_empty(), "{finding:?}");
            assert!(finding.meaning.ends_with('.'), "{finding:?}");
        }
        let report = broken.fix_all();
        let fixed = &report.fixed;
        if is_manual(kind) {
            assert!(fixed.is_empty(), "{kind:?}: {fixed:#?}");
            assert_eq!(report.left, found);
            continue;
        }
        assert!(found.iter().all(|f| f.command == "team-lead doctor --fix"));
        for finding in &found {
            assert!(fixed.iter().any(|fixed| fixed.finding == *finding));
        }
        // A lock may seem to be held for a moment: by a process that another test is starting.
        let what = format!("the fix of {}; tried: {fixed:#?}", kind.name());
        wait_until(&what, LIMIT, || broken.fix_all().left.is_empty());
    }
}

#[test]
fn examining_changes_nothing() {
    for kind in Kind::ALL {
        if kind == Kind::ForeignOwner && !geteuid().is_root() {
            continue;
        }
        let broken = broken_team(kind);
        wait_until(kind.name(), LIMIT, || {
            broken.examine().len() >= expected(kind)
        });
        assert_eq!(broken.examine(), broken.examine());
        assert!(!broken.team().layout().trash().exists());
    }
}

#[test]
fn names_are_distinct() {
    let mut names: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Kind::ALL.len());
}

#[test]
fn a_closed_line_is_read_and_the_lead_is_notified_of_a_death() {
    let open = broken_team(Kind::UnfinishedLine);
    fix(open.team(), &open.environment, &open.examine());
    assert_eq!(open.temp.unread(&alice()), 1);

    let dead = broken_team(Kind::UnreapedDeath);
    fix(dead.team(), &dead.environment, &dead.examine());
    assert_eq!(dead.temp.unread(&Recipient::Lead), 1);
}

#[test]
fn commands_of_a_running_member_are_left_alone() {
    let broken = BrokenTeam::healthy();
    let guard = broken.start_alice(MemberStatus::Idle);
    let mut command = marked_command(&broken);
    assert_eq!(broken.examine(), []);
    // It was found while alice was not running; then alice was started.
    drop(guard);
    wait_until("the command is seen", LIMIT, || {
        kinds(&broken.examine()).contains(&Kind::OrphanProcess)
    });
    let found = broken.examine();
    let _guard = broken.start_alice(MemberStatus::Idle);
    let orphan: Vec<Finding> = found
        .into_iter()
        .filter(|finding| finding.kind == Kind::OrphanProcess)
        .collect();
    fix(broken.team(), &broken.environment, &orphan);
    assert!(command.0.try_wait().unwrap().is_none(), "it still runs");
}

#[test]
fn times_slightly_in_the_future_are_accepted() {
    let mut broken = broken_team(Kind::Clock);
    broken.environment.now = now().plus(Duration::from_secs(7199));
    assert_eq!(broken.examine(), []);
    broken.environment.now = Timestamp::from_secs(1);
    assert_eq!(kinds(&broken.examine()), [Kind::Clock]);
}

#[test]
fn a_link_in_the_place_of_a_folder_is_moved_and_not_followed() {
    let broken = broken_team(Kind::Misplaced);
    let layout = broken.team().layout();
    let victim = broken.team().workspace().join("victim/1.json");
    assert!(broken.fix_all().left.is_empty());
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "not a request");
    let requests = std::fs::symlink_metadata(layout.requests_dir()).unwrap();
    assert!(requests.is_dir(), "a real folder is in its place");
    assert_eq!(broken.team().requests().unwrap().len(), 0);
}

#[test]
fn the_trash_keeps_the_complete_content() {
    let dead_letters = broken_team(Kind::DeadLetters);
    dead_letters.fix_all();
    assert!(
        dead_letters
            .trash("dead_letters.jsonl")
            .contains("it is not a message")
    );

    let journal = broken_team(Kind::DamagedJournal);
    wait_until("the fix", LIMIT, || journal.fix_all().left.is_empty());
    assert_eq!(journal.trash("members/alice/transcript.jsonl"), "words\n");
    let path = journal.team().layout().transcript(&alice());
    let left = std::fs::read_to_string(path).unwrap();
    assert_eq!(left, "{\"kind\":\"seal\",\"segment\":1}\n");

    let split = broken_team(Kind::SplitJournal);
    let path = split.team().layout().transcript(&alice());
    let before = std::fs::read_to_string(&path).unwrap();
    wait_until("the fix", LIMIT, || split.fix_all().left.is_empty());
    assert_eq!(split.trash("members/alice/transcript.jsonl"), before);
    let left = std::fs::read_to_string(path).unwrap();
    assert_eq!(left, format!("{}\n", before.trim_end().replace('\n', " ")));

    let files = broken_team(Kind::DamagedFile);
    files.fix_all();
    assert_eq!(files.trash("requests/1a2b3c4d.json"), "{}");
    assert_eq!(files.trash("tasks/task_1.json"), "{");
    assert!(files.trash("tasks/task_2.json").contains("high"));
    let kept = files.team().task(TaskId(2)).unwrap();
    assert_eq!(kept.subject, "x", "the readable part stays");
}

#[test]
fn a_journal_of_a_running_member_is_fixed_after_its_end() {
    let broken = broken_team(Kind::DamagedJournal);
    let guard = broken.team().lock_dead_member(&alice()).unwrap();
    let path = broken.team().layout().transcript(&alice());
    let before = std::fs::read(&path).unwrap();
    let damaged: Vec<Finding> = broken.examine();
    let damaged: Vec<Finding> = damaged
        .into_iter()
        .filter(|finding| finding.kind == Kind::DamagedJournal)
        .collect();
    let fixed = fix(broken.team(), &broken.environment, &damaged);
    let error = fixed[0].outcome.as_ref().unwrap_err().to_string();
    assert!(error.contains("'alice' runs"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
    drop(guard);
    wait_until("the journal is fixed", LIMIT, || {
        broken.fix_all().left.is_empty()
    });
}

#[test]
fn a_request_keeps_its_time_to_answer_and_tasks_their_order() {
    let broken = broken_team(Kind::Clock);
    let team = broken.team();
    let [first, second] = [1, 2].map(TaskId);
    broken.fix_all();
    let made = |id| team.task(id).unwrap().created_at.unwrap();
    assert!(made(first) < made(second) && made(second) <= now());
    let request = team.request(&"from-later".parse().unwrap()).unwrap();
    let term = request.deadline.unwrap().since(request.created_at);
    assert_eq!(term, Duration::from_secs(60));
    assert!(request.created_at <= now());
    assert!(
        broken
            .trash("requests/from-later.json")
            .contains("deadline")
    );
}

#[test]
fn root_gives_a_file_back_to_the_owner_of_the_folder() {
    if !geteuid().is_root() {
        eprintln!("skipped: only root can change the owner of a file");
        return;
    }
    let broken = broken_team(Kind::ForeignOwner);
    let task = broken.team().layout().task(TaskId(1));
    assert_eq!(task.metadata().unwrap().uid(), STRANGER);
    let inode = task.metadata().unwrap().ino();
    broken.fix_all();
    let after = task.metadata().unwrap();
    assert_eq!((after.uid(), after.ino()), (0, inode));
}
