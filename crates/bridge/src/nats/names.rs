//! The names of a team at a broker: its stream, and the subjects of what is published.
//!
//! The host that publishes stands at a fixed place of each subject, so that the permissions of a NATS user can
//! bind it to one host.

use protocol::{Frame, HostId, StreamEpoch};
use std::fmt::Write;

/// The names of one team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Names {
    team: String,
}

/// One part of a frame, as its subject says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PartName {
    pub(super) to: HostId,
    pub(super) from: HostId,
    pub(super) epoch: StreamEpoch,
    pub(super) seq: u64,
    /// From 0.
    pub(super) part: usize,
    /// How many parts there are.
    pub(super) of: usize,
}

impl Names {
    /// The name of a team may have characters that a subject may not.
    pub(super) fn new(team: &str) -> Self {
        let mut name = String::new();
        for byte in team.bytes() {
            if byte.is_ascii_alphanumeric() || byte == b'-' {
                name.push(char::from(byte));
            } else {
                // Writing to a string does not fail.
                let _ = write!(name, "_{byte:02x}");
            }
        }
        Self { team: name }
    }

    pub(super) fn stream(&self) -> String {
        format!("team-lead-{}", self.team)
    }

    /// What the stream stores.
    pub(super) fn all_frames(&self) -> String {
        format!("team-lead.{}.frame.>", self.team)
    }

    pub(super) fn frames_to(&self, to: &HostId) -> String {
        format!("team-lead.{}.frame.{to}.>", self.team)
    }

    /// The frames of one part for `to`.
    pub(super) fn whole_frames_to(&self, to: &HostId) -> String {
        format!("team-lead.{}.frame.{to}.*.*.*.0.1", self.team)
    }

    /// All that `from` publishes for `to`.
    pub(super) fn frames(&self, to: &HostId, from: &HostId) -> String {
        format!("team-lead.{}.frame.{to}.{from}.>", self.team)
    }

    pub(super) fn part(&self, frame: &Frame, part: usize, of: usize) -> String {
        let Frame {
            to,
            from,
            epoch,
            seq,
            ..
        } = frame;
        format!(
            "team-lead.{}.frame.{to}.{from}.{epoch}.{seq}.{part}.{of}",
            self.team
        )
    }

    pub(super) fn parse_part(&self, subject: &str) -> Option<PartName> {
        let words: Vec<&str> = subject.split('.').collect();
        let ["team-lead", team, "frame", to, from, epoch, seq, part, of] = words[..] else {
            return None;
        };
        let part = PartName {
            to: HostId::new(to).ok()?,
            from: HostId::new(from).ok()?,
            epoch: StreamEpoch::new(epoch).ok()?,
            seq: seq.parse().ok()?,
            part: part.parse().ok()?,
            of: of.parse().ok()?,
        };
        (team == self.team && part.part < part.of).then_some(part)
    }

    /// That a host is there.
    pub(super) fn hello(&self, from: &HostId) -> String {
        format!("team-lead.{}.hello.{from}", self.team)
    }

    pub(super) fn hellos(&self) -> String {
        format!("team-lead.{}.hello.*", self.team)
    }

    /// How far `from` has applied the frames of `to`.
    pub(super) fn note(&self, to: &HostId, from: &HostId) -> String {
        format!("team-lead.{}.note.{to}.{from}", self.team)
    }

    pub(super) fn notes_to(&self, to: &HostId) -> String {
        format!("team-lead.{}.note.{to}.*", self.team)
    }

    /// Asks `to` for a note.
    pub(super) fn ask(&self, to: &HostId, from: &HostId) -> String {
        format!("team-lead.{}.ask.{to}.{from}", self.team)
    }

    pub(super) fn asks_to(&self, to: &HostId) -> String {
        format!("team-lead.{}.ask.{to}.*", self.team)
    }

    /// Answered by the bridge of a host, so that a second one of the name notices it.
    pub(super) fn here(&self, host: &HostId) -> String {
        format!("team-lead.{}.here.{host}", self.team)
    }
}

/// Who has published on a subject that ends with its host.
pub(super) fn publisher(subject: &str) -> Option<HostId> {
    HostId::new(subject.rsplit('.').next()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_team_is_one_word_of_a_subject() {
        assert_eq!(Names::new("a.b *>").stream(), "team-lead-a_2eb_20_2a_3e");
        assert_ne!(Names::new("a_2eb"), Names::new("a.b"));
    }

    #[test]
    fn the_subject_of_a_part_says_whose_it_is() {
        let names = Names::new("default");
        let subject = "team-lead.default.frame.gpu1.laptop.0123456789.7.0.2";
        let part = names.parse_part(subject).expect("a part");
        assert_eq!((part.seq, part.part, part.of), (7, 0, 2));
        assert_eq!((part.to.as_str(), part.from.as_str()), ("gpu1", "laptop"));
        for wrong in [
            "team-lead.default.frame.gpu1.laptop.0123456789.7.2.2",
            "team-lead.other.frame.gpu1.laptop.0123456789.7.0.1",
            "team-lead.default.frame.gpu1.laptop.0123456789.x.0.1",
            "team-lead.default.frame.gpu1",
        ] {
            assert_eq!(names.parse_part(wrong), None, "{wrong}");
        }
    }
}
