//! Handing a line over to whoever leads, and leading for those who did.

use super::{
    Company, LED, LOOK_AFTER, Lead, Mark, Offered, PATIENCE, SharedSync, Slot, Slots, SyncedFile,
    Ticket, new_word,
};
use crate::files::wait_word::Waited;
use std::io;
use std::time::{Duration, Instant};

/// How long a leader waits for the next line, while some of those who sent a moment ago have not handed over
/// theirs.
const NEXT_LINE: Duration = Duration::from_micros(60);
/// How long a leader waits for lines at most.
const ALL_LINES: Duration = Duration::from_millis(1);

/// What became of a line that was handed over.
pub(crate) enum Followed<'a> {
    /// It was appended and synced.
    Accepted,
    /// Nobody leads. Whoever handed it over has to, and finds its line among those that wait.
    Lead(Leader<'a>),
    /// Nobody has taken it in time, and from now on nobody takes it from its slot. A leader that was stopped
    /// may hold it. Such a leader has the lock of the inbox until its `write` is done.
    GivenUp,
}

/// Who leads for those who have handed over a line. When it is dropped, the others are woken.
pub(crate) struct Leader<'a> {
    sync: &'a SharedSync,
    lead: Option<Lead<'a>>,
    mark: Box<Mark>,
}

impl SharedSync {
    /// Hands a line over to whoever leads. `None` if that is not possible: it is too long, all slots are
    /// taken, or the leader is known to be stopped.
    pub(crate) fn offer(&self, line: &[u8]) -> Option<Ticket> {
        if line.len() > super::MOST || self.stopped_at.get().is_some() {
            return None;
        }
        let mut slot = self.slot.borrow_mut();
        if slot.is_none() {
            *slot = Slot::claim(&self.mark);
        }
        slot.as_mut()?.offer(&self.mark, line).ok()
    }

    /// Waits until the line of this ticket was accepted, or its sender has to act.
    pub(crate) fn follow(&self, ticket: Ticket) -> Followed<'_> {
        let began = Instant::now();
        let mut waited_at = None;
        loop {
            let mark = self.read();
            if mark.has_accepted(ticket) {
                return Followed::Accepted;
            }
            // See [`SharedSync::sync`].
            let is_led = mark.is_led() && waited_at != Some(mark.word);
            if !is_led && let Some(lead) = self.try_lead() {
                return self.lead_others(lead, ticket);
            }
            let is_over = began.elapsed() >= PATIENCE;
            if is_over || self.word.wait(mark.word, LOOK_AFTER) == Waited::Impossible {
                break;
            }
            waited_at = Some(mark.word);
        }
        if let Some(slot) = &*self.slot.borrow() {
            slot.withdraw(&self.mark);
        }
        let mark = self.read();
        if mark.has_accepted(ticket) {
            return Followed::Accepted;
        }
        self.stopped_at.set(Some(mark.word));
        Followed::GivenUp
    }

    fn lead_others<'a>(&'a self, lead: Lead<'a>, ticket: Ticket) -> Followed<'a> {
        self.stopped_at.set(None);
        let mark = self.read();
        if mark.has_accepted(ticket) {
            // The leader before has finished between the last look and the lock. Who has found the lock taken
            // meanwhile waits for the word.
            drop(lead);
            self.wake_others();
            return Followed::Accepted;
        }
        self.write_word(new_word() | LED);
        Followed::Lead(Leader {
            sync: self,
            lead: Some(lead),
            mark: Box::new(mark),
        })
    }
}

impl Leader<'_> {
    /// Lets others hand over their lines: those who did a moment ago are about to do so again. Who is left out
    /// now waits for two syncs.
    pub(crate) fn gather(&self, slots: &mut Slots) -> io::Result<()> {
        let began = Instant::now();
        let (mut waiting, mut last) = (0, began);
        loop {
            slots.read(&self.sync.mark)?;
            let crowd = slots.crowd(&self.mark.accepted);
            let now = Instant::now();
            if crowd.waiting > waiting {
                (waiting, last) = (crowd.waiting, now);
            }
            let is_over = now - last > NEXT_LINE || now - began > ALL_LINES;
            if is_over || crowd.waiting >= crowd.active {
                return Ok(());
            }
            std::thread::yield_now();
        }
    }

    /// The lines that wait. To be called under the lock of the inbox, which is held until they are written.
    pub(crate) fn collect(&self, slots: &mut Slots) -> io::Result<Vec<Offered>> {
        slots.read(&self.sync.mark)?;
        Ok(slots.offered(&self.mark.accepted))
    }

    /// What the mark said when the lead began.
    pub(super) fn mark(&self) -> &Mark {
        &self.mark
    }

    /// How much of a file was synced when the lead began.
    pub(crate) fn synced_of(&self, file: SyncedFile) -> Option<u64> {
        self.mark.synced_of(file)
    }

    /// Tells the others that these lines were appended, and the file synced up to `size`.
    pub(crate) fn publish(mut self, lines: &[Offered], (file, size): (SyncedFile, u64)) -> Company {
        for Ticket { slot, number } in lines.iter().map(|line| line.ticket) {
            if let Some(place) = self.mark.accepted.get_mut(slot) {
                *place = number;
            }
        }
        self.sync.publish(&self.mark, file, size);
        match self.end() {
            Company::Alone => Company::of(lines.len() > 1),
            Company::Others => Company::Others,
        }
    }

    fn end(&mut self) -> Company {
        match self.lead.take() {
            Some(lead) => self.sync.end(lead, self.mark.had_followers),
            None => Company::Alone,
        }
    }
}

impl Drop for Leader<'_> {
    fn drop(&mut self) {
        if self.lead.is_some()
            && let Some(slot) = &*self.sync.slot.borrow()
        {
            // Its sender appends the line by itself now. From the slot somebody could append it once more after
            // so many later ones that its recipient does not recognise it.
            slot.withdraw(&self.sync.mark);
        }
        self.end();
    }
}
