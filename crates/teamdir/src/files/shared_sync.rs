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
//! **Nobody is waited for without a limit.** The kernel frees the lock of a leader that is killed, and those
//! who wait look after two milliseconds. If a leader is stopped, they sync by themselves. A mark that cannot
//! be opened, read, written or waited at only means that everybody does so.

use crate::files;
use crate::files::wait_word::{WaitWord, Waited};
use nix::errno::Errno;
use std::cell::Cell;
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

/// How long a sender waits at most before it looks whether the leader is gone.
const LOOK_AFTER: Duration = Duration::from_millis(2);
/// After how long a sender syncs by itself.
const PATIENCE: Duration = Duration::from_millis(50);
/// How often a leader lets others append before it syncs, if there were others the last time.
const GATHERINGS: u32 = 8;
/// Where the numbers of the mark begin: behind the word that is waited at, and one that says whether
/// anybody was woken the last time.
const NUMBERS: usize = 8;
/// The bit of the word that is set while somebody leads who expects followers.
const LED: u32 = 1;
/// The length of the mark.
const LENGTH: usize = NUMBERS + 5 * size_of::<u64>();

/// Which file a size in the mark is about. An inode number is given out again, so the time of birth goes
/// with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SyncedFile {
    device: u64,
    inode: u64,
    born: u64,
}

impl SyncedFile {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            born: files::FileId::of(metadata).born.cast_unsigned(),
        }
    }
}

/// What the mark says.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Mark {
    /// Changes whenever a leader is done, and when one begins that expects followers.
    word: u32,
    /// Whether the last leader has woken somebody.
    had_followers: bool,
    synced: Option<(SyncedFile, u64)>,
}

impl Mark {
    /// Whether somebody leads, unless it was killed meanwhile.
    const fn is_led(&self) -> bool {
        self.word & LED != 0
    }

    /// How much of a file is synced; `None` if the mark does not name the file.
    fn synced_of(&self, file: SyncedFile) -> Option<u64> {
        let found = self.synced.filter(|(known, _)| *known == file);
        found.map(|(_, size)| size)
    }

    fn decode(bytes: &[u8; LENGTH]) -> Self {
        let word = |at: usize| {
            let bytes = bytes.get(at..at + 4).and_then(|part| part.try_into().ok());
            bytes.map_or(0, u32::from_ne_bytes)
        };
        let number = |place: usize| {
            let at = NUMBERS + place * 8;
            let bytes = bytes.get(at..at + 8).and_then(|part| part.try_into().ok());
            bytes.map_or(0, u64::from_ne_bytes)
        };
        let numbers = bytes.get(NUMBERS..LENGTH - 8).unwrap_or_default();
        let file = SyncedFile {
            device: number(0),
            inode: number(1),
            born: number(2),
        };
        // Whoever reads while a leader writes may find the numbers of two leaders mixed.
        let is_whole = files::hash(numbers) == number(4);
        Self {
            word: word(0),
            had_followers: word(4) != 0,
            synced: is_whole.then_some((file, number(3))),
        }
    }

    fn encode(file: SyncedFile, size: u64) -> [u8; LENGTH - NUMBERS] {
        let mut bytes = [0; LENGTH - NUMBERS];
        let (numbers, check) = bytes.split_at_mut(4 * 8);
        let values = [file.device, file.inode, file.born, size];
        for (place, value) in numbers.chunks_exact_mut(8).zip(values) {
            place.copy_from_slice(&value.to_ne_bytes());
        }
        check.copy_from_slice(&files::hash(numbers).to_ne_bytes());
        bytes
    }
}

/// A line that was appended and is to be synced.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Appended<'a> {
    pub(crate) file: &'a File,
    pub(crate) id: SyncedFile,
    /// Where the line begins and ends.
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// What [`SharedSync::read`] returned before the line was written.
    pub(crate) before: Mark,
    /// The folder of the file, unless its name is known to last.
    pub(crate) folder: Option<&'a Path>,
    /// The path under which the file was opened.
    pub(crate) path: &'a Path,
}

