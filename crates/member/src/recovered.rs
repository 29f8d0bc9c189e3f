//! What a member's journal says of its earlier lives.

use crate::mail::{MailItem, given_by};
use agent::{Conversation, LlmTypes, Record};
use llm::{Block, Usage};
use protocol::{
    JournalLine, JournalRecord, MailEntry, MessageId, MessageSource, PlanRecord, Recipient, Tally,
};
use std::collections::BTreeMap;
use teamdir::{PathError, TeamDir};

/// How many ids of letters are remembered of those that were taken last. While a disk is full nobody
/// can tell the event log of them.
const LAST_TAKEN: usize = 1000;

/// All that a new life needs to know of the ones before it.
#[derive(Debug, Default)]
pub struct Recovered {
    /// The conversation so far.
    pub conversation: Conversation,
    /// Letters that were taken and not said to the model, oldest first.
    pub letters: Vec<MailItem>,
    /// How many letters there are in the journal.
    pub mail: u64,
    /// The ids of the letters that were taken last, oldest first. Whoever took them may have been
    /// killed before the event log was told.
    pub last_taken: Vec<MessageId>,
    /// How many reports were sent.
    pub reports: u64,
    /// The last words of the model, if no report has told the lead of them.
    pub unreported: Option<String>,
    /// The plan that was submitted last.
    pub plan: Option<PlanRecord>,
    /// What all lives have used of their models.
    pub tally: Tally,
    /// Background commands that were started and whose end nobody has heard of.
    pub lost_commands: Vec<String>,
    /// Records that could not be read, in words.
    pub damage: Vec<String>,
}

impl Recovered {
    /// Reads a journal.
    pub fn read(team: &TeamDir, owner: &Recipient) -> Result<Self, PathError> {
        let mut reading = Reading::default();
        let mut line_number = 0_usize;
        team.read_journal_as(owner, |_, line| {
            line_number += 1;
            if let Some(damage) = reading.line(line) {
                let damage = format!("line {line_number} of the journal: {damage}");
                reading.memory.damage.push(damage);
            }
        })?;
        Ok(reading.finish())
    }
}

#[derive(Debug, Default)]
struct Reading {
    memory: Recovered,
    /// Letters that were not said yet.
    unsaid: BTreeMap<u64, MailEntry>,
}

impl Reading {
    /// Takes in one line. Returns what is wrong with it, if something is.
    fn line(&mut self, line: JournalLine<LlmTypes>) -> Option<String> {
        match line {
            JournalLine::Known(JournalRecord::Mail(mail)) => {
                let taken = &mut self.memory.last_taken;
                taken.extend(mail.mail.iter().map(|entry| entry.id.clone()));
                if taken.len() > 2 * LAST_TAKEN {
                    taken.drain(..taken.len() - LAST_TAKEN);
                }
                for entry in mail.mail {
                    self.memory.mail += 1;
                    self.unsaid.insert(self.memory.mail, entry);
                }
            }
            JournalLine::Known(JournalRecord::Report(report)) => {
                self.memory.reports = self.memory.reports.max(report.n);
                self.memory.unreported = None;
            }
            JournalLine::Known(JournalRecord::Plan(plan)) => self.memory.plan = Some(plan),
            JournalLine::Known(JournalRecord::Conversation(record)) => {
                self.record(&record);
                self.memory.conversation.apply(record);
            }
            JournalLine::Known(
                JournalRecord::Open(_) | JournalRecord::Seal(_) | JournalRecord::Checkpoint(_),
            )
            | JournalLine::Other { .. } => {}
            JournalLine::Corrupt { reason } => return Some(reason),
        }
        None
    }

    fn record(&mut self, record: &Record) {
        for number in given_by(record) {
            self.unsaid.remove(&number);
        }
        match record {
            Record::User(user) => {
                for message in &user.messages {
                    if let Some(MessageSource::Commands(ended)) = &message.source {
                        let lost = &mut self.memory.lost_commands;
                        lost.retain(|command| !ended.contains(command));
                    }
                }
            }
            Record::Assistant(assistant) => {
                self.count(assistant.usage);
                self.memory.unreported = Some(last_words(&assistant.blocks));
            }
            Record::Result(record) => self.memory.lost_commands.extend(record.command.clone()),
            // Without a summary no model was asked.
            Record::Compaction(compaction) => {
                if compaction.usage.is_some() {
                    self.count(compaction.usage);
                }
            }
            Record::Cleared(_) | Record::Ended(_) => {}
        }
    }

    fn count(&mut self, usage: Option<Usage>) {
        add(&mut self.memory.tally, usage);
    }

    fn finish(mut self) -> Recovered {
        let letters = self.unsaid.iter();
        self.memory.letters = letters
            .map(|(number, entry)| MailItem::from_entry(*number, entry))
            .collect();
        self.memory
    }
}

/// Adds one call to a tally.
pub(crate) fn add(tally: &mut Tally, usage: Option<Usage>) {
    tally.calls += 1;
    if let Some(usage) = usage {
        tally.input += usage.input;
        tally.output += usage.output;
        tally.cache_read += usage.cache_read;
        tally.cache_write += usage.cache_write;
    }
}

fn last_words(blocks: &[Block]) -> String {
    blocks.iter().filter_map(Block::readable_text).collect()
}
