//! A member for the tests of this crate. Its role is a list of behaviours:
//!
//! * `fails`: reports an error and exits before it takes the member's lock.
//! * `mute`: never takes the member's lock.
//! * `slow`: takes the lock and is never ready.
//! * `deaf`: ignores SIGTERM.
//! * `busy`: reports that it works; otherwise that it is idle.
//! * `shy`: does not update the roster.
//! * `sleepy`: reads no mail.
//! * `approves`, `rejects`: how it answers a shutdown request; otherwise not at all.
//! * `foreign`: mails its answer and does not record it in the request file.
//! * `stays`: approves and does not end.
//! * `rude`: approves and ends without updating the roster.
//! * `breeds`: leaves a process behind that carries its mark.

use protocol::{
    AgentName, Body, EventKind, Line, LiveState, MemberStatus, Phase, Recipient, RequestId,
};
use std::error::Error;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};
use team::Actor;
use teamdir::{MemberSession, Options, RosterError, TeamDir, WatchChoice, now};

/// No test needs it for longer, and no process of a test may stay for ever.
const LIFETIME: Duration = Duration::from_secs(900);
/// How often it checks that its team still exists.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Set when SIGTERM is already ignored.
const DEAF: &str = "TEST_MEMBER_IGNORES_SIGTERM";

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, _, folder, _, name] = arguments.as_slice() else {
        return Err("use --dir FOLDER --name NAME".into());
    };
    let team = TeamDir::open(Path::new(folder), Options::default())?;
    let name = AgentName::new(name)?;
    let roster = team.roster()?;
    let role = &roster
        .member(&name)
        .ok_or("I am not in the roster")?
        .spec
        .role;
    let is = |word: &str| role.split_whitespace().any(|found| found == word);
    if is("deaf") && std::env::var_os(DEAF).is_none() {
        // An ignored signal stays ignored in the program that takes the shell's place.
        let mut shell = Command::new("sh");
        shell.args(["-c", r#"trap "" TERM; exec "$0" "$@""#]);
        return Err(shell.args(&arguments).env(DEAF, "1").exec().into());
    }
    if is("fails") {
        return Err("the model has no key".into());
    }
    if is("mute") {
        std::thread::sleep(LIFETIME);
    }
    let owner = Recipient::Member(name.clone());
    let mut me = TestMember {
        session: MemberSession::open(&team, &owner, WatchChoice::Auto)?,
        team: &team,
        name,
        is: &is,
    };
    me.run()?;
    Ok(ExitCode::SUCCESS)
}

struct TestMember<'a> {
    team: &'a TeamDir,
    name: AgentName,
    session: MemberSession,
    is: &'a dyn Fn(&str) -> bool,
}

impl TestMember<'_> {
    fn run(&mut self) -> Result<(), Box<dyn Error>> {
        self.report(Phase::Starting)?;
        if (self.is)("slow") {
            std::thread::sleep(LIFETIME);
        }
        let (status, phase) = match (self.is)("busy") {
            true => (MemberStatus::Working, Phase::Working),
            false => (MemberStatus::Idle, Phase::Idle),
        };
        if !(self.is)("shy") {
            self.note(&status)?;
        }
        if (self.is)("breeds") {
            self.leave_process()?;
        }
        self.report(phase)?;
        self.team.log_event(EventKind::Ready {
            member: Recipient::Member(self.name.clone()),
            incarnation: self.session.guard().incarnation(),
            pid: std::process::id(),
            role: None,
        })?;
        let started = Instant::now();
        while started.elapsed() < LIFETIME && self.team.layout().roster().exists() {
            if (self.is)("sleepy") {
                std::thread::sleep(POLL_INTERVAL);
                continue;
            }
            let Some(delivery) = self.session.next(Some(Instant::now() + POLL_INTERVAL))? else {
                continue;
            };
            for received in &delivery.mail {
                if let Line::Message(message) = received.decode()
                    && let Body::ShutdownRequest { request_id, .. } = &message.body
                    && self.answer(request_id)?
                {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Answers a shutdown request. Returns whether to end.
    fn answer(&self, id: &RequestId) -> Result<bool, Box<dyn Error>> {
        let (approve, ends) = match () {
            () if (self.is)("approves") || (self.is)("rude") => (true, true),
            () if (self.is)("stays") => (true, false),
            () if (self.is)("rejects") => (false, false),
            () => return Ok(false),
        };
        let me = Actor::member(self.name.clone(), self.session.guard().incarnation());
        let reason = "so be it";
        if (self.is)("foreign") {
            team::mail_unrecorded_answer(self.team, &me, id, approve, reason)?;
        } else {
            team::answer_shutdown(self.team, &me, id, approve, reason)?;
        }
        if ends && !(self.is)("rude") {
            self.report(Phase::Shutdown)?;
            self.note(&MemberStatus::Shutdown)?;
        }
        Ok(ends)
    }

    fn report(&self, phase: Phase) -> Result<(), Box<dyn Error>> {
        let guard = self.session.guard();
        let state = LiveState::new(guard.incarnation(), phase, now());
        Ok(self.team.write_live_state(guard, &state)?)
    }

    fn note(&self, status: &MemberStatus) -> Result<(), RosterError> {
        self.team.update_roster(|roster| {
            if let Some(member) = roster.member_mut(&self.name) {
                member.status = status.clone();
            }
            Ok(())
        })
    }

    /// Starts a process in its own session and leaves it behind.
    fn leave_process(&self) -> Result<(), Box<dyn Error>> {
        let mark = processes::mark_of(self.team, &Recipient::Member(self.name.clone()));
        let child = Command::new("setsid")
            .args(["sleep", "900"])
            .env(command::MARK, format!("{mark}.1"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        // Between fork and exec a process does not have its environment yet.
        let program = format!("/proc/{}/comm", child.id());
        while std::fs::read_to_string(&program)?.trim() != "sleep" {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }
}
