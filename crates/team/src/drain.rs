//! Reads the mail of a member or lead that is not running, in its place.
//!
//! There are three steps: the mail is recorded in the owner's journal, as by any reader; whoever drains
//! shows it; and it is marked in the journal as shown, so that the owner's next incarnation does not show
//! it to its model. If the process is killed before the mark, the mail stays in the journal for the next
//! incarnation: it may then be read twice, but it is never lost.
//!
//! Mail that an earlier incarnation received but did not show stays as it is. It is no longer in the
//! inbox.

use crate::requests::{record_before_commit, record_mailed_answer, record_plan};
use protocol::{
    ConversationRecord, EventKind, JournalLine, JournalRecord, Line, MailEntry, MessageSource,
    Recipient, UserMessage, UserRecord,
};
use teamdir::{MemberSession, PathError, ReceiveError, SessionError, TeamDir};

/// Why mail cannot be drained.
#[derive(Debug, thiserror::Error)]
pub enum DrainError {
    /// Its owner runs, or another process drains it.
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error(transparent)]
    Receive(#[from] ReceiveError),
    #[error(transparent)]
    Path(#[from] PathError),
}

/// The mail of an owner that is not running. Nobody else reads it while this exists.
pub struct DrainedMail {
    pub mail: Vec<MailEntry>,
    /// How many damaged lines were moved to the dead letters.
    pub broken: usize,
    session: MemberSession,
    /// How many messages the journal had before.
    before: u64,
}

impl DrainedMail {
    /// Records the unread mail in the journal of its owner, and returns it to be shown.
    pub fn receive(team: &TeamDir, owner: &Recipient) -> Result<Self, DrainError> {
        let mut session = MemberSession::open_dead(team, owner)?;
        if *owner == Recipient::Lead {
            session.before_commit(record_before_commit(team));
        }
        let before = count_mail(team, owner)?;
        let mut broken = 0;
        let mut mail = Vec::new();
        while let Some(delivery) = session.try_next()? {
            broken += delivery.bad.len();
            for entry in delivery.mail {
                apply_message(team, owner, &entry.decode());
                // The event is only informative; the journal has the message.
                let _ = team.log_event(EventKind::Deliver {
                    id: entry.id.clone(),
                    to: owner.clone(),
                });
                mail.push(entry);
            }
        }
        Ok(Self {
            mail,
            broken,
            session,
            before,
        })
    }

    /// Marks the mail as shown.
    pub fn mark_shown(mut self) -> Result<(), DrainError> {
        if !self.mail.is_empty() {
            let record = shown(self.before, self.mail.len() as u64);
            self.session.journal().append(&record)?;
        }
        Ok(self.session.close()?)
    }
}

/// An answer to a request also counts if somebody drains it from the lead's inbox. A plan that came
/// without a request becomes one, so that it can be decided.
fn apply_message(team: &TeamDir, owner: &Recipient, line: &Line) {
    if let (Recipient::Lead, Line::Message(message)) = (owner, line) {
        // On failure the request stays pending; the message is shown nevertheless.
        let _ = record_mailed_answer(team, message);
        let _ = record_plan(team, message);
    }
}

/// How many messages a journal has.
fn count_mail(team: &TeamDir, owner: &Recipient) -> Result<u64, PathError> {
    let mut count = 0;
    team.read_journal(owner, |_, line| match line {
        JournalLine::Known(JournalRecord::Cut(cut)) => count = cut.mail,
        JournalLine::Known(JournalRecord::Mail(record)) => count += record.mail.len() as u64,
        JournalLine::Known(_) | JournalLine::Other { .. } | JournalLine::Corrupt { .. } => {}
    })?;
    Ok(count)
}

/// The record that says that the messages after the first `before` were shown: given to the model
/// without a text.
fn shown(before: u64, count: u64) -> JournalRecord {
    let numbers = before + 1..=before + count;
    let given = |number: u64| {
        let source = MessageSource::Mail(number);
        UserMessage::with_source(source, "")
    };
    let messages = numbers.map(given).collect();
    JournalRecord::Conversation(ConversationRecord::User(UserRecord { messages }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_numbered_from_one() {
        let record = serde_json::to_string(&shown(2, 2)).unwrap();
        let expected = r#"{"kind":"user","messages":[{"source":{"mail":3},"text":""},{"source":{"mail":4},"text":""}]}"#;
        assert_eq!(record, expected);
    }
}
