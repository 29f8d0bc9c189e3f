//! How far a member's inbox has been read: a pure function of its journal.

use crate::mail::seen::{Fingerprint, Seen};
use protocol::{Checkpoint, JournalRecord, MailEntry, SegmentPosition};
use std::collections::BTreeMap;

/// What a journal says about its member's mail.
#[derive(Debug, Clone, Default)]
pub struct MailState {
    /// The highest number under which an inbox file was set aside.
    pub(crate) sealed: u64,
    /// How far each file that may still exist has been read.
    pub(crate) positions: BTreeMap<u64, SegmentPosition>,
    /// Which messages were seen.
    pub(crate) seen: Seen,
}

impl MailState {
    /// Takes in the next record of the journal.
    pub(crate) fn apply(&mut self, record: &JournalRecord) {
        match record {
            JournalRecord::Open(_)
            | JournalRecord::Cut(_)
            | JournalRecord::Report(_)
            | JournalRecord::Plan(_)
            | JournalRecord::EngineTool(_)
            | JournalRecord::Conversation(_) => {}
            JournalRecord::Mail(mail) => {
                let entries = mail.mail.iter().map(fingerprint);
                self.take_in(mail.position, entries.collect());
            }
            JournalRecord::Seal(seal) => self.seal(seal.segment),
            JournalRecord::Checkpoint(checkpoint) => *self = Self::from_checkpoint(checkpoint),
        }
    }

    /// Takes in mail that was read up to `position`.
    pub(crate) fn take_in(&mut self, position: SegmentPosition, mail: Vec<Fingerprint>) {
        self.move_to(position);
        for fingerprint in mail {
            self.seen.remember(fingerprint);
        }
    }

    pub(crate) fn move_to(&mut self, position: SegmentPosition) {
        self.positions.insert(position.segment, position);
    }

    pub(crate) fn seal(&mut self, segment: u64) {
        self.sealed = self.sealed.max(segment);
    }

    /// Forgets a file that no longer exists.
    pub(crate) fn forget(&mut self, segment: u64) {
        self.positions.remove(&segment);
    }

    pub(crate) fn to_checkpoint(&self) -> Checkpoint {
        Checkpoint {
            sealed: self.sealed,
            positions: self.positions.values().copied().collect(),
            seen: self.seen.to_windows(),
        }
    }

    fn from_checkpoint(checkpoint: &Checkpoint) -> Self {
        let positions = checkpoint.positions.iter();
        Self {
            sealed: checkpoint.sealed,
            positions: positions.map(|p| (p.segment, *p)).collect(),
            seen: Seen::from_windows(&checkpoint.seen),
        }
    }
}

pub(crate) fn fingerprint(entry: &MailEntry) -> Fingerprint {
    Fingerprint::of(&entry.decode(), entry.id.as_str())
}
