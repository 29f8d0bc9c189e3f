//! The processes of a workspace: which there are, and stopping and killing them.

use super::{LIMIT, Session, Workspace, recipient};
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use protocol::{Incarnation, Phase, Request, RequestKind};
use std::fs;
use std::path::PathBuf;
use teamdir::Liveness;
use test_support::llm_server::ServerReply;
use test_support::{try_wait_for, wait_for, wait_until};

impl Workspace {
    /// Starts a member's program as a person would, and returns when it is ready.
    #[track_caller]
    pub(crate) fn start_teammate(&self, name: &str) -> Session {
        let before = self.incarnation(name);
        let mut session = self.launch_teammate(name, "anthropic:test");
        wait_until(&format!("{name} to be ready"), LIMIT, || {
            if let Some(status) = session.try_wait() {
                panic!("{name} ended with {status}: {}", self.log(name));
            }
            self.live(name)
                .is_some_and(|live| live.incarnation.0 > before && live.phase != Phase::Starting)
        });
        session
    }

    /// The same without waiting for it.
    pub(crate) fn launch_teammate(&self, name: &str, model: &str) -> Session {
        let args = ["--role", "coder", "--model", model];
        self.start_command(&mut self.teammate_command(name, &args))
    }

    /// The handle of a member's process.
    #[track_caller]
    pub(crate) fn process(&self, name: &str) -> processes::ProcessHandle {
        let found = processes::ProcessHandle::of(self.team(), &recipient(name)).unwrap();
        found.unwrap_or_else(|| panic!("{name} does not run: {}", self.log(name)))
    }

    /// The process id and the incarnation of a member or the lead, while it runs.
    pub(crate) fn alive(&self, name: &str) -> Option<(u32, Incarnation)> {
        match self.team().liveness(&recipient(name)).unwrap() {
            Liveness::Alive(holder) => holder.map(|holder| (holder.pid, holder.incarnation)),
            Liveness::Gone(_) => None,
        }
    }

    /// Waits until a member or the lead runs and is in this phase.
    #[track_caller]
    pub(crate) fn wait_alive(&self, name: &str, phase: Phase) -> (u32, Incarnation) {
        wait_for(&format!("{name} to run and be {phase:?}"), LIMIT, || {
            let (pid, incarnation) = self.alive(name)?;
            let live = self.live(name)?;
            (live.incarnation == incarnation && live.phase == phase).then_some((pid, incarnation))
        })
    }

    #[track_caller]
    pub(crate) fn wait_until_gone(&self, name: &str) {
        wait_until(&format!("the end of {name}"), LIMIT, || {
            self.alive(name).is_none()
        });
    }

    /// Sends a signal to a member's process.
    #[track_caller]
    pub(crate) fn signal(&self, name: &str, which: Signal) {
        signal(self.process(name).holder().pid, which);
    }

    /// Kills a member's process with SIGKILL, and returns when it is gone.
    #[track_caller]
    pub(crate) fn kill9(&self, name: &str) {
        let process = self.process(name);
        signal(process.holder().pid, Signal::SIGKILL);
        wait_until("the end of the process", LIMIT, || process.is_gone());
    }

    /// The processes that run for this workspace.
    pub(crate) fn processes(&self) -> Vec<(u32, String)> {
        let mark = self.path().as_os_str().as_encoded_bytes();
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let name = entry.file_name();
            let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            if pid == std::process::id() {
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

    /// Kills whatever runs for this workspace.
    pub(super) fn kill_processes(&self) {
        // A process that is just being started may be missed once.
        for _ in 0..3 {
            for (pid, _) in self.processes() {
                signal(pid, Signal::SIGKILL);
            }
        }
    }

    /// Ends all members and checks that nothing of the team runs any more.
    #[track_caller]
    pub(crate) fn end(&self) {
        let run = self.run(&["shutdown", "--all", "--force", "--timeout", "0"]);
        assert!(matches!(run.code, 0 | 3), "{run:?}");
        self.check_gone();
    }

    /// Waits until no command of any member runs. Inside its sandbox a command does not know the
    /// number of its process, so that its mark is looked for.
    #[track_caller]
    pub(crate) fn wait_until_commands_ended(&self) {
        let mark = format!("TEAM_JOB={}:", self.path().display());
        wait_until("the end of all commands", LIMIT, || {
            let entries = fs::read_dir("/proc").unwrap().flatten();
            let mut environs =
                entries.filter_map(|entry| fs::read(entry.path().join("environ")).ok());
            !environs.any(|environ| contains(&environ, mark.as_bytes()))
        });
    }

    /// Checks that nothing of the team runs any more.
    #[track_caller]
    pub(crate) fn check_gone(&self) {
        let gone = try_wait_for(LIMIT, || self.processes().is_empty().then_some(()));
        assert!(gone.is_some(), "these still run: {:?}", self.processes());
    }

    /// Asks a member to end while its process is stopped, queues the replies that `replies` makes of
    /// the request's id for its model, and continues it. Returns the running command.
    #[track_caller]
    pub(crate) fn ask_to_end(
        &self,
        name: &str,
        args: &[&str],
        replies: impl FnOnce(&str) -> Vec<ServerReply>,
    ) -> (Session, Request) {
        self.while_stopped(name, || {
            let command = self.start(&[&["shutdown", name], args].concat());
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

    /// Does something while a member's process is stopped, so that it sees all of it at once.
    #[track_caller]
    pub(crate) fn while_stopped<T>(&self, name: &str, work: impl FnOnce() -> T) -> T {
        let pid = self.stop(name);
        let done = work();
        signal(pid, Signal::SIGCONT);
        done
    }

    /// Stops a member's process at a moment when it holds no lock that others need.
    #[track_caller]
    pub(crate) fn stop(&self, name: &str) -> u32 {
        let pid = self.process(name).holder().pid;
        wait_until(&format!("{name} to be stopped"), LIMIT, || {
            signal(pid, Signal::SIGSTOP);
            wait_until("SIGSTOP to work", LIMIT, || is_stopped(pid));
            let free = self.locks_are_free();
            if !free {
                signal(pid, Signal::SIGCONT);
            }
            free
        });
        pid
    }

    /// Whether nobody holds any of the locks that are held for a moment only.
    fn locks_are_free(&self) -> bool {
        self.team_files().iter().all(|path| {
            let name = path.file_name().unwrap_or_default().as_encoded_bytes();
            let file = name.ends_with(b".lock").then(|| fs::File::open(path));
            match file {
                Some(Ok(file)) => file.try_lock().is_ok(),
                Some(Err(_)) | None => true,
            }
        })
    }

    /// All files of the team.
    pub(super) fn team_files(&self) -> Vec<PathBuf> {
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
}

/// Sends a signal to a process of the test. One that is gone already is fine.
pub(crate) fn signal(pid: u32, which: Signal) {
    assert!(pid > 1, "{pid} is no process of a test");
    match kill(Pid::from_raw(pid.cast_signed()), which) {
        Ok(()) | Err(Errno::ESRCH) => {}
        Err(error) => panic!("{which} for process {pid}: {error}"),
    }
}

/// The processes that have a variable with this value.
pub(crate) fn with_variable(assignment: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        // Those that have ended meanwhile, and those of others, cannot be read.
        let Ok(variables) = fs::read(entry.path().join("environ")) else {
            continue;
        };
        if variables
            .split(|byte| *byte == 0)
            .any(|line| line == assignment.as_bytes())
        {
            let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            found.push(String::from_utf8_lossy(&command).replace('\0', " "));
        }
    }
    found
}

/// Whether all threads of a process are stopped.
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

pub(super) fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}
