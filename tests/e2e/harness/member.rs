//! Members that are played by the test program itself.

use super::{LIMIT, Session, Workspace, recipient};
use protocol::{Body, Line, LiveState, MemberStatus, Message, MessageId, Party, Phase};
use protocol::{Recipient, RequestId};
use rules::{Conversation, Delivery, judge};
use std::path::Path;
use std::process::Command;
use teamdir::{MemberSession, Options, RosterError, TeamDir, WatchChoice, now};

/// The variable that makes the test program a member.
const BEHAVIOUR: &str = "TEAM_TEST_BEHAVIOUR";

impl Workspace {
    /// Starts a process that plays the member `name`, and waits until it receives mail.
    pub(crate) fn play_member(&self, name: &str, behaviour: Behaviour) -> Session {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["harness::member::play_a_member", "--exact", "--nocapture"]);
        command.current_dir(self.path());
        command.env("TEAM_TEST_WORKSPACE", self.path());
        command.env(BEHAVIOUR, behaviour.as_str()).env("NAME", name);
        let mut session = self.start_command(&mut command);
        while session.line(LIMIT) != READY {}
        session
    }
}

/// How a member answers a shutdown request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Behaviour {
    /// It approves and ends.
    Agrees,
    /// It rejects.
    Refuses,
    /// It does not answer; SIGTERM ends it.
    Silent,
    /// It does not answer, and SIGTERM does not end it.
    Stubborn,
}

impl Behaviour {
    const ALL: [Self; 4] = [Self::Agrees, Self::Refuses, Self::Silent, Self::Stubborn];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Refuses => "refuses",
            Self::Silent => "silent",
            Self::Stubborn => "stubborn",
        }
    }
}

/// What a member prints when it receives mail.
const READY: &str = "the member is ready";

/// With the variable, the test program is a member for other tests. Without it, this checks that such
/// a member can be started and ends when it is asked to.
#[test]
fn play_a_member() {
    if let Ok(behaviour) = std::env::var(BEHAVIOUR) {
        return play(&behaviour);
    }
    let workspace = Workspace::with_members(&["alice"]);
    let mut alice = workspace.play_member("alice", Behaviour::Agrees);
    workspace.run(&["shutdown", "alice"]).has_code(0);
    assert!(alice.wait(LIMIT).success());
}

#[expect(clippy::print_stdout, reason = "whoever started it waits for the line")]
fn play(behaviour: &str) {
    let behaviour = Behaviour::ALL.into_iter().find(|m| m.as_str() == behaviour);
    let behaviour = behaviour.expect("a known behaviour");
    if behaviour == Behaviour::Stubborn {
        let received = std::sync::Arc::default();
        signal_hook::flag::register(signal_hook::consts::SIGTERM, received).unwrap();
    }
    let team = TeamDir::open(Path::new("."), Options::default()).unwrap();
    let owner = recipient(&std::env::var("NAME").unwrap());
    let mut post = MemberSession::open(&team, &owner, WatchChoice::Auto).unwrap();
    set_state(&team, &post, Phase::Idle, MemberStatus::Idle);
    // The line that libtest has begun may lack its end.
    println!("\n{READY}");
    loop {
        let delivery = post.next(None).unwrap().unwrap_or_default();
        for received in delivery.mail {
            let Line::Message(message) = received.decode() else {
                continue;
            };
            let Body::ShutdownRequest { request_id, .. } = &message.body else {
                continue;
            };
            // A request for an earlier incarnation is ignored.
            let verdict = judge(&message, post.guard().incarnation(), Conversation::Kept);
            if !matches!(verdict, Delivery::Deliver) {
                continue;
            }
            match behaviour {
                Behaviour::Agrees => {
                    answer(&team, &post, request_id, true);
                    set_state(&team, &post, Phase::Shutdown, MemberStatus::Shutdown);
                    return;
                }
                Behaviour::Refuses => answer(&team, &post, request_id, false),
                Behaviour::Silent | Behaviour::Stubborn => {}
            }
        }
    }
}

/// Sets what a member does, in its live state and in the roster.
pub(crate) fn set_state(team: &TeamDir, post: &MemberSession, phase: Phase, status: MemberStatus) {
    let guard = post.guard();
    let state = LiveState::new(guard.incarnation(), phase, now());
    team.write_live_state(guard, &state).unwrap();
    let changed = team.update_roster(|roster| {
        if let Recipient::Member(name) = guard.owner() {
            roster.member_mut(name).unwrap().status = status.clone();
        }
        Ok::<_, RosterError>(())
    });
    changed.unwrap();
}

fn answer(team: &TeamDir, post: &MemberSession, id: &RequestId, approve: bool) {
    let mut message = Message::new(Body::ShutdownResponse {
        request_id: id.clone(),
        approve,
        reason: "the parser is half done".to_owned(),
    });
    message.id = Some(MessageId::new(&format!("{id}/answer")).unwrap());
    message.from = Some(Party::from(post.guard().owner().clone()).into());
    message.from_incarnation = Some(post.guard().incarnation());
    message.to = Some(Recipient::Lead);
    team.send(message).unwrap();
}
