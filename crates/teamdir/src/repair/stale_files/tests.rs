use super::*;
use crate::{MemberSession, Options, WatchChoice};
use protocol::{AgentName, Body, Member, Message};
use std::fs::File;
use std::time::Instant;

fn team(members: &[&str]) -> (tempfile::TempDir, TeamDir) {
    let dir = tempfile::tempdir().unwrap();
    let options = Options {
        segment_grace: Duration::ZERO,
        seal_after: Duration::ZERO,
        ..Options::default()
    };
    let team = TeamDir::create(dir.path(), "t", options).unwrap();
    team.update_roster(|roster| {
        let names = members.iter().map(|name| AgentName::new(name).unwrap());
        roster
            .members
            .extend(names.map(|name| Member::new(name, "r")));
        Ok::<_, RosterError>(())
    })
    .unwrap();
    (dir, team)
}

fn alice() -> Recipient {
    "alice".parse().unwrap()
}

fn send(team: &TeamDir, content: &str) {
    let content = content.to_owned();
    let mut message = Message::new(Body::Message { content });
    message.to = Some(alice());
    team.send(message).unwrap();
}

/// Dates the last change of a file back by an hour.
fn make_old(path: &Path) {
    let file = File::options().append(true).open(path).unwrap();
    let old = SystemTime::now() - Duration::from_secs(3600);
    file.set_modified(old).unwrap();
}

#[test]
fn temporary_files_count_when_they_are_old() {
    let (_dir, team) = team(&["alice"]);
    let path = team.layout().tasks_dir().join(".task_1.json.Ab3dEf.tmp");
    std::fs::write(&path, "{").unwrap();
    assert_eq!(team.stale_files().unwrap(), []);
    make_old(&path);
    let found = team.stale_files().unwrap();
    assert_eq!(found.len(), 1);
    let leftover = found.first().unwrap();
    assert_eq!(
        (&leftover.kind, leftover.bytes),
        (&StaleFileKind::Temporary, 1)
    );
    assert!(team.remove_stale_file(leftover).unwrap());
    assert!(!team.remove_stale_file(leftover).unwrap());
    assert!(!path.exists());
}

#[test]
fn what_killed_processes_left_of_checkouts_goes_and_trees_stay() {
    let (_dir, team) = team(&["alice"]);
    let trees = team.trees_folder().unwrap();
    let leftovers = [
        "..check-2.new",
        ".alice.new",
        ".check-1",
        ".gone.new",
        "alice.setup.log",
    ];
    for name in leftovers.into_iter().chain(["alice", "bob"]) {
        std::fs::create_dir(trees.join(name)).unwrap();
        std::fs::write(trees.join(name).join("file"), "x").unwrap();
    }
    let guard = team.lock_dead_member(&alice()).unwrap();
    let integrator = team.try_integrate().unwrap().unwrap();
    let found = |team: &TeamDir| {
        let all = team.stale_files().unwrap();
        let names = all.iter().filter_map(|found| found.path.file_name());
        let names = names.map(|name| name.to_string_lossy().into_owned());
        (names.collect::<Vec<_>>(), all.clone())
    };
    assert_eq!(found(&team).0, [".gone.new"], "the others are in use");
    drop((guard, integrator));
    let (names, all) = found(&team);
    assert_eq!(names, leftovers);
    let guard = team.lock_dead_member(&alice()).unwrap();
    for leftover in &all {
        let is_hers = leftover.kind == StaleFileKind::UnfinishedTree(alice());
        assert_eq!(team.remove_stale_file(leftover).unwrap(), !is_hers);
    }
    drop(guard);
    for leftover in &found(&team).1 {
        assert!(team.remove_stale_file(leftover).unwrap());
    }
    let mut left: Vec<_> = entries(&trees).unwrap();
    left.retain(|(name, _)| name != "alice" && name != "bob");
    assert_eq!(left, []);
    assert!(trees.join("alice/file").exists() && trees.join("bob/file").exists());
}

#[test]
fn names_of_others_are_not_taken_for_temporary() {
    assert!(is_temporary(".config.json.a1B2c3.tmp"));
    assert!(is_temporary("..last.a1B2c3.tmp"));
    for other in [
        "config.json",
        ".alice.lock",
        ".alice.1.jsonl",
        ".tmp",
        "notes.tmp",
    ] {
        assert!(!is_temporary(other), "{other}");
    }
}

#[test]
fn read_mail_of_members_that_do_not_run_is_removed_and_unread_mail_stays() {
    let (_dir, team) = team(&["alice"]);
    send(&team, "read");
    let mut session = MemberSession::open(&team, &alice(), WatchChoice::Poll).unwrap();
    session.next(Some(Instant::now())).unwrap().unwrap();
    session.close().unwrap();
    send(&team, "unread");
    let aside = team.layout().segment(&alice(), 1);
    assert!(aside.exists());
    let found = team.stale_files().unwrap();
    let kinds: Vec<_> = found.iter().map(|leftover| &leftover.kind).collect();
    assert_eq!(kinds, [&StaleFileKind::ReadMail(alice())]);
    let leftover = found.first().unwrap();
    // Somebody writes to the old file: it is mail again.
    let before = std::fs::read(&aside).unwrap();
    std::fs::write(&aside, [before.as_slice(), b"late\n"].concat()).unwrap();
    assert!(!team.remove_stale_file(leftover).unwrap());
    std::fs::write(&aside, before).unwrap();
    assert!(team.remove_stale_file(leftover).unwrap());
    assert!(!aside.exists());
    let mut session = MemberSession::open(&team, &alice(), WatchChoice::Poll).unwrap();
    let delivery = session.next(Some(Instant::now())).unwrap().unwrap();
    assert_eq!(delivery.mail.len(), 1);
}

#[test]
fn mail_of_a_running_member_is_never_stale() {
    let (_dir, team) = team(&["alice"]);
    send(&team, "read");
    let mut session = MemberSession::open(&team, &alice(), WatchChoice::Poll).unwrap();
    session.next(Some(Instant::now())).unwrap().unwrap();
    assert_eq!(team.stale_files().unwrap(), []);
}

#[test]
fn logs_of_former_members_are_removed_and_their_journals_stay() {
    let (_dir, team) = team(&["alice"]);
    let folder = team.layout().member_dir(&alice());
    std::fs::create_dir_all(team.layout().member_outputs(&alice())).unwrap();
    for file in ["log", "outputs/1", "transcript.jsonl"] {
        std::fs::write(folder.join(file), "words\n").unwrap();
    }
    assert_eq!(team.stale_files().unwrap(), []);
    team.update_roster(|roster| {
        roster.members.clear();
        Ok::<_, RosterError>(())
    })
    .unwrap();
    let found = team.stale_files().unwrap();
    assert_eq!(found.iter().map(|leftover| leftover.bytes).sum::<u64>(), 12);
    for leftover in &found {
        assert!(team.remove_stale_file(leftover).unwrap());
    }
    assert!(team.layout().transcript(&alice()).exists());
    assert!(!folder.join("log").exists());
    assert!(!folder.join("outputs").exists());
}
