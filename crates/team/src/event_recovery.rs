//! What the event log was told of mail, and what it was not.

use protocol::{EventKind, EventLine, MessageId, Recipient};
use std::collections::BTreeSet;
use teamdir::{PathError, TeamDir};

/// How much of the event log is looked at for what was told. What was told longer ago may be told
/// again, which does no harm.
const RECENT: u64 = 256 << 10;
/// How many messages are told again if the end of the log speaks of none of them.
const BLINDLY: usize = 64;

/// Mail in the event log.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Told {
    /// It was sent to somebody.
    Sent(Recipient, MessageId),
    /// Somebody took it.
    Taken(Recipient, MessageId),
}

/// The mail that the end of the event log tells of.
pub fn recently_told(team: &TeamDir) -> Result<BTreeSet<Told>, PathError> {
    let mut told = BTreeSet::new();
    let mut reader = team.event_reader();
    reader.skip_to_last(RECENT)?;
    reader.read(|line| {
        if let EventLine::Known(event) = EventLine::decode(line) {
            match event.kind {
                EventKind::Send { id, to, .. } => drop(told.insert(Told::Sent(to, id))),
                EventKind::Deliver { id, to } => drop(told.insert(Told::Taken(to, id))),
                _ => {}
            }
        }
    })?;
    Ok(told)
}

/// The events that are missing of the messages that `owner` took last, `taken` oldest first.
///
/// A life tells in the order in which it takes, and what the one before did not live to tell it tells
/// first. So what is missing is at the end.
pub fn pending_events(
    owner: &Recipient,
    taken: &[MessageId],
    told: &BTreeSet<Told>,
) -> Vec<EventKind> {
    let is_told = |id: &MessageId| told.contains(&Told::Taken(owner.clone(), id.clone()));
    let from = match taken.iter().rposition(is_told) {
        Some(last) => last + 1,
        None => taken.len().saturating_sub(BLINDLY),
    };
    let missing = taken.get(from..).unwrap_or_default().iter();
    let event = |id: &MessageId| EventKind::Deliver {
        id: id.clone(),
        to: owner.clone(),
    };
    missing.map(event).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(range: std::ops::Range<usize>) -> Vec<MessageId> {
        range
            .filter_map(|n| MessageId::new(&format!("m-{n}")).ok())
            .collect()
    }

    fn missing(taken: &[MessageId], told: &[MessageId]) -> usize {
        let told = told
            .iter()
            .map(|id| Told::Taken(Recipient::Lead, id.clone()));
        pending_events(&Recipient::Lead, taken, &told.collect()).len()
    }

    #[test]
    fn what_was_taken_after_the_last_told_is_missing() {
        let taken = ids(0..10);
        assert_eq!(missing(&taken, &taken), 0);
        assert_eq!(missing(&taken, &ids(0..4)), 6);
        // The beginning is long ago.
        assert_eq!(missing(&taken, &ids(3..7)), 3);
        assert_eq!(missing(&[], &ids(0..4)), 0);
    }

    #[test]
    fn where_the_log_says_nothing_the_last_are_told() {
        assert_eq!(missing(&ids(0..10), &[]), 10);
        assert_eq!(missing(&ids(0..1000), &[]), BLINDLY);
        let sent = BTreeSet::from([Told::Sent(Recipient::Lead, ids(0..1).remove(0))]);
        assert_eq!(pending_events(&Recipient::Lead, &ids(0..1), &sent).len(), 1);
    }
}
