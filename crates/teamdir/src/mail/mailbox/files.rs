//! Which files the mailbox reads: the one that has the inbox's name, and those that were set aside; and
//! their numbers, which are used up once.

use super::{Mailbox, ReceiveError};
use crate::error::{Context, PathError};
use crate::files::{self, FileId};
use crate::layout::Layout;
use crate::mail::segment::Segment;
use crate::members::journal::Journal;
use crate::team_dir::TeamDir;
use protocol::{JournalLine, JournalRecord, Recipient, SealRecord};
use std::io;
use std::time::Instant;

impl Mailbox {
    /// Makes the live file the one that the inbox's name means now. Returns whether there may be
    /// something in it that was not read.
    pub(super) fn follow_the_name(&mut self, journal: &mut Journal) -> Result<bool, ReceiveError> {
        let found = match std::fs::symlink_metadata(&self.inbox) {
            Ok(metadata) => Some(metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                return Err(PathError::new("look at the inbox", &self.inbox, error).into());
            }
        };
        if let Some(live) = &self.live {
            let same = found.as_ref().filter(|found| FileId::of(found) == live.id);
            let intact = same.map(|found| live.is_intact(found.len()));
            match intact.transpose().context("read the inbox", &self.inbox)? {
                Some(true) => return Ok(same.is_some_and(|found| found.len() > live.end)),
                // Somebody cut the file or wrote it anew: what it holds now is new, at places that
                // were read before.
                Some(false) => {
                    self.record_seal(live.number, journal)?;
                    self.live = None;
                }
                // Somebody moved, deleted or replaced the file. What it held may still be read
                // from the open file; whatever has the name now is another one.
                None => {
                    self.give_up_live(journal)?;
                    self.missing_since = found.is_none().then(Instant::now);
                }
            }
        }
        if found.is_some() {
            self.open_live(journal)?;
        }
        Ok(found.is_some())
    }

    pub(super) fn give_up_live(&mut self, journal: &mut Journal) -> Result<(), ReceiveError> {
        let Some(number) = self.live.as_ref().map(|live| live.number) else {
            return Ok(());
        };
        self.record_seal(number, journal)?;
        if let Some(mut segment) = self.live.take() {
            let path = self.team.layout.segment(&self.owner, number);
            let found = std::fs::symlink_metadata(path);
            segment.has_name = found.is_ok_and(|found| FileId::of(&found) == segment.id);
            segment.set_aside = Some(Instant::now());
            self.aside.insert(number, segment);
        }
        self.aside_checked_at = None;
        Ok(())
    }

    fn open_live(&mut self, journal: &mut Journal) -> Result<(), ReceiveError> {
        let number = self.state.sealed + 1;
        let path = self.inbox.as_path();
        let mut segment = match Segment::open(path, number) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            result => result.context("open the inbox", path)?,
        };
        if let Some(position) = self.state.positions.get(&number) {
            if segment.is_file_of(position) {
                if !segment.resume(position).context("read the inbox", path)? {
                    self.know_all_of(number)?;
                }
            } else {
                // The file this number was given to has gone while nobody was here to see it.
                self.record_seal(number, journal)?;
                segment.number = number + 1;
            }
        }
        // A file that was moved away and back is not read twice from now on.
        let id = segment.id;
        self.aside
            .retain(|_, aside| aside.has_name || aside.id != id);
        self.live = Some(segment);
        Ok(())
    }

    /// A file has to be read again from its start. It may hold more messages of a sender than are
    /// remembered; the journal has them all.
    fn know_all_of(&mut self, segment: u64) -> Result<(), PathError> {
        let seen = &mut self.state.seen;
        self.team.read_history(&self.owner, |_, line| {
            if let JournalLine::Known(JournalRecord::Mail(mail)) = line
                && mail.position.segment == segment
            {
                seen.know(mail.mail.iter().map(crate::mail::state::fingerprint));
            }
        })
    }

    pub(super) fn find_files_set_aside(&mut self, journal: &mut Journal) -> Result<(), PathError> {
        for number in self.team.segments(&self.owner)? {
            let path = self.team.layout.segment(&self.owner, number);
            let mut segment = match Segment::open(&path, number) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                result => result.context("open the inbox", &path)?,
            };
            if let Some(position) = self.state.positions.get(&number)
                && !segment.resume(position).context("read the inbox", &path)?
            {
                self.know_all_of(number)?;
            }
            // Members may live for less than the grace: it does not begin again with each.
            let age = segment.age().context("look at", &path)?;
            let age = age.min(self.team.options.segment_grace);
            let now = Instant::now();
            segment.set_aside = Some(now.checked_sub(age).unwrap_or(now));
            self.aside.insert(number, segment);
            // The rename happened even if its record did not.
            if number > self.state.sealed {
                self.record_seal(number, journal)?;
            }
        }
        // The journal does not say which files were deleted.
        let (aside, sealed) = (&self.aside, self.state.sealed);
        let positions = &mut self.state.positions;
        positions.retain(|number, _| *number > sealed || aside.contains_key(number));
        Ok(())
    }

    /// Uses up a number, and says so in the journal. The number is used up even if the journal
    /// cannot take the record now: then [`Self::record_owed_seal`] makes up for it.
    pub(super) fn record_seal(
        &mut self,
        segment: u64,
        journal: &mut Journal,
    ) -> Result<(), PathError> {
        self.state.seal(segment);
        self.record_owed_seal(journal)
    }

    pub(super) fn record_owed_seal(&mut self, journal: &mut Journal) -> Result<(), PathError> {
        let segment = self.state.sealed;
        if segment > self.recorded_seal {
            journal.append_unsynced(&<JournalRecord>::Seal(SealRecord { segment }))?;
            self.recorded_seal = segment;
        }
        Ok(())
    }
}

impl TeamDir {
    /// The numbers of the files set aside for `owner`, in order.
    pub(crate) fn segments(&self, owner: &Recipient) -> Result<Vec<u64>, PathError> {
        let dir = self.layout.inbox_dir();
        let fail = |error| PathError::new("list", &dir, error);
        let mut numbers = Vec::new();
        for entry in files::list(&dir).map_err(fail)? {
            let name = entry.map_err(fail)?.file_name();
            let number = name
                .to_str()
                .and_then(|name| Layout::segment_number(owner, name));
            numbers.extend(number);
        }
        numbers.sort_unstable();
        Ok(numbers)
    }
}
