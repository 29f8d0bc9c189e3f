//! Waking up: in time, for one's own mail, and for nothing else.

use crate::support::{LIMIT, TestTeam};
use nix::sys::inotify::{InitFlags, Inotify};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};
use std::time::{Duration, Instant};
use teamdir::{MemberSession, PollReason, WatchChoice, WatchMode};
use test_support::{Worker, try_wait_for, wait_until};

/// The number of notification instances is limited per user: the test that uses them all up must
/// not run beside those that need one.
static INSTANCES: RwLock<()> = RwLock::new(());

fn share_instances() -> RwLockReadGuard<'static, ()> {
    INSTANCES.read().unwrap_or_else(PoisonError::into_inner)
}

/// How often the threads of a process went to sleep of their own accord.
fn sleeps(pid: u32) -> u64 {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let counts = tasks.filter_map(|task| {
        let status = std::fs::read_to_string(task.ok()?.path().join("status")).ok()?;
        let line = status.lines().find(|line| line.starts_with("voluntary"))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok()
    });
    counts.sum()
}

/// Waits until a process has not woken up for a while, and returns its count then.
fn settled(pid: u32) -> u64 {
    let mut last = (sleeps(pid), Instant::now());
    wait_until("the process settles", LIMIT, || {
        let now = sleeps(pid);
        if now != last.0 {
            last = (now, Instant::now());
        }
        last.1.elapsed() > Duration::from_millis(700)
    });
    last.0
}

fn send(team: &TestTeam, to: &str, end: u64) {
    let end = end.to_string();
    let mut writer = team.start(&["write", "--from", "w", "--to", to, "--end", &end]);
    assert!(writer.wait(LIMIT).success());
}

#[test]
fn an_idle_reader_sleeps_and_mail_for_others_does_not_wake_it() {
    let _shared = share_instances();
    let team = TestTeam::new();
    let reader = team.reader(&[]);
    let before = settled(reader.id());
    send(&team, "bob", 100);
    send(&team, "lead", 100);
    assert_eq!(settled(reader.id()), before, "mail for others woke it");
    // The net below the notifications is a minute wide.
    let quiet = try_wait_for(Duration::from_secs(2), || {
        (sleeps(reader.id()) != before).then_some(())
    });
    assert!(quiet.is_none(), "it woke up for nothing");
}

#[test]
fn a_readers_own_actions_do_not_wake_it() {
    let _shared = share_instances();
    let team = TestTeam::new();
    let mut reader = team.reader(&["--seal-after-ms", "100", "--grace-ms", "200", "--print"]);
    settled(reader.id());
    let before = sleeps(reader.id());
    send(&team, "alice", 1);
    assert_eq!(reader.line(LIMIT), "w-0");
    let after = settled(reader.id());
    wait_until("the inbox is set aside and deleted", LIMIT, || {
        let dir = std::fs::read_dir(team.team.layout().inbox_dir()).unwrap();
        dir.filter(|e| {
            e.as_ref()
                .unwrap()
                .file_name()
                .to_string_lossy()
                .contains(".alice.1.")
        })
        .count()
            == 0
    });
    // The message itself, the time to set the file aside, the time to delete it, each in the reader
    // and in the thread that watches for it (11 together), and a few more for a busy machine: a
    // reader that wakes itself would show hundreds.
    let woken = after - before;
    assert!(woken < 20, "woken {woken} times for one message");
}

#[test]
fn inv_12_mail_wakes_a_reader_with_and_without_notifications() {
    let _shared = share_instances();
    for more in [&["--print"][..], &["--print", "--poll"]] {
        let team = TestTeam::new();
        let mut reader = team.reader(more);
        settled_or_polling(&reader, more);
        send(&team, "alice", 3);
        for number in 0..3 {
            assert_eq!(reader.line(LIMIT), format!("w-{number}"));
        }
    }
}

fn settled_or_polling(reader: &Worker, more: &[&str]) {
    if !more.contains(&"--poll") {
        settled(reader.id());
    }
}

#[test]
fn at_the_limit_of_inotify_instances_a_reader_polls_and_says_so() {
    let _alone = INSTANCES.write().unwrap_or_else(PoisonError::into_inner);
    // The limit counts per user, so it is reached by taking all that is left.
    let mut taken = Vec::new();
    while let Ok(instance) = Inotify::init(InitFlags::IN_CLOEXEC) {
        taken.push(instance);
        if taken.len() > 5_000 {
            test_support::report_skip("inotify limit", "this user has no limit");
            return;
        }
    }
    let team = TestTeam::new();
    let mut session = MemberSession::open(&team.team, &team.alice, WatchChoice::Auto).unwrap();
    drop(taken);
    let WatchMode::Polling(reason) = session.watch_mode() else {
        panic!("notified without an instance");
    };
    assert_eq!(reason, PollReason::Limit);
    assert!(
        reason.to_string().contains("max_user_instances"),
        "{reason}"
    );
    send(&team, "alice", 1);
    let delivery = session.next(Some(Instant::now() + LIMIT)).unwrap();
    assert_eq!(delivery.unwrap().mail.len(), 1);
}
