//! Follows the end of a growing file.

use protocol::{JournalLine, JournalRecord};
use safe_open::{Links, Options};
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;

/// A longer line is shown in pieces.
const LONGEST_LINE: usize = 1 << 20;

/// A file that is followed.
pub struct Tail {
    path: PathBuf,
    /// The maximum number of bytes of one read.
    max_bytes: u64,
    open: Option<Open>,
}

struct Open {
    file: File,
    position: u64,
    /// The start of a line that has no newline yet.
    partial: Vec<u8>,
}

/// The new lines of a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct NewLines {
    /// Whether the file was replaced or truncated, so that the old lines are obsolete.
    pub is_new_file: bool,
    /// Complete lines without their newlines.
    pub lines: Vec<Vec<u8>>,
}

impl NewLines {
    /// Whether these lines of a journal do not go on with those before. One that was cut does.
    pub fn is_other_conversation(&self) -> bool {
        let is_cut = self.lines.first().is_some_and(|line| {
            let line = JournalLine::decode(line);
            matches!(line, JournalLine::Known(JournalRecord::Cut(_)))
        });
        self.is_new_file && !is_cut
    }
}

impl Tail {
    pub const fn new(path: PathBuf, max_bytes: u64) -> Self {
        Self {
            path,
            max_bytes,
            open: None,
        }
    }

    pub const fn path(&self) -> &PathBuf {
        &self.path
    }

    /// The lines since the last call. None if the file cannot be read.
    pub fn new_lines(&mut self) -> NewLines {
        self.read().unwrap_or_default()
    }

    fn read(&mut self) -> io::Result<NewLines> {
        let opened = Options::read(Links::Refuse).open(&self.path)?;
        let (file, found) = (opened.file, opened.metadata);
        let is_same = |open: &Open| {
            let known = open.file.metadata();
            known.is_ok_and(|known| (known.ino(), known.dev()) == (found.ino(), found.dev()))
        };
        let size = found.len();
        let was_open = self.open.is_some();
        let known = self.open.take().filter(is_same);
        let mut new = NewLines::default();
        // A truncated file is read from its start.
        let mut open = match known.filter(|open| open.position <= size) {
            Some(open) => open,
            None => {
                new.is_new_file = was_open;
                Open {
                    file,
                    position: 0,
                    partial: Vec::new(),
                }
            }
        };
        let mut skip_first = false;
        if size - open.position > self.max_bytes {
            open.position = size - self.max_bytes;
            open.partial.clear();
            skip_first = true;
        }
        let mut bytes = vec![0; usize::try_from(size - open.position).unwrap_or(0)];
        open.file.read_exact_at(&mut bytes, open.position)?;
        open.position = size;
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            open.partial.extend_from_slice(piece);
            if open.partial.pop_if(|byte| *byte == b'\n').is_some()
                || open.partial.len() > LONGEST_LINE
            {
                new.lines.push(std::mem::take(&mut open.partial));
            }
        }
        if skip_first && !new.lines.is_empty() {
            // The first line is probably incomplete.
            new.lines.remove(0);
        }
        self.open = Some(open);
        Ok(new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn texts(new: NewLines) -> (bool, Vec<String>) {
        let lines = new.lines.into_iter();
        let lines = lines.map(|line| String::from_utf8(line).unwrap());
        (new.is_new_file, lines.collect())
    }

    #[test]
    fn a_file_is_followed_from_its_last_lines_on() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let mut tail = Tail::new(path.clone(), 1 << 10);
        let mut read = || texts(tail.new_lines());
        assert_eq!(read(), (false, vec![]));
        fs::write(&path, "one\ntwo\nhal").unwrap();
        assert_eq!(read(), (false, vec!["one".to_owned(), "two".to_owned()]));
        fs::write(&path, "one\ntwo\nhalf\n\n").unwrap();
        assert_eq!(read(), (false, vec!["half".to_owned(), String::new()]));
        // Replaced, and then truncated.
        fs::write(dir.path().join("new"), "three\n").unwrap();
        fs::rename(dir.path().join("new"), &path).unwrap();
        assert_eq!(read(), (true, vec!["three".to_owned()]));
        fs::write(&path, "4\n").unwrap();
        assert_eq!(read(), (true, vec!["4".to_owned()]));
    }

    #[test]
    fn of_a_long_file_only_the_end_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let line = "x".repeat(99);
        fs::write(&path, format!("{line}\n").repeat(1000)).unwrap();
        let (_, lines) = texts(Tail::new(path, 32 << 10).new_lines());
        assert!(lines.len() < 340, "{}", lines.len());
        assert!(lines.iter().all(|found| *found == line));
    }
}
