//! The sessions of a lead: the conversation in its journal, and those that it has left.

use crate::recovered::Recovered;
use crate::runtime::MemberRuntime;
use agent::{Conversation, LlmTypes, Record};
use protocol::{
    CompactionRecord, JournalLine, JournalRecord, Recipient, SessionHeader, SessionId, SessionMark,
    Timestamp,
};
use teamdir::{PathError, TeamDir, new_session_id, now};

/// How many characters are kept of what was said first.
const FIRST_WORDS: usize = 200;

/// A session of a lead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    pub header: SessionHeader,
    /// Whether it is the one in the journal, which goes on with `--resume`.
    pub is_current: bool,
}

/// Why a session is not taken up again.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error("there is no session {wanted}")]
    Unknown { wanted: String },
    #[error("several sessions begin with {wanted}")]
    Ambiguous { wanted: String },
    #[error("the session {0} cannot be read")]
    Unreadable(SessionId),
    #[error(transparent)]
    File(#[from] PathError),
}

/// All sessions of the lead, oldest first, and the current one last.
pub fn sessions(team: &TeamDir) -> Result<Vec<Session>, PathError> {
    let owner = Recipient::Lead;
    let kept = team.kept_sessions(&owner)?.into_iter();
    let mut found: Vec<Session> = kept
        .map(|header| Session {
            header,
            is_current: false,
        })
        .collect();
    let conversation = Recovered::read(team, &owner)?.conversation;
    let last = team.journal_written(&owner).unwrap_or_default();
    if let Some(header) = header_of(&conversation, last) {
        // It was taken up again, and goes on in the journal.
        found.retain(|other| other.header.session.id != header.session.id);
        found.push(Session {
            header,
            is_current: true,
        });
    }
    Ok(found)
}

/// The session that is meant by an id or by its beginning.
pub fn find_session(team: &TeamDir, wanted: &str) -> Result<Session, SessionError> {
    let wanted = wanted.to_lowercase();
    let all = sessions(team)?.into_iter();
    let mut meant = all.filter(|session| {
        let id = session.header.session.id.as_str().to_lowercase();
        !wanted.is_empty() && id.starts_with(&wanted)
    });
    match (meant.next(), meant.next()) {
        (Some(session), None) => Ok(session),
        (Some(_), Some(_)) => Err(SessionError::Ambiguous { wanted }),
        (None, _) => Err(SessionError::Unknown { wanted }),
    }
}

/// A session that begins now.
pub fn new_session(model: &str) -> SessionMark {
    SessionMark::new(new_session_id(), now(), model)
}

/// What is to be known of a conversation, if anything was said in it.
fn header_of(conversation: &Conversation, last: Timestamp) -> Option<SessionHeader> {
    if conversation.turns().is_empty() {
        return None;
    }
    let first = conversation.first_said().unwrap_or_default();
    let first = first.split_whitespace().collect::<Vec<_>>().join(" ");
    let session = match conversation.session() {
        Some(session) => session.clone(),
        // It comes from a program that had no sessions.
        None => SessionMark {
            id: new_session_id(),
            started: last,
            models: Vec::new(),
        },
    };
    Some(SessionHeader {
        session,
        last,
        first_words: first.chars().take(FIRST_WORDS).collect(),
    })
}

impl MemberRuntime {
    /// Keeps the conversation so far, so that it can be taken up again. One in which nothing was said is
    /// not kept.
    pub fn keep_session(
        &self,
        conversation: &Conversation,
        last: Timestamp,
    ) -> Result<(), PathError> {
        let Some(header) = header_of(conversation, last) else {
            return Ok(());
        };
        let record = Record::Compaction(conversation.to_record(header.session.clone()));
        let inner = self.lock();
        self.team()
            .keep_session(inner.session.guard(), &header, &record)
    }

    /// Takes a session up again that was kept, in the place of the conversation so far.
    pub fn resume_session(
        &self,
        id: &SessionId,
        conversation: &mut Conversation,
    ) -> Result<(), SessionError> {
        let bytes = self.team().kept_conversation(self.owner(), id)?;
        let unreadable = || SessionError::Unreadable(id.clone());
        let line = bytes.ok_or_else(unreadable)?;
        let record: CompactionRecord<LlmTypes> = match JournalLine::decode_as(&line) {
            JournalLine::Known(JournalRecord::Conversation(Record::Compaction(record))) => record,
            JournalLine::Known(_) | JournalLine::Other { .. } | JournalLine::Corrupt { .. } => {
                return Err(unreadable());
            }
        };
        if record.session.as_ref().map(|session| &session.id) != Some(id) {
            return Err(unreadable());
        }
        let record = Record::Compaction(record);
        self.lock().session.journal().append(&record)?;
        conversation.apply(record);
        Ok(())
    }

    /// Records that the session is asked of this model, if it was another one before.
    pub fn record_session_model(
        &self,
        conversation: &mut Conversation,
        model: &str,
    ) -> Result<(), PathError> {
        let Some(mut session) = conversation.session().cloned() else {
            return Ok(());
        };
        if session.model() == Some(model) {
            return Ok(());
        }
        session.use_model(model);
        let record = Record::Session(session);
        self.lock().session.journal().append_unsynced(&record)?;
        conversation.apply(record);
        Ok(())
    }
}
