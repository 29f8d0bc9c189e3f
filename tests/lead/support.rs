//! A workspace of its own for each test, leads that run in it, and a server that plays their model.

use protocol::{AgentName, Incarnation, Phase, Recipient};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use teamdir::{Liveness, Options, TeamDir};
use tempfile::TempDir;
use test_support::llm_server::{LlmServer, ServerReply};
use test_support::{wait_for, wait_until};

/// How long anything may take on a machine that is busy with other tests.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

/// A folder with a team, and the model of its lead.
pub(crate) struct Office {
    dir: TempDir,
    pub(crate) server: LlmServer,
    sessions: AtomicUsize,
}

/// A `team-lead` that runs. It is killed when the value is dropped.
pub(crate) struct Session {
    child: Child,
    stdin: Option<ChildStdin>,
    out: PathBuf,
    err: PathBuf,
}

/// What a command printed, and its exit code.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Office {
    /// An office with a team, whose lead answers "Standing by." when nothing else was queued.
    pub(crate) fn new() -> Self {
        let office = Self::empty();
        TeamDir::create(office.path(), "default", Options::default()).unwrap();
        office
    }

    /// The same without a team.
    pub(crate) fn empty() -> Self {
        let server = LlmServer::start();
        server.always("lead", ServerReply::text("Standing by."));
        Self {
            dir: tempfile::tempdir().unwrap(),
            server,
            sessions: AtomicUsize::new(0),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn team(&self) -> TeamDir {
        TeamDir::open(self.path(), Options::default()).unwrap()
    }

    /// What the lead answers next.
    pub(crate) fn reply(&self, reply: ServerReply) {
        self.server.enqueue("lead", reply);
    }

    /// Writes a script, and returns the model that plays it.
    pub(crate) fn script(&self, turns: &[Value]) -> String {
        let path = self.path().join("script.jsonl");
        let lines: Vec<String> = turns.iter().map(Value::to_string).collect();
        fs::write(&path, lines.join("\n")).unwrap();
        format!("script:{}", path.display())
    }

    /// A `team-lead` that is about to run here, without any model of the machine it runs on.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_team-lead"));
        command.args(args).current_dir(self.path());
        for variable in [
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "OPENAI_API_KEY",
            "OPENAI_BASE_URL",
            "TEAM_MODEL",
            "MODEL_ID",
            "NO_COLOR",
            "XDG_STATE_HOME",
        ] {
            command.env_remove(variable);
        }
        command
            .env("ANTHROPIC_BASE_URL", self.server.base_url("lead"))
            .env("HOME", self.path().join("home"))
            .env("TEAM_FSYNC", "off")
            .env("TEAM_READY_TIMEOUT", "120")
            .env("TERM", "xterm-256color");
        command
    }

    /// A lead that is about to run, with the server as its model.
    pub(crate) fn lead(&self, args: &[&str]) -> Command {
        let mut command = self.command(&["run", "--model", "anthropic:test"]);
        command.args(args);
        command
    }

    /// Starts a command with its input open.
    pub(crate) fn start(&self, command: &mut Command) -> Session {
        let number = self.sessions.fetch_add(1, Ordering::SeqCst);
        let file = |name: &str| {
            let path = self.path().join(format!("{name}-{number}.txt"));
            (File::create(&path).unwrap(), path)
        };
        let ((out, out_path), (err, err_path)) = (file("out"), file("err"));
        command.stdin(Stdio::piped()).stdout(out).stderr(err);
        let mut child = command.spawn().unwrap();
        Session {
            stdin: child.stdin.take(),
            child,
            out: out_path,
            err: err_path,
        }
    }

    /// Runs a command to its end, with this input.
    #[track_caller]
    pub(crate) fn run(&self, command: &mut Command, input: &str) -> Run {
        let mut session = self.start(command);
        session.type_text(input);
        session.end()
    }

    /// Runs a verb of the command line, which must succeed.
    #[track_caller]
    pub(crate) fn verb(&self, args: &[&str]) -> String {
        let run = self.run(&mut self.command(args), "");
        assert_eq!(run.code, Some(0), "{args:?}: {run:?}");
        run.out
    }

    /// The process and the life of a member or the lead, while it lives.
    pub(crate) fn alive(&self, who: &str) -> Option<(u32, Incarnation)> {
        let who: Recipient = who.parse().unwrap();
        match self.team().liveness(&who).unwrap() {
            Liveness::Alive(holder) => holder.map(|holder| (holder.pid, holder.incarnation)),
            Liveness::Gone(_) => None,
        }
    }

    /// Waits until a member or the lead lives and is in this phase.
    #[track_caller]
    pub(crate) fn wait_for_phase(&self, who: &str, phase: Phase) -> (u32, Incarnation) {
        let owner: Recipient = who.parse().unwrap();
        let team = self.team();
        wait_for(&format!("{who} to be {phase:?}"), LIMIT, || {
            let (pid, incarnation) = self.alive(who)?;
            let live = team.live_state(&owner).ok()??;
            (live.incarnation == incarnation && live.phase == phase).then_some((pid, incarnation))
        })
    }

    #[track_caller]
    pub(crate) fn wait_until_gone(&self, who: &str) {
        wait_until(&format!("the end of {who}"), LIMIT, || {
            self.alive(who).is_none()
        });
    }

    /// What the roster says of a member.
    pub(crate) fn status(&self, name: &str) -> String {
        let name = AgentName::new(name).unwrap();
        let roster = self.team().roster().unwrap();
        roster.member(&name).unwrap().status.as_str().to_owned()
    }

    /// All requests to the lead's model, as text.
    pub(crate) fn asked(&self) -> Vec<String> {
        let requests = self.server.requests("lead");
        requests.iter().map(|r| r.body().to_string()).collect()
    }

    /// Waits until a request to the lead's model holds a text.
    #[track_caller]
    pub(crate) fn wait_until_told(&self, text: &str) {
        wait_until(&format!("the lead to be told {text:?}"), LIMIT, || {
            self.asked().iter().any(|asked| asked.contains(text))
        });
    }

    /// Waits until a file is there, and returns what it says.
    #[track_caller]
    pub(crate) fn wait_for_file(&self, name: &str) -> String {
        wait_for(&format!("the file {name}"), LIMIT, || {
            let text = fs::read_to_string(self.path().join(name)).ok()?;
            text.ends_with('\n').then(|| text.trim().to_owned())
        })
    }
}

