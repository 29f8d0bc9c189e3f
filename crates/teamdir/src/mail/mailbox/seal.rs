//! What is done before the reader waits: inbox files that were read are set aside, those that are no
//! longer needed are deleted, and the others are watched.

use super::{Mailbox, ReceiveError};
use crate::Durability;
use crate::error::{Context, PathError};
use crate::files::atomic;
use crate::files::shared_sync::{SharedSync, SyncedFile};
use crate::files::{self, FileId};
use crate::locks::has_no_writer;
use crate::locks::{FileLock, LockError};
use crate::mail::segment::Segment;
use crate::members::journal::Journal;
use crate::watch::Watcher;
use std::fs::Metadata;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// A live file that has grown this large is set aside even while mail keeps coming.
const LARGE: u64 = 8 << 20;
/// From how many files set aside on the next one is held back.
const MANY: usize = 8;
/// How many more there may be by the time the first of them is deleted.
const MANY_SHARE: u32 = 8;
/// How many files set aside there are at most, but for large ones.
const TOO_MANY: usize = 128;
/// How long the lock of the inbox is waited for. Setting aside can wait; a reader cannot.
const LOCK_WAIT: Duration = Duration::from_millis(250);
/// How long a deleted inbox stays missing, unless mail is sent to it.
const CREATE_AFTER: Duration = Duration::from_millis(500);
/// How long after it was set aside a file is asked for its writers: who was about to open it has by then.
const CLOSED_AFTER: Duration = Duration::from_secs(1);
/// How soon something that could not be done is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// Which file was given the name of the live one set aside.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Renamed {
    LiveFile,
    /// One that has replaced the live file.
    OtherFile,
    Nothing,
}

/// What to do before waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitPlan {
    /// The mailbox has to be checked again first: a file is watched only from now on.
    pub check_again: bool,
    /// When to check again even if no file changes.
    pub wake_at: Option<Instant>,
}

impl Mailbox {
    /// Sets aside and deletes what is due, and watches the inbox. To be called when
    /// [`Mailbox::receive`] finds nothing; the caller waits only if this says so.
    pub fn prepare_to_wait(
        &mut self,
        journal: &mut Journal,
        watcher: &mut Watcher,
    ) -> Result<WaitPlan, ReceiveError> {
        let mut wake_at = self.delete_finished_segments(journal, watcher)?;
        match self.seal_due() {
            Some(due) if due > Instant::now() => wake_at = earliest(wake_at, due),
            Some(_) if self.is_read_to_its_end() && !self.seal(journal, watcher)? => {
                wake_at = earliest(wake_at, Instant::now() + RETRY);
            }
            Some(_) | None => {}
        }
        // The agent's own records make the journal grow too. One that fails is tried again.
        let _ = journal.checkpoint_if_due(&self.state);
        let check_again = self.arm(journal, watcher)?;
        if self.live.is_none() {
            // No watched file could wake the reader.
            let retry_at = self.missing_since.map(|_| self.create_at());
            wake_at = earliest(wake_at, retry_at.unwrap_or(Instant::now() + RETRY));
        }
        Ok(WaitPlan {
            check_again,
            wake_at,
        })
    }

    /// When the live file should be set aside: some time after it was read. Under steady mail the
    /// files set aside would pile up for as long as they are kept, so they are spaced out.
    fn seal_due(&self) -> Option<Instant> {
        self.live.as_ref().filter(|live| live.end > 0)?;
        // Each costs a descriptor, and where leases do not work none is ever deleted.
        if self.aside.len() >= TOO_MANY {
            return None;
        }
        let due = self.last_mail + self.team.options.seal_after;
        let newest = self
            .aside
            .values()
            .filter_map(|aside| aside.set_aside)
            .max();
        match newest {
            Some(newest) if self.aside.len() >= MANY => {
                Some(due.max(newest + self.team.options.segment_grace / MANY_SHARE))
            }
            _ => Some(due),
        }
    }

    fn is_read_to_its_end(&self) -> bool {
        let read = |live: &Segment| live.size().is_ok_and(|size| size == live.end);
        self.live.as_ref().is_some_and(read)
    }

    /// Sets a large live file aside between two batches. Small ones wait for [`Self::prepare_to_wait`].
    /// The size is checked only after a full batch.
    pub fn seal_if_large(
        &mut self,
        journal: &mut Journal,
        watcher: &mut Watcher,
    ) -> Result<(), ReceiveError> {
        let large = |live: &Segment| {
            live.end >= LARGE || live.may_be_large && live.size().is_ok_and(|size| size >= LARGE)
        };
        if self.live.as_ref().is_some_and(large) {
            self.seal(journal, watcher)?;
        }
        Ok(())
    }

