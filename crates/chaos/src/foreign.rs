//! Writers that take no locks.

use crate::ledger::Outcome;
use crate::plan::Garbage;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// Longer than any reader accepts.
const HUGE: usize = (2 << 20) + 4321;

/// Appends bytes with one write, and returns the outcome.
pub(crate) fn append(inbox: &Path, bytes: &[u8]) -> Outcome {
    match try_append(inbox, bytes) {
        Ok(written) if written == bytes.len() => Outcome::Done,
        // The write may have been partial.
        Ok(written) if written > 0 => Outcome::Unknown,
        Ok(_) | Err(_) => Outcome::Failed,
    }
}

fn try_append(inbox: &Path, bytes: &[u8]) -> io::Result<usize> {
    let mut file = File::options().append(true).create(true).open(inbox)?;
    file.write(bytes)
}

/// The bytes of each kind of garbage.
pub(crate) fn garbage(kind: Garbage) -> Vec<u8> {
    match kind {
        Garbage::TornLine => b"\n{\"type\":\"message\",\"from\":\"m01\",\"cont\n".to_vec(),
        Garbage::HalfLine => b"{\"type\":\"message\",\"content\":\"I was ki".to_vec(),
        Garbage::NotUtf8 => {
            b"\n{\"content\":\"\xff\xfe\x80\"}\n\xc3\x28 no text \xf0\x28\n".to_vec()
        }
        Garbage::Huge => {
            let mut line = b"\n{\"type\":\"message\",\"content\":\"".to_vec();
            line.resize(HUGE, b'x');
            line.extend_from_slice(b"\"}\n");
            line
        }
        Garbage::WrongJson => {
            b"\n{\"type\":\"poke\",\"strength\":3}\n[1,2,{\"x\":\n{\"type\":\"message\"}\n".to_vec()
        }
        Garbage::Blank => b"\n  \n\t\n\r\n".to_vec(),
    }
}
