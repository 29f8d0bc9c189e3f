//! Follows the end of a growing file.

use protocol::{JournalLine, JournalRecord};
use safe_open::{Links, Options};
use std::fs::{File, Metadata};
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
    pub file: FileChange,
    /// The last lines of a file that was replaced, which nobody had read when it was.
    pub last_of_old: Vec<Vec<u8>>,
    /// Complete lines without their newlines.
    pub lines: Vec<Vec<u8>>,
}

/// What happened to a file since it was last read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FileChange {
    /// It is the same file, which may have grown.
    #[default]
    Same,
    /// Another file has its name.
    Replaced,
    /// It has become shorter, so it is read from its start.
    Truncated,
}

impl NewLines {
    /// Whether these lines of a journal do not go on with those before. A journal that was cut does.
    pub fn is_other_conversation(&self) -> bool {
        match self.file {
            FileChange::Same => false,
            FileChange::Truncated => true,
            FileChange::Replaced => !self.lines.first().is_some_and(|line| {
                let line = JournalLine::decode(line);
                matches!(line, JournalLine::Known(JournalRecord::Cut(_)))
            }),
        }
    }

    /// The lines to show of a journal: those of another conversation, or all that is new in this one.
    pub fn of_conversation(&self) -> impl Iterator<Item = &Vec<u8>> {
        let old: &[Vec<u8>] = match self.is_other_conversation() {
            true => &[],
            false => &self.last_of_old,
        };
        old.iter().chain(&self.lines)
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
        let mut new = NewLines::default();
        let mut open = match self.open.take() {
            None => Open::new(file),
            Some(mut old) if !old.is(&found) => {
                new.file = FileChange::Replaced;
                // Whoever replaced the file may have written to it since it was last read.
                new.last_of_old = old.read(self.max_bytes).unwrap_or_default();
                Open::new(file)
            }
            Some(old) if old.position > found.len() => {
                new.file = FileChange::Truncated;
                Open::new(file)
            }
            Some(known) => known,
        };
        let lines = open.read(self.max_bytes);
        self.open = Some(open);
        new.lines = lines?;
        Ok(new)
    }
}

impl Open {
    const fn new(file: File) -> Self {
        Self {
            file,
            position: 0,
            partial: Vec::new(),
        }
    }

    /// Whether this is the file.
    fn is(&self, found: &Metadata) -> bool {
        let known = self.file.metadata();
        known.is_ok_and(|known| (known.ino(), known.dev()) == (found.ino(), found.dev()))
    }

    /// The new complete lines, of which no more than so many bytes are read.
    fn read(&mut self, max_bytes: u64) -> io::Result<Vec<Vec<u8>>> {
        let size = self.file.metadata()?.len();
        let mut skip_first = false;
        if size.saturating_sub(self.position) > max_bytes {
            self.position = size - max_bytes;
            self.partial.clear();
            skip_first = true;
        }
        let new = size.saturating_sub(self.position);
        let mut bytes = vec![0; usize::try_from(new).unwrap_or(0)];
        self.file.read_exact_at(&mut bytes, self.position)?;
        self.position += new;
        let mut lines = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.partial.extend_from_slice(piece);
            if self.partial.pop_if(|byte| *byte == b'\n').is_some()
                || self.partial.len() > LONGEST_LINE
            {
                lines.push(std::mem::take(&mut self.partial));
            }
        }
        if skip_first && !lines.is_empty() {
            // The first line is probably incomplete.
            lines.remove(0);
        }
        Ok(lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write;
    use std::path::Path;

    fn strings(lines: Vec<Vec<u8>>) -> Vec<String> {
        let lines = lines.into_iter();
        lines.map(|line| String::from_utf8(line).unwrap()).collect()
    }

    fn texts(new: NewLines) -> (FileChange, Vec<String>) {
        (new.file, strings(new.lines))
    }

    fn append(path: &Path, text: &str) {
        let mut file = File::options().append(true).open(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    #[test]
    fn a_file_is_followed_from_its_last_lines_on() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let mut tail = Tail::new(path.clone(), 1 << 10);
        let mut read = || texts(tail.new_lines());
        assert_eq!(read(), (FileChange::Same, vec![]));
        fs::write(&path, "one\ntwo\nhal").unwrap();
        let two = vec!["one".to_owned(), "two".to_owned()];
        assert_eq!(read(), (FileChange::Same, two));
        fs::write(&path, "one\ntwo\nhalf\n\n").unwrap();
        let half = vec!["half".to_owned(), String::new()];
        assert_eq!(read(), (FileChange::Same, half));
        fs::write(dir.path().join("new"), "three\n").unwrap();
        fs::rename(dir.path().join("new"), &path).unwrap();
        assert_eq!(read(), (FileChange::Replaced, vec!["three".to_owned()]));
        fs::write(&path, "4\n").unwrap();
        assert_eq!(read(), (FileChange::Truncated, vec!["4".to_owned()]));
    }

    #[test]
    fn the_last_lines_of_a_replaced_file_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let mut tail = Tail::new(path.clone(), 1 << 10);
        fs::write(&path, "one\ntw").unwrap();
        tail.new_lines();
        append(&path, "o\nthree\n");
        let cut = concat!(
            r#"{"kind":"cut","archive":"1-1","mail":0,"given":{"mail_up_to":0,"mail":[],"prompts":[]},"#,
            r#""reports":0,"tally":{"calls":0,"input":0,"output":0,"cache_read":0,"cache_write":0},"#,
            r#""waiting":false,"partial":{"text":"","cuts":0}}"#,
        );
        fs::write(dir.path().join("new"), format!("{cut}\nfour\n")).unwrap();
        fs::rename(dir.path().join("new"), &path).unwrap();
        let new = tail.new_lines();
        assert_eq!(new.file, FileChange::Replaced);
        assert_eq!(strings(new.last_of_old.clone()), ["two", "three"]);
        // A journal that was cut goes on; in any other file nothing of the old one is shown.
        assert!(!new.is_other_conversation(), "{new:?}");
        let shown = strings(new.of_conversation().cloned().collect());
        assert_eq!(shown, ["two", "three", cut, "four"]);
        append(&path, "five\n");
        fs::write(dir.path().join("new"), "other\n").unwrap();
        fs::rename(dir.path().join("new"), &path).unwrap();
        let new = tail.new_lines();
        assert!(new.is_other_conversation(), "{new:?}");
        assert_eq!(strings(new.of_conversation().cloned().collect()), ["other"]);
        // A cut journal that became shorter starts again, so that nothing of it is shown twice.
        fs::write(&path, format!("{cut}\n{}\n", "x".repeat(99))).unwrap();
        tail.new_lines();
        fs::write(&path, format!("{cut}\n")).unwrap();
        let new = tail.new_lines();
        assert_eq!(new.file, FileChange::Truncated);
        assert!(new.is_other_conversation(), "{new:?}");
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
