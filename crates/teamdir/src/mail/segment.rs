//! One inbox file, open for reading: the live one, or one that was set aside.

use crate::files::{self, FileId, hash};
use crate::locks::has_no_writer;
use protocol::SegmentPosition;
use safe_open::Opened;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

/// How much is read at once. A longer line is read whole all the same.
pub(crate) const BATCH: usize = 256 << 10;
/// How much is read first.
const FIRST_LOOK: usize = 4 << 10;
/// How many bytes before a position are hashed to recognise the file later.
const CHECKED: u64 = 64;

/// An open inbox file and how far it has been read.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) file: File,
    pub(crate) id: FileId,
    pub(crate) number: u64,
    pub(crate) end: u64,
    /// A hash of the last bytes before `end`.
    check: u64,
    /// No line ends between `end` and here.
    searched: u64,
    /// Whether the last read filled a whole batch.
    pub(crate) may_be_large: bool,
    /// Whether notifications about it were asked for under its number.
    pub(crate) asked: bool,
    /// When it was set aside, as far as this process knows.
    pub(crate) set_aside: Option<Instant>,
    /// Whether nobody had it open for writing when it was last looked at, after it was set aside and read to
    /// its end. Then no sender writes to it any more.
    pub(crate) is_closed: bool,
    /// Whether the file can be opened by its number. One that was moved away cannot.
    pub(crate) has_name: bool,
}

impl Segment {
    pub(crate) fn open(path: &Path, number: u64) -> io::Result<Self> {
        let Opened { file, metadata } = files::open_to_read(path)?;
        let id = FileId::of(&metadata);
        Ok(Self {
            file,
            id,
            number,
            end: 0,
            check: hash(b""),
            searched: 0,
            may_be_large: false,
            asked: false,
            set_aside: None,
            is_closed: false,
            has_name: true,
        })
    }

    pub(crate) fn size(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    /// How long ago it was renamed or written to, by the wall clock.
    pub(crate) fn age(&self) -> io::Result<Duration> {
        let metadata = self.file.metadata()?;
        let changed = u64::try_from(metadata.ctime()).map_err(io::Error::other)?;
        let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(changed + 1);
        Ok(changed.elapsed().unwrap_or_default())
    }

    /// Whether a position was taken in this very file.
    pub(crate) fn is_file_of(&self, position: &SegmentPosition) -> bool {
        self.id.inode == position.inode && self.id.born == position.born
    }

    /// Goes on where `position` says, if the bytes before it are still the ones that were read.
    /// A power cut may have taken bytes that were read but never synced; then everything is read
    /// again, and what was seen is left out by its identifier.
    pub(crate) fn resume(&mut self, position: &SegmentPosition) -> io::Result<bool> {
        let intact = self.size()? >= position.end && self.check(position.end)? == position.check;
        if intact {
            self.move_to(position);
        }
        Ok(intact)
    }

    /// Everything before `position` has been read.
    pub(crate) fn move_to(&mut self, position: &SegmentPosition) {
        self.end = position.end;
        self.check = position.check;
        self.searched = position.end;
    }

    /// The next `length` bytes have been read, without a record of it.
    pub(crate) const fn skip(&mut self, length: u64) {
        self.end += length;
        self.searched = self.end;
    }

    /// Whether what was read is still there, in a file that has `size` bytes now. Only a file that
    /// has grown is read: there is nothing new in another.
    pub(crate) fn is_intact(&self, size: u64) -> io::Result<bool> {
        Ok(size == self.end || (size > self.end && self.check(self.end)? == self.check))
    }

    /// Whether there is more to take from a file that has `size` bytes now. A line that was begun
    /// and decoded waits for its end.
    pub(crate) fn has_more(&self, size: u64) -> bool {
        size > self.searched
            || size > self.end && self.set_aside.is_some() && has_no_writer(&self.file)
    }

    /// The position after `bytes`, which follow what was read before, were read too.
    pub(crate) fn position_after(&self, bytes: &[u8]) -> io::Result<SegmentPosition> {
        let end = self.end + bytes.len() as u64;
        // Usually the bytes to be checked are at hand.
        let last = bytes.len().checked_sub(CHECKED as usize);
        let check = match last.and_then(|start| bytes.get(start..)) {
            Some(last) => hash(last),
            None => self.check(end)?,
        };
        Ok(SegmentPosition {
            segment: self.number,
            end,
            inode: self.id.inode,
            born: self.id.born,
            check,
        })
    }

    fn check(&self, end: u64) -> io::Result<u64> {
        let from = end.saturating_sub(CHECKED);
        let mut bytes = [0; CHECKED as usize];
        let length = usize::try_from(end - from).map_err(io::Error::other)?;
        let bytes = bytes.get_mut(..length).unwrap_or_default();
        self.file.read_exact_at(bytes, from)?;
        Ok(hash(bytes))
    }

    /// Whole lines that were not read yet: about a batch of them, or one that is longer.
    ///
    /// A last line without its newline is left for later, unless the file was set aside and
    /// nobody can write to it any more.
    pub(crate) fn unread_lines(&mut self) -> io::Result<Vec<u8>> {
        // Of a line that was begun before, only what is new is searched for its end.
        let mut start = self.searched;
        let mut wish = FIRST_LOOK;
        let mut bytes = self.read(start, wish)?;
        while !bytes.contains(&b'\n') {
            start += bytes.len() as u64;
            if bytes.len() < wish {
                self.searched = start;
                return self.last_words();
            }
            wish = BATCH;
            bytes = self.read(start, wish)?;
        }
        if start > self.end {
            let begun = usize::try_from(start - self.end).map_err(io::Error::other)?;
            bytes = [self.read(self.end, begun)?, bytes].concat();
        } else if bytes.len() == FIRST_LOOK {
            bytes.extend(self.read(start + bytes.len() as u64, BATCH)?);
        }
        self.may_be_large = bytes.len() >= BATCH;
        let newline = bytes.iter().rposition(|byte| *byte == b'\n');
        bytes.truncate(newline.map_or(0, |at| at + 1));
        Ok(bytes)
    }

    /// A line that will never get its newline.
    fn last_words(&self) -> io::Result<Vec<u8>> {
        let is_begun = self.searched > self.end;
        if !is_begun || self.set_aside.is_none() || !has_no_writer(&self.file) {
            return Ok(Vec::new());
        }
        // Only what is read after the last writer is gone is known to be all.
        let length = usize::try_from(self.size()?.saturating_sub(self.end));
        self.read(self.end, length.map_err(io::Error::other)?)
    }

    /// Reads `wish` bytes at `offset`; less only at the end of the file.
    fn read(&self, offset: u64, wish: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; wish];
        let mut filled = 0;
        while filled < wish {
            let rest = bytes.get_mut(filled..).unwrap_or_default();
            match self.file.read_at(rest, offset + filled as u64) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
                // An ordinary file gives less than asked only at its end.
                Ok(read) if read < rest.len() => {
                    filled += read;
                    break;
                }
                Ok(read) => filled += read,
            }
        }
        bytes.truncate(filled);
        Ok(bytes)
    }
}
