//! Locks between processes: `flock` on a file that is never replaced, with a bounded wait.

use crate::error::{Context, PathError};
use crate::files;
use protocol::JsonLine;
use std::cell::Cell;
use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tracing::span::EnteredSpan;
use tracing::{debug, debug_span};

/// How often a busy lock is tried again at once before the waiting starts to sleep. Locks are
/// held for microseconds, so most waits end here.
const SPINS: u32 = 40;
/// No more of the notes in a lock file is read: a program of ours leaves a few lines at most.
const MOST_NOTED: u64 = 1 << 20;
/// The longest sleep between two tries.
const LONGEST_NAP: Duration = Duration::from_millis(2);

/// A held lock. The kernel frees it when this value is dropped or its process dies.
#[derive(Debug)]
pub(crate) struct FileLock {
    file: File,
    /// The size of the pending events in the file, if it was read.
    noted: Cell<u64>,
}

/// When to make sure that the locked file is the one others see.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PathCheck {
    Always,
    AfterWaiting,
}

/// Whether others may hold the lock at the same time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sharing {
    Exclusive,
    Shared,
}

/// Why a lock was not had.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process holds it.
    #[error(
        "{} is still locked by another process after {} s; see who with `lslocks`",
        path.display(), waited.as_secs_f64()
    )]
    Busy {
        /// The lock file.
        path: PathBuf,
        /// How long was waited.
        waited: Duration,
    },
    /// The lock file cannot be used.
    #[error(transparent)]
    File(#[from] PathError),
}

impl FileLock {
    /// Takes the lock at `path`, waiting at most `wait` for others to give it up.
    pub(crate) fn acquire(path: &Path, wait: Duration) -> Result<Self, LockError> {
        Self::take(path, wait, PathCheck::Always, Sharing::Exclusive)
    }

    /// The same beside others who take it in this way: it only keeps those out who want it for themselves.
    pub(crate) fn acquire_shared(path: &Path, wait: Duration) -> Result<Self, LockError> {
        Self::take(path, wait, PathCheck::Always, Sharing::Shared)
    }

    /// The same for appending, which is safe without a lock too: whether the file was deleted is
    /// only checked after a wait, which spares most senders two system calls.
    pub(crate) fn acquire_to_append(path: &Path, wait: Duration) -> Result<Self, LockError> {
        Self::take(path, wait, PathCheck::AfterWaiting, Sharing::Exclusive)
    }

    fn take(
        path: &Path,
        wait: Duration,
        check: PathCheck,
        sharing: Sharing,
    ) -> Result<Self, LockError> {
        let mut waiting = Waiting::new(path, wait);
        loop {
            let file = open(path)?;
            waiting.lock(&file, sharing)?;
            // Somebody may have deleted the file while we waited: then others lock another one.
            let is_safe = check == PathCheck::AfterWaiting && waiting.tries == 0;
            let held = if is_safe {
                Some(0)
            } else {
                size_at(&file, path)?
            };
            if let Some(size) = held {
                let noted = Cell::new(size);
                return Ok(Self { file, noted });
            }
            waiting.pause()?;
        }
    }
}

/// A lock file that stays open, to be locked in shared mode time and again.
#[derive(Debug)]
pub(crate) struct SharedLock {
    file: File,
    path: PathBuf,
}

impl SharedLock {
    pub(crate) fn open(path: PathBuf) -> Result<Self, LockError> {
        let file = open(&path)?;
        Ok(Self { file, path })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps those out who want the lock for themselves, until the value is dropped.
    pub(crate) fn hold(&mut self, wait: Duration) -> Result<SharedGuard<'_>, LockError> {
        let mut waiting = Waiting::new(&self.path, wait);
        loop {
            waiting.lock(&self.file, Sharing::Shared)?;
            if waiting.tries == 0 || is_at(&self.file, &self.path)? {
                return Ok(SharedGuard(&self.file));
            }
            waiting.pause()?;
            self.file = open(&self.path)?;
        }
    }
}

/// A lock that is held in shared mode.
pub(crate) struct SharedGuard<'a>(&'a File);

impl Drop for SharedGuard<'_> {
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

/// A wait for a lock, which has an end.
struct Waiting<'a> {
    path: &'a Path,
    limit: Duration,
    started: Instant,
    tries: u32,
    span: Option<EnteredSpan>,
}

impl<'a> Waiting<'a> {
    fn new(path: &'a Path, limit: Duration) -> Self {
        Self {
            path,
            limit,
            started: Instant::now(),
            tries: 0,
            span: None,
        }
    }

