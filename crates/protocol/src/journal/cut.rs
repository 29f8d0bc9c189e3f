//! The record with which a journal begins after it was cut.

use super::{MailEntry, PlanRecord, SessionMark};
use crate::{Incarnation, MessageId, MessageSource, Tally};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// How many ids of prompts are remembered as given: the roster holds only the newest.
const PROMPTS: usize = 16;

/// The journal was cut: the records so far are in an archive, and this is what a restart needs of them.
/// A checkpoint and the compaction for whose sake the journal was cut follow.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CutRecord {
    /// The file under `archives/` that has the records.
    pub archive: ArchiveName,
    /// How many messages they have.
    pub mail: u64,
    /// The messages among them that the model was not given yet, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending: Vec<PendingMail>,
    pub given: GivenMessages,
    /// How many reports were sent.
    pub reports: u64,
    /// The last text of the model, if it was not reported to the lead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreported: Option<String>,
    /// The plan that was submitted last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanRecord>,
    /// What all incarnations have used of their models.
    pub tally: Tally,
    /// Background commands that were started and whose end nobody has heard of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// Whether the model has something to answer.
    pub waiting: bool,
    pub partial: PartialReply,
    /// Which session the conversation is, if the member has sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionMark>,
}

/// A message that was received and not given to the model yet.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PendingMail {
    /// Its place among all mail of the member, from 1 on.
    pub number: u64,
    pub id: MessageId,
    /// As in [`MailEntry`].
    pub line: Box<RawValue>,
}

impl PendingMail {
    pub fn new(number: u64, entry: MailEntry) -> Self {
        let MailEntry { id, line } = entry;
        Self { number, id, line }
    }

    pub fn into_entry(self) -> (u64, MailEntry) {
        let Self { number, id, line } = self;
        (number, MailEntry { id, line })
    }
}

/// The parts of a reply that came so far, because it was cut off or paused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartialReply {
    /// Their text for a reader.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// How many replies in a row were cut off, those with a tool use included.
    #[serde(default)]
    pub cuts: u32,
}

/// The messages that must not be given to the model again. Its size does not grow with their number as long
/// as mail is given in about the order in which it came.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenMessages {
    /// All mail up to this number was given.
    mail_up_to: u64,
    /// What was given of the later mail.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    mail: BTreeSet<u64>,
    /// The prompts that were given last, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    prompts: Vec<MessageId>,
}

impl GivenMessages {
    /// Whether a message from this source must not be given to the model again.
    pub fn contains(&self, source: &MessageSource) -> bool {
        match source {
            MessageSource::Mail(number) => *number <= self.mail_up_to || self.mail.contains(number),
            MessageSource::Prompt(id) => self.prompts.contains(id),
            MessageSource::Commands(_) | MessageSource::Reminder | MessageSource::Continuation => {
                false
            }
        }
    }

    /// Adds a message. Returns whether it may be given to the model.
    pub fn add(&mut self, source: &MessageSource) -> bool {
        if self.contains(source) {
            return false;
        }
        match source {
            MessageSource::Mail(number) => self.add_mail(*number),
            MessageSource::Prompt(id) => {
                self.prompts.push(id.clone());
                let too_many = self.prompts.len().saturating_sub(PROMPTS);
                self.prompts.drain(..too_many);
            }
            MessageSource::Commands(_) | MessageSource::Reminder | MessageSource::Continuation => {}
        }
        true
    }

    /// Adds mail that a tool showed to the model.
    pub fn add_mail(&mut self, number: u64) {
        if number > self.mail_up_to {
            self.mail.insert(number);
        }
        while self.mail.remove(&(self.mail_up_to + 1)) {
            self.mail_up_to += 1;
        }
    }
}

/// The name of a part of a journal under `archives/`: the incarnation that cut it off, and a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct ArchiveName {
    pub incarnation: Incarnation,
    pub number: u64,
}

/// A text that names no archive.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is not the name of an archive, such as \"3-1\"")]
pub struct NotAnArchive(String);

impl fmt::Display for ArchiveName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.incarnation, self.number)
    }
}

impl FromStr for ArchiveName {
    type Err = NotAnArchive;

    fn from_str(text: &str) -> Result<Self, NotAnArchive> {
        let parse = || {
            let (incarnation, number) = text.split_once('-')?;
            Some(Self {
                incarnation: Incarnation(incarnation.parse().ok()?),
                number: number.parse().ok()?,
            })
        };
        // Only what is written as a name is written reads as one.
        parse()
            .filter(|name| name.to_string() == text)
            .ok_or_else(|| NotAnArchive(text.to_owned()))
    }
}

impl From<ArchiveName> for String {
    fn from(name: ArchiveName) -> Self {
        name.to_string()
    }
}

impl TryFrom<String> for ArchiveName {
    type Error = NotAnArchive;

    fn try_from(text: String) -> Result<Self, NotAnArchive> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mail_is_given_once_in_whatever_order() {
        let mut given = GivenMessages::default();
        for number in [1, 2, 4, 3, 7] {
            assert!(given.add(&MessageSource::Mail(number)), "{number}");
            assert!(!given.add(&MessageSource::Mail(number)), "{number}");
        }
        assert_eq!(given.mail_up_to, 4);
        assert_eq!(given.mail, BTreeSet::from([7]));
        assert!(!given.contains(&MessageSource::Mail(5)));
    }

    #[test]
    fn a_hundred_thousand_messages_take_no_more_room_than_ten() {
        let mut given = GivenMessages::default();
        for number in 1..=100_000 {
            given.add(&MessageSource::Mail(number));
        }
        assert!(given.mail.is_empty());
        let prompt = |n: u32| MessageSource::Prompt(MessageId::new(&n.to_string()).unwrap());
        for n in 0..100 {
            assert!(given.add(&prompt(n)));
            assert!(!given.add(&prompt(n)));
        }
        assert_eq!(given.prompts.len(), PROMPTS);
    }

    #[test]
    fn a_name_of_an_archive_is_no_path() {
        let name: ArchiveName = "3-12".parse().unwrap();
        assert_eq!((name.incarnation, name.number), (Incarnation(3), 12));
        for text in ["", "3", "3-1/..", "../3-1", "03-1", "+3-1", "3--1"] {
            assert!(text.parse::<ArchiveName>().is_err(), "{text}");
        }
    }
}
