//! Starts the process of a member, and waits until it reports that it is ready.

use crate::exit_status::record_exit;
use crate::start::programs::Programs;
use command::Pidfd;
use command::session_of;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::{Pid, setsid};
use protocol::{AgentName, Incarnation, Phase, Recipient, WaitingFor};
use safe_open::Links;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use teamdir::{Liveness, PathError, TeamDir};

/// How often the new process is polled: often at first, when most become ready, then less often.
const POLL_FAST: Duration = Duration::from_millis(1);
const POLL_SLOW: Duration = Duration::from_millis(20);
const FAST_FOR: Duration = Duration::from_millis(200);
/// How long a process that makes its tree is waited for at most.
const LONGEST_SETUP: Duration = Duration::from_secs(3600);
/// How much of the log is shown.
const LAST_BYTES: u64 = 4096;
const LAST_LINES: usize = 12;
/// Enough for a thread that waits and then writes a small file.
const REAPER_STACK: usize = 256 << 10;
/// Variables of a member's own process that its children must not inherit.
const OWN_VARIABLES: [&str; 3] = [command::MARK, "TEAM_MEMBER", "TEAM_INCARNATION"];

/// A process that is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Started {
    pub(crate) pid: u32,
    pub(crate) incarnation: Incarnation,
}

/// Why a member's process did not start. Nothing of it is left.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    #[error("cannot write the log {}: {cause}", path.display())]
    Log { path: PathBuf, cause: io::Error },
    #[error(
        "cannot run {}: {cause}; set TEAMMATE_BIN to the path of `teammate`",
        path.display()
    )]
    Program { path: PathBuf, cause: io::Error },
    #[error("cannot watch process {pid}: {cause}")]
    Watch { pid: u32, cause: io::Error },
    #[error("its process ended before it was ready ({status}){}", quoted(output))]
    Ended {
        status: ExitStatus,
        /// The last lines of its log.
        output: String,
    },
    #[error(
        "its process was not ready after {} s and was killed{}\n\
         A slow machine can be given more time: TEAM_READY_TIMEOUT=60",
        within.as_secs_f64(), quoted(output)
    )]
    NotReady {
        within: Duration,
        /// The last lines of its log.
        output: String,
    },
    /// Its log cannot be opened, or its live state cannot be read.
    #[error(transparent)]
    File(#[from] PathError),
}

fn quoted(output: &str) -> String {
    match output.is_empty() {
        true => "; it wrote no output".to_owned(),
        false => format!("; the end of its output:\n{output}"),
    }
}

/// One attempt to start a member.
pub(crate) struct Launch<'a> {
    pub(crate) team: &'a TeamDir,
    pub(crate) name: &'a AgentName,
    /// The previous incarnation.
    pub(crate) previous: Incarnation,
    pub(crate) programs: &'a Programs,
}

