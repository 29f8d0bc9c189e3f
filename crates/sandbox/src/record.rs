//! The record of a running command: what existed before it, on disk, for the process that cleans up if the
//! caller is killed.
//!
//! A record is complete and locked before it gets its name, and the command starts after that. The lock is
//! held by the caller and by the last process of the command. A record that nobody holds therefore belongs
//! to a command that has ended and whose new names nobody has looked for. Whoever does so holds the lock,
//! renames the files, and removes the record last: if it is killed, the next process continues.

use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use safe_open::{Folder, Links, Opened, Options, read_opened};

use crate::rename::RenamedFile;
use crate::snapshot::Snapshot;

/// The longest record: some paths for each submodule.
const LONGEST: u64 = 16 << 20;
/// How many records are looked at. There are as many as commands that run.
const MOST: usize = 4096;

/// A record, and the lock of it.
#[derive(Debug)]
pub(crate) struct Record {
    file: File,
    path: PathBuf,
}

impl Record {
    /// Creates the record of a command that has not started.
    pub(crate) fn create(path: &Path, content: &[u8]) -> io::Result<Self> {
        let (folder, name) = folder_of(path)?;
        let mut temporary = OsString::from(".");
        temporary.push(name);
        temporary.push(".tmp");
        let options = Options::write(Links::Refuse).create_new();
        let mut file = folder.open_file(&temporary, options)?.file;
        let written = file
            .lock()
            .and_then(|()| file.write_all(content))
            .and_then(|()| folder.rename_new(&temporary, &folder, name));
        if written.is_err() {
            // The error to report is the first one.
            let _ = folder.remove_file(&temporary);
        }
        written.map(|()| Self {
            file,
            path: path.to_owned(),
        })
    }

    /// A copy of the lock for another process: the lock ends when all copies are closed.
    pub(crate) fn share(&self) -> io::Result<OwnedFd> {
        self.file.try_clone().map(OwnedFd::from)
    }

    pub(crate) fn remove(&self) -> io::Result<()> {
        let (folder, name) = folder_of(&self.path)?;
        match folder.remove_file(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            result => result,
        }
    }
}

impl AsFd for Record {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// What a record says about its command.
#[derive(Debug)]
pub enum RecordState {
    /// It runs, or its caller is looking for new names.
    Held,
    /// Another process has cleaned up after it.
    Gone,
    Left(Unfinished),
}

/// A command that has ended, and whose caller was killed before it looked for new names. If this value is
/// dropped, the next process takes care of it.
#[derive(Debug)]
pub struct Unfinished {
    record: Record,
    snapshot: Option<Snapshot>,
}

impl RecordState {
    /// Reads the record of a command that worked in `folder`, whose path must have no links.
    pub fn of(record: &Path, folder: &Path) -> io::Result<Self> {
        let opened = match Options::write(Links::Refuse).open(record) {
            Err(error) if error.is_not_found() => return Ok(Self::Gone),
            opened => opened?,
        };
        match opened.file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(Self::Held),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // The previous holder of the lock may have removed the record.
        if opened.file.metadata()?.nlink() == 0 {
            return Ok(Self::Gone);
        }
        // A record that cannot be read, or is too long, counts as damaged.
        let bytes = read_opened(&opened, LONGEST).unwrap_or_default();
        let Opened { file, .. } = opened;
        let path = record.to_owned();
        Ok(Self::Left(Unfinished {
            record: Record { file, path },
            snapshot: Snapshot::decode(&bytes, folder),
        }))
    }
}

impl Unfinished {
    /// The new names that other programs trust, or `None` if the record is damaged, as after a power cut,
    /// so that they are unknown.
    #[must_use]
    pub fn created(&self) -> Option<Vec<PathBuf>> {
        self.snapshot.as_ref().map(Snapshot::created)
    }

