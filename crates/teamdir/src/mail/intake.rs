//! Decodes the bytes of an inbox into messages: a pure function.

use crate::files::hex;
use crate::mail::seen::{Fingerprint, Seen, Verdict};
use protocol::{Line, MAX_LINE_BYTES, MailEntry, MessageId, Quarantined, decode_line, salvage};
use serde_json::value::RawValue;
use std::collections::HashSet;

/// Where some bytes come from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) inbox: &'a str,
    pub(crate) segment: u64,
    pub(crate) offset: u64,
}

/// What was found in some bytes of an inbox.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) entries: Vec<MailEntry>,
    pub(crate) fingerprints: Vec<Fingerprint>,
    /// Whether one of the messages is a request or an answer.
    pub(crate) has_control: bool,
    pub(crate) bad: Vec<Quarantined>,
    pub(crate) notes: Vec<String>,
    /// Whether something was left out. That must be recorded: when the place is read again the
    /// message may be forgotten.
    pub(crate) repeats: bool,
}

impl Batch {
    /// Whether there is nothing worth recording: only blank lines.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.bad.is_empty() && !self.repeats
    }
}

/// Reads whole lines, leaving out what was seen before.
pub(crate) fn take(bytes: &[u8], place: Place<'_>, seen: &Seen) -> Batch {
    let mut intake = Intake {
        place,
        seen,
        fresh: HashSet::new(),
        batch: Batch::default(),
    };
    let mut offset = place.offset;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        intake.line(line.strip_suffix(b"\n").unwrap_or(line), offset);
        offset += line.len() as u64;
    }
    intake.batch
}

struct Intake<'a> {
    place: Place<'a>,
    seen: &'a Seen,
    /// What this batch itself has shown so far.
    fresh: HashSet<Fingerprint>,
    batch: Batch,
}

