//! What a member's journal says about earlier incarnations.

use crate::mail::{MailItem, given_by};
use agent::{Conversation, LlmTypes, Record};
use llm::{Block, Usage};
use protocol::{
    ArchiveName, CutRecord, JournalLine, JournalRecord, MailEntry, MessageId, MessageSource,
    PendingMail, PlanRecord, Recipient, Tally,
};
use std::collections::{BTreeMap, VecDeque};
use teamdir::{PathError, TeamDir};

/// How many ids of received mail are kept. While a disk is full nobody can write them to
/// the event log.
const LAST_TAKEN: usize = 1000;

/// What a new incarnation takes over from the earlier ones.
#[derive(Debug, Default)]
pub struct Recovered {
    /// The conversation so far.
    pub conversation: Conversation,
    /// Mail that was received and not given to the model, by its number.
    pub pending_mail: BTreeMap<u64, MailEntry>,
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
        let mut recovered = Self::default();
        let mut line_number = 0_usize;
        team.read_journal_as(owner, |_, line| {
            line_number += 1;
            if let Some(damage) = recovered.line(line) {
                let damage = format!("line {line_number} of the journal: {damage}");
                recovered.damage.push(damage);
            }
        })?;
        Ok(recovered)
    }

    /// What has to be kept of the journal when it is cut.
    pub fn into_cut(self, archive: ArchiveName) -> CutRecord {
        let pending = self.pending_mail.into_iter();
        CutRecord {
            archive,
            mail: self.mail,
            pending: pending
                .map(|(number, entry)| PendingMail::new(number, entry))
                .collect(),
            given: self.conversation.given().clone(),
            reports: self.reports,
            unreported: self.unreported,
            plan: self.plan,
            tally: self.tally,
            commands: self.lost_commands,
            waiting: self.conversation.is_waiting(),
            partial: self.conversation.partial_reply().clone(),
            session: self.conversation.session().cloned(),
        }
    }

    /// The mail that the model was not given, oldest first.
    pub(crate) fn take_pending_mail(&mut self) -> VecDeque<MailItem> {
        let pending = std::mem::take(&mut self.pending_mail).into_iter();
        pending
            .map(|(number, entry)| MailItem::new(number, entry.decode()))
            .collect()
    }

    /// Takes in one line. Returns what is wrong with it, if something is.
    fn line(&mut self, line: JournalLine<LlmTypes>) -> Option<String> {
        match line {
            JournalLine::Known(JournalRecord::Mail(mail)) => {
                let taken = &mut self.last_taken;
                taken.extend(mail.mail.iter().map(|entry| entry.id.clone()));
                if taken.len() > 2 * LAST_TAKEN {
                    taken.drain(..taken.len() - LAST_TAKEN);
                }
                for entry in mail.mail {
                    self.mail += 1;
                    self.pending_mail.insert(self.mail, entry);
                }
            }
            JournalLine::Known(JournalRecord::Report(report)) => {
                self.reports = self.reports.max(report.n);
                self.unreported = None;
            }
            JournalLine::Known(JournalRecord::Plan(plan)) => self.plan = Some(plan),
            JournalLine::Known(JournalRecord::Conversation(record)) => {
                self.record(&record);
                self.conversation.apply(record);
            }
            JournalLine::Known(JournalRecord::Cut(cut)) => self.begin_after(*cut),
            JournalLine::Known(
                JournalRecord::Open(_)
                | JournalRecord::Seal(_)
                | JournalRecord::Checkpoint(_)
                | JournalRecord::EngineTool(_),
            )
            | JournalLine::Other { .. } => {}
            JournalLine::Corrupt { reason } => return Some(reason),
        }
        None
    }

    /// Goes on from a journal that was cut.
    fn begin_after(&mut self, cut: CutRecord) {
        *self = Self {
            conversation: Conversation::after_cut(&cut),
            pending_mail: cut
                .pending
                .into_iter()
                .map(PendingMail::into_entry)
                .collect(),
            mail: cut.mail,
            reports: cut.reports,
            unreported: cut.unreported,
            plan: cut.plan,
            tally: cut.tally,
            lost_commands: cut.commands,
            damage: std::mem::take(&mut self.damage),
            // Their events were written before the journal was cut.
            last_taken: Vec::new(),
        };
    }

    fn record(&mut self, record: &Record) {
        for number in given_by(record) {
            self.pending_mail.remove(&number);
        }
        match record {
            Record::User(user) => {
                for message in &user.messages {
                    if let Some(MessageSource::Commands(ended)) = &message.source {
                        let lost = &mut self.lost_commands;
                        lost.retain(|command| !ended.contains(command));
                    }
                }
            }
            Record::Assistant(assistant) => {
                self.count(assistant.usage);
                self.unreported = Some(last_text(&assistant.blocks));
            }
            Record::Result(record) => self.lost_commands.extend(record.command.clone()),
            // Without a summary no model was asked.
            Record::Compaction(compaction) => {
                if compaction.usage.is_some() {
                    self.count(compaction.usage);
                }
            }
            Record::Asked(_)
            | Record::Started(_)
            | Record::Cleared(_)
            | Record::Ended(_)
            | Record::Session(_) => {}
        }
    }

    fn count(&mut self, usage: Option<Usage>) {
        add(&mut self.tally, usage);
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
