//! A workspace of its own for each test, with a home of its own and a server for its models.

use budget::Sum;
use protocol::{AgentName, Line, Phase, Recipient, WaitingFor, decode_line};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;
use teamdir::{FOLDER, Options, TeamDir};
use test_support::llm_server::{LlmServer, ServerReply};
use test_support::wait_until;

/// How long anything may take on a machine that is busy with other tests.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

/// What the environment of the test may say and the programs must not hear.
const FOREIGN: [&str; 14] = [
    "ANTHROPIC_AUTH_TOKEN",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "TEAM_MODEL",
    "MODEL_ID",
    "TEAM_MAX_TOKENS",
    "TEAM_MAX_COST",
    "TEAM_MAX_TURNS",
    "TEAM_MAX_MINUTES",
    "TEAM_MAX_ROUNDS",
    "TEAM_WINDOW",
    "XDG_CONFIG_HOME",
    "HTTP_PROXY",
    "http_proxy",
];

/// A workspace. Whatever runs for it ends with the value.
pub(crate) struct Workspace {
    pub(crate) server: LlmServer,
    path: PathBuf,
    _dir: tempfile::TempDir,
}

/// What a command printed, and its exit code.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Workspace {
    /// A workspace with this `team.toml`, and without a team.
    pub(crate) fn new(config: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap();
        fs::write(path.join("team.toml"), config).unwrap();
        Self {
            server: LlmServer::start(),
            path,
            _dir: dir,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn team(&self) -> TeamDir {
        TeamDir::open(&self.path, Options::default()).unwrap()
    }

    /// `team-lead` in this workspace. A member that it starts asks the server under `agent`.
    pub(crate) fn command(&self, agent: &str, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_team-lead"));
        command.current_dir(&self.path).args(args);
        for variable in FOREIGN {
            command.env_remove(variable);
        }
        command
            .env("HOME", &self.path)
            .env("TEAM_READY_TIMEOUT", "120")
            .env("TEAMMATE_BIN", env!("CARGO_BIN_EXE_teammate"))
            .env("NO_PROXY", "*")
            .env("ANTHROPIC_API_KEY", "a key for tests")
            .env("ANTHROPIC_BASE_URL", self.server.base_url(agent));
        command
    }

    pub(crate) fn lead(&self, args: &[&str]) -> Run {
        Run::of(self.command("lead", args).output().unwrap())
    }

    #[track_caller]
    pub(crate) fn ok(&self, args: &[&str]) -> String {
        let run = self.lead(args);
        assert_eq!(run.code, 0, "{args:?}: {run:?}");
        run.out
    }

    #[track_caller]
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let mut all = vec!["--json"];
        all.extend(args);
        serde_json::from_str(&self.ok(&all)).unwrap()
    }

    /// Starts a member that asks the server under its own name.
    #[track_caller]
    pub(crate) fn spawn(&self, name: &str, args: &[&str]) {
        let mut all = vec!["spawn", name, "coder", "--model", "anthropic:some-model"];
        all.extend(args);
        let run = Run::of(self.command(name, &all).output().unwrap());
        assert_eq!(run.code, 0, "{all:?}: {run:?}");
    }

    /// Waits until a member waits for budget.
    #[track_caller]
    pub(crate) fn wait_for_budget(&self, name: &str) {
        let team = self.team();
        wait_until(&format!("{name} to wait for budget"), LIMIT, || {
            let live = team.live_state(&who(name)).unwrap();
            live.is_some_and(|live| {
                live.phase == Phase::Waiting && live.waiting_for == Some(WaitingFor::Budget)
            })
        });
    }

    #[track_caller]
    pub(crate) fn wait_for_phase(&self, name: &str, phase: Phase) {
        let team = self.team();
        wait_until(&format!("{name} to be {phase:?}"), LIMIT, || {
            let live = team.live_state(&who(name)).unwrap();
            live.is_some_and(|live| live.phase == phase)
        });
    }

    /// What the whole team has spent.
    pub(crate) fn sum(&self) -> Sum {
        Sum::of(&self.team().budget().unwrap(), None)
    }

    /// The ids of the messages in the lead's inbox.
    pub(crate) fn told(&self) -> Vec<String> {
        let inbox = self.team().layout().inbox(&Recipient::Lead);
        let text = fs::read(inbox).unwrap_or_default();
        let lines = text.split(|byte| *byte == b'\n');
        let ids = lines.filter_map(|line| match decode_line(line) {
            Line::Message(message) => message.id.map(|id| id.to_string()),
            _ => None,
        });
        let mut ids: Vec<String> = ids.collect();
        ids.sort();
        ids.dedup();
        ids
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        if !self.path.join(FOLDER).is_dir() {
            return;
        }
        let team = self.team();
        let roster = team.roster().unwrap();
        for member in &roster.members {
            // One that does not run is as it should be.
            let _ = processes::kill(&team, &member.name);
        }
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
}

pub(crate) fn who(name: &str) -> Recipient {
    Recipient::Member(AgentName::new(name).unwrap())
}

/// A reply of 100 tokens that uses a tool, so that the model is asked again.
pub(crate) fn work() -> ServerReply {
    ServerReply::calls([("bash", json!({"command": "true"}))]).usage(60, 40, 0, 0)
}

/// A reply of 100 tokens that ends a turn.
pub(crate) fn done() -> ServerReply {
    ServerReply::text("Done.").usage(60, 40, 0, 0)
}
