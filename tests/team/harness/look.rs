//! What can be seen of a team in its files.

use super::{LIMIT, Team, agent, recipient};
use protocol::{Body, Line, LiveState, Member, Message, Phase, Recipient, Request, RequestKind};
use serde_json::Value;
use std::fs;
use test_support::{wait_for, wait_until};

impl Team {
    /// What a member says of itself.
    pub(crate) fn live(&self, name: &str) -> Option<LiveState> {
        self.team.live_state(&recipient(name)).unwrap()
    }

    pub(crate) fn phase(&self, name: &str) -> Option<Phase> {
        self.live(name).map(|live| live.phase)
    }

    #[track_caller]
    pub(crate) fn wait_phase(&self, name: &str, phase: Phase) {
        let what = format!("{name} to be {phase:?}");
        wait_until(&what, LIMIT, || self.phase(name) == Some(phase));
    }

    /// Which life of a member was the last; 0 before the first.
    pub(crate) fn incarnation(&self, name: &str) -> u64 {
        let roster = self.team.roster().unwrap();
        let member = roster.member(&agent(name));
        member.map_or(0, |member| member.incarnation.0)
    }

    pub(crate) fn member(&self, name: &str) -> Member {
        let roster = self.team.roster().unwrap();
        roster.member(&agent(name)).expect("a member").clone()
    }

    /// The shown word for a member's state, after the repair that every command does.
    pub(crate) fn state(&self, name: &str) -> String {
        self.shown(name)["state"].as_str().unwrap().to_owned()
    }

    /// A member's line of `status --json`.
    #[track_caller]
    pub(crate) fn shown(&self, name: &str) -> Value {
        let status = self.json(&["status"]);
        let members = status["members"].as_array().unwrap();
        let found = members.iter().find(|member| member["name"] == name);
        found.unwrap_or_else(|| panic!("{status}")).clone()
    }

    #[track_caller]
    pub(crate) fn wait_state(&self, name: &str, state: &str) {
        let what = format!("{name} to be shown as {state}");
        wait_until(&what, LIMIT, || self.state(name) == state);
    }

    pub(crate) fn log(&self, name: &str) -> String {
        let path = self.team.layout().member_log(&recipient(name));
        fs::read_to_string(path).unwrap_or_default()
    }

    /// A member's journal as it is.
    pub(crate) fn journal(&self, name: &str) -> String {
        let path = self.team.layout().transcript(&recipient(name));
        fs::read_to_string(path).unwrap_or_default()
    }

    /// The unread messages in an inbox.
    pub(crate) fn inbox(&self, owner: &Recipient) -> Vec<Message> {
        let mut messages = Vec::new();
        let peeked = self.team.unread_mail(owner, |_, line| {
            if let Line::Message(message) = line {
                messages.push(message);
            }
        });
        peeked.unwrap();
        messages
    }

    /// What the lead was told by a member at the end of its turns. A report that was sent again under
    /// the same id is one report, as it is for the lead.
    pub(crate) fn reports(&self, name: &str) -> Vec<String> {
        let mut ids = std::collections::BTreeSet::new();
        let mail = self.inbox(&Recipient::Lead).into_iter();
        let mail = mail.filter(|message| {
            let id = message.id.as_ref().map(ToString::to_string);
            id.is_none_or(|id| ids.insert(id))
        });
        let reports = mail.filter_map(|message| match message.body {
            Body::IdleNotification { content } => {
                (message.from?.as_str() == name).then_some(content)
            }
            _ => None,
        });
        reports.collect()
    }

    /// Waits for so many reports, and for the phase after the last of them.
    #[track_caller]
    pub(crate) fn wait_reports(&self, name: &str, count: usize) -> Vec<String> {
        let what = format!("{count} reports of {name}");
        let reports = wait_for(&what, LIMIT, || {
            let reports = self.reports(name);
            (reports.len() >= count).then_some(reports)
        });
        self.wait_phase(name, Phase::Idle);
        reports
    }

    /// The notices that the lead got, by id and text.
    pub(crate) fn notices(&self) -> Vec<(String, String)> {
        let mail = self.inbox(&Recipient::Lead).into_iter();
        let notices = mail.filter_map(|message| match message.body {
            Body::Notice { content } => Some((message.id?.to_string(), content)),
            _ => None,
        });
        notices.collect()
    }

    /// All requests, oldest first.
    pub(crate) fn requests(&self) -> Vec<Request> {
        let requests = self.team.requests().unwrap();
        requests.into_iter().flatten().collect()
    }

    /// Waits for a request of this kind that waits for an answer.
    #[track_caller]
    pub(crate) fn pending(&self, kind: RequestKind) -> Request {
        wait_for(&format!("a {} request", kind.as_str()), LIMIT, || {
            let pending = team::pending(&self.team).unwrap();
            pending.into_iter().find(|request| request.kind() == kind)
        })
    }

    /// How often a text stands in the last request of a member.
    pub(crate) fn said(&self, name: &str, text: &str) -> usize {
        let body = self.server.last_request(name).raw_body().to_vec();
        String::from_utf8_lossy(&body).matches(text).count()
    }

    /// All events so far.
    pub(crate) fn events(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.team.layout().events()).unwrap_or_default();
        let lines = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        lines.collect()
    }
}
