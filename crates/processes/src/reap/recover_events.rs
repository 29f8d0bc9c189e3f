//! Logs mail events that a dead member did not log itself.

use protocol::{EventKind, JournalLine, JournalRecord, Line, MessageId, Party, Recipient, Sender};
use team::{LoggedMail, pending_events, recently_logged, send_event};
use teamdir::{AppendError, PathError, TeamDir, now};

/// How many of the messages it received last are checked. While a disk is full, events cannot be logged.
const LAST: usize = 1000;

/// Logs the mail that the last incarnation of `dead` sent or received right before its end, if it did not
/// do so itself: its messages that are still unread, and the mail that its journal holds last. A message
/// that was read has a read event, which shows that it was sent. A file that cannot be read is skipped: it
/// must not prevent the reaping.
pub fn recover_events(team: &TeamDir, dead: &Recipient) -> Result<(), AppendError> {
    let received = last_received(team, dead).unwrap_or_default();
    let sent = unread_of(team, dead);
    if received.is_empty() && sent.is_empty() {
        return Ok(());
    }
    let logged = recently_logged(team).unwrap_or_default();
    let mut events = pending_events(dead, &received, &logged);
    events.extend(sent.into_iter().filter(|kind| match kind {
        EventKind::Send { id, to, .. } => {
            !logged.contains(&LoggedMail::Sent(to.clone(), id.clone()))
        }
        _ => true,
    }));
    let time = now();
    let events = events
        .into_iter()
        .map(|kind| protocol::Event::new(time, kind));
    let events: Vec<_> = events.collect();
    team.log_events(&events)
}

/// The messages that its journal recorded last, oldest first.
fn last_received(team: &TeamDir, dead: &Recipient) -> Result<Vec<MessageId>, PathError> {
    let mut received = Vec::new();
    team.read_journal(dead, |_, line| {
        if let JournalLine::Known(JournalRecord::Mail(record)) = line {
            received.extend(record.mail.into_iter().map(|entry| entry.id));
            if received.len() > 2 * LAST {
                received.drain(..received.len() - LAST);
            }
        }
    })?;
    Ok(received)
}

/// Its messages that are unread.
fn unread_of(team: &TeamDir, dead: &Recipient) -> Vec<EventKind> {
    let author = Sender::Party(Party::from(dead.clone()));
    // If the roster cannot be read, only the lead's inbox is searched.
    let members = team.roster().map(|roster| roster.members.clone());
    let names = members.into_iter().flatten();
    let inboxes = names.map(|member| Recipient::Member(member.spec.name));
    let mut events = Vec::new();
    for inbox in inboxes.chain([Recipient::Lead]) {
        let _ = team.unread_mail(&inbox, |_, line| {
            if let Line::Message(message) = line
                && message.from.as_ref() == Some(&author)
                && let Some(id) = message.id.clone()
            {
                events.push(send_event(&message, id, inbox.clone()));
            }
        });
    }
    events
}
