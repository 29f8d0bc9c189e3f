//! The end of a member's log, as it grows.

use crate::harmless::harmless;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;

/// How much of a log is shown at first, and at most after a pause.
const LAST: u64 = 32 << 10;

/// A log that is followed.
pub(super) struct LogTail {
    path: PathBuf,
    open: Option<Open>,
}

struct Open {
    file: File,
    at: u64,
    /// The beginning of a line that has no end yet.
    rest: Vec<u8>,
}

impl LogTail {
    pub(super) const fn new(path: PathBuf) -> Self {
        Self { path, open: None }
    }

    pub(super) const fn path(&self) -> &PathBuf {
        &self.path
    }

    /// The whole lines that have come since the last time, harmless. A log that cannot be read has
    /// none.
    pub(super) fn lines(&mut self) -> Vec<String> {
        self.read().unwrap_or_default()
    }

    fn read(&mut self) -> io::Result<Vec<String>> {
        let file = File::open(&self.path)?;
        let found = file.metadata()?;
        let is_same = |open: &Open| {
            let known = open.file.metadata();
            known.is_ok_and(|known| (known.ino(), known.dev()) == (found.ino(), found.dev()))
        };
        let size = found.len();
        let mut open = match self.open.take().filter(is_same) {
            // Somebody emptied it: what is in it now is new.
            Some(open) if open.at <= size => open,
            Some(_) | None => Open {
                file,
                at: 0,
                rest: Vec::new(),
            },
        };
        let mut skip_first = false;
        if size - open.at > LAST {
            open.at = size - LAST;
            open.rest.clear();
            skip_first = true;
        }
        let mut bytes = vec![0; usize::try_from(size - open.at).unwrap_or(0)];
        open.file.read_exact_at(&mut bytes, open.at)?;
        open.at = size;
        let mut lines = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            open.rest.extend_from_slice(piece);
            if open.rest.pop_if(|byte| *byte == b'\n').is_some() {
                lines.push(harmless(&String::from_utf8_lossy(&open.rest)));
                open.rest.clear();
            }
        }
        if skip_first && !lines.is_empty() {
            // In all likelihood it is half a line.
            lines.remove(0);
        }
        self.open = Some(open);
        Ok(lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_log_is_followed_from_its_last_lines_on() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let mut tail = LogTail::new(path.clone());
        assert_eq!(tail.lines(), [""; 0]);
        fs::write(&path, "one\ntwo\nhal").unwrap();
        assert_eq!(tail.lines(), ["one", "two"]);
        fs::write(&path, "one\ntwo\nhalf\n\x1b[2J\n").unwrap();
        assert_eq!(tail.lines(), ["half", "\u{fffd}[2J"]);
        // Replaced, and then emptied.
        fs::write(dir.path().join("new"), "three\n").unwrap();
        fs::rename(dir.path().join("new"), &path).unwrap();
        assert_eq!(tail.lines(), ["three"]);
        fs::write(&path, "4\n").unwrap();
        assert_eq!(tail.lines(), ["4"]);
    }

    #[test]
    fn of_a_long_log_only_the_end_is_shown() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let line = "x".repeat(99);
        fs::write(&path, format!("{line}\n").repeat(1000)).unwrap();
        let lines = LogTail::new(path).lines();
        assert!(lines.len() < 340, "{}", lines.len());
        assert!(lines.iter().all(|found| *found == line));
    }
}