impl Intake<'_> {
    fn line(&mut self, bytes: &[u8], offset: u64) {
        if bytes.len() > 2 * MAX_LINE_BYTES {
            let reason = format!("a line of {} bytes is too long", bytes.len());
            return self.quarantine(bytes, offset, reason);
        }
        let line = decode_line(bytes);
        let reason = match line {
            Line::Corrupt { reason } => reason,
            Line::Blank => return,
            Line::Message(_) | Line::Unknown(_) | Line::Text(_) => {
                return self.deliver(line, bytes, offset);
            }
        };
        match salvage(bytes) {
            Some(at) => {
                let (fragment, rest) = bytes.split_at(at);
                self.quarantine(fragment, offset, format!("a fragment of a line: {reason}"));
                self.line(rest, offset + at as u64);
            }
            None => self.quarantine(bytes, offset, reason),
        }
    }

    fn deliver(&mut self, line: Line, bytes: &[u8], offset: u64) {
        let own_id = match &line {
            Line::Message(message) => message.id.clone(),
            Line::Unknown(unknown) => unknown.id(),
            Line::Text(_) | Line::Corrupt { .. } | Line::Blank => None,
        };
        let id = own_id.unwrap_or_else(|| self.made_id(offset));
        let raw = match &line {
            Line::Text(text) => serde_json::value::to_raw_value(text),
            _ => serde_json::from_slice::<&RawValue>(bytes.trim_ascii()).map(ToOwned::to_owned),
        };
        let raw = match raw {
            Ok(raw) => raw,
            Err(error) => return self.quarantine(bytes, offset, error.to_string()),
        };
        let fingerprint = Fingerprint::of(&line, id.as_str());
        if !self.fresh.insert(fingerprint.clone()) {
            self.batch.repeats = true;
            return;
        }
        match self.seen.verdict(&fingerprint) {
            Verdict::Repeat => {
                // While a file is read again its old position must stay until something new comes:
                // it makes the next process, too, know all of the file.
                self.batch.repeats |= !self.seen.is_read_again(&fingerprint);
                return;
            }
            Verdict::New => {}
            Verdict::Reused => self.note(format!("the id {id} came again with another text")),
            Verdict::Shared => self.note(format!("the id {id} came from another sender before")),
        }
        self.batch.fingerprints.push(fingerprint);
        self.batch.has_control |= match &line {
            Line::Message(message) => message.body.is_control(),
            Line::Unknown(_) | Line::Text(_) | Line::Corrupt { .. } | Line::Blank => false,
        };
        self.batch.entries.push(MailEntry { id, line: raw });
    }

    fn note(&mut self, text: String) {
        self.batch.notes.push(text);
    }

    /// An identifier for a line that has none. Segment numbers are never used twice, so neither
    /// is this; and reading the same place again gives the same.
    fn made_id(&self, offset: u64) -> MessageId {
        let text = format!("@{}.{offset}", self.place.segment);
        MessageId::new(&text).expect("digits are a valid id")
    }

    fn quarantine(&mut self, bytes: &[u8], offset: u64, reason: String) {
        let raw = String::from_utf8_lossy(bytes).into_owned();
        let raw_hex = std::str::from_utf8(bytes).is_err().then(|| hex(bytes));
        self.batch.bad.push(Quarantined {
            id: format!("{}/{}/{offset}", self.place.inbox, self.place.segment),
            reason,
            raw,
            raw_hex,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn place(offset: u64) -> Place<'static> {
        Place {
            inbox: "alice",
            segment: 7,
            offset,
        }
    }

    fn ids(batch: &Batch) -> Vec<&str> {
        batch.entries.iter().map(|r| r.id.as_str()).collect()
    }

    #[test]
    fn each_line_becomes_exactly_one_thing() {
        let text = concat!(
            "{\"id\":\"1\",\"from\":\"bob\",\"content\":\"a\"}\n",
            "\n",
            "words\n",
            "{\"type\":\"poke\"}\n",
            "{\"broken\n",
            "{\"id\":\"1\",\"from\":\"bob\",\"content\":\"a\"}\n",
        );
        let batch = take(text.as_bytes(), place(100), &Seen::default());
        assert_eq!(ids(&batch), ["1", "@7.139", "@7.145"]);
        assert_eq!(batch.bad.len(), 1);
        assert_eq!(batch.bad[0].id, "alice/7/161");
    }

    #[test]
    fn a_fragment_is_set_apart_from_the_line_glued_to_it() {
        let text = "{\"id\":\"0\",\"con{\"id\":\"1\",\"content\":\"a\"}\n";
        let batch = take(text.as_bytes(), place(0), &Seen::default());
        assert_eq!(ids(&batch), ["1"]);
        assert_eq!(batch.bad[0].raw, "{\"id\":\"0\",\"con");
    }

    proptest! {
        /// Every byte is delivered, quarantined, blank or a repeat, whatever was written.
        #[test]
        fn no_byte_is_dropped(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let batch = take(&bytes, place(0), &Seen::default());
            let mut kept: Vec<String> = batch.bad.iter().map(|bad| bad.raw.clone()).collect();
            kept.extend(batch.entries.iter().map(|entry| match entry.decode() {
                Line::Text(text) => text,
                other => format!("{other:?}"),
            }));
            for line in bytes.split(|byte| *byte == b'\n') {
                let text = String::from_utf8_lossy(line.trim_ascii()).into_owned();
                if text.is_empty() || text.starts_with('{') {
                    continue;
                }
                prop_assert!(kept.contains(&text), "{text:?} is in none of {kept:?}");
            }
        }

        /// Reading in pieces, cut at any line, finds the same as reading at once.
        #[test]
        fn where_batches_are_cut_makes_no_difference(
            lines in proptest::collection::vec("[a-z{}\"]{0,12}", 0..20),
            cut in any::<proptest::sample::Index>(),
        ) {
            let whole: String = lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
            let at = cut.index(lines.len() + 1);
            let first: String = lines[..at].iter().flat_map(|line| [line.as_str(), "\n"]).collect();
            let second = whole.strip_prefix(first.as_str()).unwrap();
            let seen = Seen::default();
            let once = take(whole.as_bytes(), place(0), &seen);
            let mut twice = take(first.as_bytes(), place(0), &seen);
            let rest = take(second.as_bytes(), place(first.len() as u64), &seen);
            twice.entries.extend(rest.entries);
            twice.bad.extend(rest.bad);
            let read = |batch: &Batch| -> Vec<(MessageId, Line)> {
                batch.entries.iter().map(|entry| (entry.id.clone(), entry.decode())).collect()
            };
            prop_assert_eq!(read(&once), read(&twice));
            prop_assert_eq!(once.bad, twice.bad);
        }
    }
}
