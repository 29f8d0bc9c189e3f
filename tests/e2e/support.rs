//! A workspace of its own for each test, the command line run in it, and members to run beside it.

use protocol::{
    Body, Line, LiveState, MemberStatus, Message, MessageId, Party, Phase, Recipient, RequestId,
};
use rules::{Delivery, Recovered, judge};
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;
use teamdir::{MemberSession, Options, RosterError, TeamDir, WatchChoice, now};
use test_support::{TempTeam, Worker, wait_until};

/// How long anything may take on a machine that is busy with other tests.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// The variable that tells the test program to be a member, and how.
const MANNERS: &str = "TEAM_TEST_MANNERS";

/// A team in a folder of its own.
pub(crate) struct Workspace {
    temp: TempTeam,
}

/// What a command printed, and its exit code.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Workspace {
    /// A team with these members, none of which runs.
    pub(crate) fn new(members: &[&str]) -> Self {
        let temp = TempTeam::new(members, Options::default());
        Self { temp }
    }

    pub(crate) fn team(&self) -> &TeamDir {
        self.temp.team()
    }

    pub(crate) fn path(&self) -> &Path {
        self.temp.workspace()
    }

    /// A `team-lead` that is about to run in this workspace.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        command(self.path(), args)
    }

    /// Runs `team-lead` to its end.
    pub(crate) fn lead(&self, args: &[&str]) -> Run {
        Run::of(self.command(args).output().unwrap())
    }

    /// The same with this text on its standard input.
    pub(crate) fn lead_with_input(&self, args: &[&str], input: &str) -> Run {
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        // A command that fails before it reads has closed its end.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        Run::of(child.wait_with_output().unwrap())
    }

    /// Starts `team-lead` and reads what it prints meanwhile.
    pub(crate) fn start(&self, args: &[&str]) -> Worker {
        Worker::spawn(&mut self.command(args)).unwrap()
    }

    /// Starts a process that is the member `name`, and waits until it says so.
    pub(crate) fn member(&self, name: &str, manners: Manners) -> Worker {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["support::be_a_member", "--exact", "--nocapture"]);
        command.current_dir(self.path()).stderr(Stdio::null());
        command.env(MANNERS, manners.as_str()).env("NAME", name);
        let mut worker = Worker::spawn(&mut command).unwrap();
        while worker.line(LIMIT) != READY {}
        worker
    }

    /// Spawns a teammate with the offline model. Should the test be killed it ends by itself.
    #[track_caller]
    pub(crate) fn spawn(&self, name: &str, more: &[&str]) -> Resident<'_> {
        let mut args = vec!["spawn", name, "coder", "--idle-timeout", "10m"];
        args.extend(more);
        let resident = Resident {
            workspace: self,
            name: name.to_owned(),
        };
        let run = self.lead(&args);
        let words = format!("Spawned '{name}' (role: coder)\n");
        assert_eq!(run.has_code(protocol::exit::DONE).out, words);
        resident
    }

    /// Writes a line for a member's log, as its process would.
    pub(crate) fn log(&self, name: &str, text: &str) {
        let path = self.log_path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let file = std::fs::File::options()
            .append(true)
            .create(true)
            .open(path);
        file.unwrap().write_all(text.as_bytes()).unwrap();
    }

    pub(crate) fn log_path(&self, name: &str) -> PathBuf {
        self.team().layout().member_log(&who(name))
    }

    /// Everything in the team's folder, but for locks, with its size.
    pub(crate) fn listing(&self) -> Vec<(PathBuf, u64)> {
        let mut found = Vec::new();
        let mut folders = vec![self.path().to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let size = path.metadata().unwrap();
                if size.is_dir() {
                    folders.push(path);
                } else if path.extension().is_none_or(|end| end != "lock") {
                    found.push((path, size.len()));
                }
            }
        }
        found.sort();
        found
    }
}

/// A `team-lead` that is about to run in a folder.
pub(crate) fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_team-lead"));
    alone(command.current_dir(folder));
    command.stdin(Stdio::null()).args(args);
    command
}

/// Leaves out of a command's environment what would make it behave differently elsewhere.
pub(crate) fn alone(command: &mut Command) {
    command.env("TEAM_MODEL", "offline");
    for name in [
        "TEAM_FSYNC",
        "TEAMMATE_BIN",
        "TEAM_MEMBER",
        "TEAM_INCARNATION",
    ] {
        command.env_remove(name);
    }
}

/// A teammate that `team-lead spawn` started. It is killed when the test is over.
pub(crate) struct Resident<'a> {
    workspace: &'a Workspace,
    name: String,
}

impl Resident<'_> {
    /// What `status` shows of it.
    pub(crate) fn status(&self) -> Value {
        let status = self.workspace.lead(&["status", "--json"]).json();
        let mut members = status["members"].as_array().unwrap().iter();
        let member = members.find(|member| member["name"] == self.name.as_str());
        member.unwrap().clone()
    }

    /// Waits until it is in this state.
    #[track_caller]
    pub(crate) fn wait_for_state(&self, state: &str) {
        let what = format!("{} is {state}", self.name);
        wait_until(&what, LIMIT, || self.status()["state"] == state);
    }

    /// Kills its process as `kill -9` does.
    pub(crate) fn kill9(&self) {
        let pid = self.status()["pid"].to_string();
        let mut kill = Command::new("sh");
        kill.args(["-c", "kill -KILL \"$1\"", "sh", &pid]);
        assert!(kill.status().unwrap().success());
    }
}

