//! Replays the event log: members, board, requests, and counts of mail.
//!
//! A process may be killed between a change and its event. The missing event is then logged by the
//! next process that takes the same lock (tasks, requests), by the one that reaps the member (death), or
//! by the next incarnation (mail). So replaying the log of a quiet team gives the roster, the board and
//! the counts of messages that the files show.

use protocol::{
    Event, EventKind, EventLine, Incarnation, MessageId, Party, Phase, Recipient, RequestId,
    RequestStatus, TaskId, TaskStatus,
};
use std::collections::{BTreeMap, BTreeSet};

/// The state that results from the events so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Replay {
    /// All members and leads that were ready once and have not left.
    pub members: BTreeMap<Recipient, MemberHistory>,
    pub tasks: BTreeMap<TaskId, Work>,
    pub requests: BTreeMap<RequestId, RequestStatus>,
    pub mail: BTreeMap<Recipient, Mail>,
    /// The number of lines that are not events.
    pub broken: usize,
}

/// A member or the lead, according to the log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemberHistory {
    pub role: Option<String>,
    /// The last incarnation.
    pub incarnation: Incarnation,
    /// The last phase of that incarnation.
    pub phase: Option<Phase>,
    /// Whether that incarnation died.
    pub died: bool,
    /// The number of incarnations that died.
    pub deaths: u64,
}

/// A task, according to the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    pub status: TaskStatus,
    pub owner: Option<Party>,
}

/// The mail of a member, according to the log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mail {
    sent: BTreeSet<MessageId>,
    delivered: BTreeSet<MessageId>,
    /// The number of undeliverable lines.
    pub dead_letters: usize,
}

impl Mail {
    /// The number of messages that the inbox accepted. A delivered message was accepted, even if its
    /// sender died before it logged that.
    pub fn sent(&self) -> usize {
        self.sent.union(&self.delivered).count()
    }

    /// The number of messages in the journal.
    pub fn delivered(&self) -> usize {
        self.delivered.len()
    }
}

impl MemberHistory {
    /// The name of the state, as in `status`. The log cannot show that a process hangs.
    pub fn state_name(&self) -> &'static str {
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

    /// Records an incarnation. Returns whether it is the latest one.
    fn record_incarnation(&mut self, incarnation: Incarnation) -> bool {
        if incarnation > self.incarnation {
            self.incarnation = incarnation;
            self.phase = None;
            self.died = false;
        }
        incarnation == self.incarnation
    }
}

impl Replay {
    /// Applies the next line of the log.
    pub fn line(&mut self, line: &[u8]) {
        match EventLine::decode(line) {
            EventLine::Known(event) => self.event(event),
            EventLine::Unknown(_) => {}
            EventLine::Corrupt { .. } => self.broken += 1,
        }
    }

    /// Applies the next event.
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
                // The event of an answer may precede that of its request.
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
                ..
            } => self.die(member, incarnation),
            EventKind::GaveUp { .. }
            | EventKind::HostSpawn { .. }
            | EventKind::Submission { .. }
            | EventKind::Tree { .. }
            | EventKind::Land { .. }
            | EventKind::Note { .. }
            | EventKind::Tool { .. }
            | EventKind::File { .. }
            | EventKind::Model { .. }
            | EventKind::ModelSwitched { .. }
            | EventKind::Compaction { .. }
            | EventKind::Budget { .. }
            | EventKind::HookFailed { .. }
            | EventKind::Polling { .. } => {}
        }
    }

    /// The history of a member, and whether `incarnation` is its latest.
    fn member(
        &mut self,
        member: Recipient,
        incarnation: Incarnation,
    ) -> (&mut MemberHistory, bool) {
        let history = self.members.entry(member).or_default();
        let is_latest = history.record_incarnation(incarnation);
        (history, is_latest)
    }

    /// A death may be logged twice, if the process that reaps the member is killed.
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
    fn events_of_an_old_incarnation_do_not_change_the_state() {
        let text = r#"{"time":1,"event":"ready","member":"al","incarnation":1,"pid":7}
{"time":1,"event":"spawn","member":"al","incarnation":1,"role":"coder"}
{"time":2,"event":"state","member":"al","incarnation":1,"phase":"working"}
{"time":3,"event":"death","member":"al","incarnation":1}
{"time":3,"event":"death","member":"al","incarnation":1}"#;
        let al: Recipient = "al".parse().unwrap();
        let dead = replay(text);
        let history = dead.members.get(&al).unwrap();
        assert_eq!((history.state_name(), history.deaths), ("dead", 1));
        assert_eq!(history.role.as_deref(), Some("coder"));
        let more = r#"{"time":4,"event":"state","member":"al","incarnation":2,"phase":"idle"}
{"time":4,"event":"state","member":"al","incarnation":1,"phase":"working"}
{"time":4,"event":"restart","member":"al","incarnation":2,"reason":"a person"}"#;
        let back = replay(&format!("{text}\n{more}"));
        let history = back.members.get(&al).unwrap();
        assert_eq!(
            (history.state_name(), history.incarnation.0, history.deaths),
            ("idle", 2, 1)
        );
        let left = replay(&format!(
            "{text}\n{}",
            r#"{"time":5,"event":"leave","member":"al","reason":""}"#
        ));
        assert_eq!(left.members.len(), 0);
    }

    #[test]
    fn mail_is_counted_once_and_delivered_mail_was_sent() {
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
    fn the_board_follows_the_last_event_of_each_task() {
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
