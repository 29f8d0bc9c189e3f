//! A workspace of its own for each test, the two programs run in it, and a server that plays the
//! models of its members.

use protocol::{
    AgentName, Body, Line, LiveState, Member, Message, Phase, Recipient, Request, RequestKind,
};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;
use teamdir::{Durability, Options, TeamDir};
use test_support::llm_server::{LlmServer, ServerReply};
use test_support::{Worker, wait_for, wait_until};

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
    _dir: tempfile::TempDir,
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
        // The path as the kernel shows it.
        let workspace = dir.path().canonicalize().unwrap();
        let options = Options {
            durability: Durability::ProcessDeath,
            ..Options::default()
        };
        Self {
            server: LlmServer::start(),
            team: TeamDir::create(&workspace, "default", options).unwrap(),
            workspace,
            _dir: dir,
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
        self.recruit(name, "coder", args)
    }

    /// The same for a member of any role.
    pub(crate) fn recruit(&self, name: &str, role: &str, args: &[&str]) -> Command {
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
        let run = Run::of(self.recruit(name, role, args).output().unwrap());
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

    /// Does something while a member's process stands still, so that it sees all of it at once.
    #[track_caller]
    pub(crate) fn while_stopped<T>(&self, name: &str, work: impl FnOnce() -> T) -> T {
        let pid = self.stop(name);
        let done = work();
        signal(pid, "CONT");
        done
    }

    /// Lets a member's process stand still, and returns when it does, with no lock that others need
    /// in its hands.
    #[track_caller]
    pub(crate) fn stop(&self, name: &str) -> u32 {
        let pid = self.witness(name).holder().pid;
        wait_until(&format!("{name} to stand still"), LIMIT, || {
            signal(pid, "STOP");
            wait_until("SIGSTOP to work", LIMIT, || is_stopped(pid));
            let free = self.locks_are_free();
            if !free {
                signal(pid, "CONT");
            }
            free
        });
        pid
    }

    /// Whether nobody holds any of the locks that are held for a moment only.
    fn locks_are_free(&self) -> bool {
        self.paths().iter().all(|path| {
            let name = path.file_name().unwrap_or_default().as_encoded_bytes();
            let file = name.ends_with(b".lock").then(|| fs::File::open(path));
            match file {
                Some(Ok(file)) => file.try_lock().is_ok(),
                Some(Err(_)) | None => true,
            }
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
        let before = self.life(name);
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

    /// What a member says of itself.
    pub(crate) fn live(&self, name: &str) -> Option<LiveState> {
        self.team.live_state(&recipient(name)).unwrap()
    }

    pub(crate) fn phase(&self, name: &str) -> Option<Phase> {
        self.live(name).map(|live| live.phase)
    }

    #[track_caller]
    pub(crate) fn wait_phase(&self, name: &str, phase: Phase) {
        let what = format!("{name} to be {phase:?}");
        wait_until(&what, LIMIT, || self.phase(name) == Some(phase));
    }

    /// Which life of a member was the last; 0 before the first.
    pub(crate) fn life(&self, name: &str) -> u64 {
        let roster = self.team.roster().unwrap();
        let member = roster.member(&agent(name));
        member.map_or(0, |member| member.incarnation.0)
    }

    pub(crate) fn member(&self, name: &str) -> Member {
        let roster = self.team.roster().unwrap();
        roster.member(&agent(name)).expect("a member").clone()
    }

    /// The handle of a member's process.
    #[track_caller]
    pub(crate) fn witness(&self, name: &str) -> crew::Witness {
        let found = crew::Witness::of(&self.team, &recipient(name)).unwrap();
        found.unwrap_or_else(|| panic!("{name} does not run: {}", self.log(name)))
    }

    /// Sends a signal to a member's process.
    #[track_caller]
    pub(crate) fn signal(&self, name: &str, signal_name: &str) {
        signal(self.witness(name).holder().pid, signal_name);
    }

    /// Kills a member's process with SIGKILL, and returns when it is gone.
    #[track_caller]
    pub(crate) fn kill9(&self, name: &str) {
        let process = self.witness(name);
        signal(process.holder().pid, "KILL");
        wait_until("the end of the process", LIMIT, || process.is_gone());
    }

    /// The shown word for a member's state, after the repair that every command does.
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

    pub(crate) fn log(&self, name: &str) -> String {
        let path = self.team.layout().member_log(&recipient(name));
        fs::read_to_string(path).unwrap_or_default()
    }

    /// A member's journal as it is.
    pub(crate) fn journal(&self, name: &str) -> String {
        let path = self.team.layout().transcript(&recipient(name));
        fs::read_to_string(path).unwrap_or_default()
    }

    /// The unread messages in an inbox.
    pub(crate) fn inbox(&self, owner: &Recipient) -> Vec<Message> {
        let mut messages = Vec::new();
        let peeked = self.team.peek(owner, |_, line| {
            if let Line::Message(message) = line {
                messages.push(message);
            }
        });
        peeked.unwrap();
        messages
    }

    /// What the lead was told by a member at the end of its turns.
    pub(crate) fn reports(&self, name: &str) -> Vec<String> {
        let mail = self.inbox(&Recipient::Lead).into_iter();
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
            Body::Notice { content } => Some((message.id?.to_string(), content)),
            _ => None,
        });
        notices.collect()
    }

    /// All requests, oldest first.
    pub(crate) fn requests(&self) -> Vec<Request> {
        let requests = self.team.requests().unwrap();
        requests.into_iter().flatten().collect()
    }

    /// Waits for a request of this kind that waits for an answer.
    #[track_caller]
    pub(crate) fn pending(&self, kind: RequestKind) -> Request {
        wait_for(&format!("a {} request", kind.as_str()), LIMIT, || {
            let pending = dealings::pending(&self.team).unwrap();
            pending.into_iter().find(|request| request.kind() == kind)
        })
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

    /// How often a text stands in the last request of a member.
    pub(crate) fn said(&self, name: &str, text: &str) -> usize {
        let body = self.server.last_request(name).raw_body().to_vec();
        String::from_utf8_lossy(&body).matches(text).count()
    }

    /// All events so far.
    pub(crate) fn events(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.team.layout().events()).unwrap_or_default();
        let lines = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        lines.collect()
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

    /// The processes that run for this team.
    pub(crate) fn processes(&self) -> Vec<(i32, String)> {
        let own = i32::try_from(std::process::id()).unwrap();
        let mark = self.path().as_os_str().as_encoded_bytes();
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let name = entry.file_name();
            let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            if pid == own {
                continue;
            }
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let environ = fs::read(entry.path().join("environ")).unwrap_or_default();
            if contains(&line, mark) || contains(&environ, mark) {
                let line = String::from_utf8_lossy(&line).replace('\0', " ");
                found.push((pid, line));
            }
        }
        found
    }

    /// Ends all members and checks that nothing of the team runs any more.
    #[track_caller]
    pub(crate) fn end(&self) {
        let run = self.lead(&["shutdown", "--all", "--force", "--timeout", "0"]);
        assert!(matches!(run.code, 0 | 3), "{run:?}");
        self.check_gone();
    }

    /// Checks that nothing of the team runs any more.
    #[track_caller]
    pub(crate) fn check_gone(&self) {
        let gone = test_support::try_wait_for(LIMIT, || self.processes().is_empty().then_some(()));
        assert!(gone.is_some(), "these still run: {:?}", self.processes());
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

/// Whether all threads of a process stand still.
fn is_stopped(pid: u32) -> bool {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return false;
    };
    threads.flatten().all(|thread| {
        let stat = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        let state = stat
            .rsplit_once(") ")
            .map(|(_, rest)| rest.starts_with('T'));
        state == Some(true)
    })
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}