    /// Renames everything that was created, and removes the record unless a rename failed.
    pub fn finish(self) -> io::Result<Vec<RenamedFile>> {
        let renamed = self.snapshot.map(|snapshot| snapshot.rename_new_files());
        let renamed = renamed.unwrap_or_default();
        if renamed.iter().all(|renamed| renamed.error.is_none()) {
            self.record.remove()?;
        }
        Ok(renamed)
    }
}

/// The records in a folder; none if the folder does not exist.
pub fn records(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let opened = match Folder::open(folder, Links::Refuse) {
        Err(error) if error.is_not_found() => return Ok(Vec::new()),
        opened => opened?,
    };
    let mut found = Vec::new();
    for entry in opened.list()?.take(MOST) {
        let name = entry?.file_name();
        // Names that begin with a dot are incomplete records, whose commands have not started.
        if !name.as_encoded_bytes().starts_with(b".") {
            found.push(folder.join(name));
        }
    }
    Ok(found)
}

fn folder_of(path: &Path) -> io::Result<(Folder, &OsStr)> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let folder = Folder::open(folder, Links::Refuse)?;
    Ok((folder, name))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;

    /// How long another process may take to start.
    const LIMIT: Duration = Duration::from_secs(60);

    fn snapshot(root: &Path) -> Vec<u8> {
        let text = "snapshot 1\nunwanted .envrc\nfolder \nvariables .env\nend\n";
        let snapshot = Snapshot::decode(text.as_bytes(), root).unwrap();
        snapshot.encode(root)
    }

    /// Waits until nobody holds the record. A program that another test starts has a copy of every
    /// descriptor of this process for a moment.
    fn left(path: &Path, root: &Path) -> Unfinished {
        let started = Instant::now();
        loop {
            match RecordState::of(path, root).unwrap() {
                RecordState::Left(left) => return left,
                RecordState::Held => assert!(started.elapsed() < LIMIT, "it is held"),
                RecordState::Gone => panic!("there is no record"),
            }
            thread::yield_now();
        }
    }

    #[test]
    fn a_record_is_left_when_nobody_holds_it_and_finished_once() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let path = root.join("records/alice.1");
        fs::create_dir(root.join("records")).unwrap();
        assert!(matches!(
            RecordState::of(&path, &root),
            Ok(RecordState::Gone)
        ));
        let record = Record::create(&path, &snapshot(&root)).unwrap();
        assert!(Record::create(&path, b"").is_err(), "one name, one record");
        let copy = record.share().unwrap();
        for name in [".env", ".envrc", ".env.new", "other"] {
            fs::write(root.join(name), "").unwrap();
        }
        assert!(matches!(
            RecordState::of(&path, &root),
            Ok(RecordState::Held)
        ));
        drop(record);
        assert!(matches!(
            RecordState::of(&path, &root),
            Ok(RecordState::Held)
        ));
        drop(copy);
        assert_eq!(records(&root.join("records")).unwrap(), [&*path]);
        let left = left(&path, &root);
        assert!(matches!(
            RecordState::of(&path, &root),
            Ok(RecordState::Held)
        ));
        let new = [".env.new", ".envrc"].map(|name| root.join(name));
        assert_eq!(left.created().unwrap(), new);
        assert_eq!(left.finish().unwrap().len(), 2);
        assert!(matches!(
            RecordState::of(&path, &root),
            Ok(RecordState::Gone)
        ));
        let there = |name: &str| root.join(name).exists();
        assert!(there(".env") && there("other") && there(".envrc.from-sandbox.1"));
        assert!(!there(".envrc") && !there(".env.new"));
        assert!(records(&root.join("none")).unwrap().is_empty());
    }

    #[test]
    fn a_damaged_record_says_so_and_goes() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let path = root.join("alice.1");
        fs::write(root.join(".envrc"), "").unwrap();
        for length in [0, LONGEST + 1] {
            fs::write(&path, "snapshot 1\nunwanted .env").unwrap();
            let longer = File::options().write(true).open(&path).unwrap();
            longer.set_len(length.max(22)).unwrap();
            let left = left(&path, &root);
            assert_eq!(left.created(), None);
            assert!(left.finish().unwrap().is_empty());
            assert!(!path.exists() && root.join(".envrc").exists());
        }
    }
}
