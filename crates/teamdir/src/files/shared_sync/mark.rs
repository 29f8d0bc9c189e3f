//! What the mark says, and how.

use super::slots::{SLOTS, Ticket};
use crate::files;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

/// Where the numbers of the mark begin: behind the word that is waited at, and one that says whether
/// anybody was woken the last time.
pub(super) const NUMBERS: usize = 8;
/// The bit of the word that is set while somebody leads who expects followers.
pub(super) const LED: u32 = 1;
/// Where the tickets of the lines begin that leaders have appended for others.
pub(super) const TICKETS: usize = NUMBERS + 5 * size_of::<u64>();
/// The length of the mark.
pub(super) const LENGTH: usize = TICKETS + SLOTS * size_of::<u64>();

/// Which file a size in the mark is about. An inode number is given out again, so the time of birth goes
/// with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SyncedFile {
    pub(super) device: u64,
    pub(super) inode: u64,
    pub(super) born: u64,
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
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    /// Changes whenever a leader is done, and when one begins that expects followers.
    pub(super) word: u32,
    /// Whether the last leader has woken somebody.
    pub(super) had_followers: bool,
    pub(super) synced: Option<(SyncedFile, u64)>,
    /// The ticket of the last line of each slot that was appended and synced.
    pub(super) accepted: [u64; SLOTS],
}

impl Mark {
    /// A mark that says nothing.
    pub(super) const fn none(word: u32) -> Self {
        Self {
            word,
            had_followers: false,
            synced: None,
            accepted: [0; SLOTS],
        }
    }

    /// Whether the line of this ticket was appended and synced.
    pub(super) fn has_accepted(&self, ticket: Ticket) -> bool {
        self.accepted.get(ticket.slot) == Some(&ticket.number)
    }

    /// Whether somebody leads, unless it was killed meanwhile.
    pub(super) const fn is_led(&self) -> bool {
        self.word & LED != 0
    }

    pub(super) fn synced_of(&self, file: SyncedFile) -> Option<u64> {
        let found = self.synced.filter(|(known, _)| *known == file);
        found.map(|(_, size)| size)
    }

    pub(super) fn decode(bytes: &[u8; LENGTH]) -> Self {
        let word = |at: usize| {
            let bytes = bytes.get(at..at + 4).and_then(|part| part.try_into().ok());
            bytes.map_or(0, u32::from_ne_bytes)
        };
        let number = |place: usize| {
            let at = NUMBERS + place * 8;
            let bytes = bytes.get(at..at + 8).and_then(|part| part.try_into().ok());
            bytes.map_or(0, u64::from_ne_bytes)
        };
        let numbers = bytes.get(NUMBERS..TICKETS - 8).unwrap_or_default();
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
            accepted: std::array::from_fn(|slot| number(5 + slot)),
        }
    }

    /// The bytes from the numbers on, for a file of which so much is synced.
    pub(super) fn encode(&self, file: SyncedFile, size: u64) -> [u8; LENGTH - NUMBERS] {
        let values = [file.device, file.inode, file.born, size];
        let mut bytes = [0; LENGTH - NUMBERS];
        let (numbers, tickets) = bytes.split_at_mut(TICKETS - NUMBERS);
        let (numbers, check) = numbers.split_at_mut(4 * 8);
        for (place, value) in numbers.chunks_exact_mut(8).zip(values) {
            place.copy_from_slice(&value.to_ne_bytes());
        }
        check.copy_from_slice(&files::hash(numbers).to_ne_bytes());
        for (place, ticket) in tickets.chunks_exact_mut(8).zip(self.accepted) {
            place.copy_from_slice(&ticket.to_ne_bytes());
        }
        bytes
    }
}
