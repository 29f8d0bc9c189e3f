//! A workspace of its own for each test, the two programs run in it, and a server that plays the
//! models of its members.

mod look;
mod still;

use protocol::{AgentName, Phase, Recipient, Request, RequestKind};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;
use teamdir::{Durability, Options, TeamDir};
use test_support::llm_server::{LlmServer, ServerReply};
use test_support::{Worker, wait_until};

/// How long anything may take on a machine that is busy with other tests.
pub(crate) const LIMIT: Duration = Duration::from_secs(90);

/// The key of all members that ask the server. It must never be seen in a file.
pub(crate) const KEY: &str = "secret-key-for-tests";

/// What would choose a model, or a folder, in the place of the test.
const FOREIGN: [&str; 14] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "TEAM_MODEL",
    "MODEL_ID",
    "TEAM_MEMBER",
    "TEAM_INCARNATION",
    "TEAM_DIR",
    "TEAM_MAX_ROUNDS",
    "TEAM_WINDOW",
    "HTTP_PROXY",
    "http_proxy",
];

/// A team in a folder of its own. Whatever runs for it ends with the value.
pub(crate) struct Team {
    pub(crate) server: LlmServer,
    pub(crate) team: TeamDir,
    workspace: PathBuf,
    _dir: Option<tempfile::TempDir>,
}

