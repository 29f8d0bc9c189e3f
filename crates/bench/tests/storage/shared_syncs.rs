//! Senders that share syncs: killed, stopped, and with a damaged mark.

use crate::support::{LIMIT, TestTeam, assert_exactly_once, is_long};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use teamdir::{MemberSession, Options, WatchChoice};
use test_support::faults::{self, Fault, Outcome};
use test_support::{Rng, SmallDisk, Worker, report_skip, try_wait_for, wait_until};

/// A synced writer that is started again at its first message that was not acknowledged.
struct Writer {
    name: String,
    next: u64,
    end: u64,
    process: Worker,
}

impl Writer {
    fn start(team: &TestTeam, name: &str, end: u64) -> Self {
        Self {
            name: name.to_owned(),
            next: 0,
            end,
            process: run(team, name, (0, end)),
        }
    }

    fn kill_and_restart(&mut self, team: &TestTeam) {
        self.process.kill9();
        self.next += self.process.lines_so_far().len() as u64;
        self.process = run(team, &self.name, (self.next, self.end));
    }

    /// Sends on for ever until now, and is done after the messages it has acknowledged.
    fn stop_at_last(&mut self) -> u64 {
        self.process.kill9();
        self.next + self.process.lines_so_far().len() as u64
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.process.id().cast_signed());
        kill(pid, signal).unwrap();
    }

    fn is_done(&mut self) -> bool {
        self.process.try_wait().is_some()
    }
}

fn run(team: &TestTeam, name: &str, (start, end): (u64, u64)) -> Worker {
    let (start, end) = (start.to_string(), end.to_string());
    let args = ["write", "--from", name, "--to", "alice", "--sync"];
    team.start(&[&args[..], &["--start", &start, "--end", &end]].concat())
}

/// What a hostile or unlucky program may do to the file by which syncs are shared.
fn damage_mark(team: &TestTeam, how: u64) {
    let path = team.team.layout().inbox_synced(&team.alice);
    let mark = File::options().write(true).open(&path);
    let _ = match (how, mark) {
        (0, Ok(mark)) => mark.set_len(0),
        (1, Ok(mark)) => mark.set_len(17),
        (2, Ok(mark)) => mark.write_all_at(&[0xff; 200], 0),
        (_, _) => std::fs::remove_file(&path),
    };
}

/// Half a line of a program that takes no lock and was killed.
fn tear(team: &TestTeam) {
    let inbox = team.team.layout().inbox(&team.alice);
    if let Ok(mut inbox) = File::options().append(true).open(inbox) {
        inbox.write_all(b"{\"torn\": \"").unwrap();
    }
}

#[test]
fn inv_01_senders_that_share_syncs_are_killed_stopped_and_misled_and_nothing_is_lost() {
    let team = TestTeam::new();
    let (messages, rounds) = if is_long() {
        (20_000, 2_000)
    } else {
        (400, 150)
    };
    let mut writers: Vec<Writer> = (0..6)
        .map(|n| Writer::start(&team, &format!("w{n}"), messages))
        .collect();
    // Setting aside at once renames the inbox under those who wait.
    let mut reader = team.reader(&["--sync", "--seal-after-ms", "0", "--grace-ms", "20"]);
    let mut rng = Rng::new(7);
    for _ in 0..rounds {
        let pause = Duration::from_micros(500 + rng.below(10_000));
        let _ = try_wait_for(pause, || None::<()>);
        let writer = &mut writers[rng.below(6) as usize];
        match rng.below(8) {
            0 => damage_mark(&team, rng.below(4)),
            1 => tear(&team),
            2 if !writer.is_done() => {
                writer.signal(Signal::SIGSTOP);
                let pause = Duration::from_micros(rng.below(60_000));
                let _ = try_wait_for(pause, || None::<()>);
                writer.signal(Signal::SIGCONT);
            }
            _ if !writer.is_done() => writer.kill_and_restart(&team),
            _ => {}
        }
    }
    wait_until("all is sent", LIMIT, || {
        writers.iter_mut().all(Writer::is_done)
    });
    wait_until("all mail is read", LIMIT, || team.unread() == 0);
    reader.kill9();
    let counts: BTreeMap<String, u64> = writers
        .iter()
        .map(|writer| (writer.name.clone(), messages))
        .collect();
    assert_exactly_once(&team.journal(), &counts);
}

/// Sends a message, with a fault at one of the sender's calls. Without a kill it is sent.
fn strike(team: &TestTeam, (op, id): (&str, &str), (index, fault): (usize, Fault)) -> Outcome {
    let mut command = team.bench(&["--sync", "op", op, "--id", id]);
    command.stdout(Stdio::piped());
    let (outcome, trace) = faults::inject_traced(&mut command, index, fault).unwrap();
    let is_killed = outcome == Outcome::Killed;
    assert!(
        is_killed || trace.status.success(),
        "{outcome:?} at {index}"
    );
    outcome
}

