//! Follows a text file that others append to, replace, truncate or delete.

use crate::failure::Failure;
use anyhow::Context;
use safe_open::{Links, Options};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The size of a read.
const CHUNK: usize = 64 << 10;

/// A longer line is read in pieces.
const LONGEST_LINE: usize = 1 << 20;
/// How much of the end of a file is searched for its last lines.
const SEARCHED: u64 = 8 << 20;

/// A file that is read line by line, from some line on and without a gap, which a view does not need. Each read
/// continues where the last one ended.
pub(crate) struct FollowedFile {
    path: PathBuf,
    open: Option<Open>,
}

struct Open {
    file: File,
    /// The offset up to which the file has been read.
    position: u64,
    /// The start of a line that has no newline yet.
    partial: Vec<u8>,
}

impl FollowedFile {
    /// Reads the file from its start. It need not exist yet.
    pub(crate) fn whole(path: PathBuf) -> Self {
        Self { path, open: None }
    }

    /// Reads the file from its last `count` lines.
    pub(crate) fn last_lines(path: PathBuf, count: usize) -> Result<Self, Failure> {
        let mut file = Self::whole(path);
        let opened = Open::new(&file.path).and_then(|open| match open {
            Some(mut open) => {
                open.position = start_of_last(&open.file, count)?;
                Ok(Some(open))
            }
            None => Ok(None),
        });
        file.open = opened.with_context(|| file.cannot_read())?;
        Ok(file)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the file existed at the last read.
    pub(crate) const fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Calls `visit` with each complete line that was not read yet.
    pub(crate) fn read(
        &mut self,
        mut visit: impl FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        loop {
            if self.open.is_none() {
                self.open = Open::new(&self.path).with_context(|| self.cannot_read())?;
            }
            let context = self.cannot_read();
            let Some(open) = &mut self.open else {
                return Ok(());
            };
            open.read(&context, &mut visit)?;
            if !open.is_replaced(&self.path).context(context.clone())? {
                return Ok(());
            }
            // Lines that were written between the last read and the replacement.
            open.read(&context, &mut visit)?;
            self.open = None;
        }
    }

    /// Takes the text after the last newline, as if it were a complete line.
    pub(crate) fn take_partial(&mut self) -> Option<Vec<u8>> {
        let partial = std::mem::take(&mut self.open.as_mut()?.partial);
        (!partial.is_empty()).then_some(partial)
    }

    fn cannot_read(&self) -> String {
        format!("cannot read {}", self.path.display())
    }
}

impl Open {
    fn new(path: &Path) -> io::Result<Option<Self>> {
        match Options::read(Links::Refuse).open(path) {
            Ok(opened) => Ok(Some(Self {
                file: opened.file,
                position: 0,
                partial: Vec::new(),
            })),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn read(
        &mut self,
        context: &str,
        visit: &mut impl FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let size = self.file.metadata().context(context.to_owned())?.len();
        if size < self.position {
            // The file was truncated: everything in it is new.
            self.position = 0;
            self.partial.clear();
        }
        let mut chunk = vec![0; CHUNK];
        loop {
            let read = self.file.read_at(&mut chunk, self.position);
            let count = read.context(context.to_owned())?;
            if count == 0 {
                return Ok(());
            }
            self.position += count as u64;
            let bytes = chunk.get(..count).unwrap_or_default();
            for part in bytes.split_inclusive(|byte| *byte == b'\n') {
                self.partial.extend_from_slice(part);
                let is_whole = self.partial.pop_if(|byte| *byte == b'\n').is_some();
                if is_whole || self.partial.len() > LONGEST_LINE {
                    let line = std::mem::take(&mut self.partial);
                    visit(&line)?;
                }
            }
        }
    }

    /// Whether the path now names a different file. A deleted file is still read: a process that has
    /// it open may still write to it.
    fn is_replaced(&self, path: &Path) -> io::Result<bool> {
        let ours = self.file.metadata()?;
        match std::fs::symlink_metadata(path) {
            Ok(found) => Ok(found.ino() != ours.ino() || found.dev() != ours.dev()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// The offset at which the last `count` lines start. Text after the last newline is a line too.
fn start_of_last(file: &File, count: usize) -> io::Result<u64> {
    let size = file.metadata()?.len();
    let mut end = size;
    let mut newlines = 0;
    let mut chunk = vec![0; CHUNK];
    while end > 0 {
        if size - end > SEARCHED {
            return Ok(end);
        }
        let start = end.saturating_sub(CHUNK as u64);
        let length = usize::try_from(end - start).unwrap_or(CHUNK);
        let bytes = chunk.get_mut(..length).unwrap_or_default();
        file.read_exact_at(bytes, start)?;
        for (at, byte) in bytes.iter().enumerate().rev() {
            let offset = start + at as u64;
            // The newline at the very end does not start another line.
            if *byte == b'\n' && offset + 1 < size {
                newlines += 1;
                if newlines == count {
                    return Ok(offset + 1);
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

    fn lines(file: &mut FollowedFile) -> Vec<String> {
        let mut lines = Vec::new();
        let read = file.read(|line| {
            lines.push(String::from_utf8_lossy(line).into_owned());
            Ok(())
        });
        read.unwrap();
        lines
    }

    #[test]
    fn a_file_may_appear_late_and_be_replaced_or_truncated() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let mut file = FollowedFile::whole(path.clone());
        assert_eq!(lines(&mut file), [""; 0]);
        fs::write(&path, "a\nb\nhal").unwrap();
        assert_eq!(lines(&mut file), ["a", "b"]);
        fs::write(dir.path().join("new"), "c\n").unwrap();
        fs::rename(dir.path().join("new"), &path).unwrap();
        assert_eq!(lines(&mut file), ["c"]);
        fs::write(&path, "").unwrap();
        assert_eq!(lines(&mut file), [""; 0]);
        fs::write(&path, "d\n").unwrap();
        assert_eq!(lines(&mut file), ["d"]);
        fs::remove_file(&path).unwrap();
        assert_eq!(lines(&mut file), [""; 0]);
        fs::write(&path, "e\nf").unwrap();
        assert_eq!(lines(&mut file), ["e"]);
        assert_eq!(file.take_partial(), Some(b"f".to_vec()));
        assert_eq!(file.take_partial(), None);
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
            let mut file = FollowedFile::last_lines(path.clone(), count).unwrap();
            assert_eq!(
                lines(&mut file),
                expected,
                "{count} of {} bytes",
                text.len()
            );
        }
    }
}
