//! What was found wrong once: late writers, repeats beyond memory, torn checkpoints, files that
//! pile up, and readers that slept with mail before them.

use super::*;
use crate::locks::FileLock;
use crate::mail::mailbox::seal::Renamed;
use crate::*;
use std::io::Write;
use std::time::{Duration, Instant};

/// How long anything may take before a test fails.
const LIMIT: Duration = Duration::from_secs(30);
/// How many lines the stress tests write.
const LINES: u32 = 400;

fn kept(f: &Fixture) -> std::fs::File {
    std::fs::File::options()
        .append(true)
        .open(f.inbox())
        .unwrap()
}

/// The live file keeps its name, so that positions in it matter.
fn never_set_aside() -> Options {
    Options {
        seal_after: Duration::from_secs(60),
        durability: Durability::ProcessDeath,
        ..Options::default()
    }
}

/// Files are set aside at once and kept for the whole grace.
fn set_aside_at_once() -> Options {
    Options {
        seal_after: Duration::ZERO,
        durability: Durability::ProcessDeath,
        ..Options::default()
    }
}

/// A last line that was read and never synced, and a power cut that takes it.
fn read_and_lose_a_line(f: &Fixture, mut session: MemberSession) {
    let size = std::fs::metadata(f.inbox()).unwrap().len();
    f.echo("never synced\n");
    assert_eq!(drain(&mut session).len(), 1);
    drop(session);
    let file = std::fs::File::options().write(true).open(f.inbox());
    file.unwrap().set_len(size).unwrap();
}

/// Waits for a condition that time or another thread brings about.
fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < LIMIT, "{what}");
        std::thread::yield_now();
    }
}

/// Whether a thread of this process waits for something.
fn sleeps(thread: nix::unistd::Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat")).unwrap();
    stat.rsplit_once(')')
        .unwrap()
        .1
        .trim_start()
        .starts_with('S')
}

/// Lets some time pass that differs from call to call, so that threads meet in many ways.
fn linger(rounds: u64) {
    (0..rounds).for_each(|_| std::thread::yield_now());
}

fn late_line(choice: WatchChoice) {
    let f = fixture(set_aside_at_once());
    let mut session = MemberSession::open(&f.team, &f.alice, choice).unwrap();
    f.echo("first\n");
    let mut late = kept(&f);
    assert_eq!(drain(&mut session), ["first"]);
    assert_eq!(f.hidden_files(), 1);
    let reader = nix::unistd::gettid();
    let t = std::thread::spawn(move || {
        wait_until("the reader sleeps", || sleeps(reader));
        writeln!(late, "late").unwrap();
        Instant::now()
    });
    let got = session.next(Some(Instant::now() + LIMIT)).unwrap();
    let written = t.join().unwrap();
    assert!(got.is_some(), "the late line was not seen");
    assert!(
        written.elapsed() < LIMIT / 2,
        "it was seen at the deadline only"
    );
}

#[test]
fn a_late_line_in_a_file_just_set_aside_wakes() {
    late_line(WatchChoice::Auto);
}
#[test]
fn a_late_line_in_a_file_just_set_aside_wakes_poll() {
    late_line(WatchChoice::Poll);
}

#[test]
fn a_repeat_stays_a_repeat_after_a_restart() {
    let f = fixture(set_aside_at_once());
    let mut session = f.post();
    f.send("x", "once");
    assert_eq!(session.try_next().unwrap().unwrap().mail.len(), 1);
    f.send("x", "once");
    assert_eq!(drain(&mut session), [""; 0]);
    assert_eq!(f.hidden_files(), 1);
    for n in 0..130 {
        f.send(&format!("n{n}"), "more");
    }
    assert_eq!(drain(&mut session).len(), 130);
    drop(session);
    assert_eq!(drain(&mut f.post()), [""; 0], "shown again");
}

#[test]
fn a_file_that_lost_its_unsynced_end_repeats_nothing() {
    let f = fixture(never_set_aside());
    let mut session = f.post();
    for n in 0..200 {
        f.send(&format!("n{n}"), "signed");
    }
    assert_eq!(drain(&mut session).len(), 200);
    read_and_lose_a_line(&f, session);
    assert_eq!(drain(&mut f.post()).len(), 0, "shown again");
}

#[test]
fn a_torn_checkpoint_closed_with_a_newline_is_passed_over() {
    let f = fixture(never_set_aside());
    let mut session = f.post();
    f.echo("one\n");
    f.send("1", "two");
    assert_eq!(drain(&mut session), ["one", "two"]);
    drop(session);
    let mut j = std::fs::File::options()
        .append(true)
        .open(f.team.layout().transcript(&f.alice))
        .unwrap();
    j.write_all(b"{\"kind\":\"checkpoint\",\"sealed\":1,\"posit\n")
        .unwrap();
    assert_eq!(drain(&mut f.post()), [""; 0], "shown again");
}

