//! `logs` and `events`: looking back, and following.

use crate::harness::{LIMIT, Workspace};
use protocol::exit;
use serde_json::{Value, json};
use std::io::Write;

#[test]
fn the_end_of_logs_is_shown_with_names_where_there_are_several() {
    let workspace = Workspace::with_members(&["alice", "bo"]);
    workspace.append_log("alice", "one\ntwo\nthree");
    workspace.append_log("bo", "hello\n");
    let last = workspace.run(&["logs", "alice", "-n", "2"]);
    assert_eq!(last.has_code(exit::DONE).out, "two\nthree\n");
    let both = workspace.run(&["logs", "alice", "BO", "alice", "-n", "1"]);
    assert_eq!(
        both.has_code(exit::DONE).out,
        "alice | three\nbo    | hello\n"
    );
    let objects = workspace.run(&["logs", "bo", "--json"]).json();
    assert_eq!(objects, json!({"member": "bo", "line": "hello"}));
    let none = workspace.run(&["logs", "lead"]);
    assert_eq!(none.has_code(exit::DONE).out, "");
    assert!(none.err.contains("lead has no log yet"), "{none:?}");
}

#[test]
fn a_log_is_followed_from_before_it_is_there_and_through_its_replacement() {
    let workspace = Workspace::with_members(&["alice"]);
    let mut logs = workspace.start(&["logs", "alice", "--follow"]);
    workspace.append_log("alice", "first\nhal");
    assert_eq!(logs.line(LIMIT), "first");
    workspace.append_log("alice", "f a line\n");
    assert_eq!(logs.line(LIMIT), "half a line");
    let path = workspace.log_path("alice");
    let new = path.with_extension("new");
    std::fs::write(&new, "replaced\n").unwrap();
    std::fs::rename(&new, &path).unwrap();
    assert_eq!(logs.line(LIMIT), "replaced");
    std::fs::remove_file(&path).unwrap();
    workspace.append_log("alice", "begun again\n");
    assert_eq!(logs.line(LIMIT), "begun again");
    assert_eq!(logs.try_wait(), None);
}

const EVENTS: [&str; 5] = [
    r#"{"time":1763251200.25,"event":"spawn","member":"alice","incarnation":1,"role":"coder"}"#,
    r#"{"time":1763251201.5,"event":"sneeze","member":"bob"}"#,
    r#"{"time":1763251202.5,"event":"request","request_id":"1a2b3c4d","kind":"shutdown","from":"lead","to":"alice"}"#,
    r#"{"time":1763251203.5,"event":"resolve","request_id":"1a2b3c4d","status":"approved"}"#,
    r#"{"time":1763251204.5,"event":"task","task":7,"action":"claimed","by":"bob"}"#,
];

fn append(workspace: &Workspace, text: &str) {
    let path = workspace.team().layout().events();
    let file = std::fs::File::options()
        .append(true)
        .create(true)
        .open(path);
    file.unwrap().write_all(text.as_bytes()).unwrap();
}

fn lines(text: &str) -> Vec<&str> {
    text.lines().collect()
}

#[test]
fn events_are_printed_as_they_were_written_and_picked_by_time_and_member() {
    let workspace = Workspace::with_members(&["alice", "bob"]);
    let nothing = workspace.run(&["events"]);
    assert_eq!(nothing.has_code(exit::DONE).out, "");
    append(&workspace, &format!("{}\n{{torn\n\n", EVENTS.join("\n")));
    let all = workspace.run(&["events"]);
    assert_eq!(lines(&all.has_code(exit::DONE).out), EVENTS);
    assert_eq!(all.err, "skipped 1 damaged lines of the event log\n");
    let alice = workspace.run(&["events", "--member", "Alice"]);
    assert_eq!(lines(&alice.out), [EVENTS[0], EVENTS[2], EVENTS[3]]);
    let late = workspace.run(&["events", "--since", "1763251203.5", "--json"]);
    assert_eq!(lines(&late.out), [EVENTS[3], EVENTS[4]]);
    let both = workspace.run(&["events", "--since", "1763251203", "--member", "alice"]);
    assert_eq!(lines(&both.out), [EVENTS[3]]);
    let recent = workspace.run(&["events", "--since", "1h"]);
    assert_eq!(recent.out, "");
    // What the program itself notes is an event of now.
    workspace.run(&["send", "bob", "hello"]);
    let recent = workspace.run(&["events", "--since", "1h", "--member", "user"]);
    let event: Value = serde_json::from_str(&recent.out).unwrap();
    assert_eq!(
        (&event["event"], &event["to"]),
        (&json!("send"), &json!("bob"))
    );
}

#[test]
fn the_events_of_a_member_tell_in_words_why_it_was_restarted() {
    let workspace = Workspace::with_members(&["alice", "bob"]);
    let bob = [
        r#"{"time":1763251220.5,"event":"death","member":"bob","incarnation":1,"cause":{"signal":9}}"#,
        r#"{"time":1763251221.5,"event":"restart","member":"bob","incarnation":2,"reason":"policy"}"#,
        r#"{"time":1763251222.5,"event":"death","member":"bob","incarnation":2}"#,
        r#"{"time":1763251223.5,"event":"gave_up","member":"bob","incarnation":2,"reason":"'bob' was restarted 5 times within 300 s; last: exit code 101"}"#,
    ];
    append(
        &workspace,
        &format!("{}\n{}\n", EVENTS.join("\n"), bob.join("\n")),
    );
    let told = workspace.run(&["events", "--member", "bob", "--words"]);
    assert_eq!(
        lines(&told.has_code(exit::DONE).out),
        [
            "2025-11-16 00:00:04 # bob claimed task 7",
            "2025-11-16 00:00:20 ! bob died (killed by signal 9, SIGKILL)",
            "2025-11-16 00:00:21 + bob was restarted (by its restart policy)",
            "2025-11-16 00:00:22 ! bob died (the cause is unknown)",
            "2025-11-16 00:00:23 ! 'bob' was restarted 5 times within 300 s; last: exit code 101; it is not restarted any more",
        ]
    );
    let json = workspace.run(&["events", "--member", "bob", "--words", "--json"]);
    assert_eq!(lines(&json.out).last(), bob.last());
}

#[test]
fn events_are_followed_from_before_the_log_is_there() {
    let workspace = Workspace::with_members(&["alice"]);
    let mut events = workspace.start(&["events", "-f"]);
    append(&workspace, &format!("{}\n", EVENTS[0]));
    assert_eq!(events.line(LIMIT), EVENTS[0]);
    let (head, tail) = EVENTS[1].split_at(20);
    append(&workspace, head);
    append(&workspace, &format!("{tail}\n"));
    assert_eq!(events.line(LIMIT), EVENTS[1]);
}
