//! Redis Streams as the mailbox: a server of its own for each measurement, over a Unix socket.
//!
//! A stream is an inbox. Its owner reads through a consumer group, so that the server remembers
//! what was read, and acknowledges it with its next read.

use super::end::{End, Kind, LINE, Medium};
use super::worker::{self, Job};
use anyhow::{Context as _, bail, ensure};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};
use test_support::{Worker, try_wait_for};

/// The name of the program.
pub(super) const PROGRAM: &str = "redis-server";
const SOCKET: &str = "redis.sock";
/// How long the server may take to start.
const START: Duration = Duration::from_secs(30);
/// The one consumer group of a stream.
const GROUP: &str = "team";

/// Starts a server that ends with the value, and at the latest with this process.
pub(super) fn start(kind: Kind, dir: &Path) -> anyhow::Result<Worker> {
    let synced = kind == Kind::RedisSynced;
    let persist = if synced { "yes" } else { "no" };
    let arguments = [
        PROGRAM,
        "--port",
        "0",
        "--unixsocket",
        SOCKET,
        "--dir",
        ".",
        "--logfile",
        "redis.log",
        "--save",
        "",
        "--appendonly",
        persist,
        "--appendfsync",
        "always",
    ];
    worker::start(&Job::Exec {
        dir: dir.to_path_buf(),
        arguments: arguments.map(str::to_owned).to_vec(),
    })
}

/// A connection to the server.
pub(super) struct RedisEnd {
    stream: BufReader<UnixStream>,
    me: String,
    peer: String,
    /// What was read and is to be acknowledged.
    read: Vec<String>,
    /// Whether an earlier reader may have died before it acknowledged what it had read.
    takes_up: bool,
}

impl RedisEnd {
    pub(super) fn open_to_send(medium: &Medium) -> anyhow::Result<Self> {
        // The address of a socket may be no longer than 108 bytes, which a path here often is.
        std::env::set_current_dir(&medium.dir)?;
        let stream = try_wait_for(START, || UnixStream::connect(SOCKET).ok());
        Ok(Self {
            stream: BufReader::new(stream.context("redis-server does not start")?),
            me: medium.me.clone(),
            peer: medium.peer.clone(),
            read: Vec::new(),
            takes_up: false,
        })
    }

    pub(super) fn open(medium: &Medium) -> anyhow::Result<Self> {
        let mut end = Self::open_to_send(medium)?;
        let me = end.me.clone();
        let made = end.ask(&["XGROUP", "CREATE", &me, GROUP, "0", "MKSTREAM"]);
        match made {
            Ok(_) => {}
            Err(error) if error.to_string().contains("BUSYGROUP") => end.takes_up = true,
            Err(error) => return Err(error),
        }
        Ok(end)
    }

    fn ask(&mut self, arguments: &[&str]) -> anyhow::Result<Reply> {
        self.stream.get_mut().write_all(&command(arguments))?;
        Reply::read(&mut self.stream)
    }

    /// What a read brought: identifiers of entries, and their only field.
    fn entries(reply: Reply) -> Vec<(String, String)> {
        // [[stream, [[id, [field, value]], ...]]]
        let mut streams = reply.list().into_iter();
        let mut stream = streams
            .next()
            .map_or_else(Vec::new, Reply::list)
            .into_iter();
        let entries = stream.nth(1).map_or_else(Vec::new, Reply::list);
        let entry = |entry: Reply| {
            let mut parts = entry.list().into_iter();
            let id = parts.next()?.text()?;
            let value = parts.next()?.list().into_iter().nth(1)?.text()?;
            Some((id, value))
        };
        entries.into_iter().filter_map(entry).collect()
    }
}

impl End for RedisEnd {
    fn send(&mut self, content: &str) -> anyhow::Result<bool> {
        let peer = self.peer.clone();
        let content = format!("{content:<width$}", width = LINE);
        self.ask(&["XADD", &peer, "*", "m", &content])?;
        Ok(true)
    }

