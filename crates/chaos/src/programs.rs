//! The two programs, run in the workspace of the team.

use crate::team_model::LEAD;
use anyhow::Context as _;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Variables of the machine that would change the run.
const FOREIGN: [&str; 17] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "HTTP_PROXY",
    "MODEL_ID",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "TEAM_DIR",
    "TEAM_INCARNATION",
    "TEAM_JOB",
    "TEAM_MAX_TOKENS",
    "TEAM_MAX_TURNS",
    "TEAM_MEMBER",
    "TEAM_MODEL",
    "TEAM_NETWORK",
    "TEAM_SANDBOX",
    "http_proxy",
];

/// The variable that every process of the run has.
const MARK: &str = "TEAM_CHAOS";
/// Members never compact their conversations: their model has no other memory.
const WINDOW: &str = "20000000";
/// The lead compacts its conversation now and then.
const LEAD_WINDOW: &str = "40000";
/// How long a command may take that only writes or reads files.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where the programs are.
#[derive(Debug, Clone)]
pub struct Programs {
    /// `team-lead`.
    pub lead: PathBuf,
    /// `teammate`.
    pub teammate: PathBuf,
}

/// Runs the programs in one workspace.
#[derive(Debug, Clone)]
pub(crate) struct Runner {
    programs: Programs,
    /// The folder that holds the team's.
    pub(crate) workspace: PathBuf,
    /// The run's own files, on a disk that never fills.
    pub(crate) runtime: PathBuf,
    address: String,
}

impl Programs {
    /// The programs that were built into a folder.
    pub fn beside(folder: &Path) -> anyhow::Result<Self> {
        let find = |name: &str| {
            let path = folder.join(name);
            let missing = format!(
                "{} is not there: build it with `cargo build --bins`",
                path.display()
            );
            anyhow::ensure!(path.exists(), missing);
            Ok(path)
        };
        Ok(Self {
            lead: find("team-lead")?,
            teammate: find("teammate")?,
        })
    }
}

impl Runner {
    pub(crate) fn new(
        programs: &Programs,
        workspace: &Path,
        runtime: &Path,
        address: String,
    ) -> Self {
        Self {
            programs: programs.clone(),
            workspace: workspace.to_path_buf(),
            runtime: runtime.to_path_buf(),
            address,
        }
    }

    /// The state folder of the user of this run.
    pub(crate) fn state(&self) -> PathBuf {
        self.runtime.join("state")
    }

    /// A `team-lead` with these arguments and without output.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.programs.lead);
        command.current_dir(&self.workspace).args(args);
        for variable in FOREIGN {
            command.env_remove(variable);
        }
        command
            .env(MARK, &self.workspace)
            .env("HOME", &self.runtime)
            .env("XDG_CONFIG_HOME", &self.runtime)
            .env("XDG_STATE_HOME", self.state())
            .env("TEAMMATE_BIN", &self.programs.teammate)
            .env("TEAM_READY_TIMEOUT", "120")
            .env("TEAM_WINDOW", WINDOW)
            .env("NO_PROXY", "*")
            // Processes of the run are recognized by their environment.
            .env("TEAM_DUMPABLE", "on")
            .env("ANTHROPIC_API_KEY", "none")
            .env("ANTHROPIC_BASE_URL", &self.address)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    /// Runs a command to its end. Returns its exit code and what it printed, or nothing if it was
    /// killed, could not be started or did not end.
    pub(crate) fn run(&self, args: &[&str]) -> Option<(i32, String)> {
        let mut child = self.command(args).stdout(Stdio::piped()).spawn().ok()?;
        let status = wait(&mut child, PATIENCE)?;
        let mut said = String::new();
        if let Some(mut out) = child.stdout.take() {
            std::io::Read::read_to_string(&mut out, &mut said).ok()?;
        }
        Some((status, said))
    }

    /// Starts the lead with a pipe as its input. Its output is kept.
    pub(crate) fn lead(&self, first: bool) -> anyhow::Result<Child> {
        let path = self.runtime.join("lead.log");
        let log = File::options().append(true).create(true).open(&path);
        let log = log.with_context(|| format!("open {}", path.display()))?;
        let model = format!("anthropic:{LEAD}");
        let mut args = vec![
            "run",
            "--model",
            &model,
            "--window",
            LEAD_WINDOW,
            "--leave-timeout",
            "90",
        ];
        if !first {
            args.push("--resume");
        }
        let mut command = self.command(&args);
        command
            .stdin(Stdio::piped())
            .stdout(log.try_clone()?)
            .stderr(log);
        command.spawn().context("start the lead")
    }

    /// The other processes of this run, with their command lines.
    pub(crate) fn processes(&self) -> Vec<(u32, String)> {
        let own = std::process::id();
        let mark = [
            MARK.as_bytes(),
            b"=",
            self.workspace.as_os_str().as_encoded_bytes(),
        ]
        .concat();
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let others = pids.filter(|pid| *pid != own);
        others
            .filter_map(|pid| Some((pid, self.command_line(pid, &mark)?)))
            .collect()
    }

    /// The command line of a process of this run, recognized by its environment or its working folder.
    fn command_line(&self, pid: u32, mark: &[u8]) -> Option<String> {
        let folder = PathBuf::from(format!("/proc/{pid}"));
        let environ = std::fs::read(folder.join("environ")).unwrap_or_default();
        let marked = environ
            .split(|byte| *byte == 0)
            .any(|variable| variable == mark);
        let inside = std::fs::read_link(folder.join("cwd"))
            .is_ok_and(|cwd| cwd.starts_with(&self.workspace));
        let line = std::fs::read(folder.join("cmdline")).unwrap_or_default();
        let is_one = (marked || inside) && !line.is_empty();
        is_one.then(|| String::from_utf8_lossy(&line).replace('\0', " "))
    }
}

/// Waits for the end of a child, and kills it if it takes too long. Returns its exit code.
pub(crate) fn wait(child: &mut Child, limit: Duration) -> Option<i32> {
    let start = Instant::now();
    while start.elapsed() < limit {
        match child.try_wait() {
            Ok(Some(status)) => return status.code(),
            Ok(None) => std::thread::sleep(Duration::from_millis(5)),
            Err(_) => return None,
        }
    }
    let _ = child.kill();
    let _ = child.wait();
    None
}
