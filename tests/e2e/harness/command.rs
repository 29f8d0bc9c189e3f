//! Running the two programs, and what they print.

use super::{Session, Workspace};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// The key of all members that ask the server. It must never be seen in a file.
pub(crate) const KEY: &str = "secret-key-for-tests";

/// What a program printed, and its exit code.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Workspace {
    /// A program that is about to run here, without any variable of the machine and with no input.
    fn program(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env_clear().current_dir(self.path());
        for variable in ["PATH", "TMPDIR"] {
            if let Some(value) = std::env::var_os(variable) {
                command.env(variable, value);
            }
        }
        command
            .stdin(Stdio::null())
            .env("HOME", self.home())
            .env("TERM", "xterm-256color")
            .env("NO_PROXY", "*")
            .env("TEAM_FSYNC", "off")
            .env("TEAM_READY_TIMEOUT", "120")
            .env("TEAM_TEST_WORKSPACE", self.path());
        command
    }

    /// A `team-lead` that is about to run here, without a model.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.program(env!("CARGO_BIN_EXE_team-lead"));
        command.args(args);
        command
    }

    /// The same in another folder.
    pub(crate) fn command_in(&self, folder: &Path, args: &[&str]) -> Command {
        let mut command = self.command(args);
        command.current_dir(folder);
        command
    }

    /// The same with the server as its provider of models. It and whoever it starts ask under `name`.
    pub(crate) fn command_as(&self, name: &str, args: &[&str]) -> Command {
        self.with_server(self.command(args), name)
    }

    /// `team-lead run` with the server as its model.
    pub(crate) fn lead_command(&self, args: &[&str]) -> Command {
        let mut command = self.command_as("lead", &["run", "--model", "anthropic:test"]);
        command.args(args);
        command
    }

    /// A teammate's program that is about to run, as a person would start it.
    pub(crate) fn teammate_command(&self, name: &str, args: &[&str]) -> Command {
        let mut command = self.program(env!("CARGO_BIN_EXE_teammate"));
        command.arg("--dir").arg(self.path()).args(["--name", name]);
        command.args(args);
        self.with_server(command, name)
    }

    fn with_server(&self, mut command: Command, name: &str) -> Command {
        command
            .env("ANTHROPIC_API_KEY", KEY)
            .env("ANTHROPIC_BASE_URL", self.server.base_url(name));
        command
    }

    /// Runs `team-lead` to its end, however it ends.
    pub(crate) fn run(&self, args: &[&str]) -> Run {
        Run::of(&mut self.command(args))
    }

    /// The same with this text on its standard input.
    pub(crate) fn run_with_input(&self, args: &[&str], input: &str) -> Run {
        self.start_command(&mut self.command(args)).finish(input)
    }

    /// Runs `team-lead run`, with the server as its model, to its end.
    #[track_caller]
    pub(crate) fn run_lead(&self, args: &[&str], input: &str) -> Run {
        self.start_lead(args).finish(input)
    }

    /// Runs `team-lead`, which must succeed, and returns what it printed.
    #[track_caller]
    pub(crate) fn ok(&self, args: &[&str]) -> String {
        let run = self.run(args);
        assert_eq!(run.code, 0, "{args:?}: {run:?}");
        run.out
    }

    /// Runs `team-lead --json`, which must succeed, and returns the object that it printed.
    #[track_caller]
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let (code, value) = self.json_and_code(args);
        assert_eq!(code, 0, "{args:?}: {value}");
        value
    }

    /// The same however it ends.
    #[track_caller]
    pub(crate) fn json_and_code(&self, args: &[&str]) -> (i32, Value) {
        let run = self.run(&[&["--json"], args].concat());
        (run.code, run.object())
    }

    /// The level of the sandbox on this machine.
    #[track_caller]
    pub(crate) fn level(&self) -> String {
        let found = self.json(&["sandbox", "check"]);
        found["level"].as_str().unwrap().to_owned()
    }

    /// Starts `team-lead` and lets it run.
    pub(crate) fn start(&self, args: &[&str]) -> Session {
        self.start_command(&mut self.command(args))
    }

    /// Starts `team-lead run` with the server as its model, and with its input open.
    pub(crate) fn start_lead(&self, args: &[&str]) -> Session {
        self.start_command(&mut self.lead_command(args))
    }

    /// A `team-lead spawn` whose member asks the server, unless it has another model.
    pub(crate) fn spawn_command(&self, name: &str, role: &str, args: &[&str]) -> Command {
        let mut command = self.command_as(name, &["spawn", name, role]);
        if !args.iter().any(|arg| matches!(*arg, "--model" | "--exec")) {
            command.args(["--model", "anthropic:test"]);
        }
        command.args(args);
        command
    }

    /// Starts a member and returns when it is ready.
    #[track_caller]
    pub(crate) fn spawn(&self, name: &str, args: &[&str]) {
        self.spawn_as(name, "coder", args);
    }

    /// The same for a member of any role.
    #[track_caller]
    pub(crate) fn spawn_as(&self, name: &str, role: &str, args: &[&str]) {
        let run = Run::of(&mut self.spawn_command(name, role, args));
        assert_eq!(run.code, 0, "spawn {name} {args:?}: {run:?}");
    }

    /// Brings a member back with the server that it was spawned with.
    #[track_caller]
    pub(crate) fn restart(&self, name: &str) {
        let run = Run::of(&mut self.command_as(name, &["restart", name]));
        assert_eq!(run.code, 0, "restart {name}: {run:?}");
    }
}

impl Run {
    /// Runs a command to its end.
    pub(crate) fn of(command: &mut Command) -> Self {
        Self::ended(command.output().unwrap())
    }

    /// What a command that has ended printed.
    pub(crate) fn ended(output: Output) -> Self {
        Self {
            code: output.status.code().expect("no signal ended it"),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The object that it printed.
    #[track_caller]
    pub(crate) fn object(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The object that it printed, if all went well.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.code, 0, "{self:?}");
        self.object()
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

    /// Checks the exit code.
    #[track_caller]
    pub(crate) fn has_code(&self, code: u8) -> &Self {
        assert_eq!(self.code, i32::from(code), "{self:?}");
        self
    }

    /// Checks that an error has this text, and says what to type next.
    #[track_caller]
    pub(crate) fn complains(&self, code: u8, text: &str, next: &str) {
        self.has_code(code);
        assert!(self.err.contains(text), "{text:?} is not in {self:?}");
        let next = format!("next: {next}");
        assert!(self.err.contains(&next), "{next:?} is not in {self:?}");
        assert_eq!(self.out, "", "errors are no data");
    }
}
