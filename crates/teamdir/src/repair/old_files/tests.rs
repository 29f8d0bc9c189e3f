//! What `clean --older-than` removes, and what it never does.

use super::*;
use crate::Options;
use protocol::{Extra, SessionHeader, SessionId, SessionMark};
use std::fs;
use std::time::SystemTime;
use tempfile::TempDir;

const DAY: Duration = Duration::from_secs(86_400);

fn team() -> (TempDir, TeamDir) {
    let dir = tempfile::tempdir().unwrap();
    let team = TeamDir::create(dir.path(), "t", Options::default()).unwrap();
    (dir, team)
}

/// Writes a file that was last changed so many days ago.
fn write(path: &Path, days: u32) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "x").unwrap();
    let file = fs::File::options().write(true).open(path).unwrap();
    file.set_modified(SystemTime::now() - DAY * days).unwrap();
}

fn dead_letter(days: i64) -> DeadLetter {
    DeadLetter {
        id: format!("d{days}"),
        time: Timestamp::from_micros(now().as_micros() - days * 86_400_000_000),
        inbox: Recipient::Lead,
        reason: "no".to_owned(),
        line: None,
        raw: None,
        raw_hex: None,
        extra: Extra::new(),
    }
}

fn clean(team: &TeamDir, keep: Duration) -> Vec<PathBuf> {
    let found = team.old_files(&Retention::all(keep)).unwrap();
    let removed = found
        .into_iter()
        .filter(|file| team.remove_stale_file(file).unwrap());
    removed.map(|file| file.path).collect()
}

#[test]
fn what_is_old_goes_and_what_is_new_live_or_unread_stays() {
    let (_dir, team) = team();
    let layout = team.layout();
    let lead = Recipient::Lead;
    let old = [
        layout.events_part(1),
        layout.trash().join("20200101T000000Z").join("roster.json"),
        layout.member_log(&lead),
        layout.member_outputs(&lead).join("1.txt"),
        layout.member_archives(&lead).join("1-1.jsonl"),
        layout.member_session(&lead, &SessionId::new("aa").unwrap()),
    ];
    let trash = layout.trash().join("20200101T000000Z");
    let kept = [
        trash.join("trees").join("alice").join("work"),
        trash.join("inbox").join("alice.jsonl"),
        layout.inbox(&lead),
        layout.transcript(&lead),
        layout.tasks_dir().join("task_1.json"),
        layout.submissions_dir().join("1.json"),
    ];
    for path in old.iter().chain(&kept) {
        write(path, 40);
    }
    let new = [
        layout.events_part(2),
        layout.events(),
        layout.trash().join("29990101T000000Z").join("x"),
        layout.member_session(&lead, &SessionId::new("bb").unwrap()),
    ];
    for path in &new {
        write(path, 20);
    }
    let guard = team.join(&lead).unwrap();
    let of_lead = |path: &PathBuf| path.starts_with(layout.member_dir(&lead));
    let removed = clean(&team, 30 * DAY);
    assert!(!removed.iter().any(of_lead), "the lead runs: {removed:?}");
    drop(guard);
    clean(&team, 30 * DAY);
    for path in &old {
        assert!(!path.exists(), "{path:?}");
    }
    for path in kept.iter().chain(&new) {
        assert!(path.exists(), "{path:?}");
    }
    assert_eq!(clean(&team, 30 * DAY), [""; 0].map(PathBuf::from));
    // The newest part that was set aside stays, because the next takes its number from it.
    clean(&team, DAY);
    assert!(layout.events_part(2).exists());
    assert!(!layout.events().exists());
}

#[test]
fn dead_letters_go_one_by_one() {
    let (_dir, team) = team();
    for days in [40, 1] {
        team.add_dead_letter(&dead_letter(days)).unwrap();
    }
    let path = team.layout().dead_letters();
    let mut text = fs::read_to_string(&path).unwrap();
    text.push_str("not a dead letter\n");
    fs::write(&path, text).unwrap();
    assert_eq!(clean(&team, 30 * DAY), std::slice::from_ref(&path));
    let text = fs::read_to_string(&path).unwrap();
    assert!(
        !text.contains("\"d40\"") && text.contains("\"d1\""),
        "{text}"
    );
    assert!(text.ends_with("not a dead letter\n"));
    assert_eq!(clean(&team, 30 * DAY), [""; 0].map(PathBuf::from));
}

#[test]
fn without_a_time_everything_is_kept() {
    let (_dir, team) = team();
    write(&team.layout().member_log(&Recipient::Lead), 4000);
    assert_eq!(team.old_files(&Retention::default()).unwrap(), []);
    let header = SessionHeader {
        session: SessionMark::new(SessionId::new("cc").unwrap(), now(), "offline"),
        last: now(),
        first_words: String::new(),
    };
    let guard = team.join(&Recipient::Lead).unwrap();
    let conversation = serde_json::json!({});
    team.keep_session(&guard, &header, &conversation).unwrap();
    drop(guard);
    let found = team.old_files(&Retention::all(30 * DAY)).unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
}
