//! Senders of one inbox share a sync: one of them syncs for all who have appended before it began.
//!
//! Beside the inbox is a small file, the *mark*. It says how far which file is known to be synced. Who has
//! appended a line tries to lock the mark. Who gets the lock leads: it takes the size of the inbox, syncs,
//! writes that size into the mark, gives up the lock and wakes the others. The others wait, and are done
//! when the mark names their file and a size that includes their line.
//!
//! **No line is taken for synced that is not.** Before its write a sender saw a size in the mark that did
//! not include its line; it trusts only one that does. So that size was written in between, by a leader
//! that took it *before* its sync. An inbox only grows, so the line was in the file by then. What the mark
//! says otherwise, after a power cut, in a restored copy or by chance, counts for nothing.
//!
//! In a crowd each line costs more than its share of a sync: it takes a dozen system calls to open the inbox, to
//! append, and to look whether all is well. So those who found others beside them hand their next line over
//! ([`slots`]), and who leads appends all lines with one `write`. A line is accepted when the leader has written
//! its ticket into the mark, which it does after the sync. The ticket is new, so nobody can have written it
//! before the line was there. A leader that is killed in between has perhaps appended the lines, and the next one
//! appends them again: the recipient takes lines of one id for one message.
//!
//! **Nobody is waited for without a limit.** The kernel frees the lock of a leader that is killed, and those
//! who wait look after two milliseconds. If a leader is stopped, they sync by themselves. A mark that cannot
//! be opened, read, written or waited at only means that everybody does so.

mod mark;
mod slots;

pub(crate) use mark::SyncedFile;
pub(crate) use slots::{MOST, Offered, Slots, Ticket};

use self::mark::{LED, LENGTH, Mark, NUMBERS};
use self::slots::Slot;
use crate::files;
use crate::files::wait_word::{WaitWord, Waited};
use nix::errno::Errno;
use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

/// How long a sender waits at most before it looks whether the leader is gone.
const LOOK_AFTER: Duration = Duration::from_millis(2);
/// After how long a sender syncs by itself.
const PATIENCE: Duration = Duration::from_millis(50);
/// How often a leader lets others append before it syncs, if there were others the last time.
const GATHERINGS: u32 = 8;

/// A line that was appended and is to be synced.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Appended<'a> {
    pub(crate) file: &'a File,
    pub(crate) id: SyncedFile,
    /// Where the line begins and ends.
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// What [`SharedSync::synced_of`] returned before the line was written.
    pub(crate) before: Option<u64>,
    /// The folder of the file, unless its name is known to last.
    pub(crate) folder: Option<&'a Path>,
}

impl Appended<'_> {
    /// Whether the mark can prove anything. One that spoke of these bytes before they were written cannot.
    fn can_follow(&self) -> bool {
        self.before.is_none_or(|before| before <= self.start)
    }

    /// Whether the mark proves that the line is synced.
    fn is_synced(&self, mark: &Mark) -> bool {
        let size = mark.synced_of(self.id);
        self.can_follow() && size.is_some_and(|size| size >= self.end)
    }

    /// The same line, with what the mark says about its file: a file that is named there has a name that
    /// lasts.
    fn with(self, mark: &Mark) -> Self {
        let is_named = self.can_follow() && mark.synced_of(self.id).is_some();
        Self {
            folder: self.folder.filter(|_| !is_named),
            ..self
        }
    }
}

/// The mark of one inbox, open.
#[derive(Debug)]
pub(crate) struct SharedSync {
    mark: File,
    word: WaitWord,
    /// The word that was seen last while a leader did not come to an end.
    stopped_at: Cell<Option<u32>>,
    /// Where this sender hands lines over.
    slot: RefCell<Option<Slot>>,
}

/// Whether others sync at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Company {
    Alone,
    Others,
}

impl Company {
    const fn of(has_others: bool) -> Self {
        match has_others {
            true => Self::Others,
            false => Self::Alone,
        }
    }
}

