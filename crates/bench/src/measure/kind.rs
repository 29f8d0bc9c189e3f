//! The contestants: what a mailbox can be made of, and what each of them promises.

use super::redis;
use super::team::contestants::tool;
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
    /// A stream of NATS JetStream on disk, synced every two minutes.
    Nats,
    /// The same, each message synced.
    NatsSynced,
    /// ClawTeam: a mailbox of files in Python.
    ClawTeam,
    /// MCP Agent Mail: a server with a database and a repository of git.
    AgentMail,
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
    Nats,
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
            Self::OursSynced
            | Self::BareSynced
            | Self::RedisSynced
            | Self::SqliteSynced
            | Self::NatsSynced => Durability::PowerCut,
            Self::Ours
            | Self::Bare
            | Self::BareJournal
            | Self::BareNotify
            | Self::Socket
            | Self::Redis
            | Self::Sqlite
            | Self::Tutorial
            | Self::Nats
            | Self::ClawTeam
            | Self::AgentMail => Durability::ProcessDeath,
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
            Self::Nats | Self::NatsSynced => Engine::Nats,
            Self::ClawTeam => Engine::Python("clawteam"),
            Self::AgentMail => Engine::Python("agent-mail"),
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
            Self::Nats => "NATS JetStream, as it comes",
            Self::NatsSynced => "NATS JetStream, sync always",
            Self::ClawTeam => "ClawTeam 0.2.0",
            Self::AgentMail => "MCP Agent Mail 0.1.0",
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
            Self::Nats => {
                "survives the death of the server, synced every 2 minutes; read at least once (durable \
                 consumer, ack)"
            }
            Self::NatsSynced => "survives a power cut; read at least once (durable consumer, ack)",
            Self::ClawTeam => {
                "survives the death of the writer; taken before its reader has it, so a reader that dies \
                 loses it; Python, polls every 1 ms here, every 1 s by default"
            }
            Self::AgentMail => {
                "survives the death of any process; never taken: a reader asks for what is newer than its \
                 own mark, and one that dies reads all again; Python, polls every 10 ms here"
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
            Engine::Nats => tool::NATS.missing(),
            Engine::Python("clawteam") => tool::CLAWTEAM.missing(),
            Engine::Python("agent-mail") => tool::AGENT_MAIL.missing(),
            Engine::Python(_) if *PYTHON => None,
            Engine::Python(_) => Some("python3 not found (Debian: apt-get install python3)"),
        }
    }

    /// The Python that runs it.
    pub(super) fn python(self) -> String {
        let own = match self {
            Self::ClawTeam => tool::CLAWTEAM.path(),
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
            | Self::SqliteSynced
            | Self::Tutorial
            | Self::Nats
            | Self::NatsSynced
            | Self::AgentMail => None,
        };
        own.map_or_else(|| "python3".to_owned(), |path| path.display().to_string())
    }

    /// How many rounds it can do in the time in which others do so many.
    pub(super) fn rounds(self, rounds: u64) -> u64 {
        match self {
            Self::Tutorial | Self::AgentMail => (rounds / 25).max(2),
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
            | Self::SqliteSynced
            | Self::Nats
            | Self::NatsSynced
            | Self::ClawTeam => rounds,
        }
    }
}

/// What [`team`](super::team) compares under kills of the reader: those that are synced first.
pub(super) const CONTESTANTS: [Kind; 12] = [
    Kind::OursSynced,
    Kind::RedisSynced,
    Kind::NatsSynced,
    Kind::SqliteSynced,
    Kind::Ours,
    Kind::Redis,
    Kind::Nats,
    Kind::Sqlite,
    Kind::Socket,
    Kind::Tutorial,
    Kind::ClawTeam,
    Kind::AgentMail,
];

/// Those that can be measured here.
pub(super) fn present(kinds: &[Kind]) -> Vec<Kind> {
    let kinds = kinds.iter().copied();
    kinds.filter(|kind| kind.missing().is_none()).collect()
}

/// All that a report about mailboxes compares.
pub(super) fn all() -> Vec<Kind> {
    let ours = [Kind::OursSynced, Kind::Ours, Kind::BareSynced, Kind::Bare];
    let more = CONTESTANTS.into_iter().filter(|kind| !ours.contains(kind));
    ours.into_iter().chain(more).collect()
}
