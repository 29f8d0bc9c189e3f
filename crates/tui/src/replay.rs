//! The event log, replayed: who there is, what is on the board, how much mail went where.
//!
//! A process may be killed between a change and the event about it. What it did not tell is told
//! by whoever takes the same lock next (tasks, requests), reaps it (its death), or comes after it
//! (its mail). So replaying the log of a team at rest gives the roster, the board and the counts of
//! messages that the files show.

use protocol::{
    Event, EventKind, EventLine, Incarnation, MessageId, Party, Phase, Recipient, RequestId,
    RequestStatus, TaskId, TaskStatus,
};
use std::collections::{BTreeMap, BTreeSet};

/// What the events so far add up to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Replay {
    /// Everybody who was ready once, and has not left.
    pub members: BTreeMap<Recipient, MemberHistory>,
    /// The tasks on the board.
    pub tasks: BTreeMap<TaskId, Work>,
    /// The requests, each with its status.
    pub requests: BTreeMap<RequestId, RequestStatus>,
    /// The mail of everybody who got any.
    pub mail: BTreeMap<Recipient, Mail>,
    /// Lines that are no events.
    pub broken: usize,
}

/// A member, or the lead, as the log tells it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemberHistory {
    /// Its role, if the log has it.
    pub role: Option<String>,
    /// Its last life.
    pub incarnation: Incarnation,
    /// The last phase of that life.
    pub phase: Option<Phase>,
    /// Whether that life died.
    pub died: bool,
    /// How many lives died.
    pub deaths: u64,
}

/// A task as the log tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    /// How far it has come.
    pub status: TaskStatus,
    /// Who has it.
    pub owner: Option<Party>,
}

/// Somebody's mail as the log tells it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mail {
    sent: BTreeSet<MessageId>,
    delivered: BTreeSet<MessageId>,
    /// Lines that could not be delivered.
    pub dead_letters: usize,
}

impl Mail {
    /// How many messages were accepted into the inbox. One that was delivered was accepted, even
    /// if its sender died before it could say so.
    pub fn sent(&self) -> usize {
        self.sent.union(&self.delivered).count()
    }

    /// How many messages are in the journal.
    pub fn delivered(&self) -> usize {
        self.delivered.len()
    }
}

impl MemberHistory {
    /// The word for its state, as `status` has it. A process that hangs cannot say so.
    pub fn word(&self) -> &'static str {
        match self.phase {
            _ if self.died => "dead",
            None | Some(Phase::Starting) => "starting",
            Some(Phase::Working) => "working",
            Some(Phase::Waiting) => "waiting",
            Some(Phase::Idle) => "idle",
            Some(Phase::Failed) => "failed",
            Some(Phase::Shutdown) => "shutdown",
        }
    }

    /// Takes in news of a life. Returns whether it is the last one: an older one is history.
    fn is_now(&mut self, incarnation: Incarnation) -> bool {
        if incarnation > self.incarnation {
            self.incarnation = incarnation;
            self.phase = None;
            self.died = false;
        }
        incarnation == self.incarnation
    }
}

impl Replay {
    /// Takes in the next line of the log.
    pub fn line(&mut self, line: &[u8]) {
        match EventLine::decode(line) {
            EventLine::Known(event) => self.event(event),
            EventLine::Unknown(_) => {}
            EventLine::Corrupt { .. } => self.broken += 1,
        }
    }

    /// Takes in the next event.
    #[expect(clippy::too_many_lines, reason = "one arm for each kind of event")]
    pub fn event(&mut self, event: Event) {
        match event.kind {
            EventKind::Send { id, to, .. } => {
                self.mail.entry(to).or_default().sent.insert(id);
            }
            EventKind::Deliver { id, to } => {
                self.mail.entry(to).or_default().delivered.insert(id);
            }
            EventKind::DeadLetter { inbox, .. } => {
                self.mail.entry(inbox).or_default().dead_letters += 1;
            }
            EventKind::Request { request_id, .. } => {
                // An answer may be told of before the question.
                let status = self.requests.entry(request_id);
                status.or_insert(RequestStatus::Pending);
            }
            EventKind::Resolve { request_id, status } => {
                self.requests.insert(request_id, status);
            }
            EventKind::Task {
                task,
                status,
                owner,
                ..
            } => {
                match status {
                    Some(status) => self.tasks.insert(task, Work { status, owner }),
                    None => self.tasks.remove(&task),
                };
            }
            EventKind::Leave { member, .. } => {
                self.members.remove(&member);
            }
            EventKind::Spawn {
                member,
                incarnation,
                role,
            } => self.member(member, incarnation).0.role = Some(role),
            EventKind::Ready {
                member,
                incarnation,
                role,
                ..
            } => {
                let (history, _) = self.member(member, incarnation);
                history.role = role.or(history.role.take());
            }
            EventKind::Restart {
                member,
                incarnation,
                ..
            } => {
                self.member(member, incarnation);
            }
            EventKind::State {
                member,
                incarnation,
                phase,
                ..
            } => {
                if let (history, true) = self.member(member, incarnation) {
                    history.phase = Some(phase);
                }
            }
            EventKind::Death {
                member,
                incarnation,
            } => self.die(member, incarnation),
            EventKind::Tool { .. }
            | EventKind::Model { .. }
            | EventKind::Compaction { .. }
            | EventKind::Budget { .. }
            | EventKind::Polling { .. } => {}
        }
    }