impl Drop for Office {
    /// No process outlives its test, whatever became of it.
    fn drop(&mut self) {
        let Ok(team) = TeamDir::open(self.path(), Options::default()) else {
            return;
        };
        let roster = team.roster().unwrap();
        for member in &roster.members {
            // Most are gone.
            let _ = processes::kill(&team, &member.name);
        }
    }
}

impl Session {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Types text. Nobody may be there to read it any more.
    pub(crate) fn type_text(&mut self, text: &str) {
        if let Some(stdin) = &mut self.stdin {
            let _ = stdin.write_all(text.as_bytes());
        }
    }

    pub(crate) fn out(&self) -> String {
        fs::read_to_string(&self.out).unwrap()
    }

    pub(crate) fn err(&self) -> String {
        fs::read_to_string(&self.err).unwrap()
    }

    /// Waits until a text was said on standard error.
    #[track_caller]
    pub(crate) fn wait_for_word(&self, text: &str) {
        let what = format!("{text:?} on standard error");
        wait_until(&what, LIMIT, || self.err().contains(text));
    }

    pub(crate) fn signal(&self, signal: &str) {
        send_signal(signal, self.pid());
    }

    pub(crate) fn kill9(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Closes the input and waits for the end.
    #[track_caller]
    pub(crate) fn end(mut self) -> Run {
        self.stdin = None;
        let what = format!("the end of team-lead; so far: {}", self.err());
        let status = wait_for(&what, LIMIT, || self.child.try_wait().unwrap());
        Run {
            code: status.code(),
            out: self.out(),
            err: self.err(),
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until a process that wrote its number into a file is gone.
#[track_caller]
pub(crate) fn wait_until_ended(pid: &str) {
    let path = Path::new("/proc").join(pid.trim());
    wait_until(&format!("the end of process {pid}"), LIMIT, || {
        !path.exists()
    });
}

/// Sends a signal to a process of this test.
pub(crate) fn send_signal(signal: &str, pid: u32) {
    let status = Command::new("kill")
        .args(["-s", signal, &pid.to_string()])
        .status();
    assert!(status.unwrap().success());
}

/// A reply that starts a teammate.
pub(crate) fn spawn(name: &str, prompt: &str, model: &str) -> ServerReply {
    ServerReply::new().call(
        "spawn_teammate",
        json!({"name": name, "role": "coder", "prompt": prompt, "model": model}),
    )
}

/// A reply that runs a command.
pub(crate) fn bash(command: &str) -> ServerReply {
    ServerReply::new().call("bash", json!({"command": command}))
}

/// A turn of a script.
pub(crate) fn plays_bash(agent: &str, command: &str) -> Value {
    json!({"agent": agent, "calls": [{"name": "bash", "input": {"command": command}}]})
}
