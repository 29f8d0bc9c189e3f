//! The journal of a member: `members/<name>/transcript.jsonl`.
//!
//! One record per line, appended by the member alone. All kinds of records are defined here: those
//! about mail, those of the conversation, and a member's own notes. A mail record holds the messages
//! *and* how far the inbox has been read, so that the two can never disagree.

mod conversation;
mod cut;
mod engine;
mod kept;
mod mail;
mod session;

pub use conversation::{
    AskedRecord, AssistantRecord, Block, ClearedRecord, ClearedResult, CompactionRecord,
    ConversationRecord, EndedRecord, Image, MessageSource, ModelTypes, Plain, PlanRecord,
    ReportRecord, ResultRecord, Role, StartedRecord, Stored, ToolResult, Turn, Usage, UserMessage,
    UserRecord,
};
pub use cut::{ArchiveName, CutRecord, GivenMessages, NotAnArchive, PartialReply, PendingMail};
pub use engine::{EngineToolRecord, EngineToolResult};
pub use kept::{KeptMessage, KeptMessages, MessageCut};
pub use mail::{
    Checkpoint, MailEntry, MailRecord, OpenRecord, Quarantined, SealRecord, SegmentPosition,
    SenderWindow,
};

pub use session::{SessionHeader, SessionMark, SessionModel};

use serde::{Deserialize, Serialize};

/// One line of a journal.
#[derive(Debug, Clone)]
pub enum JournalLine<M: ModelTypes = Plain> {
    Known(JournalRecord<M>),
    /// A record of a kind that this version does not know.
    Other {
        kind: String,
    },
    /// A line that is no record.
    Corrupt {
        reason: String,
    },
}

/// A record of a journal, by its `kind`.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case", bound = "")]
pub enum JournalRecord<M: ModelTypes = Plain> {
    Open(OpenRecord),
    /// The first record of a journal that was cut.
    Cut(Box<CutRecord>),
    /// The commit point of delivery.
    Mail(MailRecord),
    Seal(SealRecord),
    Checkpoint(Checkpoint),
    Report(ReportRecord),
    Plan(PlanRecord),
    EngineTool(EngineToolRecord),
    /// Several kinds, see [`ConversationRecord`].
    #[serde(untagged)]
    Conversation(ConversationRecord<M>),
}

#[derive(Deserialize)]
struct KindOnly {
    kind: String,
}

impl JournalLine {
    /// Decodes one line of a journal, given without its newline.
    pub fn decode(bytes: &[u8]) -> Self {
        Self::decode_as(bytes)
    }
}

impl<M: ModelTypes> JournalLine<M> {
    /// Decodes one line of a journal in the types of `M`, given without its newline.
    pub fn decode_as(bytes: &[u8]) -> Self {
        let kind = match serde_json::from_slice::<KindOnly>(bytes) {
            Ok(KindOnly { kind }) => kind,
            Err(error) => {
                let reason = error.to_string();
                return Self::Corrupt { reason };
            }
        };
        match read(&kind, bytes) {
            None => Self::Other { kind },
            Some(Ok(record)) => Self::Known(record),
            Some(Err(error)) => Self::Corrupt {
                reason: format!("a record of kind {kind:?} cannot be read: {error}"),
            },
        }
    }
}

/// Reads a record of this kind; `None` if there is no such kind. The derived tagged enum would buffer
/// the record, and raw JSON does not survive that.
fn read<M: ModelTypes>(kind: &str, bytes: &[u8]) -> Option<serde_json::Result<JournalRecord<M>>> {
    Some(match kind {
        "open" => serde_json::from_slice(bytes).map(JournalRecord::Open),
        "cut" => serde_json::from_slice(bytes).map(JournalRecord::Cut),
        "mail" => serde_json::from_slice(bytes).map(JournalRecord::Mail),
        "seal" => serde_json::from_slice(bytes).map(JournalRecord::Seal),
        "checkpoint" => serde_json::from_slice(bytes).map(JournalRecord::Checkpoint),
        "report" => serde_json::from_slice(bytes).map(JournalRecord::Report),
        "plan" => serde_json::from_slice(bytes).map(JournalRecord::Plan),
        "engine_tool" => serde_json::from_slice(bytes).map(JournalRecord::EngineTool),
        _ => ConversationRecord::read(kind, bytes)?.map(JournalRecord::Conversation),
    })
}
