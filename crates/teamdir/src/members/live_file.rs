//! The file with the live state of a member: replaced often, and cheaply.
//!
//! To create a file costs many times what everything else here costs together, so two files take
//! turns. The new text goes into the one that is not shown, then the two names are exchanged. What
//! is shown is never written to. Whoever opened the file while it was shown may read it when it is
//! no longer; so a reader holds a shared lock on it while it reads, which keeps it from being written,
//! and makes sure that the file still has its name.

use crate::error::{Context, PathError};
use crate::files::atomic;
use crate::files::{self, FileId};
use safe_open::Opened;
use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// How often a file that is being replaced is read again.
const TRIES: usize = 100;

/// Writes the file. There is one for each member's process.
#[derive(Debug, Default)]
pub(crate) struct LiveFile {
    /// The file that is shown, if this process wrote it.
    shown: Option<Side>,
    /// The file that is written next.
    spare: Option<Side>,
}

#[derive(Debug)]
struct Side {
    file: File,
    id: FileId,
    length: u64,
}

impl LiveFile {
    /// Shows `bytes` at `path`.
    pub(crate) fn show(&mut self, path: &Path, bytes: &[u8]) -> Result<(), PathError> {
        let beside = spare_path(path);
        // Somebody may have taken it away.
        let spare = self.spare.take();
        let spare = spare.and_then(|spare| spare.still_at(&beside));
        let mut spare = match spare {
            Some(spare) => spare,
            None => Side::open(&beside).context("open", &beside)?,
        };
        let is_written = spare.write(bytes).context("write", &beside)?;
        if is_written {
            match files::exchange_names(&beside, path) {
                Ok(()) => {
                    self.spare = self.shown.replace(spare);
                    return Ok(());
                }
                // There is none to exchange it with yet. Where the spare file itself is gone, this
                // fails too.
                Err(error)
                    if error.kind() == io::ErrorKind::NotFound
                        && files::rename_new(&beside, path).is_ok() =>
                {
                    self.shown = Some(spare);
                    return Ok(());
                }
                Err(_) => {}
            }
        }
        // Somebody reads the spare file, or the file system cannot exchange names: a new file replaces it.
        self.shown = None;
        atomic::exchange(path, bytes)
    }
}

impl Side {
    fn open(path: &Path) -> io::Result<Self> {
        let Opened { file, metadata } = files::open_or_create_to_write(path)?;
        Ok(Self {
            id: FileId::of(&metadata),
            length: metadata.len(),
            file,
        })
    }

    /// This file if the path still names it, as long as it is now: a person who edited it while it was
    /// shown may have made it longer, and what is left of that must not stand behind a new text.
    fn still_at(mut self, path: &Path) -> Option<Self> {
        let found = std::fs::symlink_metadata(path).ok()?;
        self.length = found.len();
        (FileId::of(&found) == self.id).then_some(self)
    }

    /// Writes the text, unless a process is reading the file. Returns whether it did.
    fn write(&mut self, bytes: &[u8]) -> io::Result<bool> {
        if self.file.try_lock().is_err() {
            return Ok(false);
        }
        let length = bytes.len() as u64;
        self.file.write_all_at(bytes, 0)?;
        if self.length > length {
            self.file.set_len(length)?;
        }
        self.length = length;
        // Before it is shown: what is shown can be read at any time.
        self.file.unlock()?;
        Ok(true)
    }
}

/// Where the other file is.
fn spare_path(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.spare"))
}

/// What is shown at `path`; nothing if there is no file.
pub(crate) fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    for _ in 0..TRIES {
        let opened = match files::open_to_read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        // Where it cannot be locked it is being written, and so no longer shown.
        let is_written = matches!(opened.file.try_lock_shared(), Err(TryLockError::WouldBlock));
        let had = FileId::of(&opened.metadata);
        bytes = files::read_opened(&opened)?;
        match std::fs::symlink_metadata(path) {
            Ok(found) if !is_written && FileId::of(&found) == had => break,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn what_was_shown_last_is_read_whatever_its_length() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state.json");
        let mut live = LiveFile::default();
        assert_eq!(read(&path).unwrap(), None);
        for text in ["one", "a longer one", "", "two", "three", "x"] {
            live.show(&path, text.as_bytes()).unwrap();
            assert_eq!(read(&path).unwrap().unwrap(), text.as_bytes());
        }
        // The next process goes on with the files it finds.
        let mut next = LiveFile::default();
        for text in ["four", "5"] {
            next.show(&path, text.as_bytes()).unwrap();
            assert_eq!(read(&path).unwrap().unwrap(), text.as_bytes());
        }
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    #[test]
    fn text_written_into_a_lock_file_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state.json");
        let mut live = LiveFile::default();
        for text in ["one", "two"] {
            live.show(&path, text.as_bytes()).unwrap();
        }
        std::fs::write(&path, "edited by hand, and longer").unwrap();
        for text in ["three", "four", "five"] {
            live.show(&path, text.as_bytes()).unwrap();
            assert_eq!(read(&path).unwrap().unwrap(), text.as_bytes());
        }
    }

    #[test]
    fn files_that_were_moved_away_can_come_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state.json");
        let mut live = LiveFile::default();
        for (number, lost) in [
            path.clone(),
            spare_path(&path),
            path.clone(),
            spare_path(&path),
        ]
        .iter()
        .enumerate()
        {
            for text in ["a", "bb", "ccc"] {
                let text = format!("{text}{number}");
                live.show(&path, text.as_bytes()).unwrap();
                assert_eq!(read(&path).unwrap().unwrap(), text.as_bytes());
            }
            let _ = std::fs::remove_file(lost);
            live.show(&path, b"after").unwrap();
            assert_eq!(read(&path).unwrap().unwrap(), b"after");
        }
    }

    #[test]
    fn a_reader_never_sees_half_of_a_text() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state.json");
        let mut live = LiveFile::default();
        live.show(&path, b"aa").unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for number in 0..20_000_usize {
                    let byte = b'a' + u8::try_from(number % 26).unwrap();
                    let text = vec![byte; 2 + number % 300];
                    live.show(&path, &text).unwrap();
                }
                done.store(true, Ordering::Relaxed);
            });
            while !done.load(Ordering::Relaxed) {
                let text = read(&path).unwrap().unwrap();
                let is_whole = text.len() >= 2 && text.windows(2).all(|pair| pair[0] == pair[1]);
                assert!(is_whole, "{text:?}");
            }
        });
    }
}
