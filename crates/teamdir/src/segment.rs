//! One inbox file, open for reading: the live one, or one that was set aside.

use crate::file::{self, FileId, hash};
use crate::lease::has_no_writer;
use protocol::SegmentPosition;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Instant;

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
    /// When it was set aside, as far as this process knows.
    pub(crate) set_aside: Option<Instant>,
    /// Whether it can be reached under its number. A file that somebody moved away cannot.
    pub(crate) has_name: bool,
}

impl Segment {
    pub(crate) fn open(path: &Path, number: u64) -> io::Result<Self> {
        let file = file::options().read(true).open(path)?;
        let id = FileId::of(&file.metadata()?);
        Ok(Self {
            file,
            id,
            number,
            end: 0,
            set_aside: None,
            has_name: true,
        })
    }

    pub(crate) fn size(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    /// Whether a position was taken in this very file.
    pub(crate) fn is_file_of(&self, position: &SegmentPosition) -> bool {
        self.id.inode == position.inode && self.id.born == position.born
    }

    /// Goes on where `position` says, if the bytes before it are still the ones that were read.
    /// A power cut may have taken bytes that were read but never synced; then everything is read
    /// again, and what was seen is left out by its identifier.
    pub(crate) fn resume(&mut self, position: &SegmentPosition) -> io::Result<()> {
        let intact = self.size()? >= position.end && self.check(position.end)? == position.check;
        self.end = if intact { position.end } else { 0 };
        Ok(())
    }

    /// The position after everything before `end` was read.
    pub(crate) fn position(&self, end: u64) -> io::Result<SegmentPosition> {
        Ok(SegmentPosition {
            segment: self.number,
            end,
            inode: self.id.inode,
            born: self.id.born,
            check: self.check(end)?,
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
    pub(crate) fn unread_lines(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        // A small first look usually finds all there is.
        let mut at_end = self.read_more(&mut bytes, FIRST_LOOK)?;
        loop {
            if !at_end {
                at_end = self.read_more(&mut bytes, BATCH)?;
            }
            if let Some(newline) = bytes.iter().rposition(|byte| *byte == b'\n') {
                bytes.truncate(newline + 1);
                return Ok(bytes);
            }
            if !at_end {
                continue;
            }
            if bytes.is_empty() || self.set_aside.is_none() || !has_no_writer(&self.file) {
                return Ok(Vec::new());
            }
            // Only what is read after the last writer is gone is known to be all.
            while !self.read_more(&mut bytes, BATCH)? {}
            return Ok(bytes);
        }
    }

    /// Reads up to `wish` bytes behind what is in `bytes`. Returns whether the end was reached.
    fn read_more(&self, bytes: &mut Vec<u8>, wish: usize) -> io::Result<bool> {
        let start = bytes.len();
        bytes.resize(start + wish, 0);
        let rest = bytes.get_mut(start..).unwrap_or_default();
        let read = loop {
            match self.file.read_at(rest, self.end + start as u64) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => break result?,
            }
        };
        bytes.truncate(start + read);
        // An ordinary file gives less than asked only at its end.
        Ok(read < wish)
    }
}