/// Others wait for the struck process, or it for them, whichever comes first: both are struck at each of
/// their calls.
#[test]
fn inv_01_a_sender_killed_at_every_call_takes_no_line_of_those_who_wait_with_it() {
    if let Err(reason) = faults::available() {
        return report_skip("senders that share syncs", reason);
    }
    let team = TestTeam::new();
    let mut others: Vec<Writer> = (0..3)
        .map(|n| Writer::start(&team, &format!("w{n}"), u64::MAX))
        .collect();
    let mut done = Vec::new();
    let (mut killed, mut unreached, mut index) = (0, 0, 0);
    // How many calls there are depends on who leads.
    while unreached < 5 {
        index += 1;
        // The second message of a process goes through a slot, for itself and, if it leads, for others.
        for (op, fault) in [
            ("send", Fault::Kill),
            ("send-again", Fault::Kill),
            ("send-again", Fault::Tear),
            ("send-again", Fault::Kill),
        ] {
            let id = format!("struck{index}.{}-0", killed + done.len());
            let outcome = strike(&team, (op, &id), (index, fault));
            if outcome == Outcome::Killed {
                killed += 1;
            } else {
                unreached += u32::from(outcome == Outcome::NotReached);
                done.push(id);
            }
        }
        // Nobody waits for the dead.
        for other in &mut others {
            let before = other.process.lines_so_far().len();
            wait_until("others send on", LIMIT, || {
                other.process.lines_so_far().len() > before
            });
        }
    }
    assert!(killed > 30, "only {killed} were killed");
    assert!(handed_over(&team) > 1, "nobody has handed a line over");
    let counts = others.iter_mut().map(Writer::stop_at_last);
    let counts: Vec<u64> = counts.collect();
    let mut session = MemberSession::open(&team.team, &team.alice, WatchChoice::Poll).unwrap();
    while session.next(Some(Instant::now())).unwrap().is_some() {}
    let journal = team.journal();
    for (other, acknowledged) in others.iter().zip(counts) {
        let prefix = format!("{}-", other.name);
        let own = journal.iter().filter_map(|id| id.strip_prefix(&prefix));
        let numbers: Vec<u64> = own.map(|number| number.parse().unwrap()).collect();
        // The last may have been written and not acknowledged.
        let expected: Vec<u64> = (0..numbers.len() as u64).collect();
        assert_eq!(numbers, expected);
        assert!((acknowledged..=acknowledged + 1).contains(&(numbers.len() as u64)));
    }
    for id in done {
        assert_eq!(
            journal.iter().filter(|found| **found == id).count(),
            1,
            "{id}"
        );
    }
}

/// In how many slots of the mark a line was accepted.
fn handed_over(team: &TestTeam) -> usize {
    let mark = std::fs::read(team.team.layout().inbox_synced(&team.alice)).unwrap();
    let tickets = mark.get(48..560).unwrap_or_default();
    let tickets = tickets.chunks(8);
    tickets.filter(|ticket| *ticket != [0; 8]).count()
}

#[test]
fn a_leader_that_is_stopped_stops_nobody_else() {
    let team = TestTeam::new();
    team.team.send(message("0")).unwrap();
    let mark = held_mark(&team);
    let mut writer = Writer::start(&team, "w", 100);
    assert_eq!(writer.process.wait(LIMIT).code(), Some(0));
    drop(mark);
}

/// The mark, locked as by a leader that does not come to its end.
fn held_mark(team: &TestTeam) -> File {
    let path = team.team.layout().inbox_synced(&team.alice);
    let mut options = File::options();
    let mark = options.create(true).read(true).append(true).open(path);
    let mark = mark.unwrap();
    mark.lock().unwrap();
    mark
}

fn message(id: &str) -> protocol::Message {
    let content = "x".repeat(100);
    let mut message = protocol::Message::new(protocol::Body::Message { content });
    message.id = Some(protocol::MessageId::new(id).unwrap());
    message.from = Some(protocol::Sender::new("bob"));
    message.to = Some("alice".parse().unwrap());
    message
}

