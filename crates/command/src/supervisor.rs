//! The process between the owner and a command, as the owner sees it.

use std::io::{self, PipeReader, PipeWriter, Read, pipe};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command};

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, setsid};
use sandbox::{EndPipe, Level, Session};

use crate::marked_processes::MARK;
use crate::reaper::{Kept, Plan, put_under_reaper};
use crate::record::{LENGTH, Record};
use crate::spec::{Spec, Surroundings};

/// What will stand between the owner and the command.
pub(crate) enum Prepared {
    Reaper {
        control: PipeWriter,
        status: PipeReader,
        kept: Kept,
    },
    /// `None` until the sandbox is prepared.
    Namespaces(Option<EndPipe>),
}

/// A started process that kills all processes of the command when it has to.
pub(crate) enum Supervisor {
    /// A reaper of this crate.
    Reaper {
        child: Child,
        /// Closing it makes the reaper stop the command.
        control: Option<PipeWriter>,
        status: PipeReader,
    },
    /// The outer process of a sandbox with a pid namespace. It passes signals on, and ends exactly as the
    /// command did when no process of it is left.
    Namespaces {
        child: Child,
        end: EndPipe,
        is_abandoned: bool,
    },
}

/// What a supervisor says when its descriptor is readable.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Report {
    /// The leader ended with this wait status.
    Ended(i32),
    /// The supervisor has finished, and could not kill this many processes.
    Swept(usize),
    /// It has exited, and says nothing more.
    Gone,
}

impl Prepared {
    /// Makes `command` start below a supervisor. Where the kernel ends all processes of the command
    /// together, a reaper would be one more process to start and to wait for.
    pub(crate) fn new(spec: &Spec, command: &mut Command) -> io::Result<Self> {
        if has_own_processes(&spec.surroundings) {
            let start_session = || setsid().map(drop).map_err(io::Error::from);
            // SAFETY: the closure makes one system call, which is allowed between fork and exec.
            unsafe {
                command.pre_exec(start_session);
            }
            return Ok(Self::Namespaces(None));
        }
        let (control, to_control) = pipe()?;
        let (status, to_status) = pipe()?;
        let kept = Kept::none();
        let plan = Plan {
            control: control.into(),
            status: to_status.into(),
            grace: spec.grace,
            setting: format!("{MARK}={}", spec.mark).into_bytes(),
            kept: kept.clone(),
        };
        put_under_reaper(command, plan);
        Ok(Self::Reaper {
            control: to_control,
            status,
            kept,
        })
    }

    /// Is called when the sandbox of the command is prepared. A reaper keeps its record locked until no
    /// process of the command is left; the outer process of namespaces does so by itself.
    pub(crate) fn connect(&mut self, session: &mut Session) {
        match self {
            Self::Reaper { kept, .. } => {
                if let Some(record) = session.record() {
                    kept.set(record);
                }
            }
            Self::Namespaces(end) => *end = session.take_end(),
        }
    }

    /// The supervisor of a command that was started as `child`. Nothing if it has no way to report.
    pub(crate) fn started(self, child: Child) -> Option<Supervisor> {
        Some(match self {
            Self::Reaper {
                control, status, ..
            } => Supervisor::Reaper {
                child,
                control: Some(control),
                status,
            },
            Self::Namespaces(end) => Supervisor::Namespaces {
                child,
                end: end?,
                is_abandoned: false,
            },
        })
    }
}

/// Whether the kernel kills all processes of the command when its first one ends.
fn has_own_processes(surroundings: &Surroundings) -> bool {
    match surroundings {
        Surroundings::Sandbox { layers, .. } => layers.level() == Level::Full,
        Surroundings::Inherited | Surroundings::Environment(_) => false,
    }
}

impl Supervisor {
    /// Becomes readable when there is a report.
    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Reaper { status, .. } => status.as_fd(),
            Self::Namespaces { end, .. } => end.as_fd(),
        }
    }

    /// The reports of a supervisor whose descriptor is readable.
    pub(crate) fn reports(&mut self) -> Vec<Report> {
        match self {
            Self::Reaper { status, .. } => vec![from_reaper(status)],
            Self::Namespaces {
                child,
                end,
                is_abandoned,
            } => {
                // One that was killed says nothing, and its own end is all that is known.
                let ended = end.read().or_else(|| wait(child));
                let left = usize::from(*is_abandoned);
                let ended = ended.map(Report::Ended);
                let reports = [ended, Some(Report::Swept(left)), Some(Report::Gone)];
                reports.into_iter().flatten().collect()
            }
        }
    }

    /// Waits for a supervisor that is [gone](Report::Gone): it has nothing left to do but to exit.
    pub(crate) fn reap(mut self) {
        let (Self::Reaper { child, .. } | Self::Namespaces { child, .. }) = &mut self;
        let _ = wait(child);
    }

    /// Asks the command to end. A reaper kills it after the grace period by itself.
    pub(crate) fn stop(&mut self) {
        match self {
            Self::Reaper { control, .. } => *control = None,
            // It is an unreaped child, so the process id is right.
            Self::Namespaces { child, .. } => drop(kill(pid_of(child), Signal::SIGTERM)),
        }
    }

    /// Kills what has not ended within the grace period.
    pub(crate) fn kill(&mut self, session: Option<&mut Session>) {
        match (self, session) {
            (Self::Namespaces { .. }, Some(session)) => session.kill(),
            (Self::Namespaces { .. }, None) | (Self::Reaper { .. }, _) => {}
        }
    }

    /// Kills the supervisor itself, which does not respond.
    pub(crate) fn abandon(&mut self) {
        // It is an unreaped child, so the process id is right.
        match self {
            Self::Reaper { child, .. } => drop(child.kill()),
            Self::Namespaces {
                child,
                is_abandoned,
                ..
            } => {
                *is_abandoned = true;
                drop(child.kill());
            }
        }
    }
}

fn from_reaper(status: &mut PipeReader) -> Report {
    let mut bytes = [0; LENGTH];
    let record = status.read_exact(&mut bytes);
    match record.ok().and_then(|()| Record::decode(bytes)) {
        Some(Record::Ended(wait_status)) => Report::Ended(wait_status),
        Some(Record::Swept(left)) => Report::Swept(usize::try_from(left).unwrap_or(0)),
        None => Report::Gone,
    }
}

fn wait(child: &mut Child) -> Option<i32> {
    child.wait().ok().map(ExitStatusExt::into_raw)
}

fn pid_of(child: &Child) -> Pid {
    Pid::from_raw(child.id().cast_signed())
}
