//! What the dead did with mail and did not live to tell the event log.

use dealings::sending;
use protocol::{
    EventKind, EventLine, JournalLine, JournalRecord, Line, MessageId, Party, Recipient, Sender,
};
use std::collections::BTreeSet;
use teamdir::{AppendError, PathError, TeamDir, now};

/// How much of the event log is looked at for what was told. What was told longer ago is told again,
/// which does no harm.
const RECENT: u64 = 256 << 10;

/// Tells of the mail that the last life of `dead` sent or took right before its end, if it did not do
/// so itself: letters of its own that nobody has read, and what it put into its journal last. Letters
/// that were read tell by that that they were sent. A file that cannot be read is passed over: it must
/// not keep anybody from dealing with a death.
pub fn retell(team: &TeamDir, dead: &Recipient) -> Result<(), AppendError> {
    let mut events = last_taken(team, dead).unwrap_or_default();
    events.extend(unread_of(team, dead));
    if events.is_empty() {
        return Ok(());
    }
    let told = recently_told(team).unwrap_or_default();
    let time = now();
    let untold = events.into_iter().filter(|kind| match kind {
        EventKind::Send { id, to, .. } => !told.contains(&(true, to.clone(), id.clone())),
        EventKind::Deliver { id, to } => !told.contains(&(false, to.clone(), id.clone())),
        _ => true,
    });
    let untold: Vec<_> = untold.map(|kind| protocol::Event { time, kind }).collect();
    team.log_events(&untold)
}

/// What its journal says it took last.
fn last_taken(team: &TeamDir, dead: &Recipient) -> Result<Vec<EventKind>, PathError> {
    let mut taken = Vec::new();
    team.read_journal(dead, |_, line| {
        if let JournalLine::Known(JournalRecord::Mail(record)) = line {
            let entries = record.mail.into_iter();
            taken = entries.map(|entry| entry.id).collect();
        }
    })?;
    let to = dead.clone();
    let events = taken
        .into_iter()
        .map(|id| EventKind::Deliver { id, to: to.clone() });
    Ok(events.collect())
}

/// Its letters that nobody has read.
fn unread_of(team: &TeamDir, dead: &Recipient) -> Vec<EventKind> {
    let author = Sender::Party(Party::from(dead.clone()));
    // A roster that cannot be read leaves the lead's inbox.
    let members = team.roster().map(|roster| roster.members.clone());
    let names = members.into_iter().flatten();
    let inboxes = names.map(|member| Recipient::Member(member.name));
    let mut events = Vec::new();
    for inbox in inboxes.chain([Recipient::Lead]) {
        let _ = team.peek(&inbox, |_, line| {
            if let Line::Message(message) = line
                && message.from.as_ref() == Some(&author)
                && let Some(id) = message.id.clone()
            {
                events.push(sending(&message, id, inbox.clone()));
            }
        });
    }
    events
}

/// The mail that the end of the log tells of: whether it was sent or taken, by whom, and which.
fn recently_told(team: &TeamDir) -> Result<BTreeSet<(bool, Recipient, MessageId)>, PathError> {
    let mut told = BTreeSet::new();
    let mut reader = team.event_reader();
    reader.skip_to_last(RECENT)?;
    reader.read(|line| {
        if let EventLine::Known(event) = EventLine::decode(line) {
            match event.kind {
                EventKind::Send { id, to, .. } => drop(told.insert((true, to, id))),
                EventKind::Deliver { id, to } => drop(told.insert((false, to, id))),
                _ => {}
            }
        }
    })?;
    Ok(told)
}
