//! The lower bound: datagrams between processes, which the kernel keeps in memory.

use super::end::{End, LINE, Medium};
use anyhow::Context as _;
use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// An end of Unix sockets. A sender waits while the queue of its peer is full.
pub(super) struct SocketEnd {
    socket: UnixDatagram,
    peer: PathBuf,
}

impl SocketEnd {
    pub(super) fn open_to_send(medium: &Medium) -> anyhow::Result<Self> {
        // The address of a socket may be no longer than 108 bytes, which a path here often is.
        std::env::set_current_dir(&medium.dir)?;
        Ok(Self {
            socket: UnixDatagram::unbound()?,
            peer: address(&medium.peer),
        })
    }

    pub(super) fn open(medium: &Medium) -> anyhow::Result<Self> {
        let mut end = Self::open_to_send(medium)?;
        // One that was killed has left its address behind.
        let _ = std::fs::remove_file(address(&medium.me));
        end.socket = UnixDatagram::bind(address(&medium.me)).context("bind a socket")?;
        Ok(end)
    }
}

fn address(name: &str) -> PathBuf {
    PathBuf::from(format!("{name}.sock"))
}

fn is_away(error: &io::Error) -> bool {
    let kinds = [
        io::ErrorKind::ConnectionRefused,
        io::ErrorKind::ConnectionReset,
        io::ErrorKind::NotFound,
    ];
    kinds.contains(&error.kind())
}

impl End for SocketEnd {
    fn send(&mut self, content: &str) -> anyhow::Result<bool> {
        let mut line = content.as_bytes().to_vec();
        line.resize(LINE, b' ');
        match self.socket.send_to(&line, &self.peer) {
            Ok(_) => Ok(true),
            // Nobody reads at the moment.
            Err(error) if is_away(&error) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn next(&mut self, deadline: Option<Instant>) -> anyhow::Result<Vec<String>> {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let left = left.map(|left| left.max(Duration::from_millis(1)));
        self.socket.set_read_timeout(left)?;
        let mut buffer = [0; 2 * LINE];
        match self.socket.recv(&mut buffer) {
            Ok(length) => {
                let text = buffer.get(..length).unwrap_or_default();
                Ok(vec![String::from_utf8(text.to_vec())?])
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        }
    }
}
