//! Every finding there can be, produced in a real folder and cured: by the program, or by what it
//! tells a person to type.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod owners;
mod persons;
mod stage;

use doctor::{Finding, Kind, cure};
use protocol::{MemberStatus, Recipient, TaskId, Timestamp};
use rustix::process::geteuid;
use stage::{LIMIT, STRANGER, Stage, alice, kinds, marked_command, stage};
use std::os::unix::fs::MetadataExt;
use std::time::Duration;
use teamdir::now;
use test_support::wait_until;

/// Whether only a person can do something about it, wherever it is found.
const fn is_for_a_person(kind: Kind) -> bool {
    match kind {
        Kind::NoTeammate | Kind::NoModel => true,
        Kind::HeldLock
        | Kind::DeadLetters
        | Kind::DamagedJournal
        | Kind::DamagedFile
        | Kind::ForeignOwner
        | Kind::Inotify
        | Kind::Clock
        | Kind::UnreapedDeath
        | Kind::OrphanClaim
        | Kind::OverdueRequest
        | Kind::UnfinishedLine
        | Kind::TemporaryFile
        | Kind::NoAccess
        | Kind::StrayProcess => false,
    }
}

/// How many findings the stage of a kind has.
const fn expected(kind: Kind) -> usize {
    match kind {
        Kind::StrayProcess => 2,
        Kind::DamagedFile => 3,
        _ => 1,
    }
}

#[test]
fn nothing_is_wrong_with_a_healthy_team() {
    let stage = Stage::healthy();
    let _alice = stage.alice_lives(MemberStatus::Idle);
    stage.claimed_by("alice");
    assert_eq!(stage.examine(), []);
}

#[test]
fn everything_that_is_found_is_explained_and_cured_or_left_to_a_person() {
    for kind in Kind::ALL {
        if kind == Kind::ForeignOwner && !geteuid().is_root() {
            eprintln!("skipped: only root can give a file to another user");
            continue;
        }
        let stage = stage(kind);
        // A process that was just started needs a moment to become what it will be.
        wait_until(kind.word(), LIMIT, || {
            stage.examine().len() >= expected(kind)
        });
        let found = stage.examine();
        assert_eq!(kinds(&found), [kind], "{found:#?}");
        for finding in &found {
            assert!(!finding.about.is_empty(), "{finding:?}");
            assert!(!finding.problem.is_empty(), "{finding:?}");
            assert!(finding.meaning.ends_with('.'), "{finding:?}");
        }
        let checked = stage.mend();
        let cured = &checked.cured;
        if is_for_a_person(kind) {
            assert_eq!(*cured, [], "{kind:?}");
            assert_eq!(checked.left, found);
            continue;
        }
        assert!(found.iter().all(|f| f.fix == "team-lead doctor --fix"));
        for finding in &found {
            assert!(cured.iter().any(|cured| cured.finding == *finding));
        }
        // A lock may seem to be held for a moment: by a process that another test is starting.
        let what = format!("the cure of {}; tried: {cured:#?}", kind.word());
        wait_until(&what, LIMIT, || stage.mend().left.is_empty());
    }
}

#[test]
fn examining_changes_nothing() {
    for kind in Kind::ALL {
        if kind == Kind::ForeignOwner && !geteuid().is_root() {
            continue;
        }
        let stage = stage(kind);
        wait_until(kind.word(), LIMIT, || {
            stage.examine().len() >= expected(kind)
        });
        assert_eq!(stage.examine(), stage.examine());
        assert!(!stage.team().layout().trash().exists());
    }
}

#[test]
fn words_are_stable_and_different() {
    let mut words: Vec<&str> = Kind::ALL.iter().map(|kind| kind.word()).collect();
    words.sort_unstable();
    words.dedup();
    assert_eq!(words.len(), Kind::ALL.len());
}

#[test]
fn a_closed_line_is_read_and_a_death_is_told() {
    let open = stage(Kind::UnfinishedLine);
    cure(open.team(), &open.examine());
    assert_eq!(open.temp.unread(&alice()), 1);

    let dead = stage(Kind::UnreapedDeath);
    cure(dead.team(), &dead.examine());
    assert_eq!(dead.temp.unread(&Recipient::Lead), 1);
}

