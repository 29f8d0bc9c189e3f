//! Reading a text file that others append to, replace, cut or delete.

use crate::failure::Failure;
use anyhow::Context;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

/// How much is read at a time.
const CHUNK: usize = 64 << 10;

/// A file that is read line by line, from wherever it was read to last.
pub(crate) struct Tail {
    path: PathBuf,
    open: Option<Open>,
}

struct Open {
    file: File,
    /// Everything before this byte has been read.
    at: u64,
    /// The beginning of a line whose end has not come yet.
    rest: Vec<u8>,
}

impl Tail {
    /// The file at `path` from its start on. It need not be there yet.
    pub(crate) fn whole(path: PathBuf) -> Self {
        Self { path, open: None }
    }

    /// The same from its last lines on, so many of them.
    pub(crate) fn last_lines(path: PathBuf, count: usize) -> Result<Self, Failure> {
        let mut tail = Self::whole(path);
        let opened = Open::new(&tail.path).and_then(|open| match open {
            Some(mut open) => {
                open.at = start_of_last(&open.file, count)?;
                Ok(Some(open))
            }
            None => Ok(None),
        });
        tail.open = opened.with_context(|| tail.cannot_read())?;
        Ok(tail)
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether there is such a file.
    pub(crate) const fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Calls `see` with each whole line that was not read yet.
    pub(crate) fn read(
        &mut self,
        mut see: impl FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        loop {
            if self.open.is_none() {
                self.open = Open::new(&self.path).with_context(|| self.cannot_read())?;
            }
            let context = self.cannot_read();
            let Some(open) = &mut self.open else {
                return Ok(());
            };
            open.read(&context, &mut see)?;
            if !open.is_replaced(&self.path).context(context.clone())? {
                return Ok(());
            }
            // What was written between the last look and the replacement.
            open.read(&context, &mut see)?;
            self.open = None;
        }
    }

    /// What stands behind the last whole line. Taken as if it were one from now on.
    pub(crate) fn take_rest(&mut self) -> Option<Vec<u8>> {
        let rest = std::mem::take(&mut self.open.as_mut()?.rest);
        (!rest.is_empty()).then_some(rest)
    }

    fn cannot_read(&self) -> String {
        format!("cannot read {}", self.path.display())
    }
}

impl Open {
    fn new(path: &Path) -> io::Result<Option<Self>> {
        match File::open(path) {
            Ok(file) => Ok(Some(Self {
                file,
                at: 0,
                rest: Vec::new(),
            })),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn read(
        &mut self,
        context: &str,
        see: &mut impl FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let size = self.file.metadata().context(context.to_owned())?.len();
        if size < self.at {
            // Somebody emptied it: what is in it now is new.
            self.at = 0;
            self.rest.clear();
        }
        let mut chunk = vec![0; CHUNK];
        loop {
            let read = self.file.read_at(&mut chunk, self.at);
            let count = read.context(context.to_owned())?;
            if count == 0 {
                return Ok(());
            }
            self.at += count as u64;
            let bytes = chunk.get(..count).unwrap_or_default();
            for part in bytes.split_inclusive(|byte| *byte == b'\n') {
                self.rest.extend_from_slice(part);
                if self.rest.pop_if(|byte| *byte == b'\n').is_some() {
                    let line = std::mem::take(&mut self.rest);
                    see(&line)?;
                }
            }
        }
    }

    /// Whether the path names another file by now. One that is gone is read on: whoever has it
    /// open may still write to it.
    fn is_replaced(&self, path: &Path) -> io::Result<bool> {
        let ours = self.file.metadata()?;
        match std::fs::metadata(path) {
            Ok(found) => Ok(found.ino() != ours.ino() || found.dev() != ours.dev()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Where the last `count` lines begin. What stands behind the last newline is a line too.
fn start_of_last(file: &File, count: usize) -> io::Result<u64> {
    let size = file.metadata()?.len();
    let mut end = size;
    let mut newlines = 0;
    let mut chunk = vec![0; CHUNK];
    while end > 0 {
        let start = end.saturating_sub(CHUNK as u64);
        let length = usize::try_from(end - start).unwrap_or(CHUNK);
        let bytes = chunk.get_mut(..length).unwrap_or_default();
        file.read_exact_at(bytes, start)?;
        for (at, byte) in bytes.iter().enumerate().rev() {
            let place = start + at as u64;
            // The newline at the very end closes the last line and begins none.
            if *byte == b'\n' && place + 1 < size {
                newlines += 1;
                if newlines == count {
                    return Ok(place + 1);
                }
            }
        }
        end = start;
    }
    Ok(if count == 0 { size } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn lines(tail: &mut Tail) -> Vec<String> {
        let mut lines = Vec::new();
        let read = tail.read(|line| {
            lines.push(String::from_utf8_lossy(line).into_owned());
            Ok(())
        });
        read.unwrap();
        lines
    }

    #[test]
    fn a_file_may_come_late_and_be_replaced_or_emptied() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let mut tail = Tail::whole(path.clone());
        assert_eq!(lines(&mut tail), [""; 0]);
        fs::write(&path, "a\nb\nhal").unwrap();
        assert_eq!(lines(&mut tail), ["a", "b"]);
        fs::write(dir.path().join("new"), "c\n").unwrap();
        fs::rename(dir.path().join("new"), &path).unwrap();
        assert_eq!(lines(&mut tail), ["c"]);
        fs::write(&path, "").unwrap();
        assert_eq!(lines(&mut tail), [""; 0]);
        fs::write(&path, "d\n").unwrap();
        assert_eq!(lines(&mut tail), ["d"]);
        fs::remove_file(&path).unwrap();
        assert_eq!(lines(&mut tail), [""; 0]);
        fs::write(&path, "e\nf").unwrap();
        assert_eq!(lines(&mut tail), ["e"]);
        assert_eq!(tail.take_rest(), Some(b"f".to_vec()));
        assert_eq!(tail.take_rest(), None);
    }

    #[test]
    fn the_last_lines_are_found_from_the_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let long = "x".repeat(CHUNK);
        for (text, count, expected) in [
            ("a\nb\nc\n".to_owned(), 2, vec!["b", "c"]),
            ("a\nb\nc\n".to_owned(), 9, vec!["a", "b", "c"]),
            ("a\nb\nc\n".to_owned(), 0, vec![]),
            ("a\nb\nhal".to_owned(), 2, vec!["b"]),
            ("\n\n".to_owned(), 1, vec![""]),
            (String::new(), 1, vec![]),
            (format!("a\n{long}\nb\n"), 2, vec![long.as_str(), "b"]),
        ] {
            fs::write(&path, &text).unwrap();
            let mut tail = Tail::last_lines(path.clone(), count).unwrap();
            assert_eq!(
                lines(&mut tail),
                expected,
                "{count} of {} bytes",
                text.len()
            );
        }
    }
}
