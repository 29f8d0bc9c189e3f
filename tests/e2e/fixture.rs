//! A team folder of format version 1, as it was frozen, still opens and loses nothing.

use protocol::{
    Body, DeadLetter, Effort, EventLine, Incarnation, JournalLine, Line, MemberStatus, Note,
    Recipient, RequestKind, RequestStatus, Task, TaskId, TaskStatus,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;
use teamdir::{
    FOLDER, Liveness, MemberSession, Options, RequestError, RosterError, SubmissionError, TeamDir,
    WatchChoice,
};

const FROZEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/team-v1");

/// All files of the frozen folder by their paths in it, without the words about it.
fn frozen_files() -> Vec<(PathBuf, Vec<u8>)> {
    fn collect(folder: &Path, files: &mut Vec<(PathBuf, Vec<u8>)>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, files);
            } else {
                let relative = path.strip_prefix(FROZEN).unwrap().to_path_buf();
                files.push((relative, fs::read(&path).unwrap()));
            }
        }
    }
    let mut files = Vec::new();
    collect(Path::new(FROZEN), &mut files);
    files.retain(|(path, _)| path != Path::new("README.md"));
    files.sort();
    files
}

/// A copy of the frozen folder in a workspace of its own.
fn copy() -> (tempfile::TempDir, TeamDir) {
    let dir = tempfile::tempdir().unwrap();
    for (path, bytes) in frozen_files() {
        let path = dir.path().join(FOLDER).join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    let team = TeamDir::open(dir.path(), Options::default()).unwrap();
    (dir, team)
}

fn alice() -> Recipient {
    "alice".parse().unwrap()
}

/// Everything there is now: identifiers and texts, and the identifiers of dead letters.
fn drain(session: &mut MemberSession) -> (Vec<(String, String)>, Vec<String>) {
    let mut mail = Vec::new();
    let mut bad = Vec::new();
    while let Some(delivery) = session.next(Some(Instant::now())).unwrap() {
        bad.extend(delivery.bad.into_iter().map(|bad| bad.id));
        mail.extend(delivery.mail.into_iter().map(|received| {
            let text = match received.decode() {
                Line::Message(message) => message.body.text().to_owned(),
                Line::Unknown(unknown) => Value::Object(unknown.object).to_string(),
                Line::Text(text) => text,
                other => panic!("{other:?}"),
            };
            (received.id.to_string(), text)
        }));
    }
    (mail, bad)
}

fn open(team: &TeamDir, owner: &Recipient) -> MemberSession {
    MemberSession::open(team, owner, WatchChoice::Poll).unwrap()
}

#[test]
fn the_frozen_folder_is_as_it_was() {
    // FNV-1a over all paths and contents. If this fails, the files were edited: undo that.
    let mut hash: u64 = 14_695_981_039_346_656_037;
    for (path, bytes) in frozen_files() {
        let name = path.to_str().unwrap().as_bytes();
        for byte in [name, b"\0", &bytes, b"\0"].concat() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(1_099_511_628_211);
        }
    }
    assert_eq!(hash, 18_350_095_271_953_689_011);
}

#[test]
fn the_roster_of_version_1_loads_and_keeps_what_it_does_not_know() {
    let (_dir, team) = copy();
    let roster = team.roster().unwrap();
    assert_eq!((roster.rev, roster.lead_incarnation), (41, Incarnation(3)));
    let names: Vec<&str> = roster
        .members
        .iter()
        .map(|m| m.spec.name.as_str())
        .collect();
    assert_eq!(names, ["alice", "bob", "carol", "Žofie"]);
    let carol = roster.member(&"CAROL".parse().unwrap()).unwrap();
    assert_eq!(carol.status, MemberStatus::Other("napping".to_owned()));

    let before: Value = read_json(&team.layout().roster());
    team.update_roster(|roster| {
        roster.members[1].spec.role = "reviewer".to_owned();
        Ok::<_, RosterError>(())
    })
    .unwrap();
    let mut expected = before;
    expected["rev"] = json!(42);
    expected["members"][1]["role"] = json!("reviewer");
    assert_eq!(read_json(&team.layout().roster()), expected);
}

