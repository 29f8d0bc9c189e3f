//! One batch of mail: from the unread lines of a file to the record that commits it.

use super::{Delivery, Mailbox, ReceiveError};
use crate::error::Context;
use crate::files::append::AppendError;
use crate::mail::intake::{self, Batch, Place};
use crate::mail::segment::Segment;
use crate::members::journal::Journal;
use protocol::{
    DeadLetter, EventKind, JournalRecord, Line, MailRecord, Quarantined, SegmentPosition,
};
use std::time::Instant;

impl Mailbox {
    pub(super) fn take_batch(
        &mut self,
        segment: &mut Segment,
        journal: &mut Journal,
    ) -> Result<Option<Delivery>, ReceiveError> {
        let bytes = segment.unread_lines();
        let bytes = bytes.context("read the inbox", &self.inbox)?;
        if bytes.is_empty() {
            return Ok(None);
        }
        // A sender whose line came into a file that was set aside at that moment has sent it once more, to the
        // live file, before anything else. So that file is read first: the line is shown in its order, and
        // while its second copy is still recognised.
        let is_live = segment.set_aside.is_none();
        if is_live
            && self.may_senders_have_written_aside()
            && let Some(delivery) = self.take_from_aside(journal)?
        {
            return Ok(Some(delivery));
        }
        let place = Place {
            inbox: self.owner.as_str(),
            segment: segment.number,
            offset: segment.end,
        };
        let batch = intake::take(&bytes, place, &self.state.seen);
        let position = segment.position_after(&bytes);
        let position = position.context("read the inbox", &self.inbox)?;
        let delivery = if batch.is_empty() {
            // Not worth a record: reading it again would find nothing either.
            self.state.move_to(position);
            Delivery::default()
        } else {
            self.commit(batch, position, journal)?
        };
        segment.move_to(&position);
        self.last_mail = Instant::now();
        Ok(Some(delivery))
    }

    fn commit(
        &mut self,
        batch: Batch,
        position: SegmentPosition,
        journal: &mut Journal,
    ) -> Result<Delivery, ReceiveError> {
        self.quarantine_all(&batch.bad)?;
        if let Some(hook) = &mut self.before_commit.0 {
            for entry in &batch.entries {
                if let Line::Message(message) = entry.decode() {
                    hook(&message);
                }
            }
        }
        if let Some(hook) = &mut self.before_commit.1 {
            hook(&batch.entries)?;
        }
        // A position under a number whose predecessor is not used up would not be found again.
        self.record_owed_seal(journal)?;
        let record = <JournalRecord>::Mail(MailRecord {
            incarnation: self.incarnation,
            time: crate::clock::now(),
            position,
            mail: batch.entries.clone(),
            bad: batch.bad.clone(),
            notes: batch.notes.clone(),
        });
        if self.syncs_later && !batch.has_control {
            journal.append_unsynced(&record)?;
        } else {
            journal.append(&record)?;
        }
        self.state.take_in(position, batch.fingerprints);
        // The mail is committed and must be handed out, whatever becomes of the checkpoint. One that
        // fails is tried again with the next record.
        let _ = journal.checkpoint_if_due(&self.state);
        Ok(Delivery {
            mail: batch.entries,
            bad: batch.bad,
            notes: batch.notes,
        })
    }

    fn quarantine_all(&self, bad: &[Quarantined]) -> Result<(), AppendError> {
        let dead_letters = bad.iter().map(|bad| DeadLetter {
            id: bad.id.clone(),
            time: crate::clock::now(),
            inbox: self.owner.clone(),
            reason: bad.reason.clone(),
            line: None,
            raw: Some(bad.raw.clone()),
            raw_hex: bad.raw_hex.clone(),
            extra: protocol::Extra::new(),
        });
        let dead_letters: Vec<DeadLetter> = dead_letters.collect();
        for dead_letter in self.team.add_dead_letters(&dead_letters)? {
            // The event is for people only; the dead letter is safe without it.
            let _ = self.team.log_event(EventKind::DeadLetter {
                id: dead_letter.id.clone(),
                inbox: self.owner.clone(),
                reason: dead_letter.reason.clone(),
            });
        }
        Ok(())
    }
}
