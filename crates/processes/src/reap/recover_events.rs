//! What the dead did with mail and did not live to tell the event log.

use protocol::{EventKind, JournalLine, JournalRecord, Line, MessageId, Party, Recipient, Sender};
use team::{LoggedMail, pending_events, recently_logged, send_event};
use teamdir::{AppendError, PathError, TeamDir, now};

/// How many of the messages that it took last are looked at. While a disk is full nothing can be told.
const LAST: usize = 1000;

/// Logs the mail that the last incarnation of `dead` sent or took right before its end, if it did not do
/// so itself: messages of its own that nobody has read, and what it put into its journal last. Messages
/// that were read tell by that that they were sent. A file that cannot be read is passed over: it must
/// not keep anybody from dealing with a death.
pub fn recover_events(team: &TeamDir, dead: &Recipient) -> Result<(), AppendError> {
    let taken = last_taken(team, dead).unwrap_or_default();
    let sent = unread_of(team, dead);
    if taken.is_empty() && sent.is_empty() {
        return Ok(());
    }
    let told = recently_logged(team).unwrap_or_default();
    let mut events = pending_events(dead, &taken, &told);
    events.extend(sent.into_iter().filter(|kind| match kind {
        EventKind::Send { id, to, .. } => !told.contains(&LoggedMail::Sent(to.clone(), id.clone())),
        _ => true,
    }));
    let time = now();
    let events = events
        .into_iter()
        .map(|kind| protocol::Event { time, kind });
    let events: Vec<_> = events.collect();
    team.log_events(&events)
}

/// What its journal says it took last, oldest first.
fn last_taken(team: &TeamDir, dead: &Recipient) -> Result<Vec<MessageId>, PathError> {
    let mut taken = Vec::new();
    team.read_journal(dead, |_, line| {
        if let JournalLine::Known(JournalRecord::Mail(record)) = line {
            taken.extend(record.mail.into_iter().map(|entry| entry.id));
            if taken.len() > 2 * LAST {
                taken.drain(..taken.len() - LAST);
            }
        }
    })?;
    Ok(taken)
}

/// Its messages that nobody has read.
fn unread_of(team: &TeamDir, dead: &Recipient) -> Vec<EventKind> {
    let author = Sender::Party(Party::from(dead.clone()));
    // A roster that cannot be read leaves the lead's inbox.
    let members = team.roster().map(|roster| roster.members.clone());
    let names = members.into_iter().flatten();
    let inboxes = names.map(|member| Recipient::Member(member.name));
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