impl Launch<'_> {
    /// Starts the process and returns when it is ready. After an error there is no process.
    pub(crate) fn run(&self) -> Result<Started, LaunchError> {
        let (log, path) = self.open_log()?;
        let log_start = log.metadata().map_or(0, |metadata| metadata.len());
        let mut child = self.start(log, &path)?;
        let outcome = self.watch(&child);
        match outcome {
            Ok(Watched::Ready(started)) => {
                self.collect_exit(child, started.incarnation);
                Ok(started)
            }
            Ok(Watched::Ended) => {
                let status = kill_group(&mut child);
                match (self.ended_cleanly(), status) {
                    (Some(incarnation), Some(status)) if status.success() => Ok(Started {
                        pid: child.id(),
                        incarnation,
                    }),
                    (_, status) => Err(LaunchError::Ended {
                        status: status.unwrap_or_default(),
                        output: log_tail(&path, log_start),
                    }),
                }
            }
            Ok(Watched::Late) => {
                kill_group(&mut child);
                Err(LaunchError::NotReady {
                    within: self.programs.ready_within,
                    output: log_tail(&path, log_start),
                })
            }
            Err(error) => {
                kill_group(&mut child);
                Err(error)
            }
        }
    }

    fn owner(&self) -> Recipient {
        Recipient::Member(self.name.clone())
    }

    fn open_log(&self) -> Result<(File, PathBuf), LaunchError> {
        let log = self.team.open_log(&self.owner())?;
        Ok((log, self.team.layout().member_log(&self.owner())))
    }

    fn start(&self, log: File, path: &Path) -> Result<Child, LaunchError> {
        let workspace = self.team.workspace();
        let workspace = std::path::absolute(workspace).unwrap_or_else(|_| workspace.to_path_buf());
        let errors = log.try_clone().map_err(|cause| LaunchError::Log {
            path: path.to_path_buf(),
            cause,
        })?;
        let mut command = Command::new(&self.programs.teammate);
        command
            .arg("--dir")
            .arg(&workspace)
            .args(["--name", self.name.as_str()])
            .current_dir(&workspace)
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(errors);
        if self.programs.fresh {
            command.arg("--fresh");
        }
        for variable in OWN_VARIABLES {
            command.env_remove(variable);
        }
        for (variable, value) in &self.programs.variables {
            match value {
                Some(value) => command.env(variable, value),
                None => command.env_remove(variable),
            };
        }
        // SAFETY: between fork and exec only setsid is called, which is a bare system call.
        unsafe {
            command.pre_exec(|| Ok(setsid().map(|_| ())?));
        }
        command.spawn().map_err(|cause| LaunchError::Program {
            path: self.programs.teammate.clone(),
            cause,
        })
    }

    /// Waits until the process is ready, has ended, or the time is up.
    fn watch(&self, child: &Child) -> Result<Watched, LaunchError> {
        let pid = child.id();
        let raw = Pid::from_raw(pid.cast_signed());
        let handle = Pidfd::open(raw).map_err(|error| LaunchError::Watch {
            pid,
            cause: error.into(),
        })?;
        let started = Instant::now();
        loop {
            let passed = started.elapsed();
            // Evaluated before the state, so that a process that is ready at the deadline counts as ready.
            let late = passed >= self.programs.ready_within && !self.makes_tree(passed);
            if let Some(incarnation) = self.ready(raw)? {
                return Ok(Watched::Ready(Started { pid, incarnation }));
            }
            if late {
                return Ok(Watched::Late);
            }
            let pause = if passed < FAST_FOR {
                POLL_FAST
            } else {
                POLL_SLOW
            };
            if handle.wait(pause) {
                return Ok(Watched::Ended);
            }
        }
    }

    /// Whether the new process is making its tree, which takes as long as the repository is large and
    /// its setup needs. The process itself bounds it.
    fn makes_tree(&self, passed: Duration) -> bool {
        let live = self.team.live_state(&self.owner()).ok().flatten();
        let is_making = live.is_some_and(|live| {
            live.incarnation > self.previous
                && live.phase == Phase::Starting
                && live.waiting_for == Some(WaitingFor::Tree)
        });
        is_making && passed < LONGEST_SETUP
    }

    /// The new incarnation, if the process reports that it is ready and holds the member's lock.
    fn ready(&self, child: Pid) -> Result<Option<Incarnation>, PathError> {
        let owner = self.owner();
        let live = self.team.live_state(&owner)?;
        let is_new = |incarnation: Incarnation, phase| {
            incarnation > self.previous && phase != Phase::Starting
        };
        let Some(live) = live.filter(|live| is_new(live.incarnation, live.phase)) else {
            return Ok(None);
        };
        // The lock is checked last, because the check takes it for a moment.
        let ours = match self.team.liveness(&owner)? {
            Liveness::Alive(Some(holder)) => {
                holder.incarnation == live.incarnation && is_of(holder.pid, child)
            }
            Liveness::Alive(None) | Liveness::Gone(_) => false,
        };
        Ok(ours.then_some(live.incarnation))
    }

    /// Records and collects the exit status when the process ends, so that it does not stay a zombie.
    fn collect_exit(&self, mut child: Child, incarnation: Incarnation) {
        let (team, owner) = (self.team.clone(), self.owner());
        // Without the thread the zombie stays until this process ends.
        let _ = thread::Builder::new()
            .name("reaper".to_owned())
            .stack_size(REAPER_STACK)
            .spawn(move || record_exit(&team, &owner, incarnation, &mut child));
    }

    /// The incarnation, if it became ready and ended cleanly between two polls.
    fn ended_cleanly(&self) -> Option<Incarnation> {
        let live = self.team.live_state(&self.owner()).ok().flatten()?;
        let ended = live.incarnation > self.previous && live.phase == Phase::Shutdown;
        ended.then_some(live.incarnation)
    }
}

enum Watched {
    Ready(Started),
    Ended,
    Late,
}

/// Whether a process is the child or belongs to its session: the started program may be a wrapper that
/// starts the member.
fn is_of(pid: u32, child: Pid) -> bool {
    let pid = Pid::from_raw(pid.cast_signed());
    pid == child || session_of(pid) == Some(child.as_raw())
}

/// Kills a process and its group, and collects its exit status.
fn kill_group(child: &mut Child) -> Option<ExitStatus> {
    // The child's exit status is not collected yet, so the id of its group cannot be reused even if it has
    // ended.
    let group = Pid::from_raw(child.id().cast_signed());
    let _ = killpg(group, Signal::SIGKILL);
    let _ = child.kill();
    child.wait().ok()
}

/// The last lines written to a log since `start`.
fn log_tail(path: &Path, start: u64) -> String {
    let read = || -> io::Result<Vec<u8>> {
        let opened = safe_open::Options::read(Links::Refuse).open(path)?;
        let (mut log, size) = (opened.file, opened.metadata.len());
        log.seek(SeekFrom::Start(start.max(size.saturating_sub(LAST_BYTES))))?;
        let mut bytes = Vec::new();
        log.take(LAST_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let text = read().unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    let shown = lines.iter().skip(lines.len().saturating_sub(LAST_LINES));
    let shown: Vec<String> = shown.map(|line| format!("  {line}")).collect();
    shown.join("\n")
}