#[test]
fn an_inbox_that_is_read_as_it_grows_is_never_full() {
    let f = fixture(Options {
        inbox_limit: 10 << 20,
        durability: Durability::ProcessDeath,
        ..Options::default()
    });
    let mut session = f.post();
    let text = "x".repeat(100_000);
    for n in 0..150 {
        f.send(&n.to_string(), &text);
        assert_eq!(drain(&mut session).len(), 1);
    }
}

#[test]
fn short_sessions_delete_what_they_set_aside() {
    let f = fixture(Options {
        segment_grace: Duration::from_millis(200),
        durability: Durability::ProcessDeath,
        ..Options::default()
    });
    for n in 0..10 {
        f.send(&n.to_string(), "x");
        let mut session = f.post();
        assert_eq!(drain(&mut session).len(), 1);
        session.close().unwrap();
    }
    wait_until("the old files are deleted", || {
        let mut session = f.post();
        assert_eq!(drain(&mut session).len(), 0);
        session.close().unwrap();
        f.hidden_files() <= 1
    });
}

#[test]
fn positions_of_deleted_files_are_forgotten_over_restarts() {
    let f = fixture(eager());
    for incarnation in 0..10 {
        let mut session = f.post();
        for n in 0..10 {
            f.send(&format!("{incarnation}.{n}"), "x");
            assert_eq!(drain(&mut session).len(), 1);
        }
        assert_eq!(f.hidden_files(), 0);
    }
    let session = f.post();
    let n = session.positions();
    assert!(n <= 1, "{n} positions, {} files", f.hidden_files());
}

#[test]
fn a_long_dead_letter_is_not_written_twice() {
    let f = fixture(eager());
    let dead_letter = protocol::DeadLetter {
        id: "alice/1/0".into(),
        time: now(),
        inbox: f.alice.clone(),
        reason: "torn".into(),
        line: None,
        raw: Some("x".repeat(300_000)),
        raw_hex: None,
        extra: protocol::Extra::new(),
    };
    f.team.add_dead_letter(&dead_letter).unwrap();
    f.team.add_dead_letter(&dead_letter).unwrap();
    let text = std::fs::read_to_string(f.team.layout().dead_letters()).unwrap();
    assert_eq!(text.lines().count(), 1);
}

#[test]
fn a_restart_costs_the_same_after_long_work_without_mail() {
    let f = fixture(eager());
    let mut session = f.post();
    f.send("1", "x");
    assert_eq!(drain(&mut session).len(), 1);
    for _ in 0..400 {
        session
            .journal()
            .append(&serde_json::json!({"kind":"turn","text":"y".repeat(10_000)}))
            .unwrap();
        drain(&mut session);
    }
    let text = std::fs::read_to_string(f.team.layout().transcript(&f.alice)).unwrap();
    assert!(
        text.contains("\n{\"kind\":\"checkpoint\""),
        "no checkpoint in {} bytes",
        text.len()
    );
}

#[test]
fn a_seal_the_journal_could_not_take_is_made_up_for_before_the_next_mail() {
    let f = fixture(never_set_aside());
    let mut session = f.post();
    f.echo("one\n");
    assert_eq!(drain(&mut session), ["one"]);
    std::fs::remove_file(f.inbox()).unwrap();
    session.journal().set_broken(true);
    assert!(session.next(Some(Instant::now())).is_err());
    session.journal().set_broken(false);
    for n in 0..200 {
        f.send(&format!("n{n}"), "signed");
    }
    let first = drain(&mut session);
    assert_eq!(first.len(), 200);
    drop(session);
    assert_eq!(drain(&mut f.post()).len(), 0, "shown again");
}
#[test]
fn the_same_when_the_inbox_was_replaced_while_nobody_was_there() {
    // the seal in open_live (file replaced while nobody was there)
    let f = fixture(never_set_aside());
    let mut session = f.post();
    f.echo("one\n");
    assert_eq!(drain(&mut session), ["one"]);
    drop(session);
    std::fs::remove_file(f.inbox()).unwrap();
    for n in 0..200 {
        f.send(&format!("n{n}"), "signed");
    }
    let mut session = f.post();
    session.journal().set_broken(true);
    assert!(session.next(Some(Instant::now())).is_err());
    session.journal().set_broken(false);
    assert_eq!(drain(&mut session).len(), 200);
    drop(session);
    assert_eq!(drain(&mut f.post()).len(), 0, "shown again");
}

