//! Which sent and delivered mail the event log has, and which events are missing.

use protocol::{EventKind, EventLine, MessageId, Recipient};
use std::collections::BTreeSet;
use teamdir::{PathError, TeamDir};

/// How much of the end of the event log is searched. An event before it may be logged again, which does
/// no harm.
const RECENT: u64 = 256 << 10;
/// How many events are logged again if the end of the log has none of them.
const BLINDLY: usize = 64;

/// A message that the event log has.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum LoggedMail {
    /// It was sent to this recipient.
    Sent(Recipient, MessageId),
    /// This recipient received it.
    Delivered(Recipient, MessageId),
}

/// The mail that the end of the event log has.
pub fn recently_logged(team: &TeamDir) -> Result<BTreeSet<LoggedMail>, PathError> {
    let mut logged = BTreeSet::new();
    let mut reader = team.event_reader();
    reader.skip_to_last(RECENT)?;
    reader.read(|line| {
        if let EventLine::Known(event) = EventLine::decode(line) {
            match event.kind {
                EventKind::Send { id, to, .. } => drop(logged.insert(LoggedMail::Sent(to, id))),
                EventKind::Deliver { id, to } => drop(logged.insert(LoggedMail::Delivered(to, id))),
                _ => {}
            }
        }
    })?;
    Ok(logged)
}

/// The events that are missing of the messages that `owner` took last, `delivered` oldest first.
///
/// An incarnation logs in the order in which it receives, and logs first what the one before did not get
/// to log. So what is missing is at the end.
pub fn pending_events(
    owner: &Recipient,
    delivered: &[MessageId],
    logged: &BTreeSet<LoggedMail>,
) -> Vec<EventKind> {
    let is_logged =
        |id: &MessageId| logged.contains(&LoggedMail::Delivered(owner.clone(), id.clone()));
    let from = match delivered.iter().rposition(is_logged) {
        Some(last) => last + 1,
        None => delivered.len().saturating_sub(BLINDLY),
    };
    let missing = delivered.get(from..).unwrap_or_default().iter();
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

    fn missing(delivered: &[MessageId], logged: &[MessageId]) -> usize {
        let logged = logged
            .iter()
            .map(|id| LoggedMail::Delivered(Recipient::Lead, id.clone()));
        pending_events(&Recipient::Lead, delivered, &logged.collect()).len()
    }

    #[test]
    fn what_was_taken_after_the_last_told_is_missing() {
        let delivered = ids(0..10);
        assert_eq!(missing(&delivered, &delivered), 0);
        assert_eq!(missing(&delivered, &ids(0..4)), 6);
        // The beginning is long ago.
        assert_eq!(missing(&delivered, &ids(3..7)), 3);
        assert_eq!(missing(&[], &ids(0..4)), 0);
    }

    #[test]
    fn where_the_log_says_nothing_the_last_are_told() {
        assert_eq!(missing(&ids(0..10), &[]), 10);
        assert_eq!(missing(&ids(0..1000), &[]), BLINDLY);
        let sent = BTreeSet::from([LoggedMail::Sent(Recipient::Lead, ids(0..1).remove(0))]);
        assert_eq!(pending_events(&Recipient::Lead, &ids(0..1), &sent).len(), 1);
    }
}
