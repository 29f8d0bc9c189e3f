//! Leaders that were stopped while they had lines of others.

use crate::files::append::AppendError;
use crate::locks::LockError;
use crate::{Durability, Options, RosterError, SendError, TeamDir};
use protocol::{AgentName, Body, Member, Message, MessageId, Recipient, Sender};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Duration;

struct Fixture {
    _dir: tempfile::TempDir,
    team: TeamDir,
    alice: Recipient,
}

impl Fixture {
    /// An inbox whose mark says that the last leader had others with it.
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let options = Options {
            lock_wait: Duration::from_millis(20),
            durability: Durability::PowerCut,
            ..Options::default()
        };
        let team = TeamDir::create(dir.path(), "default", options).unwrap();
        let alice = AgentName::new("alice").unwrap();
        team.update_roster(|roster| {
            roster.members.push(Member::new(alice.clone(), "coder"));
            Ok::<_, RosterError>(())
        })
        .unwrap();
        let mut mark = [0; 560];
        mark[4] = 1;
        let alice = alice.into();
        std::fs::write(team.layout().inbox_synced(&alice), mark).unwrap();
        std::fs::write(team.layout().inbox(&alice), "").unwrap();
        Self {
            _dir: dir,
            team,
            alice,
        }
    }

    /// The mark, locked as by a leader that was stopped.
    fn stopped_leader(&self) -> File {
        let mut options = File::options();
        let options = options.read(true).write(true);
        let mark = options.open(self.team.layout().inbox_synced(&self.alice));
        let mark = mark.unwrap();
        mark.lock().unwrap();
        mark
    }

    /// The lock of the inbox, as a leader has it between reading the slots and appending their lines.
    fn about_to_append(&self) -> File {
        let path = self.team.layout().inbox_lock(&self.alice);
        let lock = File::create(path).unwrap();
        lock.lock_shared().unwrap();
        lock
    }

    fn send(&self, id: &str) -> Result<(), SendError> {
        let content = "text".to_owned();
        let mut message = Message::new(Body::Message { content });
        message.id = Some(MessageId::new(id).unwrap());
        message.from = Some(Sender::new("bob"));
        message.to = Some(self.alice.clone());
        self.team.send(message).map(drop)
    }

    fn lines(&self) -> usize {
        let inbox = std::fs::read_to_string(self.team.layout().inbox(&self.alice)).unwrap();
        inbox.lines().count()
    }
}

fn assert_waits_for_the_lock(sent: Result<(), SendError>) {
    let busy = matches!(
        sent,
        Err(SendError::Append(AppendError::Lock(LockError::Busy { .. })))
    );
    assert!(busy, "{sent:?}");
}

/// Its line could appear a second time after so many others that nobody recognises it.
#[test]
fn a_line_that_a_stopped_leader_holds_is_not_sent_by_its_sender_meanwhile() {
    let fixture = Fixture::new();
    let leader = fixture.stopped_leader();
    let held = fixture.about_to_append();
    assert_waits_for_the_lock(fixture.send("1"));
    // Whoever knows that somebody leads does not forget it at the next try.
    leader.write_all_at(&1_u32.to_ne_bytes(), 0).unwrap();
    assert_waits_for_the_lock(fixture.send("1"));
    assert_eq!(fixture.lines(), 0);
    drop(held);
    fixture.send("1").unwrap();
    let _held = fixture.about_to_append();
    // Of its next lines the leader has none.
    fixture.send("2").unwrap();
    assert_eq!(fixture.lines(), 2);
}

#[test]
fn a_new_sender_waits_for_a_leader_that_may_hold_the_line_of_its_predecessor() {
    let fixture = Fixture::new();
    let leader = fixture.stopped_leader();
    leader.write_all_at(&1_u32.to_ne_bytes(), 0).unwrap();
    let held = fixture.about_to_append();
    assert_waits_for_the_lock(fixture.send("1"));
    drop(held);
    fixture.send("1").unwrap();
    assert_eq!(fixture.lines(), 1);
}

#[test]
fn the_word_of_a_leader_that_was_killed_stops_nobody() {
    let fixture = Fixture::new();
    let leader = fixture.stopped_leader();
    leader.write_all_at(&1_u32.to_ne_bytes(), 0).unwrap();
    drop(leader);
    let _held = fixture.about_to_append();
    fixture.send("1").unwrap();
    fixture.send("2").unwrap();
    assert_eq!(fixture.lines(), 2);
}
