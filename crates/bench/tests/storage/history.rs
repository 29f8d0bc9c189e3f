//! Much mail: a large backlog, a long history, and a clock that jumps.

use crate::support::{LIMIT, TestTeam, is_long};
use protocol::{Body, Message, MessageId, Sender, Timestamp};
use std::io::Write;
use std::time::{Duration, Instant, SystemTime};
use teamdir::{MemberSession, WatchChoice};
use test_support::wait_until;

fn message(number: u64) -> Message {
    let mut message = Message::new(Body::Message {
        content: format!("{number} {}", "x".repeat(180)),
    });
    message.id = Some(MessageId::new(&format!("w-{number}")).unwrap());
    message.from = Some(Sender::new("w"));
    message.to = Some("alice".parse().unwrap());
    message.timestamp = Some(Timestamp::from_secs(1_800_000_000));
    message
}

/// Puts many messages into the inbox at once.
fn pile_up(team: &TestTeam, numbers: std::ops::Range<u64>) {
    let mut bytes = Vec::new();
    for number in numbers {
        bytes.extend_from_slice(&message(number).to_line());
    }
    let path = team.team.layout().inbox(&team.alice);
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.append(true).create(true).open(path).unwrap();
    file.write_all(&bytes).unwrap();
}

fn figure(pid: u32, file: &str, key: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap();
    let line = text.lines().find(|line| line.starts_with(key)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn inv_11_a_large_backlog_is_read_in_little_memory_while_senders_go_on() {
    let team = TestTeam::new();
    let count = if is_long() { 1_000_000 } else { 200_000 };
    pile_up(&team, 0..count);
    let backlog = std::fs::metadata(team.team.layout().inbox(&team.alice)).unwrap();
    assert!(
        backlog.len() > 50 << 20,
        "the backlog is no larger than the memory allowed"
    );
    let reader = team.reader(&[]);
    // The large file is out of the way at once, so that the inbox takes mail again.
    wait_until("the backlog is set aside", LIMIT, || {
        team.team.send(message(count)).is_ok()
    });
    wait_until("all is read", 5 * LIMIT, || team.unread() == 0);
    let peak = figure(reader.id(), "status", "VmHWM:");
    assert!(peak < 50 << 10, "the reader took {peak} kB");
    assert_eq!(team.journal().len() as u64, count + 1);
}

#[test]
fn inv_18_a_restart_reads_no_more_of_a_long_journal_than_of_a_short_one() {
    let read_at_start = |count: u64| {
        let team = TestTeam::new();
        pile_up(&team, 0..count);
        let reader = team.reader(&[]);
        wait_until("all is read", LIMIT, || team.unread() == 0);
        drop(reader);
        let journal = std::fs::metadata(team.team.layout().transcript(&team.alice)).unwrap();
        let reader = team.reader(&[]);
        (journal.len(), figure(reader.id(), "io", "rchar:"))
    };
    let (short, little) = read_at_start(5_000);
    let (long, as_little) = read_at_start(40_000);
    assert!(long > 7 * short, "{short} and {long}");
    // Both find the last checkpoint within the same distance from the end.
    assert!(
        as_little < little + (1 << 20),
        "{little} and {as_little} bytes read"
    );
}

#[test]
fn inv_18_repeats_are_recognised_across_checkpoints_and_restarts() {
    let team = TestTeam::new();
    let mut early = message(0);
    early.from = Some(Sender::new("early"));
    team.team.send(early.clone()).unwrap();
    // Enough from another sender that the early message lies far before the last checkpoint.
    pile_up(&team, 0..10_000);
    let mut session = MemberSession::open(&team.team, &team.alice, WatchChoice::Poll).unwrap();
    while session.next(Some(Instant::now())).unwrap().is_some() {}
    drop(session);
    let mut session = MemberSession::open(&team.team, &team.alice, WatchChoice::Poll).unwrap();
    team.team.send(early).unwrap();
    pile_up(&team, 9_990..10_010);
    while session.next(Some(Instant::now())).unwrap().is_some() {}
    assert_eq!(team.journal().len(), 10_011);
}

#[test]
fn inv_20_a_clock_set_back_changes_nothing() {
    let team = TestTeam::new();
    let an_hour_ahead = SystemTime::now() + Duration::from_secs(3_600);
    // Everything so far was written by a clock that was an hour ahead.
    pile_up(&team, 0..3);
    let mut session = MemberSession::open(&team.team, &team.alice, WatchChoice::Poll).unwrap();
    while session.next(Some(Instant::now())).unwrap().is_some() {}
    drop(session);
    let layout = team.team.layout();
    for path in [
        layout.inbox(&team.alice),
        layout.roster(),
        layout.transcript(&team.alice),
    ] {
        let file = std::fs::File::options().append(true).open(path).unwrap();
        file.set_modified(an_hour_ahead).unwrap();
    }
    let journal = std::fs::read_to_string(layout.transcript(&team.alice)).unwrap();
    let ahead = journal.replace("\"time\":1", "\"time\":2");
    assert_ne!(ahead, journal);
    std::fs::write(layout.transcript(&team.alice), ahead).unwrap();

    pile_up(&team, 0..6);
    let mut session = MemberSession::open(&team.team, &team.alice, WatchChoice::Poll).unwrap();
    while session.next(Some(Instant::now())).unwrap().is_some() {}
    let expected: Vec<String> = (0..6).map(|number| format!("w-{number}")).collect();
    assert_eq!(team.journal(), expected);
    assert_eq!(session.guard().incarnation().0, 2);
}
