//! Which sent and delivered mail the event log has, and which events are missing.

use protocol::{EventKind, EventLine, MessageId, Recipient};
use std::collections::BTreeSet;
use teamdir::{PathError, TeamDir};

/// How much of the end of the event log is searched. An earlier event may be logged again, which does no
/// harm.
const RECENT: u64 = 256 << 10;
/// How many events are logged if the end of the log has none of them.
const MOST_WITHOUT_EVIDENCE: usize = 64;

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

/// [`pending_events`] by the event log, which is read backwards to the last message of these that it has.
///
/// Of a log that cannot be read it is not known what it has.
pub fn pending_events_of(
    team: &TeamDir,
    owner: &Recipient,
    delivered: &[MessageId],
) -> Vec<EventKind> {
    let mut logged = BTreeSet::new();
    if !delivered.is_empty() {
        let wanted: BTreeSet<&MessageId> = delivered.iter().collect();
        let _ = team.read_events_backwards(None, RECENT, |line| {
            if let EventLine::Known(event) = EventLine::decode(line)
                && let EventKind::Deliver { id, to } = event.kind
                && to == *owner
                && wanted.contains(&id)
            {
                logged.insert(LoggedMail::Delivered(to, id));
            }
            logged.is_empty()
        });
    }
    pending_events(owner, delivered, &logged)
}

/// The missing events of the messages that `owner` received last; `delivered` is oldest first.
///
/// An incarnation logs in the order in which it receives, and starts with what the previous one did not
/// log. So the missing events are at the end.
pub fn pending_events(
    owner: &Recipient,
    delivered: &[MessageId],
    logged: &BTreeSet<LoggedMail>,
) -> Vec<EventKind> {
    let is_logged =
        |id: &MessageId| logged.contains(&LoggedMail::Delivered(owner.clone(), id.clone()));
    let from = match delivered.iter().rposition(is_logged) {
        Some(last) => last + 1,
        None => delivered.len().saturating_sub(MOST_WITHOUT_EVIDENCE),
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
    use std::io::Write as _;
    use teamdir::Options;
    use test_support::TempTeam;

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
    fn events_after_the_last_logged_one_are_missing() {
        let delivered = ids(0..10);
        assert_eq!(missing(&delivered, &delivered), 0);
        assert_eq!(missing(&delivered, &ids(0..4)), 6);
        // The beginning is outside the searched part of the log.
        assert_eq!(missing(&delivered, &ids(3..7)), 3);
        assert_eq!(missing(&[], &ids(0..4)), 0);
    }

    #[test]
    fn the_log_is_read_back_to_the_last_delivery_that_it_has() {
        let team = TempTeam::new(&["alice"], Options::default());
        let team = team.team();
        let delivered = ids(0..200);
        let missing = |delivered: &[MessageId]| {
            let missing = pending_events_of(team, &Recipient::Lead, delivered);
            assert_eq!(
                missing,
                pending_events(
                    &Recipient::Lead,
                    delivered,
                    &recently_logged(team).unwrap_or_default()
                )
            );
            missing.len()
        };
        let log = |id: &MessageId, to: &str| {
            let (id, to) = (id.clone(), to.parse().unwrap());
            team.log_event(EventKind::Deliver { id, to }).unwrap();
        };
        assert_eq!(missing(&delivered), MOST_WITHOUT_EVIDENCE);
        delivered.iter().take(150).for_each(|id| log(id, "lead"));
        assert_eq!(missing(&delivered), 50);
        // Those of others, and what was delivered before the journal begins, show nothing.
        delivered.iter().for_each(|id| log(id, "alice"));
        ids(500..900).iter().for_each(|id| log(id, "lead"));
        let mut log = std::fs::File::options()
            .append(true)
            .open(team.layout().events())
            .unwrap();
        log.write_all(b"no event\n{\"kind\":\"deli").unwrap();
        assert_eq!(missing(&delivered), 50);
        assert_eq!(missing(delivered.get(..150).unwrap()), 0);
        assert_eq!(missing(&[]), 0);
    }

    #[test]
    fn without_logged_events_the_last_messages_are_logged() {
        assert_eq!(missing(&ids(0..10), &[]), 10);
        assert_eq!(missing(&ids(0..1000), &[]), MOST_WITHOUT_EVIDENCE);
        let sent = BTreeSet::from([LoggedMail::Sent(Recipient::Lead, ids(0..1).remove(0))]);
        assert_eq!(pending_events(&Recipient::Lead, &ids(0..1), &sent).len(), 1);
    }
}