    /// Sets the live file aside now if all of it was read. The next process finds the rest done.
    pub(crate) fn seal_if_read(
        &mut self,
        journal: &mut Journal,
        watcher: &mut Watcher,
    ) -> Result<(), ReceiveError> {
        if self.seal_due().is_some() && self.is_read_to_its_end() {
            self.seal(journal, watcher)?;
        }
        Ok(())
    }

    /// Sets the live file aside. Returns `false` if that must wait.
    fn seal(&mut self, journal: &mut Journal, watcher: &mut Watcher) -> Result<bool, ReceiveError> {
        let renamed = {
            let Ok(_lock) = self.lock_inbox_to_seal() else {
                return Ok(false);
            };
            if !self.is_live_file_whole()? {
                return Ok(false);
            }
            self.rename_inbox(watcher)?
        };
        self.record_rename(renamed, journal)
    }

    /// Keeps those away who write a line in pieces. Senders of a whole line notice what is done here, and
    /// need not stop; many of them would keep the lock from ever being free.
    fn lock_inbox_to_seal(&self) -> Result<FileLock, LockError> {
        let path = self.team.layout.inbox_lock(&self.owner);
        match self.team.writers.is_remote(&self.team.layout.inbox_dir()) {
            true => FileLock::acquire(&path, LOCK_WAIT),
            false => FileLock::acquire_shared(&path, LOCK_WAIT),
        }
    }

    /// Whether the live file has the inbox's name and ends with a whole line. A writer that is in the
    /// middle of a line would put its second half into another file.
    fn is_live_file_whole(&self) -> Result<bool, ReceiveError> {
        let Some(live) = &self.live else {
            return Ok(false);
        };
        let path = self.inbox.as_path();
        let size = live.size().context("look at the inbox", path)?;
        let same = std::fs::symlink_metadata(path).is_ok_and(|found| FileId::of(&found) == live.id);
        Ok(same && files::append::ends_with_newline(&live.file, size).context("read", path)?)
    }

    /// Gives the file that has the inbox's name the name of the live one set aside. To be called under
    /// the lock.
    pub(super) fn rename_inbox(&mut self, watcher: &mut Watcher) -> Result<Renamed, ReceiveError> {
        let Some(live) = &self.live else {
            return Ok(Renamed::Nothing);
        };
        let path = self.inbox.as_path();
        let aside = self.team.layout.segment(&self.owner, live.number);
        // Our own rename must not wake us.
        watcher.unwatch(path);
        self.armed = None;
        // Never over another file: one of that name would be mail.
        match files::rename_new(path, &aside) {
            // A program that does not take the lock has removed it just now.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Renamed::Nothing),
            result => result.context("set aside the inbox", path)?,
        }
        // People expect an inbox, and the reader needs a file to watch. If it cannot be created now,
        // the next sender creates it.
        let created = files::create_new(path);
        // Before the record that says the number is used up.
        atomic::sync_parent(path, self.team.options.durability)?;
        if let Ok(created) = created {
            self.begin_shared_sync(&created.metadata);
        }
        let found = std::fs::symlink_metadata(&aside).context("look at", &aside)?;
        Ok(if FileId::of(&found) == live.id {
            Renamed::LiveFile
        } else {
            Renamed::OtherFile
        })
    }

    /// Returns `false` if setting aside must wait.
    pub(super) fn record_rename(
        &mut self,
        renamed: Renamed,
        journal: &mut Journal,
    ) -> Result<bool, ReceiveError> {
        let Some(number) = self.live.as_ref().map(|live| live.number) else {
            return Ok(true);
        };
        match renamed {
            Renamed::Nothing => return Ok(false),
            Renamed::LiveFile => self.give_up_live(journal)?,
            Renamed::OtherFile => {
                self.give_up_live(journal)?;
                self.take_up_other_file(number, journal)?;
            }
        }
        Ok(true)
    }

    /// A program that does not take the lock has replaced the inbox just before the rename, so the file
    /// under `number` is mail that nobody has read. It gets the next number. Killed before that, the
    /// next process finds that the journal's position does not fit the file, and reads all of it.
    fn take_up_other_file(
        &mut self,
        number: u64,
        journal: &mut Journal,
    ) -> Result<(), ReceiveError> {
        let found = self.team.layout.segment(&self.owner, number);
        let number = number + 1;
        let path = self.team.layout.segment(&self.owner, number);
        files::rename_new(&found, &path).context("set aside the inbox", &found)?;
        let mut segment = Segment::open(&path, number).context("open the inbox", &path)?;
        segment.set_aside = Some(Instant::now());
        self.aside.insert(number, segment);
        Ok(self.record_seal(number, journal)?)
    }

