//! Readers and writers killed at random while mail flows.

use crate::support::{LIMIT, TestTeam, assert_exactly_once, is_long};
use std::collections::BTreeMap;
use std::time::Duration;
use test_support::{Rng, Worker, try_wait_for, wait_until};

/// A writer that is started again at its first message that was not acknowledged.
struct Writer {
    name: String,
    how: &'static str,
    next: u64,
    end: u64,
    process: Worker,
}

impl Writer {
    fn start(team: &TestTeam, name: &str, how: &'static str, end: u64) -> Self {
        let mut writer = Self {
            name: name.to_owned(),
            how,
            next: 0,
            end,
            process: team.start(&["write", "--from", name, "--to", "alice", "--end", "0"]),
        };
        writer.run(team);
        writer
    }

    fn run(&mut self, team: &TestTeam) {
        let (start, end) = (self.next.to_string(), self.end.to_string());
        let mut args = vec!["write", "--from", &self.name, "--to", "alice"];
        args.extend(["--start", &start, "--end", &end, "--how", self.how]);
        // Half of the writers also pay for syncs, which spreads the kills over their run time.
        if self.name.ends_with(['1', '3']) {
            args.push("--sync");
        }
        self.process = team.start(&args);
    }

    /// Kills the process and starts it again where it cannot be sure any more.
    fn restart(&mut self, team: &TestTeam) {
        self.process.kill9();
        let acknowledged = self.process.lines_so_far();
        if let Some(last) = acknowledged
            .iter()
            .rev()
            .find_map(|line| line.parse::<u64>().ok())
        {
            self.next = last + 1;
        }
        self.run(team);
    }

    fn is_done(&mut self) -> bool {
        self.process.try_wait().is_some()
    }
}

struct Fire {
    messages: u64,
    kills: u64,
    kill_writers: bool,
    reader: &'static [&'static str],
    seed: u64,
}

/// Runs writers against one reader under fire, and checks what is in the journal.
fn under_fire(fire: &Fire) {
    let team = TestTeam::new();
    let mut rng = Rng::new(fire.seed);
    let hows = ["locked", "lock-free", "locked", "kept"];
    let mut writers: Vec<Writer> = (0..4)
        .map(|n| Writer::start(&team, &format!("w{n}"), hows[n], fire.messages))
        .collect();
    let mut reader = team.reader(fire.reader);
    let mut kills = 0;
    while kills < fire.kills || writers.iter_mut().any(|writer| !writer.is_done()) {
        let pause = Duration::from_micros(500 + rng.below(20_000));
        let _ = try_wait_for(pause, || None::<()>);
        if fire.kill_writers && rng.below(3) == 0 {
            let writer = &mut writers[rng.below(4) as usize];
            if !writer.is_done() {
                writer.restart(&team);
                kills += 1;
            }
        } else {
            reader.kill9();
            reader = team.reader(fire.reader);
            kills += 1;
        }
    }
    wait_until("all mail is read", LIMIT, || team.unread() == 0);
    reader.kill9();
    let counts: BTreeMap<String, u64> = writers
        .iter()
        .map(|writer| (writer.name.clone(), fire.messages))
        .collect();
    assert_exactly_once(&team.journal(), &counts);
    if !fire.kill_writers {
        assert_eq!(
            team.dead_letters(),
            0,
            "nothing was torn, so nothing is corrupt"
        );
    }
}

#[test]
fn inv_01_a_reader_killed_200_times_loses_and_repeats_nothing() {
    let long = if is_long() { 5 } else { 1 };
    under_fire(&Fire {
        messages: 5_000,
        kills: 200 * long,
        kill_writers: false,
        reader: &[],
        seed: 1,
    });
}

#[test]
fn inv_06_order_is_kept_and_inv_08_torn_lines_harm_nobody_when_all_are_killed() {
    let long = if is_long() { 10 } else { 1 };
    under_fire(&Fire {
        messages: 1_500 * long,
        kills: 100 * long,
        kill_writers: true,
        // Setting aside and deleting at once puts kills into their middle too.
        reader: &["--seal-after-ms", "0", "--grace-ms", "20"],
        seed: 2,
    });
}

#[test]
fn inv_12_without_notifications_only_the_speed_changes() {
    under_fire(&Fire {
        messages: 1_000,
        kills: 30,
        kill_writers: true,
        reader: &["--poll", "--seal-after-ms", "0", "--grace-ms", "20"],
        seed: 3,
    });
}

/// Invariant 4, with the real `echo` of a shell and no identifiers.
#[test]
fn inv_04_lines_echoed_by_a_shell_arrive_once_while_readers_die() {
    let team = TestTeam::new();
    let inbox = team.team.layout().inbox(&team.alice);
    let script =
        r#"for i in $(seq 300); do echo "{\"from\":\"sh\",\"content\":\"$1 $i\"}" >> "$2"; done"#;
    let mut shells: Vec<Worker> = (0..3)
        .map(|n| {
            let mut command = std::process::Command::new("sh");
            command
                .args(["-c", script, "sh", &n.to_string()])
                .arg(&inbox);
            Worker::spawn(&mut command).unwrap()
        })
        .collect();
    let mut rng = Rng::new(4);
    while shells.iter_mut().any(|shell| shell.try_wait().is_none()) {
        let mut reader = team.reader(&["--seal-after-ms", "0", "--grace-ms", "20"]);
        let _ = try_wait_for(Duration::from_micros(rng.below(15_000)), || None::<()>);
        reader.kill9();
    }
    let mut reader = team.reader(&[]);
    wait_until("all lines are read", LIMIT, || team.unread() == 0);
    reader.kill9();
    let mut texts: Vec<String> = Vec::new();
    team.team
        .read_history(&team.alice, |_, line| {
            if let protocol::JournalLine::Known(protocol::JournalRecord::Mail(mail)) = line {
                texts.extend(mail.mail.iter().map(|entry| match entry.decode() {
                    protocol::Line::Message(message) => message.body.text().to_owned(),
                    other => panic!("{other:?}"),
                }));
            }
        })
        .unwrap();
    let mut expected: Vec<String> = (0..3)
        .flat_map(|n| (1..=300).map(move |i| format!("{n} {i}")))
        .collect();
    texts.sort();
    expected.sort();
    assert_eq!(texts, expected);
}