fn read_json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn unread_mail_of_version_1_is_delivered_once() {
    let (_dir, team) = copy();
    let mut session = open(&team, &alice());
    assert_eq!(session.guard().incarnation(), Incarnation(3));
    let (mail, bad) = drain(&mut session);
    let poke = r#"{"from":"carol","id":"c-1","strength":3,"type":"poke"}"#;
    let expected = [
        // From the file that was set aside half read. The repeat behind it is left out.
        ("b-3", "three"),
        // From the live file. It begins with a repeat that only the checkpoint knows.
        ("@3.98", "by hand"),
        ("@3.150", "words typed into the file"),
        ("c-1", poke),
        ("c-3", "glued to a torn line"),
        ("l-1/alice", "to all"),
        ("10000000/ask", "Please end."),
        ("20000001/answer", "Go ahead."),
        ("death/bob/1", "bob died."),
    ];
    let expected = expected.map(|(id, text)| (id.to_owned(), text.to_owned()));
    assert_eq!(mail, expected);
    assert_eq!(bad, ["alice/3/232", "alice/3/282"]);
    assert_eq!(read_lines(&team.layout().dead_letters()).len(), 4);
    drop(session);

    // The next incarnation finds nothing but the half line, once it is whole.
    let mut session = open(&team, &alice());
    assert_eq!(drain(&mut session).0, []);
    let inbox = team.layout().inbox(&alice());
    let mut file = fs::OpenOptions::new().append(true).open(inbox).unwrap();
    file.write_all(b", now whole\"}\n").unwrap();
    let whole = ("c-4".to_owned(), "half a line, now whole".to_owned());
    assert_eq!(drain(&mut session), (vec![whole], Vec::new()));
    drop(session);
    assert_eq!(drain(&mut open(&team, &alice())).0, []);
}

