//! What a member's journal says of its earlier lives.

use crate::mail::{MailItem, said_by, uses_of};
use agent::{Conversation, Record};
use llm::{Block, Usage};
use protocol::{JournalLine, JournalRecord, MailEntry, MessageId, Recipient, RequestId, Tally};
use serde::{Deserialize, Serialize};
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
    pub plan: Option<OwnPlan>,
    /// What all lives have used of their models.
    pub tally: Tally,
    /// Background commands that were started and whose end nobody has heard of.
    pub lost_commands: Vec<String>,
    /// Records that could not be read, in words.
    pub damage: Vec<String>,
}

/// A plan that the member submitted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnPlan {
    /// Its request.
    pub request_id: RequestId,
    /// The hash of its text.
    pub plan_hash: String,
}

/// Records that are neither about mail nor about the conversation.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum OwnRecord {
    /// The lead was told how a turn ended.
    Report {
        /// Which report.
        n: u64,
    },
    /// A plan was submitted.
    Plan(OwnPlan),
}

impl Recovered {
    /// Reads a journal.
    pub fn read(team: &TeamDir, owner: &Recipient) -> Result<Self, PathError> {
        let mut reading = Reading::default();
        let mut line_number = 0_usize;
        team.read_journal(owner, |bytes, line| {
            line_number += 1;
            if let Some(damage) = reading.line(bytes, line) {
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
    /// Uses of the tool that starts background commands, by their ids.
    background_uses: Vec<String>,
    /// Uses of the tool that reads the inbox, by their ids.
    inbox_uses: Vec<String>,
}

impl Reading {
    /// Takes in one line. Returns what is wrong with it, if something is.
    fn line(&mut self, bytes: &[u8], line: JournalLine) -> Option<String> {
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
                None
            }
            JournalLine::Known(_) => None,
            JournalLine::Other { kind } => self.other(&kind, bytes),
            JournalLine::Corrupt { reason } => Some(reason),
        }
    }

    fn other(&mut self, kind: &str, bytes: &[u8]) -> Option<String> {
        if matches!(kind, "report" | "plan") {
            return match serde_json::from_slice(bytes) {
                Ok(OwnRecord::Report { n }) => {
                    self.memory.reports = self.memory.reports.max(n);
                    self.memory.unreported = None;
                    None
                }
                Ok(OwnRecord::Plan(plan)) => {
                    self.memory.plan = Some(plan);
                    None
                }
                Err(error) => Some(error.to_string()),
            };
        }
        match Record::decode(bytes) {
            Ok(Some(record)) => {
                self.record(&record);
                self.memory.conversation.apply(record);
                None
            }
            Ok(None) => None,
            Err(error) => Some(error.to_string()),
        }
    }

    fn record(&mut self, record: &Record) {
        for number in said_by(record, &self.inbox_uses) {
            self.unsaid.remove(&number);
        }
        match record {
            Record::User(user) => {
                for message in &user.messages {
                    self.forget_ended_commands(&message.text);
                }
            }
            Record::Assistant(assistant) => {
                self.count(assistant.usage);
                self.memory.unreported = Some(last_words(&assistant.blocks));
                self.background_uses = uses_of(&assistant.blocks, "background_run");
                self.inbox_uses = uses_of(&assistant.blocks, "read_inbox");
            }
            Record::Result(record) => {
                let result = &record.result;
                if self.background_uses.contains(&result.tool_use_id)
                    && let Some(id) = started_command(&result.content)
                {
                    self.memory.lost_commands.push(id.to_owned());
                }
            }
            // Without a summary no model was asked.
            Record::Compaction(compaction) => {
                if compaction.usage.is_some() {
                    self.count(compaction.usage);
                }
            }
            Record::Cleared(_) | Record::Ended(_) => {}
        }
    }

    fn forget_ended_commands(&mut self, text: &str) {
        if text.starts_with("<background-results>") {
            let is_open = |id: &String| !text.contains(&format!("[bg:{id}]"));
            self.memory.lost_commands.retain(is_open);
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

/// The id of the command that a result says was started.
fn started_command(result: &str) -> Option<&str> {
    let rest = result.strip_prefix("Background task ")?;
    let (id, rest) = rest.split_once(' ')?;
    rest.starts_with("started").then_some(id)
}
