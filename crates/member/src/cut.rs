//! Cutting the journal of a member when its conversation is compacted.

use crate::inner::Inner;
use crate::recovered::Recovered;
use agent::Record;
use teamdir::{CutError, PathError};
use tracing::warn;

impl Inner {
    /// Records a compaction, and cuts the journal before it: a restart reads what the conversation is now, and
    /// not what it was.
    pub(crate) fn append_compaction(&mut self, record: &Record) -> Result<(), PathError> {
        // A restart after the cut does not look for mail without an event.
        self.events([]);
        let is_cut = match self.pending_events.is_empty() {
            true => self.cut_journal(record)?,
            false => false,
        };
        match is_cut {
            true => Ok(()),
            false => self.session.journal().append(record),
        }
    }

    /// Returns whether the journal was cut; if not, it is as it was.
    fn cut_journal(&mut self, compaction: &Record) -> Result<bool, PathError> {
        let owner = self.session.guard().owner();
        let archive = self.team.next_archive(self.session.guard());
        let cut = Recovered::read(&self.team, owner)?.into_cut(archive);
        match self.session.cut_journal(&self.team, cut, compaction) {
            Ok(()) => Ok(true),
            Err(CutError::NotSynced(error)) => Err(error),
            Err(CutError::NotCut(error)) => {
                warn!("the journal was not cut: {error}");
                Ok(false)
            }
        }
    }
}