#[test]
fn inv_06_an_inbox_set_aside_while_its_sender_waits_changes_neither_number_nor_order() {
    let options = Options {
        seal_after: Duration::ZERO,
        ..crate::support::unsynced()
    };
    let team = TestTeam::of(test_support::TempTeam::new(&["alice"], options));
    let mut session = MemberSession::open(&team.team, &team.alice, WatchChoice::Poll).unwrap();
    for round in 0..5 {
        let mark = held_mark(&team);
        let mut writer = Writer::start(&team, &format!("w{round}"), 3);
        // Its first line is written and waits for its sync; the reader takes it and renames the file.
        wait_until("a line is read", LIMIT, || {
            session.next(Some(Instant::now())).unwrap().is_some()
        });
        session.set_aside().unwrap();
        drop(mark);
        assert_eq!(writer.process.wait(LIMIT).code(), Some(0));
        while session.next(Some(Instant::now())).unwrap().is_some() {}
    }
    let counts = (0..5).map(|round| (format!("w{round}"), 3)).collect();
    assert_exactly_once(&team.journal(), &counts);
    assert_eq!(team.dead_letters(), 0);
}

#[test]
fn who_writes_in_pieces_under_the_lock_is_alone_with_the_inbox() {
    let team = TestTeam::new();
    let layout = team.team.layout();
    let mut inbox = File::options();
    let mut inbox = inbox
        .create(true)
        .append(true)
        .open(layout.inbox(&team.alice))
        .unwrap();
    let lock = File::create(layout.inbox_lock(&team.alice)).unwrap();
    lock.lock().unwrap();
    let mut writers: Vec<Writer> = (0..3)
        .map(|n| Writer::start(&team, &format!("w{n}"), 20))
        .collect();
    let long = "y".repeat(500_000);
    let line = format!("{{\"id\":\"long-0\",\"from\":\"sh\",\"content\":\"{long}\"}}\n");
    for piece in line.as_bytes().chunks(50_000) {
        inbox.write_all(piece).unwrap();
        let _ = try_wait_for(Duration::from_millis(5), || None::<()>);
    }
    drop(lock);
    for writer in &mut writers {
        assert_eq!(writer.process.wait(LIMIT).code(), Some(0));
    }
    let mut session = MemberSession::open(&team.team, &team.alice, WatchChoice::Poll).unwrap();
    while session.next(Some(Instant::now())).unwrap().is_some() {}
    let mut counts: BTreeMap<String, u64> = (0..3).map(|n| (format!("w{n}"), 20)).collect();
    counts.insert("long".to_owned(), 1);
    assert_exactly_once(&team.journal(), &counts);
    assert_eq!(team.dead_letters(), 0);
}

/// The kernel gives a lock to who wants it alone only when nobody shares it.
#[test]
fn inv_11_a_crowd_of_senders_leaves_the_lock_to_who_wants_it_alone() {
    let team = TestTeam::new();
    let mut writers: Vec<Worker> = (0..8)
        .map(|n| {
            let name = format!("w{n}");
            let args = [
                "write", "--from", &name, "--to", "alice", "--size", "1", "--end", "10000000",
            ];
            team.start(&args)
        })
        .collect();
    let path = team.team.layout().inbox_lock(&team.alice);
    for writer in &mut writers {
        assert_eq!(writer.line(LIMIT), "0");
    }
    for _ in 0..10 {
        let (path, (had, has)) = (path.clone(), std::sync::mpsc::channel());
        std::thread::spawn(move || {
            // As a shell does with `flock`, in the kernel's own queue.
            File::open(path).unwrap().lock().unwrap();
            had.send(())
        });
        has.recv_timeout(LIMIT).unwrap();
        assert!(writers.iter_mut().all(|writer| writer.try_wait().is_none()));
    }
}

#[test]
fn inv_10_a_disk_too_full_for_the_mark_takes_no_line_and_raises_no_signal() {
    let disk = match SmallDisk::tmpfs(1 << 20) {
        Ok(disk) => disk,
        Err(reason) => return report_skip("full disk", reason),
    };
    let team = TestTeam::at(disk.path(), Options::default());
    team.team.send(message("0")).unwrap();
    // The inbox has room in its last page; the mark has none.
    let mark = team.team.layout().inbox_synced(&team.alice);
    File::options()
        .write(true)
        .open(mark)
        .unwrap()
        .set_len(0)
        .unwrap();
    let fill = Command::new("dd")
        .args(["if=/dev/zero", "bs=4096", "status=none"])
        .arg(format!("of={}", disk.path().join("fill").display()))
        .stderr(Stdio::null())
        .status();
    assert!(!fill.unwrap().success(), "the disk is not full");
    let mut writer = run(&team, "w", (0, 5));
    assert_eq!(writer.wait(LIMIT).code(), Some(0), "{}", writer.output());
    std::fs::remove_file(disk.path().join("fill")).unwrap();
    let mut session = MemberSession::open(&team.team, &team.alice, WatchChoice::Poll).unwrap();
    while session.next(Some(Instant::now())).unwrap().is_some() {}
    assert_eq!(team.journal(), ["0", "w-0", "w-1", "w-2", "w-3", "w-4"]);
}