    /// Somebody of whom there is news, and whether the news is of its last life.
    fn member(
        &mut self,
        member: Recipient,
        incarnation: Incarnation,
    ) -> (&mut MemberHistory, bool) {
        let history = self.members.entry(member).or_default();
        let is_now = history.is_now(incarnation);
        (history, is_now)
    }

    /// Whoever deals with a death may be killed and leave it to the next, who tells of it again.
    fn die(&mut self, member: Recipient, incarnation: Incarnation) {
        if let (history, true) = self.member(member, incarnation)
            && !history.died
        {
            history.died = true;
            history.deaths += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replay(text: &str) -> Replay {
        let mut replay = Replay::default();
        text.lines().for_each(|line| replay.line(line.as_bytes()));
        replay
    }

    #[test]
    fn lives_follow_each_other_and_old_news_is_history() {
        let text = r#"{"time":1,"event":"ready","member":"al","incarnation":1,"pid":7}
{"time":1,"event":"spawn","member":"al","incarnation":1,"role":"coder"}
{"time":2,"event":"state","member":"al","incarnation":1,"phase":"working"}
{"time":3,"event":"death","member":"al","incarnation":1}
{"time":3,"event":"death","member":"al","incarnation":1}"#;
        let al: Recipient = "al".parse().unwrap();
        let dead = replay(text);
        let history = dead.members.get(&al).unwrap();
        assert_eq!((history.word(), history.deaths), ("dead", 1));
        assert_eq!(history.role.as_deref(), Some("coder"));
        let more = r#"{"time":4,"event":"state","member":"al","incarnation":2,"phase":"idle"}
{"time":4,"event":"state","member":"al","incarnation":1,"phase":"working"}
{"time":4,"event":"restart","member":"al","incarnation":2,"reason":"a person"}"#;
        let back = replay(&format!("{text}\n{more}"));
        let history = back.members.get(&al).unwrap();
        assert_eq!(
            (history.word(), history.incarnation.0, history.deaths),
            ("idle", 2, 1)
        );
        let left = replay(&format!(
            "{text}\n{}",
            r#"{"time":5,"event":"leave","member":"al","reason":""}"#
        ));
        assert_eq!(left.members.len(), 0);
    }

    #[test]
    fn mail_is_counted_once_and_what_was_delivered_was_sent() {
        let replay = replay(
            r#"{"time":1,"event":"send","id":"a","from":"lead","to":"al","type":"message"}
{"time":1,"event":"deliver","id":"a","to":"al"}
{"time":1,"event":"deliver","id":"a","to":"al"}
{"time":1,"event":"deliver","id":"b","to":"al"}
{"time":1,"event":"dead_letter","id":"x","inbox":"al","reason":"torn"}
{"time":1,"ev"#,
        );
        let mail = replay.mail.get(&"al".parse().unwrap()).unwrap();
        assert_eq!(
            (mail.sent(), mail.delivered(), mail.dead_letters),
            (2, 2, 1)
        );
        assert_eq!(replay.broken, 1);
    }

    #[test]
    fn the_board_is_what_the_last_event_of_each_task_says() {
        let replay = replay(
            r#"{"time":1,"event":"task","task":1,"action":"created","by":"lead","status":"pending"}
{"time":1,"event":"task","task":2,"action":"created","by":"lead","status":"pending"}
{"time":1,"event":"task","task":1,"action":"claimed","by":"al","status":"in_progress","owner":"al"}
{"time":1,"event":"task","task":2,"action":"deleted","by":"lead"}
{"time":1,"event":"resolve","request_id":"1a2b3c4d","status":"approved"}
{"time":1,"event":"request","request_id":"1a2b3c4d","kind":"plan","from":"al","to":"lead"}"#,
        );
        assert_eq!(replay.tasks.len(), 1);
        let work = replay.tasks.get(&TaskId(1)).unwrap();
        assert_eq!(work.status, TaskStatus::InProgress);
        assert_eq!(work.owner.as_ref().map(Party::as_str), Some("al"));
        let status = replay.requests.values().next();
        assert_eq!(status, Some(&RequestStatus::Approved));
    }
}
