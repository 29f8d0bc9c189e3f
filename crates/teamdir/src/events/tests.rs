use super::*;
use crate::Options;
use protocol::{EventLine, MessageId, Recipient};
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

fn team(limit: u64) -> (tempfile::TempDir, TeamDir) {
    let dir = tempfile::tempdir().unwrap();
    let options = Options {
        events_limit: limit,
        ..Options::default()
    };
    let team = TeamDir::create(dir.path(), "t", options).unwrap();
    (dir, team)
}

fn log(team: &TeamDir, number: usize) {
    let id = MessageId::new(&format!("m-{number}")).unwrap();
    let to = Recipient::Lead;
    team.log_event(EventKind::Deliver { id, to }).unwrap();
}

/// The numbers of the events that a reader finds.
fn read(reader: &mut EventReader) -> Vec<usize> {
    let mut numbers = Vec::new();
    let visit = |line: &[u8]| match EventLine::decode(line) {
        EventLine::Known(Event {
            kind: EventKind::Deliver { id, .. },
            ..
        }) => {
            let number = id.as_str().strip_prefix("m-").unwrap();
            numbers.push(number.parse().unwrap());
        }
        other => panic!("{other:?}"),
    };
    reader.read(visit).unwrap();
    numbers
}

#[test]
fn a_large_log_is_set_aside_and_all_parts_are_read_in_order() {
    let (_dir, team) = team(200);
    let mut follower = team.event_reader();
    let mut followed = Vec::new();
    for number in 0..100 {
        log(&team, number);
        followed.extend(read(&mut follower));
    }
    let all: Vec<usize> = (0..100).collect();
    assert_eq!(followed, all);
    assert_eq!(read(&mut team.event_reader()), all);
    let parts = parts(&team.layout).unwrap();
    assert!(parts.len() > 10, "{parts:?}");
    assert_eq!(parts.first(), Some(&1));
    // One that came late and one that slept through several parts.
    assert_eq!(read(&mut follower), [0; 0]);
    for number in 100..150 {
        log(&team, number);
    }
    assert_eq!(read(&mut follower), (100..150).collect::<Vec<_>>());
}

#[test]
fn many_writers_and_a_reader_lose_nothing() {
    let (_dir, team) = team(2000);
    let ended = AtomicBool::new(false);
    let mut found = Vec::new();
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|writer| {
                let team = team.clone();
                scope.spawn(move || (0..200).for_each(|n| log(&team, writer * 1000 + n)))
            })
            .collect();
        let reader = scope.spawn(|| {
            let mut reader = team.event_reader();
            let mut found = Vec::new();
            while !ended.load(Ordering::SeqCst) {
                found.extend(read(&mut reader));
            }
            found.extend(read(&mut reader));
            found
        });
        writers.into_iter().for_each(|w| w.join().unwrap());
        ended.store(true, Ordering::SeqCst);
        found = reader.join().unwrap();
    });
    for writer in 0..4 {
        let own = found.iter().filter(|n| **n / 1000 == writer);
        let own: Vec<usize> = own.copied().collect();
        assert_eq!(own, (0..200).map(|n| writer * 1000 + n).collect::<Vec<_>>());
    }
    assert_eq!(read(&mut team.event_reader()), found);
}

#[test]
fn a_log_whose_successor_was_never_begun_and_one_that_was_replaced() {
    let (_dir, team) = team(1 << 20);
    let mut reader = team.event_reader();
    assert_eq!(read(&mut reader), [0; 0]);
    log(&team, 1);
    assert_eq!(read(&mut reader), [1]);
    log(&team, 2);
    // Killed after the rename.
    std::fs::rename(team.layout.events(), team.layout.events_part(1)).unwrap();
    assert_eq!(read(&mut reader), [2]);
    log(&team, 3);
    assert_eq!(read(&mut reader), [3]);
    std::fs::remove_file(team.layout.events()).unwrap();
    log(&team, 4);
    assert_eq!(read(&mut reader), [4]);
}

#[test]
fn the_last_events_are_found_without_reading_all() {
    let (_dir, team) = team(1 << 20);
    for number in 0..100 {
        log(&team, number);
    }
    let mut reader = team.event_reader();
    reader.skip_to_last(500).unwrap();
    let last = read(&mut reader);
    assert!(last.len() < 10, "{last:?}");
    assert_eq!(last.last(), Some(&99));
    reader.skip_to_last(1 << 30).unwrap();
    assert_eq!(read(&mut reader).len(), 100);
    reader.skip_to_last(0).unwrap();
    assert_eq!(read(&mut reader), [0; 0]);
}

#[test]
fn a_torn_line_of_an_old_part_is_passed_on_as_it_is() {
    let (_dir, team) = team(1 << 20);
    log(&team, 1);
    let mut file = File::options()
        .append(true)
        .open(team.layout.events())
        .unwrap();
    file.write_all(b"{\"tor").unwrap();
    std::fs::rename(team.layout.events(), team.layout.events_part(1)).unwrap();
    log(&team, 2);
    let mut lines = 0;
    team.read_events(|_| lines += 1).unwrap();
    assert_eq!(lines, 3);
}

#[test]
fn the_log_is_read_from_its_end_in_pieces_across_its_parts() {
    let (_dir, team) = team(2_000);
    (0..500).for_each(|number| log(&team, number));
    let mut found = Vec::new();
    let mut from = None;
    let mut pieces = 0;
    loop {
        pieces += 1;
        let next = team.read_events_backwards(from, 1 << 20, |line| {
            let EventLine::Known(Event {
                kind: EventKind::Deliver { id, .. },
                ..
            }) = EventLine::decode(line)
            else {
                panic!("{}", String::from_utf8_lossy(line));
            };
            let number = id.as_str().strip_prefix("m-").unwrap();
            found.push(number.parse::<usize>().unwrap());
            found.len() % 70 != 0
        });
        from = next.unwrap();
        if from.is_none() {
            break;
        }
        // The place stays right although events are added and the log is set aside.
        log(&team, 9_999);
    }
    assert_eq!(pieces, 8);
    assert_eq!(found, (0..500).rev().collect::<Vec<usize>>());
}

#[test]
fn what_a_process_does_for_a_person_says_so() {
    let (_dir, team) = team(1 << 20);
    log(&team.acting_for("maria"), 1);
    log(&team, 2);
    let mut people = Vec::new();
    team.read_events(|line| match EventLine::decode(line) {
        EventLine::Known(event) => people.push(event.person),
        other => panic!("{other:?}"),
    })
    .unwrap();
    assert_eq!(people, [Some("maria".to_owned()), None]);
}