#[test]
fn a_busy_inbox_lock_is_no_error_for_a_reader() {
    let f = fixture(eager());
    let mut session = f.post();
    let _held = FileLock::acquire(&f.team.layout().inbox_lock(&f.alice), Duration::ZERO).unwrap();
    assert!(
        session
            .next(Some(Instant::now() + Duration::from_millis(500)))
            .unwrap()
            .is_none()
    );
}

#[test]
fn an_inbox_moved_away_and_back_is_not_read_twice() {
    let f = fixture(never_set_aside());
    let mut session = f.post();
    f.echo("one\n");
    assert_eq!(drain(&mut session), ["one"]);
    let away = f.inbox().with_extension("bak");
    std::fs::rename(f.inbox(), &away).unwrap();
    assert_eq!(drain(&mut session), [""; 0]);
    std::fs::rename(&away, f.inbox()).unwrap();
    // A line without an identifier may come once more: to the reader it is another file.
    drain(&mut session);
    f.echo("two\n");
    assert_eq!(drain(&mut session), ["two"]);
}

/// What a reader has open, without a session around it.
fn open_parts(f: &Fixture) -> (MemberGuard, Mailbox, Journal, Watcher) {
    let guard = f.team.join(&f.alice).unwrap();
    let (mut journal, state) = Journal::open(&f.team, &guard).unwrap();
    let mailbox = Mailbox::open(&f.team, &guard, state, &mut journal).unwrap();
    let watcher = Watcher::new(&f.team.layout().inbox_dir(), WatchChoice::Poll);
    (guard, mailbox, journal, watcher)
}

#[test]
fn an_inbox_replaced_just_before_it_is_set_aside_is_read() {
    for restart in [false, true] {
        let f = fixture(eager());
        let (guard, mut mailbox, mut journal, mut watcher) = open_parts(&f);
        f.echo("one\n");
        assert!(mailbox.receive(&mut journal).unwrap().is_some());
        std::fs::rename(f.inbox(), f.inbox().with_extension("bak")).unwrap();
        f.echo("two\n");
        let renamed = mailbox.rename_inbox(&mut watcher).unwrap();
        assert_eq!(renamed, Renamed::OtherFile);
        if restart {
            drop((mailbox, journal, watcher, guard));
            assert_eq!(drain(&mut f.post()), ["two"]);
            continue;
        }
        mailbox.record_rename(renamed, &mut journal).unwrap();
        let delivery = mailbox.receive(&mut journal).unwrap().unwrap();
        assert_eq!(delivery.mail[0].decode(), Line::Text("two".to_owned()));
        drop((mailbox, journal, watcher, guard));
        assert_eq!(drain(&mut f.post()), [""; 0], "read twice");
    }
}

#[test]
fn an_inbox_removed_just_before_it_is_set_aside_stops_nothing() {
    let f = fixture(eager());
    let (_guard, mut mailbox, mut journal, mut watcher) = open_parts(&f);
    f.echo("one\n");
    assert!(mailbox.receive(&mut journal).unwrap().is_some());
    std::fs::remove_file(f.inbox()).unwrap();
    let renamed = mailbox.rename_inbox(&mut watcher).unwrap();
    assert_eq!(renamed, Renamed::Nothing);
    assert!(!mailbox.record_rename(renamed, &mut journal).unwrap());
    f.echo("two\n");
    assert!(mailbox.receive(&mut journal).unwrap().is_some());
}

#[test]
fn files_that_cannot_be_deleted_do_not_use_up_descriptors() {
    let f = fixture(eager());
    let mut session = f.post();
    let mut writers = Vec::new();
    for n in 0..300 {
        f.echo(&format!("{n}\n"));
        writers.push(kept(&f));
        assert_eq!(drain(&mut session).len(), 1);
    }
    let n = f.hidden_files();
    assert!(n <= 256, "{n} files set aside");
}

#[test]
fn thousands_of_bad_lines_become_one_dead_letter_each() {
    let f = fixture(eager());
    let mut session = f.post();
    f.echo(&"{\n".repeat(3000));
    drain(&mut session);
    let dead = std::fs::read_to_string(f.team.layout().dead_letters()).unwrap();
    assert_eq!(dead.lines().count(), 3000);
}

