//! What a person does to a conversation between two turns: ends one for good, or begins anew.

use std::sync::Arc;

use llm::{Model, ToolResult};
use protocol::{
    CompactionRecord, EndedRecord, KeptMessages, ResultRecord, SessionMark, UserMessage, UserRecord,
};

use crate::agent::Agent;
use crate::context::Estimator;
use crate::conversation::{INTERRUPTED, NO_ARCHIVE, NOT_STARTED};
use crate::host::{Host, LogError};
use crate::record::Record;
use crate::settings::Settings;

/// What the model is told of a turn that a person has stopped. The tag says that the program speaks.
pub const STOPPED: &str = "<interrupted>\nThe person interrupted this turn. What you were about to \
     say or do was dropped, and a command that ran was ended. Do not go on with it unless they ask you \
     to.\n</interrupted>";

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

    /// Begins a new conversation, as this session if the member has sessions. Whoever wants the old one
    /// back keeps it first.
    pub fn start_over(
        &mut self,
        session: Option<SessionMark>,
        host: &mut dyn Host,
    ) -> Result<(), LogError> {
        for record in new_conversation(session) {
            self.keep(record, host)?;
        }
        self.reminded = None;
        Ok(())
    }

    /// Asks another model from now on. It gets the same conversation.
    pub fn use_model(
        &mut self,
        model: Arc<dyn Model>,
        settings: Settings,
        session: Option<SessionMark>,
        host: &mut dyn Host,
    ) -> Result<(), LogError> {
        if let Some(session) = session {
            self.keep(Record::Session(session), host)?;
        }
        self.model = model;
        self.change_settings(settings);
        Ok(())
    }

    /// What follows from the model. What was learned about the size of its tokens does not hold for
    /// another one.
    fn change_settings(&mut self, settings: Settings) {
        self.limits = settings.limits;
        self.max_rounds = settings.max_rounds;
        self.request.max_tokens = settings.max_tokens;
        self.request.tuning = settings.tuning;
        self.estimator = Estimator::default();
    }
}

/// The records that begin a new conversation in the log of an old one. Mail that the model was given is
/// not given again.
pub fn new_conversation(session: Option<SessionMark>) -> [Record; 2] {
    let forgotten = CompactionRecord {
        archive: NO_ARCHIVE.to_owned(),
        summarised: false,
        turns: Vec::new(),
        usage: None,
        kept: KeptMessages::default(),
        reminder: None,
        session,
    };
    let reason = "a new conversation".to_owned();
    [
        Record::Compaction(forgotten),
        Record::Ended(EndedRecord { reason }),
    ]
}
