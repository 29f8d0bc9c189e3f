//! Answers to other hosts, which are bounded whatever they ask.

use super::{ApplyError, Core, OUTBOX_LIMIT};
use protocol::{BoardFrame, Frame, HostId, Payload, SpawnFrame, TreeFrame};
use teamdir::PathError;

/// A host for which more bytes wait is answered no more until it has taken some. Nothing but answers makes it so many.
const ANSWERS_LIMIT: usize = 4 * OUTBOX_LIMIT;

impl Core {
    /// Puts an answer into the outbox, unless it waits there. Returns whether there is one for this host.
    pub(super) fn answer(&self, to: &HostId, payload: Payload) -> Result<bool, PathError> {
        let Some(mut outbox) = self.outbox(to) else {
            return Ok(false);
        };
        let is_there = outbox.pending().any(|frame| frame.payload == payload);
        if !is_there {
            outbox.append(vec![payload])?;
        }
        Ok(true)
    }

    /// A frame that is answered waits where it is if its host takes no answers: it comes again.
    pub(super) fn check_answers(&self, frame: &Frame) -> Result<(), ApplyError> {
        let outbox = self.outbox(&frame.from);
        let is_full = outbox.is_some_and(|outbox| outbox.pending_bytes() > ANSWERS_LIMIT);
        match is_full && is_answered(&frame.payload) {
            true => Err(ApplyError::TooMuchWaits(frame.from.clone())),
            false => Ok(()),
        }
    }
}

const fn is_answered(payload: &Payload) -> bool {
    match payload {
        Payload::Board(BoardFrame::Ask(_))
        | Payload::Spawn(SpawnFrame::Ask(_))
        | Payload::Answer { .. }
        | Payload::Tree(TreeFrame::Work(_) | TreeFrame::Main(_)) => true,
        Payload::Mail { .. }
        | Payload::Members(_)
        | Payload::Board(_)
        | Payload::Request { .. }
        | Payload::AnswerRefused { .. }
        | Payload::Spawn(_)
        | Payload::Tree(_) => false,
    }
}