impl SharedSync {
    /// Opens the mark at `path`, or creates it.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let opened = files::open_or_create_to_write(path)?;
        let mark = opened.file;
        if opened.metadata.len() < LENGTH as u64 {
            // An empty file has no word to wait at.
            mark.write_all_at(&[0; NUMBERS], 0)?;
        }
        Ok(Self {
            word: WaitWord::of(&mark)?,
            mark,
            stopped_at: Cell::new(None),
            slot: RefCell::new(None),
        })
    }

    /// Whether the last leader had others with it.
    pub(crate) fn company(&self) -> Company {
        Company::of(self.read().had_followers)
    }

    /// Whether another leads, who may have lines that were handed over.
    pub(crate) fn is_led_by_another(&self) -> bool {
        self.read().is_led() && self.try_lead().is_none()
    }

    /// How much of a file the mark says is synced; `None` if it does not name the file.
    pub(crate) fn synced_of(&self, file: SyncedFile) -> Option<u64> {
        self.read().synced_of(file)
    }

    /// Writes into the mark that a file is empty and that its name lasts, unless somebody syncs just now.
    pub(crate) fn begin(&self, file: SyncedFile) {
        if let Some(_lead) = self.try_lead() {
            self.publish(&self.read(), file, 0);
        }
    }

    /// Returns when the line will survive a power cut.
    pub(crate) fn sync(&self, line: &Appended<'_>) -> io::Result<Company> {
        let began = Instant::now();
        let mut waited_at = None;
        loop {
            let mark = self.read();
            if line.is_synced(&mark) {
                check_writeback(line.file)?;
                return Ok(Company::Others);
            }
            let is_stopped = self.stopped_at.get() == Some(mark.word);
            // While somebody leads nobody else gets the lock. After a wait in vain it is tried all the same:
            // whoever led may have been killed.
            let is_led = mark.is_led() && !is_stopped && waited_at != Some(mark.word);
            if !is_led && let Some(lead) = self.try_lead() {
                return self.lead(lead, line);
            }
            if is_stopped || self.word.wait(mark.word, LOOK_AFTER) == Waited::Impossible {
                break;
            }
            waited_at = Some(mark.word);
            if began.elapsed() >= PATIENCE {
                // Whoever leads was stopped, or its disk is slow. Nobody waits for it a second time.
                self.stopped_at.set(Some(self.read().word));
                break;
            }
        }
        sync_alone(&line.with(&self.read()))?;
        Ok(Company::Alone)
    }

    /// Syncs for all who have appended.
    fn lead(&self, lead: Lead<'_>, line: &Appended<'_>) -> io::Result<Company> {
        self.stopped_at.set(None);
        let mark = self.read();
        if line.is_synced(&mark) {
            // The leader before has finished between the last look and the lock. Who has found the lock taken
            // meanwhile waits for the word.
            drop(lead);
            self.wake_others();
            check_writeback(line.file)?;
            return Ok(Company::Others);
        }
        let size = match mark.had_followers {
            true => {
                self.write_word(new_word() | LED);
                gather(line.file)
            }
            false => Ok(line.end),
        };
        let result = size.and_then(|size| sync_alone(&line.with(&mark)).map(|()| size));
        if let Ok(size) = result {
            self.publish(&mark, line.id, size);
        }
        let company = self.end(lead, mark.had_followers);
        result.map(|_| company)
    }

    /// Gives up the lead, and wakes those who wait.
    fn end(&self, lead: Lead<'_>, had_followers: bool) -> Company {
        // Only now: who finds the lock taken waits for the word, which must change after that.
        drop(lead);
        let has_followers = self.wake_others() > 0;
        if has_followers != had_followers {
            let _ = self
                .mark
                .write_all_at(&u32::from(has_followers).to_ne_bytes(), 4);
        }
        Company::of(has_followers)
    }

    /// Wakes those who wait, after the lock was given up. Returns how many that were.
    fn wake_others(&self) -> u32 {
        self.write_word(new_word() & !LED);
        self.word.wake_all()
    }

    fn read(&self) -> Mark {
        let mut bytes = [0; LENGTH];
        match self.mark.read_exact_at(&mut bytes, 0) {
            Ok(()) => Mark::decode(&bytes),
            // It was cut short, or nobody has led yet. Who waits looks at the same word as the kernel.
            Err(_) => Mark::none(u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])),
        }
    }

    /// If this fails, the others sync by themselves.
    fn publish(&self, mark: &Mark, file: SyncedFile, size: u64) {
        let bytes = mark.encode(file, size);
        let _ = self.mark.write_all_at(&bytes, NUMBERS as u64);
    }

    /// If this fails, those who wait look after a while.
    fn write_word(&self, word: u32) {
        let _ = self.mark.write_all_at(&word.to_ne_bytes(), 0);
    }

    fn try_lead(&self) -> Option<Lead<'_>> {
        let is_locked = self.mark.try_lock().is_ok();
        is_locked.then_some(Lead { mark: &self.mark })
    }
}

/// The lock of the mark.
struct Lead<'a> {
    mark: &'a File,
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        let _ = self.mark.unlock();
    }
}

/// Syncs the file without the mark, and its folder unless the name is known to last.
pub(crate) fn sync_alone(line: &Appended<'_>) -> io::Result<()> {
    if let Some(folder) = line.folder {
        files::open_folder(folder)?.sync()?;
    }
    line.file.sync_data()
}

/// Syncs the file for a leader that has appended for others.
pub(crate) fn sync_batch(lines: &Appended<'_>, leader: &Leader<'_>) -> io::Result<()> {
    sync_alone(&lines.with(leader.mark()))
}

/// Lets others append for as long as they do. Returns the size of the file.
fn gather(file: &File) -> io::Result<u64> {
    let mut size = file.metadata()?.len();
    for _ in 0..GATHERINGS {
        std::thread::yield_now();
        let now = file.metadata()?.len();
        if now == size {
            break;
        }
        size = now;
    }
    Ok(size)
}

/// Reports an error in writing the file to the disk since it was opened. The leader's sync reports one too,
/// but only if the leader had opened the file before.
fn check_writeback(file: &File) -> io::Result<()> {
    // Far behind the end of any file: there is nothing to wait for.
    const NOWHERE: i64 = 1 << 60;
    // SAFETY: the call reads no memory, and the descriptor is open while `file` is borrowed.
    let result = unsafe {
        let flags = libc::SYNC_FILE_RANGE_WAIT_BEFORE;
        libc::sync_file_range(file.as_raw_fd(), NOWHERE, 1, flags)
    };
    match Errno::result(result) {
        Ok(_) => Ok(()),
        // Without the call only a sync can say.
        Err(Errno::ENOSYS | Errno::EINVAL | Errno::EPERM) => file.sync_data(),
        Err(error) => Err(error.into()),
    }
}

/// A word that differs from the one before. Two leaders that are done at the same time may write theirs in
/// any order, so they do not count.
fn new_word() -> u32 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let nanos = now.unwrap_or_default().as_nanos();
    u32::try_from(nanos & u128::from(u32::MAX)).unwrap_or(0)
}

mod hand_over;
#[cfg(test)]
mod tests;

pub(crate) use hand_over::{Followed, Leader};
