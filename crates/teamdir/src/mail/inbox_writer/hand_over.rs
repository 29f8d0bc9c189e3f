//! Sends in a crowd: lines are handed over to one sender, which appends them all.

use super::{InboxWriter, Sending, follows_a_line, open_inbox, set_aside_or_gone};
use crate::Options;
use crate::error::Context;
use crate::files::append::{self, AppendError, Tail, Target};
use crate::files::shared_sync::{
    self, Appended, Company, Followed, Leader, Slots, SyncedFile, Ticket,
};
use protocol::JsonLine;
use std::io::Seek;

/// What became of the lines that were handed over.
enum Batch {
    /// They are there, and synced.
    Done {
        file: SyncedFile,
        end: u64,
        company: Company,
    },
    /// There is no inbox.
    NoInbox,
    /// The leader's own line is not among those that wait, because its time is over: nothing was appended.
    TooLate,
    /// They may be there, but it is not certain that they are read as they should be.
    Again(Sending),
}

impl InboxWriter {
    /// Hands a line over, if others send at the same time. `None` if its sender has to append it.
    pub(super) fn hand_over(
        &mut self,
        options: &Options,
        line: &JsonLine,
    ) -> Result<Option<Sending>, AppendError> {
        let crowded = self
            .shared_sync
            .take_if(|_| self.company == Company::Others);
        let Some(shared_sync) = crowded else {
            return Ok(None);
        };
        let result = match shared_sync.offer(line) {
            None => Ok(None),
            Some(ticket) => match shared_sync.follow(ticket) {
                Followed::Accepted => Ok(Some(Sending::Done)),
                Followed::Lead(leader) => self.lead((leader, ticket), options),
                Followed::GivenUp => self.append_after_giving_up(options, line).map(Some),
            },
        };
        self.shared_sync = Some(shared_sync);
        result
    }

    fn lead(
        &mut self,
        (leader, own): (Leader<'_>, Ticket),
        options: &Options,
    ) -> Result<Option<Sending>, AppendError> {
        // Whatever happens, the next try is the sender's own.
        self.company = Company::Alone;
        match self.append_for_all((leader, own), options) {
            Ok(Batch::Done { file, end, company }) => {
                self.company = company;
                self.last = Some((file, end));
                Ok(Some(Sending::Done))
            }
            Ok(Batch::NoInbox) => self.create(options).map(Some),
            Ok(Batch::TooLate) => Ok(None),
            Ok(Batch::Again(sending)) => Ok(Some(sending)),
            // There may be room for one line where there is none for all.
            Err(AppendError::File(_)) => Ok(None),
            Err(error @ (AppendError::Lock(_) | AppendError::Full { .. })) => Err(error),
        }
    }

    /// Appends the lines of all who have handed one over with one `write`, and syncs once.
    fn append_for_all(
        &mut self,
        (leader, own): (Leader<'_>, Ticket),
        options: &Options,
    ) -> Result<Batch, AppendError> {
        let (path, mut slots) = (self.path.as_path(), Slots::default());
        leader.gather(&mut slots).context("sync", path)?;
        let held = self.lock.hold(options.lock_wait)?;
        let Some(opened) = open_inbox(path, options)? else {
            return Ok(Batch::NoInbox);
        };
        let (mut file, metadata) = (opened.file, opened.metadata);
        let id = SyncedFile::of(&metadata);
        let lines = leader.collect(&mut slots).context("sync", path)?;
        if !lines.iter().any(|line| line.is_of(own)) {
            return Ok(Batch::TooLate);
        }
        let bytes: Vec<&[u8]> = lines.iter().map(|line| slots.line(line)).collect();
        let written = append::write_lines(&mut file, (&metadata, Tail::Unknown), &bytes);
        let length = written.context("append to", path)?.len() as u64;
        let end = file.stream_position().context("append to", path)?;
        drop(held);
        let start = end - length;
        if start != metadata.len() && !follows_a_line(&file, start) {
            return Ok(Batch::Again(Sending::Uncertain));
        }
        let appended = Appended {
            file: &file,
            id,
            start,
            end,
            before: leader.synced_of(id),
            folder: Some(&self.folder),
        };
        shared_sync::sync_batch(&appended, &leader).context("sync", path)?;
        if !self.is_live(&metadata) {
            return Ok(Batch::Again(set_aside_or_gone(&file)));
        }
        Ok(Batch::Done {
            file: id,
            end,
            company: leader.publish(&lines, (id, end)),
        })
    }

    /// Appends a line that was handed over and not accepted. A leader that was stopped may be about to append it
    /// too, and holds the lock of the inbox until it has. So this waits for that lock: otherwise the same
    /// line could appear so much later that its recipient does not recognise it any more.
    fn append_after_giving_up(
        &mut self,
        options: &Options,
        line: &JsonLine,
    ) -> Result<Sending, AppendError> {
        self.company = Company::Alone;
        self.is_given_up = true;
        append::append_lines(&Target {
            path: self.path.clone(),
            lock: self.lock.path().to_path_buf(),
            lock_wait: options.lock_wait,
            durability: options.durability,
            limit: Some(options.inbox_limit),
            lines: std::slice::from_ref(line),
        })?;
        self.is_given_up = false;
        Ok(Sending::Done)
    }
}
