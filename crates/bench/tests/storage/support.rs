//! Teams for tests, and what their files say afterwards.

use protocol::Recipient;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use teamdir::{Durability, Options, TeamDir};
use test_support::{TempTeam, Worker};

/// How long anything may take before a test fails.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// Whether the long versions were asked for.
pub(crate) fn is_long() -> bool {
    std::env::var_os("TEAM_TEST").is_some_and(|value| value == "long")
}

/// A team of four, and processes that work on it.
pub(crate) struct TestTeam {
    temp: TempTeam,
    pub(crate) team: TeamDir,
    pub(crate) alice: Recipient,
}

const MEMBERS: [&str; 4] = ["alice", "bob", "carol", "dave"];

pub(crate) fn unsynced() -> Options {
    Options {
        durability: Durability::ProcessDeath,
        ..Options::default()
    }
}

impl TestTeam {
    pub(crate) fn new() -> Self {
        Self::of(TempTeam::new(&MEMBERS, unsynced()))
    }

    pub(crate) fn at(dir: &Path, options: Options) -> Self {
        Self::of(TempTeam::at(dir, &MEMBERS, options))
    }

    pub(crate) fn of(temp: TempTeam) -> Self {
        Self {
            team: temp.team().clone(),
            temp,
            alice: "alice".parse().unwrap(),
        }
    }

    /// A `bench work` process on this team.
    pub(crate) fn bench(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bench"));
        command.arg("work").arg("--dir").arg(self.temp.workspace());
        command.args(args).stderr(Stdio::inherit());
        command
    }

    pub(crate) fn start(&self, args: &[&str]) -> Worker {
        Worker::spawn(&mut self.bench(args)).unwrap()
    }

    /// Starts a process that will be struck, so that its complaints are no news.
    pub(crate) fn start_quietly(&self, args: &[&str]) -> Worker {
        Worker::spawn(self.bench(args).stderr(Stdio::null())).unwrap()
    }

    /// Starts a reader and waits until it is the member.
    pub(crate) fn reader(&self, more: &[&str]) -> Worker {
        let mut args = vec!["read", "--name", "alice"];
        args.extend(more);
        let mut reader = self.start(&args);
        assert_eq!(reader.line(LIMIT), "ready");
        reader
    }

    pub(crate) fn unread(&self) -> usize {
        self.temp.unread(&self.alice)
    }

    /// The identifiers of all mail in alice's journal, in order.
    pub(crate) fn journal(&self) -> Vec<String> {
        self.temp.recorded(&self.alice)
    }

    /// How many dead letters there are, each counted once.
    pub(crate) fn dead_letters(&self) -> usize {
        let text = std::fs::read_to_string(self.team.layout().dead_letters()).unwrap_or_default();
        // A writer killed in the middle of a line leaves a fragment; the next one closes it.
        let dead_letters = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        let ids = dead_letters.map(|dead_letter: protocol::DeadLetter| dead_letter.id);
        ids.collect::<std::collections::BTreeSet<_>>().len()
    }
}

/// Checks that each writer's messages `0..count` are there once and in order.
pub(crate) fn assert_exactly_once(ids: &[String], writers: &BTreeMap<String, u64>) {
    let mut next: BTreeMap<&str, u64> = BTreeMap::new();
    for id in ids {
        let (from, number) = id.rsplit_once('-').unwrap();
        let number: u64 = number.parse().unwrap();
        let expected = next.entry(from).or_default();
        assert_eq!(
            number, *expected,
            "of {from}: lost, doubled or out of order"
        );
        *expected += 1;
    }
    for (from, count) in writers {
        assert_eq!(
            next.get(from.as_str()).copied().unwrap_or(0),
            *count,
            "of {from}"
        );
    }
}
