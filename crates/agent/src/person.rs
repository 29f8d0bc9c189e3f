//! What a person does to a conversation between two turns: ends one for good, or begins anew.

use llm::ToolResult;
use protocol::{
    CompactionRecord, EndedRecord, KeptMessages, ResultRecord, UserMessage, UserRecord,
};

use crate::agent::Agent;
use crate::conversation::{INTERRUPTED, NOT_STARTED};
use crate::host::{Host, LogError};
use crate::record::Record;

/// What the model is told of a turn that a person has stopped.
pub const STOPPED: &str = "[The person interrupted this turn. What you were about to say or do was \
     dropped, and a command that ran was ended. Do not go on with it unless they ask you to.]";

impl Agent {
    /// Ends an interrupted turn for good: the model is told that the person stopped it, and no later
    /// process takes it up again. Does nothing if no turn waits for an answer.
    pub fn end_stopped(&mut self, host: &mut dyn Host) -> Result<(), LogError> {
        if !self.conversation.is_waiting() {
            return Ok(());
        }
        let text = match self.conversation.waits_for() {
            Some(_) => NOT_STARTED,
            None => INTERRUPTED,
        };
        let open = self.conversation.open_uses();
        let results: Vec<ToolResult> = open.map(|open| ToolResult::error(&open.id, text)).collect();
        for result in results {
            self.keep(Record::Result(ResultRecord::new(result)), host)?;
        }
        let messages = vec![UserMessage::new(STOPPED)];
        self.keep(Record::User(UserRecord { messages }), host)?;
        let reason = "interrupted by a person".to_owned();
        self.keep(Record::Ended(EndedRecord { reason }), host)
    }

    /// Begins a new conversation. The log keeps the old one.
    pub fn start_over(&mut self, host: &mut dyn Host) -> Result<(), LogError> {
        for record in new_conversation() {
            self.keep(record, host)?;
        }
        self.has_reminded = false;
        Ok(())
    }
}

/// The records that begin a new conversation in the log of an old one. Mail that the model was given is
/// not given again.
pub fn new_conversation() -> [Record; 2] {
    let forgotten = CompactionRecord {
        archive: "the journal".to_owned(),
        summarised: false,
        turns: Vec::new(),
        usage: None,
        kept: KeptMessages::default(),
        reminder: None,
    };
    let reason = "a new conversation".to_owned();
    [
        Record::Compaction(forgotten),
        Record::Ended(EndedRecord { reason }),
    ]
}
