//! The end of a file of lines, as it grows.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;

/// A file that is followed.
pub(super) struct Tail {
    path: PathBuf,
    /// How much of it is read at first, and at most after a pause.
    last: u64,
    open: Option<Open>,
}

struct Open {
    file: File,
    at: u64,
    /// The beginning of a line that has no end yet.
    rest: Vec<u8>,
}

/// What a file has got since the last time.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct News {
    /// Whether it is another file than before, so that what was read of the old one is past.
    pub(super) is_anew: bool,
    /// Its new whole lines, without their ends.
    pub(super) lines: Vec<Vec<u8>>,
}

impl Tail {
    pub(super) const fn new(path: PathBuf, last: u64) -> Self {
        Self {
            path,
            last,
            open: None,
        }
    }

    pub(super) const fn path(&self) -> &PathBuf {
        &self.path
    }

    /// What has come since the last time. A file that cannot be read has nothing.
    pub(super) fn news(&mut self) -> News {
        self.read().unwrap_or_default()
    }

    fn read(&mut self) -> io::Result<News> {
        let file = File::open(&self.path)?;
        let found = file.metadata()?;
        let is_same = |open: &Open| {
            let known = open.file.metadata();
            known.is_ok_and(|known| (known.ino(), known.dev()) == (found.ino(), found.dev()))
        };
        let size = found.len();
        let was_open = self.open.is_some();
        let known = self.open.take().filter(is_same);
        let mut news = News::default();
        // Somebody emptied it: what is in it now is new.
        let mut open = match known.filter(|open| open.at <= size) {
            Some(open) => open,
            None => {
                news.is_anew = was_open;
                Open {
                    file,
                    at: 0,
                    rest: Vec::new(),
                }
            }
        };
        let mut skip_first = false;
        if size - open.at > self.last {
            open.at = size - self.last;
            open.rest.clear();
            skip_first = true;
        }
        let mut bytes = vec![0; usize::try_from(size - open.at).unwrap_or(0)];
        open.file.read_exact_at(&mut bytes, open.at)?;
        open.at = size;
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            open.rest.extend_from_slice(piece);
            if open.rest.pop_if(|byte| *byte == b'\n').is_some() {
                news.lines.push(std::mem::take(&mut open.rest));
            }
        }
        if skip_first && !news.lines.is_empty() {
            // In all likelihood it is half a line.
            news.lines.remove(0);
        }
        self.open = Some(open);
        Ok(news)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn texts(news: News) -> (bool, Vec<String>) {
        let lines = news.lines.into_iter();
        let lines = lines.map(|line| String::from_utf8(line).unwrap());
        (news.is_anew, lines.collect())
    }

    #[test]
    fn a_file_is_followed_from_its_last_lines_on() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let mut tail = Tail::new(path.clone(), 1 << 10);
        let mut news = || texts(tail.news());
        assert_eq!(news(), (false, vec![]));
        fs::write(&path, "one\ntwo\nhal").unwrap();
        assert_eq!(news(), (false, vec!["one".to_owned(), "two".to_owned()]));
        fs::write(&path, "one\ntwo\nhalf\n\n").unwrap();
        assert_eq!(news(), (false, vec!["half".to_owned(), String::new()]));
        // Replaced, and then emptied.
        fs::write(dir.path().join("new"), "three\n").unwrap();
        fs::rename(dir.path().join("new"), &path).unwrap();
        assert_eq!(news(), (true, vec!["three".to_owned()]));
        fs::write(&path, "4\n").unwrap();
        assert_eq!(news(), (true, vec!["4".to_owned()]));
    }

    #[test]
    fn of_a_long_file_only_the_end_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let line = "x".repeat(99);
        fs::write(&path, format!("{line}\n").repeat(1000)).unwrap();
        let (_, lines) = texts(Tail::new(path, 32 << 10).news());
        assert!(lines.len() < 340, "{}", lines.len());
        assert!(lines.iter().all(|found| *found == line));
    }
}
