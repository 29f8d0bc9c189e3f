//! A temporary team whose processes are killed at the end of the test.

use nix::sys::signal::Signal;
use processes::{ProcessHandle, Programs, Spawned, spawn};
use protocol::{AgentName, Body, Incarnation, Line, Member, MemberSpec, Recipient};
use std::path::PathBuf;
use std::time::Duration;
use team::Actor;
use teamdir::{Options, RosterError, TeamDir};
use test_support::{TempTeam, wait_until};

/// The limit of every wait, long enough for a busy machine.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

pub(crate) struct Members {
    temp: TempTeam,
}

impl Members {
    pub(crate) fn new() -> Self {
        Self::with(Options::default())
    }

    pub(crate) fn with(options: Options) -> Self {
        let temp = TempTeam::new(&[], options);
        Self { temp }
    }

    pub(crate) fn team(&self) -> &TeamDir {
        self.temp.team()
    }

    /// Starts a member that behaves as its role lists.
    pub(crate) fn start(&self, name_: &str, role: &str) -> (u32, Incarnation) {
        match spawn(
            self.team(),
            &Actor::user(),
            &MemberSpec::new(name(name_), role),
            &programs(),
        ) {
            Ok(Spawned::Started {
                pid, incarnation, ..
            }) => (pid, incarnation),
            other => panic!("{name_} did not start: {other:?}"),
        }
    }

    pub(crate) fn process(&self, name_: &str) -> ProcessHandle {
        let found = ProcessHandle::of(self.team(), &recipient(name_));
        found.unwrap().expect("a running member")
    }

    pub(crate) fn is_alive(&self, name_: &str) -> bool {
        let found = ProcessHandle::of(self.team(), &recipient(name_));
        found.unwrap().is_some()
    }

    /// Kills a member's process with SIGKILL, and returns when it has ended.
    pub(crate) fn kill9(&self, name_: &str) -> Incarnation {
        let process = self.process(name_);
        process.signal(Signal::SIGKILL).unwrap();
        wait_until("the end of the process", LIMIT, || process.is_gone());
        process.incarnation()
    }

    pub(crate) fn state(&self, name_: &str) -> &'static str {
        processes::member_view(self.team(), &name(name_))
            .unwrap()
            .state
            .word()
    }

    pub(crate) fn member(&self, name_: &str) -> Member {
        let roster = self.team().roster().unwrap();
        roster.member(&name(name_)).expect("a member").clone()
    }

    pub(crate) fn change(&self, name_: &str, change: impl Fn(&mut Member)) {
        let changed = self.team().update_roster(|roster| {
            change(roster.member_mut(&name(name_)).expect("a member"));
            Ok::<_, RosterError>(())
        });
        changed.unwrap();
    }

    /// The ids and texts of all notices in the lead's inbox.
    pub(crate) fn notices(&self) -> Vec<(String, String)> {
        let mut notices = Vec::new();
        let peeked = self.team().unread_mail(&Recipient::Lead, |_, line| {
            if let Line::Message(message) = line
                && let Body::Notice { content, .. } = message.body
            {
                let id = message.id.map(|id| id.to_string());
                notices.push((id.unwrap_or_default(), content));
            }
        });
        peeked.unwrap();
        notices
    }

    /// Repairs until the death of a member is reaped. One try may not be enough: a child that another test
    /// forks inherits the locks of this process until it calls exec.
    pub(crate) fn repair_until_reaped(&self, name_: &str) {
        wait_until("the death to be reaped", LIMIT, || {
            processes::repair(self.team());
            let member = self.member(name_);
            member.reaped == Some(member.incarnation)
        });
    }

    pub(crate) fn events(&self) -> String {
        std::fs::read_to_string(self.team().layout().events()).unwrap_or_default()
    }
}

impl Drop for Members {
    fn drop(&mut self) {
        let Ok(roster) = self.team().roster() else {
            return;
        };
        for member in &roster.members {
            let owner = Recipient::Member(member.spec.name.clone());
            if let Ok(Some(process)) = ProcessHandle::of(self.team(), &owner) {
                let _ = process.signal(Signal::SIGKILL);
                process.wait(LIMIT);
            }
        }
    }
}

pub(crate) fn name(text: &str) -> AgentName {
    AgentName::new(text).unwrap()
}

pub(crate) fn recipient(text: &str) -> Recipient {
    Recipient::Member(name(text))
}

pub(crate) fn programs() -> Programs {
    Programs {
        ready_within: LIMIT,
        ..Programs::new(PathBuf::from(env!("CARGO_BIN_EXE_test-member")))
    }
}