impl Drop for Resident<'_> {
    fn drop(&mut self) {
        // One that does not run any more is fine too.
        let _ = self.workspace.command(&["kill", &self.name]).output();
    }
}

impl Run {
    pub(crate) fn of(output: Output) -> Self {
        Self {
            code: output.status.code().expect("no signal ended it"),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The object that it printed, if all went well.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.code, 0, "{self:?}");
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The error that it printed as an object.
    #[track_caller]
    pub(crate) fn json_error(&self, code: u8, kind: &str) -> Value {
        self.has_code(code);
        let error: Value =
            serde_json::from_str(&self.err).unwrap_or_else(|error| panic!("{error}: {self:?}"));
        assert_eq!(error["error"]["kind"], kind, "{self:?}");
        assert!(error["error"]["message"].is_string(), "{self:?}");
        error["error"].clone()
    }

    /// Makes sure of the exit code.
    #[track_caller]
    pub(crate) fn has_code(&self, code: u8) -> &Self {
        assert_eq!(self.code, i32::from(code), "{self:?}");
        self
    }

    /// Makes sure that an error says this, and what to type next.
    #[track_caller]
    pub(crate) fn complains(&self, code: u8, words: &str, next: &str) {
        self.has_code(code);
        assert!(self.err.contains(words), "{words:?} is not in {self:?}");
        let next = format!("next: {next}");
        assert!(self.err.contains(&next), "{next:?} is not in {self:?}");
        assert_eq!(self.out, "", "errors are no data");
    }
}

pub(crate) fn who(name: &str) -> Recipient {
    name.parse().unwrap()
}

/// Presses Ctrl-C.
pub(crate) fn interrupt(worker: &Worker) {
    let pid = worker.id().to_string();
    let mut kill = Command::new("sh");
    kill.args(["-c", "kill -INT \"$1\"", "sh", &pid]);
    assert!(kill.status().unwrap().success());
}

/// How a member answers when it is asked to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manners {
    /// It says yes and ends.
    Agrees,
    /// It says no.
    Refuses,
    /// It says nothing; SIGTERM ends it.
    Silent,
    /// It says nothing, and SIGTERM does not end it.
    Stubborn,
}

impl Manners {
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

/// What a member says when it can be talked to.
const READY: &str = "the member is ready";

/// Started with manners, the test program is a member for other tests. Without them it makes sure
/// that such a member can be started, and ends when it is asked to.
#[test]
fn be_a_member() {
    if let Ok(manners) = std::env::var(MANNERS) {
        return be_a_member_with(&manners);
    }
    let workspace = Workspace::new(&["alice"]);
    let mut alice = workspace.member("alice", Manners::Agrees);
    workspace.lead(&["shutdown", "alice"]).has_code(0);
    assert!(alice.wait(LIMIT).success());
}

#[expect(clippy::print_stdout, reason = "whoever started it waits for the line")]
fn be_a_member_with(manners: &str) {
    let manners = Manners::ALL.into_iter().find(|m| m.as_str() == manners);
    let manners = manners.expect("known manners");
    if manners == Manners::Stubborn {
        let heard = std::sync::Arc::default();
        signal_hook::flag::register(signal_hook::consts::SIGTERM, heard).unwrap();
    }
    let team = TeamDir::open(Path::new("."), Options::default()).unwrap();
    let owner = who(&std::env::var("NAME").unwrap());
    let mut session = MemberSession::open(&team, &owner, WatchChoice::Auto).unwrap();
    be(&team, &session, Phase::Idle, MemberStatus::Idle);
    // The first line of the test harness may lack its end.
    println!("\n{READY}");
    loop {
        let delivery = session.next(None).unwrap().unwrap_or_default();
        for received in delivery.mail {
            let Line::Message(message) = received.line else {
                continue;
            };
            let Body::ShutdownRequest { request_id, .. } = &message.body else {
                continue;
            };
            // What was meant for an earlier life is none of its business.
            let verdict = judge(&message, session.guard().incarnation(), Recovered::Kept);
            if !matches!(verdict, Delivery::Deliver) {
                continue;
            }
            match manners {
                Manners::Agrees => {
                    answer(&team, &session, request_id, true);
                    be(&team, &session, Phase::Shutdown, MemberStatus::Shutdown);
                    return;
                }
                Manners::Refuses => answer(&team, &session, request_id, false),
                Manners::Silent | Manners::Stubborn => {}
            }
        }
    }
}

/// Says what a member is doing, in its live state and in the roster.
pub(crate) fn be(team: &TeamDir, session: &MemberSession, phase: Phase, status: MemberStatus) {
    let guard = session.guard();
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

fn answer(team: &TeamDir, session: &MemberSession, id: &RequestId, approve: bool) {
    let mut message = Message::new(Body::ShutdownResponse {
        request_id: id.clone(),
        approve,
        reason: "the parser is half done".to_owned(),
    });
    message.id = Some(MessageId::new(&format!("{id}/answer")).unwrap());
    message.from = Some(Party::from(session.guard().owner().clone()).into());
    message.from_incarnation = Some(session.guard().incarnation());
    message.to = Some(Recipient::Lead);
    team.send(message).unwrap();
}

/// Waits until a file contains a text.
#[track_caller]
pub(crate) fn wait_for_text(path: &Path, text: &str) {
    let what = format!("{text:?} in {}", path.display());
    wait_until(&what, LIMIT, || {
        std::fs::read_to_string(path).is_ok_and(|found| found.contains(text))
    });
}
