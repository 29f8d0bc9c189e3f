//! The contestants: what a mailbox can be made of, and what each of them promises.

use super::redis;
use serde::{Deserialize, Serialize};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use teamdir::Durability;

/// The kinds of media.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Kind {
    /// The team folder; what is done survives the death of any process.
    Ours,
    /// The team folder; what is done survives a power cut.
    OursSynced,
    /// Append, be woken, read.
    Bare,
    /// The same, and the reader appends what it read to a journal.
    BareJournal,
    /// The same, woken by the thread of the crate `notify`, as members are.
    BareNotify,
    /// The same by bare notifications, and both appends are synced.
    BareSynced,
    /// Datagrams of a Unix socket.
    Socket,
    /// Redis Streams, in memory.
    Redis,
    /// Redis Streams, each write synced.
    RedisSynced,
    /// SQLite from Python, never synced.
    Sqlite,
    /// SQLite from Python, each transaction synced.
    SqliteSynced,
    /// The tutorial's mailbox in Python.
    Tutorial,
}

/// What a user could pick instead, nothing of it synced.
pub(super) const ALTERNATIVES: [Kind; 4] =
    [Kind::Socket, Kind::Redis, Kind::Sqlite, Kind::Tutorial];
/// The same where a message must survive a power cut.
pub(super) const SYNCED: [Kind; 2] = [Kind::RedisSynced, Kind::SqliteSynced];

/// How a kind is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Engine {
    Ours,
    Bare,
    Socket,
    Redis,
    /// A Python program, with its name for the kind.
    Python(&'static str),
}

static PYTHON: LazyLock<bool> = LazyLock::new(|| runs("python3", &["-c", "import sqlite3"]));
static REDIS: LazyLock<bool> = LazyLock::new(|| runs(redis::PROGRAM, &["--version"]));

fn runs(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(arguments);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

impl Kind {
    pub(super) const fn durability(self) -> Durability {
        match self {
            Self::OursSynced | Self::BareSynced | Self::RedisSynced | Self::SqliteSynced => {
                Durability::PowerCut
            }
            Self::Ours
            | Self::Bare
            | Self::BareJournal
            | Self::BareNotify
            | Self::Socket
            | Self::Redis
            | Self::Sqlite
            | Self::Tutorial => Durability::ProcessDeath,
        }
    }

    pub(super) const fn engine(self) -> Engine {
        match self {
            Self::Ours | Self::OursSynced => Engine::Ours,
            Self::Bare | Self::BareJournal | Self::BareNotify | Self::BareSynced => Engine::Bare,
            Self::Socket => Engine::Socket,
            Self::Redis | Self::RedisSynced => Engine::Redis,
            Self::Sqlite => Engine::Python("sqlite"),
            Self::SqliteSynced => Engine::Python("sqlite-synced"),
            Self::Tutorial => Engine::Python("tutorial"),
        }
    }

    /// What it is called in a report.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Ours => "team-lead",
            Self::OursSynced => "team-lead, synced",
            Self::Bare => "append + inotify",
            Self::BareJournal => "append + inotify + journal",
            Self::BareNotify => "append + notify's thread + journal",
            Self::BareSynced => "append + inotify + journal, synced",
            Self::Socket => "Unix socket",
            Self::Redis => "Redis Streams, in memory",
            Self::RedisSynced => "Redis Streams, fsync always",
            Self::Sqlite => "SQLite, synchronous=OFF",
            Self::SqliteSynced => "SQLite, synchronous=FULL",
            Self::Tutorial => "tutorial's Python mailbox",
        }
    }

    /// What it promises of a message that was accepted.
    const fn promise(self) -> &'static str {
        match self {
            Self::Ours => "survives the death of any process; read exactly once",
            Self::OursSynced => "survives a power cut; read exactly once (the default)",
            Self::Bare => "survives the death of the writer; a reader that dies reads all again",
            Self::BareJournal | Self::BareNotify | Self::BareSynced => {
                "the limit of any mailbox of files with a journal; a reader that dies repeats, \
                 and nothing is ever removed"
            }
            Self::Socket => "none: it is in the kernel's memory, and gone with the reader",
            Self::Redis => "gone with the server; read at least once (consumer group, XACK)",
            Self::RedisSynced => "survives a power cut; read at least once (consumer group, XACK)",
            Self::Sqlite => {
                "survives the death of any process; read once, as long as the journal is in the \
                 same database; Python, polls every 1 ms"
            }
            Self::SqliteSynced => {
                "survives a power cut; read once, as long as the journal is in the same database; \
                 Python, polls every 1 ms"
            }
            Self::Tutorial => {
                "none: what is written between read and emptying is lost; polls every 0.1 s here, \
                 every 5 s in the tutorial"
            }
        }
    }

    /// Its name and its promise.
    pub(super) fn label(self) -> String {
        format!("{}: {}", self.name(), self.promise())
    }

    /// What has to be installed for it, if that is missing.
    pub(super) fn missing(self) -> Option<&'static str> {
        match self.engine() {
            Engine::Ours | Engine::Bare | Engine::Socket => None,
            Engine::Redis if *REDIS => None,
            Engine::Redis => Some("redis-server not found (Debian: apt-get install redis-server)"),
            Engine::Python(_) if *PYTHON => None,
            Engine::Python(_) => Some("python3 not found (Debian: apt-get install python3)"),
        }
    }

    /// How many rounds it can do in the time in which others do so many.
    pub(super) fn rounds(self, rounds: u64) -> u64 {
        match self {
            Self::Tutorial => (rounds / 25).max(2),
            Self::Ours
            | Self::OursSynced
            | Self::Bare
            | Self::BareJournal
            | Self::BareNotify
            | Self::BareSynced
            | Self::Socket
            | Self::Redis
            | Self::RedisSynced
            | Self::Sqlite
            | Self::SqliteSynced => rounds,
        }
    }
}

/// Those that can be measured here.
pub(super) fn present(kinds: &[Kind]) -> Vec<Kind> {
    let kinds = kinds.iter().copied();
    kinds.filter(|kind| kind.missing().is_none()).collect()
}

/// All that a report about mailboxes compares.
pub(super) fn all() -> Vec<Kind> {
    let ours = [Kind::OursSynced, Kind::Ours, Kind::BareSynced, Kind::Bare];
    ours.into_iter().chain(SYNCED).chain(ALTERNATIVES).collect()
}
