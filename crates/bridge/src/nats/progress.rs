//! How far the frames to one host are at the broker: a pure decision about what is published next.

use protocol::{Frame, TreeFrame};

/// After so many answers in a row that say the same, what was published is published again.
const STALLED_AFTER: u32 = 4;
/// The most bytes of frames that are published without an answer of the broker.
const MOST_BYTES: usize = 4 << 20;

/// How far the frames to one host were published, in this connection. The mark of the outbox is behind it: it
/// moves when the other host has applied them, because a broker may lose what it has accepted.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Progress {
    published: u64,
    /// How often everything was published again. What the broker says of frames from before does not count.
    beginnings: u64,
    /// The last number that the other host said it has applied, and how often in a row it did.
    said: (u64, u32),
}

impl Progress {
    /// What to publish next of those that are not applied, oldest first.
    pub(super) fn next<'a>(
        &self,
        pending: impl Iterator<Item = &'a Frame>,
        most: usize,
    ) -> Vec<Frame> {
        let mut bytes = 0;
        pending
            .filter(|frame| frame.seq > self.published)
            .take(most)
            .take_while(|frame| {
                let fits = bytes < MOST_BYTES;
                bytes += size_about(frame);
                fits
            })
            .cloned()
            .collect()
    }

    /// To be kept with frames that are published now.
    pub(super) const fn beginnings(&self) -> u64 {
        self.beginnings
    }

    /// Frames were published that were handed over at [`Self::beginnings`].
    pub(super) fn publish(&mut self, beginnings: u64, up_to: u64) {
        if beginnings == self.beginnings {
            self.published = self.published.max(up_to);
        }
    }

    pub(super) const fn published(&self) -> u64 {
        self.published
    }

    /// The broker has lost something: everything that is not applied is published again.
    pub(super) fn start_over(&mut self) {
        self.begin_at(0);
    }

    /// The other host says how far it has applied the frames; `misses` if a later one came to it. Returns
    /// whether frames are published again.
    pub(super) fn hear(&mut self, applied: u64, misses: bool) -> bool {
        if self.published <= applied {
            self.said = (applied, 0);
            return false;
        }
        let again = match self.said {
            (known, times) if known == applied => times + 1,
            _ => 1,
        };
        self.said = (applied, again);
        if misses && again > 1 || again >= STALLED_AFTER {
            self.begin_at(applied);
            return true;
        }
        false
    }

    fn begin_at(&mut self, applied: u64) {
        self.published = applied;
        self.beginnings += 1;
        self.said = (applied, 0);
    }
}

fn size_about(frame: &Frame) -> usize {
    match &frame.payload {
        protocol::Payload::Mail { line, .. } => {
            let content = line.get("content").and_then(serde_json::Value::as_str);
            content.map_or(512, |text| 512 + text.len())
        }
        protocol::Payload::Tree(TreeFrame::Work(part) | TreeFrame::Main(part)) => {
            1024 + part.data.len()
        }
        protocol::Payload::Members(said) => 512 + 256 * said.members.len(),
        payload @ (protocol::Payload::Board(_)
        | protocol::Payload::Request { .. }
        | protocol::Payload::Answer { .. }
        | protocol::Payload::AnswerRefused { .. }
        | protocol::Payload::Spawn(_)
        | protocol::Payload::Tree(_)) => {
            serde_json::to_vec(payload).map_or(512, |bytes| 512 + bytes.len())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_arrive_is_published_again() {
        let mut progress = Progress::default();
        progress.publish(0, 9);
        assert!(!progress.hear(4, true));
        assert!(!progress.hear(5, true));
        assert!(progress.hear(5, true));
        assert_eq!(progress.published(), 5);
        progress.publish(0, 9);
        assert_eq!(progress.published(), 5, "that was published before");
        let mut stalled = Progress::default();
        stalled.publish(0, 9);
        let again: Vec<bool> = (0..STALLED_AFTER).map(|_| stalled.hear(5, false)).collect();
        assert_eq!(again, [false, false, false, true]);
        assert_eq!(stalled.published(), 5);
    }

    #[test]
    fn what_has_arrived_is_not_published_again() {
        let mut progress = Progress::default();
        progress.publish(0, 9);
        for _ in 0..9 {
            assert!(!progress.hear(9, false));
        }
        assert_eq!(progress.published(), 9);
    }
}
