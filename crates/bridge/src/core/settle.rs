//! What follows a message: the syncs and marks that nobody who reads it waits for.
//!
//! A frame is in the outbox, synced, before it is sent, and mail is in its inbox when it was applied. What else has
//! to be kept may come a moment later, and then once for many messages:
//!
//! 1. the inboxes with mail from other hosts are synced, then `in.json` says how far their frames were applied, then
//!    the frames are acknowledged;
//! 2. the journals of the inboxes that the bridge reads are synced, then the outboxes forget which mail they hold;
//! 3. `out.json` says how far the other hosts have acknowledged the frames.
//!
//! Whoever is killed, or has a power cut, before one of these steps finds the state before it. Frames that were not
//! acknowledged come again: at most [`MOST_UNSETTLED`], so that the readers of the inboxes recognise the mail in them
//! by sender and id. Mail whose reading was not synced is read again, and is found in the outbox. Frames that
//! `out.json` does not count as acknowledged are sent again, and are recognised by their numbers.

use super::{Core, SettleError, lock};
use protocol::{AppliedMark, HostId, MAX_FRAMES_UNDER_WAY};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use teamdir::{TeamFileError, UnsyncedInboxes};

/// How long all this may wait for more of it.
const SETTLE_AFTER: Duration = Duration::from_millis(50);
/// When it is tried again after a failure.
const SETTLE_AGAIN: Duration = Duration::from_secs(1);
/// So many frames of a host at most are applied and not settled. The sender waits when twice as many are under way.
const MOST_UNSETTLED: usize = MAX_FRAMES_UNDER_WAY / 2;

/// What is not settled.
#[derive(Debug, Default)]
pub(super) struct Unsettled {
    /// When it is to be settled, if there is anything.
    due: Option<Instant>,
    pub(super) inboxes: UnsyncedInboxes,
    streams: BTreeMap<HostId, Stream>,
    /// The hosts of which all mail was read that was found last.
    pub(super) read: BTreeSet<HostId>,
}

/// How far the frames of a host were applied.
#[derive(Debug)]
struct Stream {
    applied: Option<AppliedMark>,
    /// What `in.json` says.
    settled: Option<AppliedMark>,
    /// How many frames are between the two.
    frames: usize,
}

impl Unsettled {
    /// There may be something to settle.
    pub(super) fn note(&mut self, is_there: bool) {
        if is_there {
            self.due
                .get_or_insert_with(|| Instant::now() + SETTLE_AFTER);
        }
    }

    /// A frame of a host was applied, whose stream is known. Returns whether it has to be settled now.
    pub(super) fn apply(&mut self, from: &HostId, mark: AppliedMark) -> bool {
        self.note(true);
        self.streams.get_mut(from).is_some_and(|stream| {
            stream.applied = Some(mark);
            stream.frames += 1;
            stream.frames >= MOST_UNSETTLED
        })
    }
}

impl Core {
    /// How far the frames of a host were applied here.
    pub fn applied(&mut self, peer: &HostId) -> Result<Option<AppliedMark>, TeamFileError> {
        Ok(self.stream(peer)?.applied.clone())
    }

    /// How far that is settled: so far they may be acknowledged.
    pub fn settled(&mut self, peer: &HostId) -> Result<Option<AppliedMark>, TeamFileError> {
        Ok(self.stream(peer)?.settled.clone())
    }

    fn stream(&mut self, peer: &HostId) -> Result<&Stream, TeamFileError> {
        let streams = &mut self.unsettled.streams;
        if !streams.contains_key(peer) {
            let mark = self.team.applied_mark(peer)?;
            let stream = Stream {
                applied: mark.clone(),
                settled: mark,
                frames: 0,
            };
            streams.insert(peer.clone(), stream);
        }
        Ok(streams.get(peer).expect("it was inserted"))
    }

    /// When [`Self::settle`] is to be called, if there is something to settle.
    pub fn settle_at(&mut self) -> Option<Instant> {
        let mut outboxes = self.outboxes.iter();
        let is_there = outboxes.any(|(host, outbox)| {
            let outbox = lock(outbox);
            outbox.is_mark_behind()
                || outbox.has_uncommitted() && self.unsettled.read.contains(host)
        });
        self.unsettled.note(is_there);
        self.unsettled.due
    }

    /// Settles everything that is due. What fails is tried again.
    pub fn settle_if_due(&mut self) -> Result<(), SettleError> {
        match self.settle_at().is_some_and(|due| due <= Instant::now()) {
            true => self.settle(),
            false => Ok(()),
        }
    }

    /// Settles everything. What fails is tried again.
    pub fn settle(&mut self) -> Result<(), SettleError> {
        self.unsettled.due = None;
        let settled = self.settle_applied();
        let settled = settled.and_then(|()| self.settle_collected());
        if settled.is_err() {
            self.unsettled.due = Some(Instant::now() + SETTLE_AGAIN);
        }
        settled
    }

    /// Syncs the inboxes and records how far frames were applied.
    pub(super) fn settle_applied(&mut self) -> Result<(), SettleError> {
        let Unsettled {
            inboxes, streams, ..
        } = &mut self.unsettled;
        if let Err(error) = inboxes.sync() {
            // Only writing the lines again makes them safe: their frames come again.
            for stream in streams.values_mut() {
                stream.applied.clone_from(&stream.settled);
                stream.frames = 0;
            }
            return Err(error.into());
        }
        for (host, stream) in streams {
            if let Some(mark) = stream.applied.as_ref().filter(|_| stream.frames > 0) {
                self.team.put_applied_mark(&self.guard, host, mark)?;
                stream.settled = Some(mark.clone());
                stream.frames = 0;
            }
        }
        Ok(())
    }

    /// Syncs what was read of the inboxes, and how far frames were accepted.
    fn settle_collected(&mut self) -> Result<(), SettleError> {
        for reader in self.readers.values_mut() {
            reader.sync_forwarded()?;
        }
        for (host, outbox) in &self.outboxes {
            let mut outbox = lock(outbox);
            if self.unsettled.read.contains(host) {
                outbox.readers_are_done();
            }
            outbox.save_mark()?;
        }
        Ok(())
    }
}
