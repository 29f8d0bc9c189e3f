//! What the files of a team say.

use super::processes::contains;
use super::{KEY, LIMIT, Workspace, agent, recipient};
use protocol::{Body, Line, LiveState, Member, Message, Phase, Recipient, Request, RequestKind};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use test_support::{wait_for, wait_until};

impl Workspace {
    /// What a member says of itself.
    pub(crate) fn live(&self, name: &str) -> Option<LiveState> {
        self.team().live_state(&recipient(name)).unwrap()
    }

    pub(crate) fn phase(&self, name: &str) -> Option<Phase> {
        self.live(name).map(|live| live.phase)
    }

    #[track_caller]
    pub(crate) fn wait_phase(&self, name: &str, phase: Phase) {
        let what = format!("{name} to be {phase:?}");
        wait_until(&what, LIMIT, || self.phase(name) == Some(phase));
    }

    /// The last incarnation of a member; 0 before the first.
    pub(crate) fn incarnation(&self, name: &str) -> u64 {
        let roster = self.team().roster().unwrap();
        let member = roster.member(&agent(name));
        member.map_or(0, |member| member.incarnation.0)
    }

    pub(crate) fn member(&self, name: &str) -> Member {
        let roster = self.team().roster().unwrap();
        roster.member(&agent(name)).expect("a member").clone()
    }

    /// A member's state as `status` shows it, after the repair that every command does.
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

    /// The status of a member in the roster.
    pub(crate) fn roster_status(&self, name: &str) -> String {
        self.member(name).status.as_str().to_owned()
    }

    pub(crate) fn log_path(&self, name: &str) -> PathBuf {
        self.team().layout().member_log(&recipient(name))
    }

    pub(crate) fn log(&self, name: &str) -> String {
        fs::read_to_string(self.log_path(name)).unwrap_or_default()
    }

    /// Writes text to a member's log, as its process would.
    pub(crate) fn append_log(&self, name: &str, text: &str) {
        let path = self.log_path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        append(&path, text);
    }

    /// Appends a line to an inbox as any program could.
    pub(crate) fn write_line(&self, owner: &str, line: &Value) {
        let path = self.path().join(format!(".team/inbox/{owner}.jsonl"));
        append(&path, &format!("{line}\n"));
    }

    /// A member's journal as it is.
    pub(crate) fn journal(&self, name: &str) -> String {
        let path = self.team().layout().transcript(&recipient(name));
        fs::read_to_string(path).unwrap_or_default()
    }

    /// The journal of a member with all that was cut off before.
    pub(crate) fn history(&self, name: &str) -> String {
        let mut text = String::new();
        let visit = |line: &[u8], _| {
            text += &String::from_utf8_lossy(line);
            text.push('\n');
        };
        self.team().read_history(&recipient(name), visit).unwrap();
        text
    }

    /// The unread messages in an inbox.
    pub(crate) fn inbox(&self, owner: &Recipient) -> Vec<Message> {
        let mut messages = Vec::new();
        let peeked = self.team().unread_mail(owner, |_, line| {
            if let Line::Message(message) = line {
                messages.push(message);
            }
        });
        peeked.unwrap();
        messages
    }

    /// What a member reported to the lead at the end of its turns. A report that was sent again under
    /// the same id counts once, as it does for the lead.
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
            Body::Notice { content, .. } => Some((message.id?.to_string(), content)),
            _ => None,
        });
        notices.collect()
    }

    /// All requests, oldest first.
    pub(crate) fn requests(&self) -> Vec<Request> {
        let requests = self.team().requests().unwrap();
        requests.into_iter().flatten().collect()
    }

    /// A request as it is now.
    pub(crate) fn request(&self, request: &Request) -> Request {
        self.team().request(&request.id).unwrap()
    }

    /// Waits for a pending request of this kind.
    #[track_caller]
    pub(crate) fn pending(&self, kind: RequestKind) -> Request {
        wait_for(&format!("a {} request", kind.as_str()), LIMIT, || {
            let pending = team::pending(self.team()).unwrap();
            pending.into_iter().find(|request| request.kind() == kind)
        })
    }

    /// All events so far.
    pub(crate) fn events(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.team().layout().events()).unwrap_or_default();
        let lines = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        lines.collect()
    }

    /// Waits until a file of the workspace has a whole line, and returns its text.
    #[track_caller]
    pub(crate) fn wait_for_file(&self, name: &str) -> String {
        wait_for(&format!("the file {name}"), LIMIT, || {
            let text = fs::read_to_string(self.path().join(name)).ok()?;
            text.ends_with('\n').then(|| text.trim().to_owned())
        })
    }

    /// All files of the workspace but locks, with their sizes.
    pub(crate) fn listing(&self) -> Vec<(PathBuf, u64)> {
        let mut found = Vec::new();
        let mut folders = vec![self.path().to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let metadata = path.metadata().unwrap();
                if metadata.is_dir() {
                    folders.push(path);
                } else if path.extension().is_none_or(|end| end != "lock") {
                    found.push((path, metadata.len()));
                }
            }
        }
        found.sort();
        found
    }

    /// Checks that the key stands in no file of the team.
    #[track_caller]
    pub(crate) fn check_secret(&self) {
        for path in self.team_files() {
            let bytes = fs::read(&path).unwrap_or_default();
            let leaks = contains(&bytes, KEY.as_bytes());
            assert!(!leaks, "the key stands in {}", path.display());
        }
    }
}

fn append(path: &Path, text: &str) {
    let mut file = fs::File::options();
    let file = file.append(true).create(true).open(path);
    file.unwrap().write_all(text.as_bytes()).unwrap();
}