    fn next(&mut self, deadline: Option<Instant>) -> anyhow::Result<Vec<String>> {
        let left = deadline.map_or(Duration::ZERO, |deadline| {
            let left = deadline.saturating_duration_since(Instant::now());
            left.max(Duration::from_millis(1))
        });
        let limit = left.as_millis().to_string();
        let mut both = Vec::new();
        let acknowledges = !self.read.is_empty();
        if acknowledges {
            let mut arguments = vec!["XACK", &self.me, GROUP];
            arguments.extend(self.read.iter().map(String::as_str));
            both = command(&arguments);
        }
        let arguments = [
            "XREADGROUP",
            "GROUP",
            GROUP,
            &self.me,
            "COUNT",
            "1000",
            "BLOCK",
            &limit,
            "STREAMS",
            &self.me,
            if self.takes_up { "0" } else { ">" },
        ];
        both.extend(command(&arguments));
        self.stream.get_mut().write_all(&both)?;
        if acknowledges {
            Reply::read(&mut self.stream)?;
        }
        let entries = Self::entries(Reply::read(&mut self.stream)?);
        let texts;
        self.takes_up &= !entries.is_empty();
        (self.read, texts) = entries.into_iter().unzip();
        Ok(texts)
    }
}

/// A command as the server wants it.
fn command(arguments: &[&str]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", arguments.len()).into_bytes();
    for argument in arguments {
        bytes.extend(format!("${}\r\n{argument}\r\n", argument.len()).into_bytes());
    }
    bytes
}

/// An answer of the server.
#[derive(Debug, PartialEq, Eq)]
enum Reply {
    Nothing,
    Text(String),
    List(Vec<Reply>),
}

impl Reply {
    fn read(stream: &mut impl BufRead) -> anyhow::Result<Self> {
        let mut line = String::new();
        ensure!(stream.read_line(&mut line)? > 0, "the server is gone");
        let (kind, rest) = line.trim_end().split_at(1);
        match kind {
            "+" | ":" => Ok(Self::Text(rest.to_owned())),
            "$" | "*" if rest == "-1" => Ok(Self::Nothing),
            "$" => {
                let mut bytes = vec![0; rest.parse::<usize>()? + 2];
                stream.read_exact(&mut bytes)?;
                bytes.truncate(bytes.len() - 2);
                Ok(Self::Text(String::from_utf8(bytes)?))
            }
            "*" => {
                let count = rest.parse()?;
                let parts = (0..count).map(|_| Self::read(stream));
                Ok(Self::List(parts.collect::<anyhow::Result<_>>()?))
            }
            _ => bail!("the server says {line:?}"),
        }
    }

    fn list(self) -> Vec<Self> {
        match self {
            Self::List(parts) => parts,
            Self::Nothing | Self::Text(_) => Vec::new(),
        }
    }

    fn text(self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text),
            Self::Nothing | Self::List(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_found_in_what_the_server_answers() {
        let mut answer = "*1\r\n*2\r\n$3\r\nbob\r\n*2\r\n\
                          *2\r\n$3\r\n1-0\r\n*2\r\n$1\r\nm\r\n$2\r\nhi\r\n\
                          *2\r\n$3\r\n2-0\r\n*2\r\n$1\r\nm\r\n$3\r\nyou\r\n"
            .as_bytes();
        let entries = RedisEnd::entries(Reply::read(&mut answer).unwrap());
        let pair = |id: &str, text: &str| (id.to_owned(), text.to_owned());
        assert_eq!(entries, [pair("1-0", "hi"), pair("2-0", "you")]);
        let mut nothing = "*-1\r\n".as_bytes();
        assert_eq!(Reply::read(&mut nothing).unwrap(), Reply::Nothing);
        let mut refusal = "-ERR no\r\n".as_bytes();
        assert!(Reply::read(&mut refusal).is_err());
    }

    #[test]
    fn a_command_says_how_long_its_words_are() {
        assert_eq!(
            command(&["XADD", "é"]),
            "*2\r\n$4\r\nXADD\r\n$2\r\né\r\n".as_bytes()
        );
    }
}
