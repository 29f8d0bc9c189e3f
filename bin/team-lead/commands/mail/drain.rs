//! `inbox --drain`: prints the mail of a member that is not running, and marks it as read.
//!
//! There are three steps: the mail is recorded in the member's journal, as by any reader; it is
//! printed; and it is marked in the journal as shown, so that the next incarnation of the member does
//! not show it to its model. If the command is killed before the mark, the mail stays in the journal
//! for the next incarnation: it may then be read twice, by the person and by the member, but it is
//! never lost.
//!
//! Mail that an earlier incarnation received but did not show stays as it is. It is no longer in the
//! inbox.

use super::{MailItem, show};
use crate::cli::Args;
use crate::failure::{Failure, Kind};
use protocol::{
    ConversationRecord, EventKind, JournalLine, JournalRecord, Line, MessageSource, Recipient,
    UserMessage, UserRecord,
};
use teamdir::{JoinError, MemberSession, SessionError, TeamDir};

pub(super) fn drain(team: &TeamDir, args: &Args, owner: &Recipient) -> Result<(), Failure> {
    // An empty inbox needs no record in the journal.
    if team.unread_mail(owner, |_, _| {})? == 0 && !is_held(team, owner)? {
        return show(args, owner, &[]);
    }
    let mut session =
        MemberSession::open_dead(team, owner).map_err(|error| explain(error, owner))?;
    if *owner == Recipient::Lead {
        session.before_commit(team::record_before_commit(team));
    }
    let before = count_mail(team, owner)?;
    let mut broken = 0;
    let mut items = Vec::new();
    while let Some(delivery) = session.try_next()? {
        broken += delivery.bad.len();
        for entry in delivery.mail {
            let line = entry.decode();
            apply_message(team, owner, &line);
            items.push(MailItem::new(entry.line.get().as_bytes(), &line));
            // The event is only informative; the journal has the message.
            let _ = team.log_event(EventKind::Deliver {
                id: entry.id,
                to: owner.clone(),
            });
        }
    }
    show(args, owner, &items)?;
    if broken > 0 {
        args.note(&format!(
            "{broken} damaged lines were moved to the dead letters"
        ));
    }
    if !items.is_empty() {
        session.journal().append(&shown(before, items.len()))?;
    }
    Ok(session.close()?)
}

/// An answer to a request also counts if a person drains it from the lead's inbox. A plan that came
/// without a request becomes one, so that it can be decided.
fn apply_message(team: &TeamDir, owner: &Recipient, line: &Line) {
    if let (Recipient::Lead, Line::Message(message)) = (owner, line) {
        // On failure the request stays pending; the message is shown nevertheless.
        let _ = team::record_mailed_answer(team, message);
        let _ = team::record_plan(team, message);
    }
}

fn is_held(team: &TeamDir, owner: &Recipient) -> Result<bool, Failure> {
    Ok(matches!(team.liveness(owner)?, teamdir::Liveness::Alive(_)))
}

fn explain(error: SessionError, owner: &Recipient) -> Failure {
    let SessionError::Join(JoinError::Held { holder, .. }) = &error else {
        return error.into();
    };
    // A draining process holds the lock without writing its name into it: the name there is then
    // that of a process that has ended.
    let is_running = holder.as_deref().is_some_and(teamdir::is_running);
    if is_running {
        let message = format!("{error}, and reads its mail itself");
        return Failure::new(Kind::Refused, message).hint(format!("team-lead inbox {owner}"));
    }
    let message = format!("another process holds the lock of {owner}");
    Failure::new(Kind::Refused, message).hint("team-lead status")
}

/// How many messages a journal has.
fn count_mail(team: &TeamDir, owner: &Recipient) -> Result<usize, Failure> {
    let mut count = 0;
    team.read_journal(owner, |_, line| {
        if let JournalLine::Known(JournalRecord::Mail(record)) = line {
            count += record.mail.len();
        }
    })?;
    Ok(count)
}

/// The record that says that the messages after the first `before` were shown: given to the model
/// without a text.
fn shown(before: usize, count: usize) -> JournalRecord {
    let numbers = before + 1..=before + count;
    let given = |number: usize| {
        let source = MessageSource::Mail(number as u64);
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