/// What a command printed, and its exit code.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Team {
    /// A team without members.
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut team = Self::at(dir.path());
        team._dir = Some(dir);
        team
    }

    /// The same in a folder that outlives it.
    pub(crate) fn at(dir: &Path) -> Self {
        // The path as the kernel shows it.
        let workspace = dir.canonicalize().unwrap();
        let options = Options {
            durability: Durability::ProcessDeath,
            ..Options::default()
        };
        Self {
            server: LlmServer::start(),
            team: TeamDir::create(&workspace, "default", options).unwrap(),
            workspace,
            _dir: None,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.workspace
    }

    /// A program that is about to run in the workspace as the member `name` would.
    fn program(&self, program: &str, name: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.path());
        for variable in FOREIGN {
            command.env_remove(variable);
        }
        command
            .env("TEAM_FSYNC", "off")
            .env("TEAM_READY_TIMEOUT", "120")
            .env("TEAMMATE_BIN", env!("CARGO_BIN_EXE_teammate"))
            .env("TEAM_TEST_WORKSPACE", self.path())
            .env("NO_PROXY", "*")
            .env("ANTHROPIC_API_KEY", KEY)
            .env("ANTHROPIC_BASE_URL", self.server.base_url(name));
        command
    }

    /// `team-lead` with these arguments.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.program(env!("CARGO_BIN_EXE_team-lead"), "lead");
        command.args(args);
        command
    }

    /// Runs `team-lead` to its end, however it ends.
    pub(crate) fn lead(&self, args: &[&str]) -> Run {
        Run::of(self.command(args).output().unwrap())
    }

    /// Runs `team-lead`, which must succeed, and returns what it printed.
    #[track_caller]
    pub(crate) fn ok(&self, args: &[&str]) -> String {
        let run = self.lead(args);
        assert_eq!(run.code, 0, "{args:?}: {run:?}");
        run.out
    }

    /// Runs `team-lead --json`, which must succeed.
    #[track_caller]
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let mut all = vec!["--json"];
        all.extend(args);
        serde_json::from_str(&self.ok(&all)).unwrap()
    }

    /// A `team-lead spawn` whose member asks the server.
    pub(crate) fn spawn_command(&self, name: &str, args: &[&str]) -> Command {
        self.spec(name, "coder", args)
    }

    /// The same for a member of any role.
    pub(crate) fn spec(&self, name: &str, role: &str, args: &[&str]) -> Command {
        let mut command = self.program(env!("CARGO_BIN_EXE_team-lead"), name);
        command.args(["spawn", name, role]).args(args);
        if !args.iter().any(|arg| matches!(*arg, "--model" | "--exec")) {
            command.args(["--model", "anthropic:test"]);
        }
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
        let run = Run::of(self.spec(name, role, args).output().unwrap());
        assert_eq!(run.code, 0, "spawn {name} {args:?}: {run:?}");
    }

    /// Brings a member back with the environment it was spawned with.
    #[track_caller]
    pub(crate) fn restart(&self, name: &str) {
        let mut command = self.program(env!("CARGO_BIN_EXE_team-lead"), name);
        let run = Run::of(command.args(["restart", name]).output().unwrap());
        assert_eq!(run.code, 0, "restart {name}: {run:?}");
    }

    /// Starts `team-lead` and lets it run.
    pub(crate) fn start(&self, args: &[&str]) -> Worker {
        Worker::spawn(&mut self.command(args)).unwrap()
    }

    /// Asks a member to end while its process stands still, lets its model get the replies that
    /// `replies` makes of the request's id, and lets it go on. Returns the running command.
    #[track_caller]
    pub(crate) fn ask_to_end(
        &self,
        name: &str,
        args: &[&str],
        replies: impl FnOnce(&str) -> Vec<ServerReply>,
    ) -> (Worker, Request) {
        self.while_stopped(name, || {
            let mut all = vec!["shutdown", name];
            all.extend(args);
            let command = self.start(&all);
            let request = self.pending(RequestKind::Shutdown);
            let inbox = recipient(name);
            wait_until("its mail", LIMIT, || !self.inbox(&inbox).is_empty());
            self.script(name, replies(request.id.as_str()));
            (command, request)
        })
    }

    /// Approves or rejects a plan of a member, which sees the file and the mail at once.
    #[track_caller]
    pub(crate) fn decide(&self, name: &str, args: &[&str]) {
        self.while_stopped(name, || self.ok(args));
    }

    /// A request as it stands.
    pub(crate) fn request(&self, request: &Request) -> Request {
        self.team.request(&request.id).unwrap()
    }

    /// Starts a member's program as a person would, and returns when it is ready.
    #[track_caller]
    pub(crate) fn by_hand(&self, name: &str) -> Worker {
        let before = self.incarnation(name);
        let mut worker = self.launch(name, "anthropic:test");
        wait_until(&format!("{name} to be ready"), LIMIT, || {
            if let Some(status) = worker.try_wait() {
                panic!("{name} ended with {status}: {}", self.log(name));
            }
            self.live(name)
                .is_some_and(|live| live.incarnation.0 > before && live.phase != Phase::Starting)
        });
        worker
    }

    /// The same without waiting for it.
    pub(crate) fn launch(&self, name: &str, model: &str) -> Worker {
        let mut command = self.program(env!("CARGO_BIN_EXE_teammate"), name);
        command.arg("--dir").arg(self.path()).args(["--name", name]);
        command.args(["--role", "coder", "--model", model]);
        Worker::spawn(&mut command).unwrap()
    }

    /// The handle of a member's process.
    #[track_caller]
    pub(crate) fn process(&self, name: &str) -> processes::ProcessHandle {
        let found = processes::ProcessHandle::of(&self.team, &recipient(name)).unwrap();
        found.unwrap_or_else(|| panic!("{name} does not run: {}", self.log(name)))
    }

    /// Sends a signal to a member's process.
    #[track_caller]
    pub(crate) fn signal(&self, name: &str, signal_name: &str) {
        signal(self.process(name).holder().pid, signal_name);
    }

    /// Kills a member's process with SIGKILL, and returns when it is gone.
    #[track_caller]
    pub(crate) fn kill9(&self, name: &str) {
        let process = self.process(name);
        signal(process.holder().pid, "KILL");
        wait_until("the end of the process", LIMIT, || process.is_gone());
    }

    /// Lets a member's model say these things, one a request.
    pub(crate) fn script(&self, name: &str, replies: impl IntoIterator<Item = ServerReply>) {
        for reply in replies {
            self.server.enqueue(name, reply);
        }
    }

    /// Writes a script for [`script:` models](llm::script) and returns the word for `--model`.
    pub(crate) fn script_file(&self, name: &str, lines: &[Value]) -> String {
        let path = self.path().join(format!("{name}.script"));
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        fs::write(&path, text).unwrap();
        format!("script:{}", path.display())
    }

    /// Appends a line to an inbox as any program could.
    pub(crate) fn write_line(&self, owner: &str, line: &Value) {
        use std::io::Write;
        let path = self.path().join(format!(".team/inbox/{owner}.jsonl"));
        let mut file = fs::File::options()
            .append(true)
            .create(true)
            .open(path)
            .unwrap();
        file.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// All files of the team.
    fn paths(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![self.path().join(".team")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                    _ => found.push(entry.path()),
                }
            }
        }
        found
    }

    /// Checks that the key stands in no file of the team.
    #[track_caller]
    pub(crate) fn check_secret(&self) {
        for path in self.paths() {
            let bytes = fs::read(&path).unwrap_or_default();
            let leaks = contains(&bytes, KEY.as_bytes());
            assert!(!leaks, "the key stands in {}", path.display());
        }
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        // A process that is just being started may slip through one look.
        for _ in 0..3 {
            for (pid, _) in self.processes() {
                signal(u32::try_from(pid).unwrap_or_default(), "KILL");
            }
        }
    }
}

impl Run {
    pub(crate) fn of(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

pub(crate) fn agent(name: &str) -> AgentName {
    AgentName::new(name).unwrap()
}

pub(crate) fn recipient(name: &str) -> Recipient {
    Recipient::Member(agent(name))
}

/// A reply that uses one tool.
pub(crate) fn call(tool: &str, input: Value) -> ServerReply {
    ServerReply::calls([(tool, input)])
}

/// A reply that says something and ends the turn.
pub(crate) fn say(text: &str) -> ServerReply {
    ServerReply::text(text)
}

/// Sends a signal to a process of the test's own team.
pub(crate) fn signal(pid: u32, name: &str) {
    if pid > 1 {
        // The shell's own: it is there where no program of this name is.
        let _ = Command::new("sh")
            .args(["-c", &format!("kill -s {name} {pid}")])
            .stderr(std::process::Stdio::null())
            .status();
    }
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}