fn read_lines(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn the_older_forms_in_the_leads_inbox_are_understood() {
    let (_dir, team) = copy();
    let mut session = open(&team, &Recipient::Lead);
    assert_eq!(session.guard().incarnation(), Incarnation(4));
    let delivery = session.next(Some(Instant::now())).unwrap().unwrap();
    let bodies = delivery.mail.into_iter().map(|mail| match mail.decode() {
        Line::Message(message) => message.body,
        other => panic!("{other:?}"),
    });
    let expected = [
        Body::IdleNotification {
            content: "done".to_owned(),
        },
        Body::PlanApprovalRequest {
            request_id: "20000000".parse().unwrap(),
            plan: "Rewrite it.".to_owned(),
            content: String::new(),
        },
        Body::ShutdownResponse {
            request_id: "10000001".parse().unwrap(),
            approve: true,
            reason: "fine".to_owned(),
        },
    ];
    assert_eq!(bodies.collect::<Vec<_>>(), expected);
}

#[test]
fn requests_of_version_1_load_and_keep_what_they_do_not_know() {
    let (_dir, team) = copy();
    let requests = team.requests().unwrap();
    let requests: Vec<_> = requests.into_iter().map(Result::unwrap).collect();
    let found: BTreeSet<_> = requests
        .iter()
        .map(|request| (request.kind().as_str(), request.status().as_str()))
        .collect();
    assert_eq!((requests.len(), found.len()), (16, 16));
    for request in requests {
        let path = team.layout().request(&request.id);
        let before = read_json(&path);
        team.update_request(&request.id, |same| Ok::<_, RequestError>((same, ())))
            .unwrap();
        assert_eq!(read_json(&path), before);
    }
    let pending = team.request(&"10000000".parse().unwrap()).unwrap();
    assert_eq!(pending.kind(), RequestKind::Shutdown);
    assert_eq!(pending.status(), RequestStatus::Pending);
    assert_eq!(pending.to_incarnation, Some(Incarnation(2)));
}

#[test]
fn granted_rules_of_version_1_load_and_keep_what_they_do_not_know() {
    let (_dir, team) = copy();
    let grants = team.grants().unwrap();
    let alice = "alice".parse().unwrap();
    let rules: Vec<&str> = grants.of(&alice).map(|grant| grant.rule.as_str()).collect();
    assert_eq!(rules, ["Bash(=make install)"]);
    let path = team.layout().permissions();
    let mut expected = read_json(&path);
    let id = "30000001".parse().unwrap();
    team.update_grants(|grants| grants.revoke(&id, protocol::Timestamp::from_secs(7)))
        .unwrap();
    expected["rules"][0]["revoked_at"] = json!(7.0);
    assert_eq!(read_json(&path), expected);
}

#[test]
fn tasks_of_version_1_load_and_keep_what_they_do_not_know() {
    let (_dir, team) = copy();
    let tasks = team.tasks().unwrap();
    let tasks: Vec<_> = tasks.into_iter().map(Result::unwrap).collect();
    let statuses: Vec<_> = tasks.iter().map(|task| (task.id.0, task.status)).collect();
    let expected = [
        (1, TaskStatus::Completed),
        (2, TaskStatus::InProgress),
        (4, TaskStatus::Pending),
    ];
    assert_eq!(statuses, expected);
    let board = team.lock_board().unwrap();
    for task in &tasks {
        let path = team.layout().task(task.id);
        let before = read_json(&path);
        board.put(task, task.history.len()).unwrap();
        for (key, value) in before.as_object().unwrap() {
            assert_eq!(read_json(&path).get(key), Some(value), "{key}");
        }
    }
    // Numbers 3 and 5 were given out and their tasks deleted.
    let new = board.create(|id| Task::new(id, "new")).unwrap();
    assert_eq!(new.id, TaskId(6));
}

#[test]
fn submissions_of_version_1_load_and_keep_what_they_do_not_know() {
    let (_dir, team) = copy();
    let all = team.submissions().unwrap();
    let all: Vec<_> = all.into_iter().map(Result::unwrap).collect();
    assert_eq!(all.len(), 1);
    let path = team.layout().submission(all[0].id);
    let before = read_json(&path);
    team.update_submission(all[0].id, |same| Ok::<_, SubmissionError>(same.clone()))
        .unwrap();
    assert_eq!(read_json(&path), before);
}

#[test]
fn members_of_version_1_are_seen_as_they_were() {
    let (_dir, team) = copy();
    let Liveness::Gone(Some(holder)) = team.liveness(&alice()).unwrap() else {
        panic!("the lock of a copy is free");
    };
    assert_eq!((holder.pid, holder.incarnation), (4711, Incarnation(2)));
    assert!(!teamdir::is_running(&holder));
    let state = team.live_state(&alice()).unwrap().unwrap();
    let path = team.layout().live_state(&alice());
    assert_eq!(serde_json::to_value(&state).unwrap(), read_json(&path));
    let mut kinds = Vec::new();
    let visit = |_: &[u8], line| match line {
        JournalLine::Known(_) => kinds.push("known".to_owned()),
        JournalLine::Other { kind } => kinds.push(kind),
        JournalLine::Corrupt { reason } => panic!("{reason}"),
    };
    team.read_journal(&alice(), visit).unwrap();
    assert_eq!(kinds.len(), 10);
    assert_eq!(kinds.iter().filter(|kind| *kind == "known").count(), 7);
}

#[test]
fn a_conversation_of_version_1_is_read_and_written_alike() {
    let (_dir, team) = copy();
    let bob: Recipient = "bob".parse().unwrap();
    let mut records = Vec::new();
    let visit = |_: &[u8], line| match line {
        JournalLine::Known(record) => records.push(serde_json::to_value(record).unwrap()),
        other => panic!("{other:?}"),
    };
    team.read_journal(&bob, visit).unwrap();
    let stored = read_lines(&team.layout().transcript(&bob));
    let stored: Vec<Value> = stored
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(records, stored);
    let alice = team.roster().unwrap().members[0].spec.clone();
    assert_eq!(alice.tuning().effort, Some(Effort::High));
    assert_eq!(alice.web, Some(true));
}

#[test]
fn logs_of_version_1_are_read_to_their_end() {
    let (_dir, team) = copy();
    let events = read_lines(&team.layout().events());
    let events: Vec<_> = events
        .iter()
        .map(|line| EventLine::decode(line.as_bytes()))
        .collect();
    let (torn, events) = events.split_last().unwrap();
    let (other, known) = events.split_last().unwrap();
    assert!(matches!(torn, EventLine::Corrupt { .. }), "{torn:?}");
    assert!(matches!(other, EventLine::Unknown(_)), "{other:?}");
    assert_eq!(known.len(), 12);
    assert!(known.iter().all(|line| matches!(line, EventLine::Known(_))));
    for line in read_lines(&team.layout().dead_letters()) {
        let dead_letter: DeadLetter = serde_json::from_str(&line).unwrap();
        let again = serde_json::to_value(&dead_letter).unwrap();
        assert_eq!(again, serde_json::from_str::<Value>(&line).unwrap());
    }
}

#[test]
fn the_notes_and_the_to_do_list_of_version_1_are_read() {
    let (_dir, team) = copy();
    let texts = || {
        let read = team.notes().unwrap();
        let texts = read.notes.iter().map(|note| note.text.clone());
        (texts.collect::<Vec<_>>(), read.broken.len())
    };
    let mut wanted = [
        "The parser is in src/parse.rs.",
        "by hand",
        "Use make check.",
    ]
    .map(str::to_owned)
    .to_vec();
    assert_eq!(texts(), (wanted.clone(), 2));
    team.add_note(&Note::new("new")).unwrap();
    wanted.push("new".to_owned());
    assert_eq!(texts(), (wanted, 3), "the line without an end is closed");
    let list = team.todo_list(&alice()).unwrap();
    assert_eq!(list.summary().unwrap().to_string(), "1/3: run the tests");
    team.set_todo_list(&alice(), &list).unwrap();
    let kept = read_json(&team.layout().todo_list(&alice()));
    assert_eq!(kept["colour"], "green");
    assert_eq!(kept["items"][1]["since"], 1_763_251_217);
}