    fn lock(&mut self, file: &File, sharing: Sharing) -> Result<(), LockError> {
        loop {
            let locked = match sharing {
                Sharing::Exclusive => file.try_lock(),
                Sharing::Shared => file.try_lock_shared(),
            };
            match locked {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) => {
                    let path = self.path;
                    self.span.get_or_insert_with(|| {
                        debug_span!("lock_wait", path = %path.display()).entered()
                    });
                    self.pause()?;
                }
                Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(TryLockError::Error(error)) => {
                    return Err(PathError::new("lock", self.path, error).into());
                }
            }
        }
        if self.span.is_some() {
            let waited = self.started.elapsed();
            debug!(?waited, tries = self.tries, "waited for a lock");
        }
        Ok(())
    }

    fn pause(&mut self) -> Result<(), LockError> {
        self.tries += 1;
        if self.tries <= SPINS {
            std::thread::yield_now();
            return Ok(());
        }
        let waited = self.started.elapsed();
        if waited >= self.limit {
            let path = self.path.to_path_buf();
            return Err(LockError::Busy { path, waited });
        }
        let nap = Duration::from_micros(50) * (1 << (self.tries - SPINS).min(6));
        std::thread::sleep(nap.min(LONGEST_NAP));
        Ok(())
    }
}

/// Notes in the lock file. Only for locks that are not taken to append.
impl FileLock {
    /// What is noted. A note that cannot be read is none.
    pub(crate) fn noted(&self) -> Vec<u8> {
        let size = usize::try_from(self.noted.get().min(MOST_NOTED)).unwrap_or(0);
        let mut bytes = vec![0; size];
        match self.file.read_exact_at(&mut bytes, 0) {
            Ok(()) => bytes,
            Err(_) => Vec::new(),
        }
    }

    /// Adds a note.
    pub(crate) fn note(&self, line: &JsonLine) -> io::Result<()> {
        let at = self.noted.get();
        self.file.write_all_at(line, at)?;
        self.noted.set(at + line.len() as u64);
        Ok(())
    }

    /// Takes all notes away. One that stays does no harm.
    pub(crate) fn wipe(&self) {
        if self.noted.get() > 0 && self.file.set_len(0).is_ok() {
            self.noted.set(0);
        }
    }
}

fn open(path: &Path) -> Result<File, PathError> {
    let opened = files::open_or_create_to_write(path);
    Ok(opened.context("open the lock", path)?.file)
}

/// Whether `path` still names the open `file`.
pub(crate) fn is_at(file: &File, path: &Path) -> Result<bool, PathError> {
    Ok(size_at(file, path)?.is_some())
}

/// The size of the open `file`, if `path` still names it.
fn size_at(file: &File, path: &Path) -> Result<Option<u64>, PathError> {
    let held = file.metadata().context("look at", path)?;
    match std::fs::symlink_metadata(path) {
        Ok(found) => {
            let is_same = found.ino() == held.ino() && found.dev() == held.dev();
            Ok(is_same.then_some(held.len()))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(PathError::new("look at", path, error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Barrier};

    #[test]
    fn a_busy_lock_ends_in_an_error_that_names_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("l");
        let held = FileLock::acquire(&path, Duration::ZERO).unwrap();
        let error = FileLock::acquire(&path, Duration::from_millis(20)).unwrap_err();
        assert!(
            error.to_string().contains(path.to_str().unwrap()),
            "{error}"
        );
        drop(held);
        FileLock::acquire(&path, Duration::ZERO).unwrap();
    }

    #[test]
    fn a_lock_file_deleted_by_a_person_is_made_anew() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("l");
        let _stale = FileLock::acquire(&path, Duration::ZERO).unwrap();
        std::fs::remove_file(&path).unwrap();
        FileLock::acquire(&path, Duration::from_secs(1)).unwrap();
    }

    #[test]
    fn whoever_waited_for_a_deleted_lock_file_gets_the_one_that_others_see() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("l");
        let first = FileLock::acquire(&path, Duration::ZERO).unwrap();
        let waiting = Arc::new(Barrier::new(2));
        let thread = std::thread::spawn({
            let (path, waiting) = (path.clone(), Arc::clone(&waiting));
            move || {
                waiting.wait();
                FileLock::acquire(&path, Duration::from_secs(10)).unwrap()
            }
        });
        waiting.wait();
        // Long enough that the thread waits for the file that is about to go.
        assert!(FileLock::acquire(&path, Duration::from_millis(50)).is_err());
        std::fs::remove_file(&path).unwrap();
        drop(first);
        let _second = thread.join().unwrap();
        assert!(FileLock::acquire(&path, Duration::from_millis(20)).is_err());
    }
}