/// Moves, deletes or replaces the inbox, and sometimes waits a little.
fn disturb(inbox: &std::path::Path, rnd: &mut impl FnMut(u64) -> u64) {
    let new = inbox.with_extension("new");
    // It may not be there at the moment.
    let _ = match rnd(3) {
        0 => std::fs::remove_file(inbox),
        1 => std::fs::rename(inbox, inbox.with_extension("moved")),
        _ => std::fs::write(&new, "").and_then(|()| std::fs::rename(&new, inbox)),
    };
    if rnd(2) == 0 {
        linger(rnd(500));
    }
}

fn stress(person: bool, seal_after: Duration) {
    let f = fixture(Options {
        seal_after,
        segment_grace: Duration::from_secs(60),
        durability: Durability::ProcessDeath,
        ..Options::default()
    });
    let inbox = f.inbox();
    let (tx, rx) = std::sync::mpsc::channel::<String>();
    let reader = std::thread::spawn(move || {
        let mut session = MemberSession::open(&f.team, &f.alice, WatchChoice::Auto).unwrap();
        let mut seen = 0;
        while seen < LINES {
            match session.next(Some(Instant::now() + LIMIT)) {
                Ok(Some(d)) => {
                    for m in d.mail {
                        if let Line::Text(t) = m.decode() {
                            seen += 1;
                            let _ = tx.send(t);
                        }
                    }
                }
                Ok(None) => {}
                Err(error) => panic!("{error}"),
            }
        }
    });
    let mut x = 88172645463325252u64;
    let mut rnd = move |n: u64| {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        x % n
    };
    for n in 0..LINES {
        if person && rnd(3) == 0 {
            disturb(&inbox, &mut rnd);
        }
        let mut file = std::fs::File::options()
            .append(true)
            .create(true)
            .open(&inbox)
            .unwrap();
        linger(rnd(1500));
        writeln!(file, "line {n}").unwrap();
        drop(file);
        match rx.recv_timeout(LIMIT / 2) {
            Ok(t) => assert_eq!(t, format!("line {n}")),
            Err(_) => panic!("line {n} was not seen"),
        }
    }
    reader.join().unwrap();
}
#[test]
fn lines_of_other_programs_wake_the_reader_whatever_is_set_aside() {
    stress(false, Duration::ZERO);
}
#[test]
fn a_person_who_moves_and_deletes_the_inbox_does_not_stop_the_mail() {
    stress(true, Duration::from_millis(1));
}

#[test]
fn probes_do_not_keep_a_member_from_joining() {
    let f = fixture(eager());
    drop(f.team.join(&f.alice).unwrap());
    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let (team, alice, stop) = (f.team.clone(), f.alice.clone(), stop.clone());
            std::thread::spawn(move || {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    let _ = team.liveness(&alice);
                }
            })
        })
        .collect();
    let mut failed = 0;
    for _ in 0..20 {
        if f.team.join(&f.alice).is_err() {
            failed += 1;
        }
    }
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    for t in threads {
        t.join().unwrap();
    }
    assert_eq!(failed, 0);
}

#[test]
fn a_process_killed_while_it_reads_again_repeats_nothing() {
    let f = fixture(never_set_aside());
    let mut session = f.post();
    for n in 0..2000 {
        f.send(&format!("n{n}"), &"signed".repeat(50));
    }
    assert_eq!(drain(&mut session).len(), 2000);
    read_and_lose_a_line(&f, session);
    for _ in 0..3 {
        assert_eq!(drain(&mut f.post()).len(), 0, "shown again");
    }
    f.echo("new\n");
    assert_eq!(drain(&mut f.post()), ["new"]);
    assert_eq!(drain(&mut f.post()), [""; 0]);
}

/// A sender opens the inbox, the reader sets it aside, the sender writes its line, finds that the file is not
/// the inbox any more, and sends the line once more with all its later ones.
#[test]
fn a_line_that_came_into_the_file_set_aside_is_shown_once_and_in_order() {
    let options = Options {
        segment_grace: Duration::from_secs(60),
        ..eager()
    };
    let fixture = fixture(options);
    fixture.send("0", "zero");
    let mut session = fixture.post();
    let mut late = std::fs::OpenOptions::new()
        .append(true)
        .open(fixture.inbox())
        .unwrap();
    assert_eq!(drain(&mut session), ["zero"]);
    assert_eq!(fixture.hidden_files(), 1);
    let line = r#"{"id":"late","from":"bob","to":"alice","type":"message","content":"late"}"#;
    writeln!(late, "{line}").unwrap();
    fixture.send("late", "late");
    let later: Vec<String> = (1..300).map(|number| format!("later {number}")).collect();
    for text in &later {
        fixture.send(&text.replace(' ', "-"), text);
    }
    let shown = drain(&mut session);
    assert_eq!(shown[0], "late");
    assert_eq!(shown[1..], later);
}
