//! What a member's journal says about earlier incarnations.

use crate::mail::{MailItem, given_by};
use agent::{Conversation, LlmTypes, Record};
use llm::{Block, Usage};
use protocol::{
    JournalLine, JournalRecord, MailEntry, MessageId, MessageSource, PlanRecord, Recipient, Tally,
};
use std::collections::BTreeMap;
use teamdir::{PathError, TeamDir};

/// How many ids of received mail are kept. While a disk is full nobody can write them to
/// the event log.
const LAST_TAKEN: usize = 1000;

/// What a new incarnation takes over from the earlier ones.
#[derive(Debug, Default)]
pub struct Recovered {
    /// The conversation so far.
    pub conversation: Conversation,
    /// Mail that was received and not given to the model, oldest first.
    pub pending_mail: Vec<MailItem>,
    /// How many messages the journal has.
    pub mail: u64,
    /// The ids of the mail that was received last, oldest first. The process may have been killed
    /// before it wrote them to the event log.
    pub last_taken: Vec<MessageId>,
    /// How many reports were sent.
    pub reports: u64,
    /// The last text of the model, if it was not reported to the lead.
    pub unreported: Option<String>,
    /// The plan that was submitted last.
    pub plan: Option<PlanRecord>,
    /// What all incarnations have used of their models.
    pub tally: Tally,
    /// Background commands that were started and whose end nobody has heard of.
    pub lost_commands: Vec<String>,
    /// Records that could not be read, with the reason.
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
                reading.recovered.damage.push(damage);
            }
        })?;
        Ok(reading.finish())
    }
}

#[derive(Debug, Default)]
struct Reading {
    recovered: Recovered,
    /// Mail that was not given to the model yet.
    undelivered: BTreeMap<u64, MailEntry>,
}

impl Reading {
    /// Takes in one line. Returns what is wrong with it, if something is.
    fn line(&mut self, line: JournalLine<LlmTypes>) -> Option<String> {
        match line {
            JournalLine::Known(JournalRecord::Mail(mail)) => {
                let taken = &mut self.recovered.last_taken;
                taken.extend(mail.mail.iter().map(|entry| entry.id.clone()));
                if taken.len() > 2 * LAST_TAKEN {
                    taken.drain(..taken.len() - LAST_TAKEN);
                }
                for entry in mail.mail {
                    self.recovered.mail += 1;
                    self.undelivered.insert(self.recovered.mail, entry);
                }
            }
            JournalLine::Known(JournalRecord::Report(report)) => {
                self.recovered.reports = self.recovered.reports.max(report.n);
                self.recovered.unreported = None;
            }
            JournalLine::Known(JournalRecord::Plan(plan)) => self.recovered.plan = Some(plan),
            JournalLine::Known(JournalRecord::Conversation(record)) => {
                self.record(&record);
                self.recovered.conversation.apply(record);
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
            self.undelivered.remove(&number);
        }
        match record {
            Record::User(user) => {
                for message in &user.messages {
                    if let Some(MessageSource::Commands(ended)) = &message.source {
                        let lost = &mut self.recovered.lost_commands;
                        lost.retain(|command| !ended.contains(command));
                    }
                }
            }
            Record::Assistant(assistant) => {
                self.count(assistant.usage);
                self.recovered.unreported = Some(last_text(&assistant.blocks));
            }
            Record::Result(record) => self.recovered.lost_commands.extend(record.command.clone()),
            // Without a summary no model was asked.
            Record::Compaction(compaction) => {
                if compaction.usage.is_some() {
                    self.count(compaction.usage);
                }
            }
            Record::Asked(_) | Record::Started(_) | Record::Cleared(_) | Record::Ended(_) => {}
        }
    }

    fn count(&mut self, usage: Option<Usage>) {
        add(&mut self.recovered.tally, usage);
    }

    fn finish(mut self) -> Recovered {
        let items = self.undelivered.iter();
        self.recovered.pending_mail = items
            .map(|(number, entry)| MailItem::new(*number, entry.decode()))
            .collect();
        self.recovered
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

fn last_text(blocks: &[Block]) -> String {
    blocks.iter().filter_map(Block::readable_text).collect()
}
