//! A team of real processes in a folder of its own.

use protocol::Recipient;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;
use teamdir::{Liveness, Options, TeamDir};
use tempfile::TempDir;
use test_support::wait_until;

/// How long anything may take on a machine that is busy with other tests.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

/// A folder with a team. Its members end with it.
pub(crate) struct Office {
    dir: TempDir,
    pub(crate) team: TeamDir,
}

impl Office {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let team = TeamDir::create(dir.path(), "default", Options::default()).unwrap();
        Self { dir, team }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// A `team-lead` that is about to run here, without any model of the machine it runs on.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_team-lead"));
        for variable in [
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "ANTHROPIC_BASE_URL",
            "OPENAI_API_KEY",
            "OPENAI_BASE_URL",
            "TEAM_MODEL",
            "MODEL_ID",
            "NO_COLOR",
        ] {
            command.env_remove(variable);
        }
        command
            .args(args)
            .current_dir(self.path())
            .stdin(Stdio::null())
            .env("TEAM_FSYNC", "off")
            .env("TEAM_READY_TIMEOUT", "120")
            .env("TERM", "xterm-256color");
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Runs a verb that must succeed, and returns what it printed.
    #[track_caller]
    pub(crate) fn verb(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs a verb with `--json`, whatever its exit code, and returns both.
    pub(crate) fn json(&self, args: &[&str]) -> (Option<i32>, Value) {
        let output = self.run(&[&["--json"], args].concat());
        let value = serde_json::from_slice(&output.stdout);
        let value = value.unwrap_or_else(|error| panic!("{error}: {output:?}"));
        (output.status.code(), value)
    }

    /// Kills the process of a member with SIGKILL and waits until it is gone.
    pub(crate) fn kill(&self, name: &str) {
        let owner: Recipient = name.parse().unwrap();
        let Liveness::Alive(Some(holder)) = self.team.liveness(&owner).unwrap() else {
            panic!("{name} does not run");
        };
        let pid = i32::try_from(holder.pid).unwrap();
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        wait_until("the end of a killed member", LIMIT, || {
            matches!(self.team.liveness(&owner).unwrap(), Liveness::Gone(_))
        });
    }
}

impl Drop for Office {
    fn drop(&mut self) {
        let roster = self.team.roster().unwrap();
        for member in &roster.members {
            let _ = self.run(&["kill", member.name.as_str()]);
        }
    }
}
