//! No writer of a `.jsonl` file splits a record over lines, whatever it is given.

use protocol::{
    Body, CutRecord, DeadLetter, EventKind, GivenMessages, Message, MessageId, PartialReply, Party,
    PendingMail, Recipient, Tally, Task, TaskHistory,
};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::path::Path;
use teamdir::{MemberSession, Options, TeamDir, WatchChoice};
use tempfile::TempDir;

/// A text with every kind of line break.
const BREAKS: &str = "one\ntwo\r\nthree\u{2028}four";
/// An object as a model prints it, with a nested object on a line of its own.
const PRETTY: &str =
    "{\r\n  \"kind\": \"assistant\",\n  \"input\":\n{\"kind\":\"user\",\"messages\":[]}\n}";

fn team() -> (TempDir, TeamDir) {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let team = TeamDir::create(dir.path(), "t", Options::default()).expect("a team folder");
    (dir, team)
}

/// The objects in a file, each of which must be on a line of its own.
fn objects(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).expect("a readable file");
    assert!(text.ends_with('\n') && !text.contains('\r'), "{text:?}");
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

fn pretty() -> Box<RawValue> {
    RawValue::from_string(PRETTY.to_owned()).expect("valid JSON")
}

#[test]
fn an_inbox() {
    let (_dir, team) = team();
    let mut message = Message::new(Body::Message {
        content: BREAKS.to_owned(),
    });
    message.to = Some(Recipient::Lead);
    message.extra.insert(BREAKS.to_owned(), json!([BREAKS]));
    team.send(message).unwrap();
    let objects = objects(&team.layout().inbox(&Recipient::Lead));
    assert_eq!(objects.len(), 1);
    assert_eq!(objects[0]["content"], BREAKS);
}

#[test]
fn the_event_log() {
    let (_dir, team) = team();
    let member = Recipient::Lead;
    let reason = BREAKS.to_owned();
    team.log_event(EventKind::Polling { member, reason })
        .unwrap();
    let objects = objects(&team.layout().events());
    assert_eq!(objects.len(), 1);
    assert_eq!(objects[0]["reason"], BREAKS);
}

#[test]
fn the_pending_events_in_a_lock_file() {
    let (_dir, team) = team();
    // While the log cannot be written the note stays.
    std::fs::create_dir(team.layout().events()).unwrap();
    let board = team.lock_board().unwrap();
    let entry: TaskHistory =
        serde_json::from_value(json!({"at": 1, "by": Party::Lead, "action": BREAKS})).unwrap();
    let create = |id| {
        let mut task = Task::new(id, "t");
        task.history.push(entry.clone());
        task
    };
    board.create(create).unwrap();
    drop(board);
    let objects = objects(&team.layout().tasks_dir().join(".lock"));
    assert_eq!(objects.len(), 1);
    assert_eq!(objects[0]["action"], BREAKS);
}

#[test]
fn the_dead_letters() {
    let (_dir, team) = team();
    let dead_letter: DeadLetter = serde_json::from_value(json!({
        "id": BREAKS, "time": 1, "inbox": "lead", "reason": BREAKS,
        "line": serde_json::from_str::<Value>(PRETTY).unwrap(), "raw": PRETTY,
    }))
    .unwrap();
    team.add_dead_letter(&dead_letter).unwrap();
    let objects = objects(&team.layout().dead_letters());
    assert_eq!(objects.len(), 1);
    assert_eq!(objects[0]["raw"], PRETTY);
}

#[test]
fn the_journal() {
    #[derive(Serialize)]
    struct Record {
        kind: &'static str,
        input: Box<RawValue>,
    }
    let (_dir, team) = team();
    // White space that a line of an inbox may have inside.
    let inbox = team.layout().inbox(&Recipient::Lead);
    std::fs::write(&inbox, "{\"type\":\"message\",\r\"content\":\"hi\"}\r\n").unwrap();
    let mut session = MemberSession::open(&team, &Recipient::Lead, WatchChoice::Poll).unwrap();
    session.try_next().unwrap().unwrap();
    let record = Record {
        kind: "assistant",
        input: pretty(),
    };
    session.journal().append(&record).unwrap();
    session.journal().append_unsynced(&record).unwrap();
    assert!(session.journal().append(&"no object").is_err());
    let objects = objects(&team.layout().transcript(&Recipient::Lead));
    let kinds: Vec<&str> = objects
        .iter()
        .map(|o| o["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["open", "mail", "assistant", "assistant"]);
    assert_eq!(objects[3]["input"]["input"]["kind"], "user");
}

#[test]
fn a_journal_that_was_cut() {
    let (_dir, team) = team();
    let mut session = MemberSession::open(&team, &Recipient::Lead, WatchChoice::Poll).unwrap();
    let archive = team.next_archive(session.guard());
    let cut = CutRecord {
        archive,
        mail: 1,
        pending: vec![PendingMail {
            number: 1,
            id: MessageId::new("a").unwrap(),
            line: pretty(),
        }],
        given: GivenMessages::default(),
        reports: 0,
        unreported: None,
        plan: None,
        tally: Tally::default(),
        commands: Vec::new(),
        waiting: false,
        partial: PartialReply::default(),
        session: None,
    };
    session.cut_journal(&team, cut, &pretty()).unwrap();
    let objects = |path: std::path::PathBuf| objects(&path).len();
    assert_eq!(objects(team.layout().transcript(&Recipient::Lead)), 3);
    assert_eq!(objects(team.layout().archive(&Recipient::Lead, archive)), 1);
}