/// Whether a file still had its name after a line was written into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Name {
    Kept,
    /// It was not looked at, or is another file's.
    Unknown,
}

impl Appended<'_> {
    /// Looks at what the path names now.
    pub(crate) fn name(&self) -> Name {
        let found = std::fs::symlink_metadata(self.path);
        match found.is_ok_and(|found| SyncedFile::of(&found) == self.id) {
            true => Name::Kept,
            false => Name::Unknown,
        }
    }

    /// Whether the mark can prove anything. One that spoke of these bytes before they were written cannot.
    fn can_follow(&self) -> bool {
        let before = self.before.synced_of(self.id);
        before.is_none_or(|before| before <= self.start)
    }

    /// Whether the mark proves that the line is synced.
    fn is_synced(&self, mark: &Mark) -> bool {
        let size = mark.synced_of(self.id);
        self.can_follow() && size.is_some_and(|size| size >= self.end)
    }

    /// The same line, with what the mark says about its file: a file that is named there has a name that
    /// lasts.
    pub(crate) fn with(self, mark: &Mark) -> Self {
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
        })
    }

    /// Writes into the mark that a file is empty and that its name lasts, unless somebody syncs just now.
    pub(crate) fn begin(&self, file: SyncedFile) {
        if let Some(_lead) = self.try_lead() {
            self.publish(file, 0);
        }
    }

    /// Returns when the line will survive a power cut.
    pub(crate) fn sync(&self, line: &Appended<'_>) -> io::Result<Name> {
        let began = Instant::now();
        let mut waited_at = None;
        // What was read before the write says whether it is worth a try to lead. A wait at its word ends at
        // once if the word has changed since.
        let mut mark = line.before;
        loop {
            if line.is_synced(&mark) {
                return follow(line);
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
            mark = self.read();
        }
        sync_alone(&line.with(&self.read()))?;
        Ok(Name::Unknown)
    }

    /// Syncs for all who have appended.
    fn lead(&self, lead: Lead<'_>, line: &Appended<'_>) -> io::Result<Name> {
        self.stopped_at.set(None);
        let mark = self.read();
        if line.is_synced(&mark) {
            // The leader before has finished between the last look and the lock.
            drop(lead);
            return follow(line);
        }
        let size = match mark.had_followers {
            true => {
                self.write_word(new_word() | LED);
                gather(line.file)
            }
            false => Ok(line.end),
        };
        let synced = size.and_then(|size| sync_alone(&line.with(&mark)).map(|()| size));
        let result = synced.map(|size| {
            let name = line.name();
            if name == Name::Kept {
                self.publish(line.id, size);
            }
            name
        });
        // Only now: who finds the lock taken waits for the word, which must change after that.
        drop(lead);
        self.write_word(new_word() & !LED);
        let had_followers = self.word.wake_all() > 0;
        if had_followers != mark.had_followers {
            let _ = self
                .mark
                .write_all_at(&u32::from(had_followers).to_ne_bytes(), 4);
        }
        result
    }

    pub(crate) fn read(&self) -> Mark {
        let mut bytes = [0; LENGTH];
        match self.mark.read_exact_at(&mut bytes, 0) {
            Ok(()) => Mark::decode(&bytes),
            // It was cut short, or nobody has led yet. Who waits looks at the same word as the kernel.
            Err(_) => Mark {
                word: u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
                ..Mark::default()
            },
        }
    }

    /// If this fails, the others sync by themselves.
    fn publish(&self, file: SyncedFile, size: u64) {
        let _ = self
            .mark
            .write_all_at(&Mark::encode(file, size), NUMBERS as u64);
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

/// What is left to do for a line that somebody else has synced.
fn follow(line: &Appended<'_>) -> io::Result<Name> {
    check_writeback(line.file)?;
    // Otherwise the leader would not have said that it is synced.
    Ok(Name::Kept)
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

#[cfg(test)]
mod tests;
