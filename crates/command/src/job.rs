//! Starts a command, and the thread that supervises it.

use std::ffi::OsStr;
use std::io::{self, PipeReader, PipeWriter, Read, pipe};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant;

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use proxy::{Proxy, Refusal};
use sandbox::{PrepareError, RenamedFile, Session};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::capture::{Capture, Captured};
use crate::dialogue::Streams;
use crate::lifecycle::{Action, End, Lifecycle};
use crate::marked_processes::{MARK, kill_marked};
use crate::spec::{ProxySpec, Spec, Surroundings};
use crate::supervisor::{Prepared, Report, Supervisor};

/// A finished command. None of its processes is left, with the exceptions in the documentation of the
/// crate.
#[derive(Debug)]
pub struct Finished {
    pub end: End,
    pub output: Captured,
    /// The number of processes that could not be killed in time.
    pub left_behind: usize,
    /// Files that it created under names that other programs trust.
    pub renamed: Vec<RenamedFile>,
    /// What its proxy refused.
    pub refused: Vec<Refusal>,
}

/// A command could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("cannot start {} in {}", shell.display(), folder.display())]
    Shell {
        shell: PathBuf,
        folder: PathBuf,
        source: io::Error,
    },
    /// The sandbox could not be described to the kernel.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// The kernel refused a part of the sandbox, or the shell in it.
    #[error(transparent)]
    Sandbox(#[from] sandbox::StartError),
    #[error("cannot start the proxy of the command")]
    Proxy(#[source] io::Error),
}

/// A running command. Dropping it stops the command, without waiting for its end.
#[derive(Debug)]
pub struct Job {
    /// Nothing is written to it. Closing it stops the command.
    _stop: PipeWriter,
}

/// Runs a command to its end. When `cancel` is cancelled, or the returned future is dropped, the
/// command is stopped.
pub async fn run(spec: Spec, cancel: &CancellationToken) -> Result<Finished, StartError> {
    let lost = || Finished {
        end: End::Lost,
        output: Capture::new(0, spec.save.clone()).finish(),
        left_behind: 0,
        renamed: Vec::new(),
        refused: Vec::new(),
    };
    let (sender, mut receiver) = oneshot::channel();
    // The receiver is gone if this future was dropped.
    let job = start(&spec, move |finished| drop(sender.send(finished)))?;
    let finished = tokio::select! {
        biased;
        finished = &mut receiver => finished,
        () = cancel.cancelled() => {
            drop(job);
            receiver.await
        }
    };
    Ok(finished.unwrap_or_else(|_| lost()))
}

/// Starts a command. `done` is called once, from a thread of its own, when the command has finished.
pub fn start(spec: &Spec, done: impl FnOnce(Finished) + Send + 'static) -> Result<Job, StartError> {
    start_with(spec, Streams::default(), done)
}

pub(crate) fn start_with(
    spec: &Spec,
    streams: Streams,
    done: impl FnOnce(Finished) + Send + 'static,
) -> Result<Job, StartError> {
    let shell = shell();
    let failed = |source| StartError::Shell {
        shell: shell.to_owned(),
        folder: spec.folder.clone(),
        source,
    };
    let (prepared, pipes) = prepare(spec, shell, streams).map_err(failed)?;
    let (attendant, job) = spawn(spec, prepared, pipes, failed)?;
    let thread = thread::Builder::new().name("job".to_owned());
    let attend = move || {
        let (finished, supervisor) = attendant.attend();
        done(finished);
        supervisor.reap();
    };
    thread.spawn(attend).map_err(failed)?;
    Ok(job)
}

/// The owner's ends of the pipes, and what it will know of the supervisor.
struct Pipes {
    output: PipeReader,
    stopped: PipeReader,
    stop: PipeWriter,
    supervisor: Prepared,
}

/// The shell with its command, which starts below a supervisor.
fn prepare(spec: &Spec, shell: &Path, streams: Streams) -> io::Result<(Command, Pipes)> {
    let (output, to_output) = pipe()?;
    let (stopped, stop) = pipe()?;
    let mut command = Command::new(shell);
    command.args([
        OsStr::new("-c"),
        OsStr::new("--"),
        OsStr::new(&spec.command),
    ]);
    command.current_dir(&spec.folder);
    command.stdin(streams.input.map_or_else(Stdio::null, Stdio::from));
    command.stderr(to_output.try_clone()?);
    command.stdout(match streams.output {
        Some(output) => Stdio::from(output),
        None => Stdio::from(to_output),
    });
    let supervisor = Prepared::new(spec, &mut command)?;
    // The flags of a new pipe are no others than this one.
    fcntl(&output, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
    let pipes = Pipes {
        output,
        stopped,
        stop,
        supervisor,
    };
    Ok((command, pipes))
}

fn spawn(
    spec: &Spec,
    mut command: Command,
    mut pipes: Pipes,
    failed: impl Fn(io::Error) -> StartError,
) -> Result<(Attendant, Job), StartError> {
    let (session, proxy) = match &spec.surroundings {
        Surroundings::Inherited => (None, None),
        Surroundings::Environment(variables) => {
            command.env_clear().envs(variables.iter().cloned());
            (None, None)
        }
        // Behind the step that splits off a reaper, which thus stays outside.
        Surroundings::Sandbox {
            description,
            layers,
            proxy,
        } => {
            let mut session = sandbox::prepare(&mut command, description, layers)?;
            pipes.supervisor.connect(&mut session);
            (Some(session), proxy.as_ref())
        }
    };
    command.env(MARK, &spec.mark);
    let child = command.spawn().map_err(|error| match &session {
        Some(session) => session.explain(error).into(),
        None => failed(error),
    })?;
    // Close the copies of what only the supervisor and the leader should hold.
    drop(command);
    let supervisor = pipes.supervisor.started(child);
    let supervisor = supervisor.ok_or_else(|| failed(io::ErrorKind::BrokenPipe.into()))?;
    let proxy = serve(session.as_ref(), proxy).map_err(StartError::Proxy)?;
    let attendant = Attendant {
        supervisor,
        is_supervised: true,
        incarnation: Lifecycle::new(spec.limit, spec.grace, Instant::now()),
        capture: Capture::new(spec.memory, spec.save.clone()),
        mark: spec.mark.clone(),
        session,
        proxy,
        output: Some(pipes.output),
        stopped: Some(pipes.stopped),
        left_behind: None,
    };
    Ok((attendant, Job { _stop: pipes.stop }))
}

/// Starts the proxy of a command that has one. If it cannot start, dropping the session and the
/// control pipe ends the command.
fn serve(session: Option<&Session>, spec: Option<&ProxySpec>) -> io::Result<Option<Proxy>> {
    let (Some(session), Some(ProxySpec(policy))) = (session, spec) else {
        return Ok(None);
    };
    let listener = session.listener()?;
    listener
        .map(|listener| proxy::start(listener, policy()))
        .transpose()
}

/// Bash if it is installed, otherwise `sh`.
pub(crate) fn shell() -> &'static Path {
    let shells = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"];
    let found = shells.into_iter().map(Path::new).find(|path| path.exists());
    found.unwrap_or(Path::new("/bin/sh"))
}

/// The size of a read.
const CHUNK: usize = 64 * 1024;
/// The maximum to read after the end. No pipe holds more by default, and an escaped process could
/// write forever.
const LAST: usize = 1024 * 1024;

/// The state of the supervising thread.
struct Attendant {
    supervisor: Supervisor,
    /// Whether the supervisor has not exited yet.
    is_supervised: bool,
    incarnation: Lifecycle,
    capture: Capture,
    mark: String,
    /// Dropping it kills what is left in the sandbox.
    session: Option<Session>,
    proxy: Option<Proxy>,
    output: Option<PipeReader>,
    stopped: Option<PipeReader>,
    /// The last report of the supervisor.
    left_behind: Option<usize>,
}

impl Attendant {
    /// Reads output and reports until the supervisor exits.
    fn attend(mut self) -> (Finished, Supervisor) {
        let mut buffer = vec![0; CHUNK];
        while self.is_supervised {
            let ready = self.wait();
            if ready.output {
                self.read_output(&mut buffer);
            }
            if ready.report {
                self.read_reports();
            }
            let now = Instant::now();
            if ready.stopped {
                self.stopped = None;
                let action = self.incarnation.cancel(now);
                self.act(action);
            }
            let action = self.incarnation.tick(now);
            self.act(action);
        }
        self.finish(&mut buffer)
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Nothing => {}
            Action::Stop => self.supervisor.stop(),
            Action::Kill => self.supervisor.kill(self.session.as_mut()),
            Action::Abandon => self.supervisor.abandon(),
        }
    }

    fn finish(mut self, buffer: &mut [u8]) -> (Finished, Supervisor) {
        let left_behind = self.left_behind.unwrap_or_else(|| {
            let mark = self.mark.as_str();
            kill_marked(|found| found == mark);
            0
        });
        let mut rest = LAST;
        while rest > 0 && self.read_output(buffer) {
            rest = rest.saturating_sub(buffer.len());
        }
        let renamed = self.session.as_ref().map(Session::rename_new_files);
        let refused = self.proxy.as_ref().map(Proxy::refused);
        let finished = Finished {
            end: self.incarnation.end(),
            output: self.capture.finish(),
            left_behind,
            renamed: renamed.unwrap_or_default(),
            refused: refused.unwrap_or_default(),
        };
        (finished, self.supervisor)
    }

    /// Waits for output, a report, or a deadline.
    fn wait(&self) -> Ready {
        let sources = [
            self.output.as_ref().map(AsFd::as_fd),
            Some(self.supervisor.as_fd()),
            self.stopped.as_ref().map(AsFd::as_fd),
        ];
        let open = sources.iter().copied().flatten();
        let mut fds: Vec<PollFd<'_>> = open.map(watched).collect();
        let time = self.incarnation.next_tick().map(|at| {
            let left = at.saturating_duration_since(Instant::now());
            TimeSpec::from(left)
        });
        // An interrupted or failed poll found nothing.
        let found = ppoll(&mut fds, time, None).unwrap_or(0);
        let mut events = fds.iter().map(|fd| found > 0 && fd.any().unwrap_or(false));
        let mut next =
            |source: &Option<BorrowedFd<'_>>| source.is_some() && events.next().unwrap_or(false);
        let [output, report, stopped] = &sources;
        Ready {
            output: next(output),
            report: next(report),
            stopped: next(stopped),
        }
    }

    /// Reads available bytes. Returns whether there may be more.
    fn read_output(&mut self, buffer: &mut [u8]) -> bool {
        let Some(output) = &mut self.output else {
            return false;
        };
        match output.read(buffer) {
            Ok(count @ 1..) => {
                self.capture.push(buffer.get(..count).unwrap_or_default());
                true
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => true,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => false,
            Ok(_) | Err(_) => {
                self.output = None;
                false
            }
        }
    }

    fn read_reports(&mut self) {
        for report in self.supervisor.reports() {
            match report {
                Report::Ended(wait_status) => {
                    self.incarnation.leader_ended(wait_status, Instant::now());
                }
                Report::Swept(left) => self.left_behind = Some(left),
                Report::Gone => self.is_supervised = false,
            }
        }
    }
}

/// Which of the three sources are readable.
struct Ready {
    output: bool,
    report: bool,
    stopped: bool,
}

fn watched(fd: BorrowedFd<'_>) -> PollFd<'_> {
    PollFd::new(fd, PollFlags::POLLIN)
}