    /// Deletes files that were set aside and are done with. Returns when to try the others.
    fn delete_finished_segments(
        &mut self,
        journal: &mut Journal,
        watcher: &mut Watcher,
    ) -> Result<Option<Instant>, ReceiveError> {
        let grace = self.team.options.segment_grace;
        let mut next = None;
        let numbers: Vec<u64> = self.aside.keys().copied().collect();
        for number in numbers {
            let Some(segment) = self.aside.get_mut(&number) else {
                continue;
            };
            note_whether_closed(segment);
            let due = segment.set_aside.map_or_else(Instant::now, |at| at + grace);
            if due > Instant::now() {
                next = earliest(next, due);
                continue;
            }
            let path = self.team.layout.segment(&self.owner, number);
            // First nobody may be able to write any more, then the size is final.
            let done = has_no_writer(&segment.file)
                && segment.size().context("look at", &path)? == segment.end;
            if !done {
                next = earliest(next, Instant::now() + grace.max(RETRY));
                continue;
            }
            watcher.unwatch(&path);
            if segment.has_name {
                // Without a record, and after a power cut without a synced one, the number of a file
                // that is gone would be given to another.
                self.record_owed_seal(journal)?;
                if let Err(error) = journal.sync() {
                    // After a failed sync only writing the record again makes it safe.
                    self.recorded_seal = 0;
                    return Err(error.into());
                }
                delete(&path)?;
                // A file that came back after its position was forgotten would be read again.
                atomic::sync_parent(&path, self.team.options.durability)?;
            }
            self.aside.remove(&number);
            self.state.forget(number);
        }
        Ok(next)
    }

    /// When a missing inbox may be created. One that has just been deleted may be the first file of
    /// the whole folder: nothing must be created in it while it is being removed.
    fn create_at(&self) -> Instant {
        self.missing_since
            .map_or_else(Instant::now, |since| since + CREATE_AFTER)
    }

    /// Creates the inbox, in the way senders do.
    fn create_empty(&self) -> Result<(), ReceiveError> {
        let path = self.inbox.as_path();
        let _lock = match FileLock::acquire(&self.team.layout.inbox_lock(&self.owner), LOCK_WAIT) {
            // Whoever holds it may be about to create the inbox.
            Err(LockError::Busy { .. }) => return Ok(()),
            lock => lock?,
        };
        match files::create_new(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            result => {
                let created = result.context("create the inbox", path)?;
                atomic::sync_parent(path, self.team.options.durability)?;
                self.begin_shared_sync(&created.metadata);
                Ok(())
            }
        }
    }

    /// Spares the first sender to a new inbox the sync of the folder. If this fails, it syncs.
    fn begin_shared_sync(&self, inbox: &Metadata) {
        let is_remote = || self.team.writers.is_remote(&self.team.layout.inbox_dir());
        if self.team.options.durability == Durability::PowerCut && !is_remote() {
            let mark = SharedSync::open(&self.team.layout.inbox_synced(&self.owner));
            if let Ok(mark) = mark {
                mark.begin(SyncedFile::of(inbox));
            }
        }
    }

    /// Watches the live file and those set aside. Returns whether anything
    /// was not watched before: then the mailbox has to be checked again.
    fn arm(&mut self, journal: &mut Journal, watcher: &mut Watcher) -> Result<bool, ReceiveError> {
        // The check for unread mail does not notice that the file was replaced.
        self.follow_the_name(journal)?;
        if self.live.is_none() && self.create_at() <= Instant::now() {
            self.create_empty()?;
            self.missing_since = None;
            self.follow_the_name(journal)?;
        }
        let mut changed = self.watch_for_new_inbox(watcher);
        let live = self.live.as_ref().map(|live| live.id);
        if live != self.armed {
            watcher.watch_file(&self.inbox);
            self.armed = live;
            changed = true;
        }
        for (number, segment) in &mut self.aside {
            if segment.has_name && !segment.asked {
                watcher.watch_file(&self.team.layout.segment(&self.owner, *number));
                segment.asked = true;
                changed = true;
            }
        }
        Ok(changed)
    }

    /// Watches the folder for as long as it has no inbox. Returns whether that begins now.
    fn watch_for_new_inbox(&mut self, watcher: &mut Watcher) -> bool {
        let is_missing = self.live.is_none();
        if is_missing == self.watches_folder {
            return false;
        }
        let folder = self.team.layout.inbox_dir();
        if is_missing {
            watcher.watch_folder(&folder);
        } else {
            watcher.unwatch(&folder);
        }
        self.watches_folder = is_missing;
        is_missing
    }
}

fn note_whether_closed(segment: &mut Segment) {
    let is_old = |at: Instant| at.elapsed() > CLOSED_AFTER;
    if !segment.is_closed && segment.set_aside.is_some_and(is_old) {
        // In this order: without writers the size is final.
        segment.is_closed =
            has_no_writer(&segment.file) && segment.size().is_ok_and(|size| size == segment.end);
    }
}

fn earliest(known: Option<Instant>, other: Instant) -> Option<Instant> {
    Some(known.map_or(other, |known| known.min(other)))
}

fn delete(path: &Path) -> Result<(), PathError> {
    match files::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result.context("delete", path),
    }
}