#[test]
fn commands_of_a_living_member_are_left_alone() {
    let stage = Stage::healthy();
    let guard = stage.alice_lives(MemberStatus::Idle);
    let mut command = marked_command(&stage);
    assert_eq!(stage.examine(), []);
    // It was found while nobody was alice; then somebody became her.
    drop(guard);
    wait_until("the command is seen", LIMIT, || {
        kinds(&stage.examine()).contains(&Kind::StrayProcess)
    });
    let found = stage.examine();
    let _guard = stage.alice_lives(MemberStatus::Idle);
    let stray: Vec<Finding> = found
        .into_iter()
        .filter(|finding| finding.kind == Kind::StrayProcess)
        .collect();
    cure(stage.team(), &stray);
    assert!(command.0.try_wait().unwrap().is_none(), "it still runs");
}

#[test]
fn times_a_little_ahead_are_normal() {
    let mut stage = stage(Kind::Clock);
    stage.surroundings.now = now().plus(Duration::from_secs(7199));
    assert_eq!(stage.examine(), []);
    stage.surroundings.now = Timestamp::from_secs(1);
    assert_eq!(kinds(&stage.examine()), [Kind::Clock]);
}

#[test]
fn what_is_set_aside_is_kept_whole() {
    let letters = stage(Kind::DeadLetters);
    letters.mend();
    assert!(
        letters
            .trash("dead_letters.jsonl")
            .contains("it is no message")
    );

    let journal = stage(Kind::DamagedJournal);
    wait_until("the cure", LIMIT, || journal.mend().left.is_empty());
    assert_eq!(journal.trash("members/alice/transcript.jsonl"), "words\n");
    let path = journal.team().layout().transcript(&alice());
    let left = std::fs::read_to_string(path).unwrap();
    assert_eq!(left, "{\"kind\":\"seal\",\"segment\":1}\n");

    let files = stage(Kind::DamagedFile);
    files.mend();
    assert_eq!(files.trash("requests/1a2b3c4d.json"), "{}");
    assert_eq!(files.trash("tasks/task_1.json"), "{");
    assert!(files.trash("tasks/task_2.json").contains("high"));
    let kept = files.team().task(TaskId(2)).unwrap();
    assert_eq!(kept.subject, "x", "what can be read stays");
}

#[test]
fn a_journal_of_a_living_member_is_mended_when_it_has_ended() {
    let stage = stage(Kind::DamagedJournal);
    let guard = stage.team().lock_dead_member(&alice()).unwrap();
    let path = stage.team().layout().transcript(&alice());
    let before = std::fs::read(&path).unwrap();
    let damaged: Vec<Finding> = stage.examine();
    let damaged: Vec<Finding> = damaged
        .into_iter()
        .filter(|finding| finding.kind == Kind::DamagedJournal)
        .collect();
    let cured = cure(stage.team(), &damaged);
    let error = cured[0].outcome.as_ref().unwrap_err();
    assert!(error.contains("'alice' runs"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
    drop(guard);
    wait_until("the journal is mended", LIMIT, || {
        stage.mend().left.is_empty()
    });
}

#[test]
fn a_request_keeps_its_time_for_an_answer_and_tasks_their_order() {
    let stage = stage(Kind::Clock);
    let team = stage.team();
    let [first, second] = [1, 2].map(TaskId);
    stage.mend();
    let made = |id| team.task(id).unwrap().created_at.unwrap();
    assert!(made(first) < made(second) && made(second) <= now());
    let request = team.request(&"from-later".parse().unwrap()).unwrap();
    let term = request.deadline.unwrap().since(request.created_at);
    assert_eq!(term, Duration::from_secs(60));
    assert!(request.created_at <= now());
    assert!(stage.trash("requests/from-later.json").contains("deadline"));
}

#[test]
fn root_gives_a_file_back_to_the_owner_of_the_folder() {
    if !geteuid().is_root() {
        eprintln!("skipped: only root can give a file to another user");
        return;
    }
    let stage = stage(Kind::ForeignOwner);
    let task = stage.team().layout().task(TaskId(1));
    assert_eq!(task.metadata().unwrap().uid(), STRANGER);
    let inode = task.metadata().unwrap().ino();
    stage.mend();
    let after = task.metadata().unwrap();
    assert_eq!((after.uid(), after.ino()), (0, inode));
}
