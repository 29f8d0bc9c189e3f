//! Counts the unread mail of many members.

use protocol::Recipient;
use std::collections::HashMap;
use teamdir::{PathError, TeamDir};

/// Which inboxes are not empty, and the numbers of their sealed segments, from one listing of their folder.
///
/// The read position of an inbox is in a journal, and finding it there costs a thousand times more than
/// seeing that the inbox is empty.
pub(crate) struct UnreadCounts {
    /// `None` if the folder cannot be listed: then reading each inbox reports the error.
    filled: Option<HashMap<String, Vec<u64>>>,
}

impl UnreadCounts {
    pub(crate) fn read(team: &TeamDir) -> Self {
        Self {
            filled: list(team).ok(),
        }
    }

    pub(crate) fn unread(&self, team: &TeamDir, owner: &Recipient) -> Result<usize, PathError> {
        let Some(filled) = &self.filled else {
            return team.unread_mail(owner, |_, _| {});
        };
        match filled.get(owner.as_str()) {
            Some(numbers) => team.unread_mail_among(owner, numbers, |_, _| {}),
            None => Ok(0),
        }
    }
}

/// The number of unread lines in an inbox.
pub fn unread(team: &TeamDir, owner: &Recipient) -> Result<usize, PathError> {
    UnreadCounts::read(team).unread(team, owner)
}

fn list(team: &TeamDir) -> Result<HashMap<String, Vec<u64>>, PathError> {
    let mut filled: HashMap<String, Vec<u64>> = HashMap::new();
    for (name, size) in team.inbox_files()? {
        // A name has no dots: `alice.jsonl` is an inbox, `.alice.17.jsonl` a segment of it.
        match name.split('.').collect::<Vec<_>>().as_slice() {
            ["", owner, number, "jsonl"] => {
                let numbers = filled.entry((*owner).to_owned()).or_default();
                numbers.extend(number.parse::<u64>().ok());
            }
            [owner, _] if !owner.is_empty() && size != Some(0) => {
                filled.entry((*owner).to_owned()).or_default();
            }
            _ => {}
        }
    }
    filled
        .values_mut()
        .for_each(|numbers| numbers.sort_unstable());
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::{Body, Message};
    use teamdir::{MemberSession, Options, WatchChoice};
    use test_support::TempTeam;

    #[test]
    fn unread_mail_is_counted_and_read_mail_is_not() {
        let temp = TempTeam::new(&["al", "alice"], Options::default());
        let team = temp.team();
        let al: Recipient = "al".parse().unwrap();
        let alice: Recipient = "alice".parse().unwrap();
        let unread = |owner: &Recipient| UnreadCounts::read(team).unread(team, owner).unwrap();
        assert_eq!(unread(&alice), 0);
        for _ in 0..2 {
            let content = "hi".to_owned();
            let mut message = Message::new(Body::Message { content });
            message.to = Some(alice.clone());
            team.send(message).unwrap();
        }
        assert_eq!((unread(&alice), unread(&al)), (2, 0));
        let mut session = MemberSession::open(team, &alice, WatchChoice::Poll).unwrap();
        session.try_next().unwrap();
        assert_eq!(unread(&alice), 0);
        session.close().unwrap();
        assert_eq!(unread(&alice), 0);
    }

    #[test]
    fn mail_in_segments_is_counted_in_their_order() {
        let temp = TempTeam::new(&["alice"], Options::default());
        let team = temp.team();
        let alice: Recipient = "alice".parse().unwrap();
        for number in [10, 9, 2] {
            let path = team.layout().segment(&alice, number);
            std::fs::write(path, "one\ntwo\n").unwrap();
        }
        std::fs::write(team.layout().inbox(&alice), "three\n").unwrap();
        let counts = UnreadCounts::read(team);
        let numbers = counts.filled.as_ref().unwrap().get("alice").unwrap();
        assert_eq!(*numbers, [2, 9, 10]);
        assert_eq!(counts.unread(team, &alice).unwrap(), 7);
        assert_eq!(team.unread_mail(&alice, |_, _| {}).unwrap(), 7);
    }
}
