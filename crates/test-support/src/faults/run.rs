//! Starts a command under the tracer and watches the clock.

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::panic::resume_unwind;
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use command::Pidfd;
use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::unistd::{Pid, setpgid};

use super::output::Collector;
use super::tracer::{Hit, Tracer};
use super::{Outcome, Plan, Trace};

/// Runs the command to its end, with or without a fault. Without one the
/// outcome is `NotReached`.
pub(super) fn run(
    cmd: &mut Command,
    plan: Option<Plan>,
    limit: Duration,
) -> io::Result<(Outcome, Trace)> {
    thread::scope(|scope| {
        let (started, handles) = mpsc::channel();
        let (running, ended) = mpsc::channel::<()>();
        // The kernel ties a traced process to one thread of the tracer. In a
        // thread of its own the tracer can wait for all that it traces without
        // taking away the end of any other child of the test.
        let tracer = scope.spawn(move || {
            let _running = running;
            trace(cmd, plan, &started)
        });
        let late = ended.recv_timeout(limit) == Err(RecvTimeoutError::Timeout);
        if late && let Ok(handle) = handles.recv() {
            // It fails only if the process has just ended, which is fine.
            let _ = handle.send_signal(Signal::SIGKILL);
        }
        let result = tracer.join().unwrap_or_else(|panic| resume_unwind(panic));
        if late {
            let message = format!("the traced command was killed after {limit:?}");
            return Err(io::Error::new(io::ErrorKind::TimedOut, message));
        }
        result
    })
}

/// Starts and traces the command, all in the calling thread.
fn trace(
    cmd: &mut Command,
    plan: Option<Plan>,
    started: &Sender<Pidfd>,
) -> io::Result<(Outcome, Trace)> {
    let mut child = spawn_traced(cmd)?;
    // A piped input would otherwise stay open for as long as the run.
    drop(child.stdin.take());
    let stdout = child.stdout.take().map(Collector::start);
    let stderr = child.stderr.take().map(Collector::start);

    let leader = Pid::from_raw(child.id().cast_signed());
    let mut tracer = Tracer::new(leader, plan);
    let result = match Pidfd::open(leader) {
        Ok(handle) => {
            // The receiver is gone only if the caller is.
            let _ = started.send(handle);
            tracer.follow()
        }
        Err(error) => Err(error.into()),
    };
    if result.is_err() {
        tracer.give_up();
    }
    let status = result?;
    let trace = Trace {
        calls: tracer.calls,
        status,
        stdout: stdout.map_or_else(Vec::new, Collector::finish),
        stderr: stderr.map_or_else(Vec::new, Collector::finish),
    };
    Ok((outcome(tracer.hit, status), trace))
}

fn outcome(hit: Option<Hit>, status: ExitStatus) -> Outcome {
    match (hit, status.code(), status.signal()) {
        (None, _, _) => Outcome::NotReached,
        (Some(Hit::NotApplicable), _, _) => Outcome::NotApplicable,
        (Some(Hit::Done), Some(code), _) => Outcome::Exited(code),
        (Some(Hit::Done), None, Some(signal)) if signal != libc::SIGKILL => {
            Outcome::Signalled(signal)
        }
        (Some(Hit::Done), None, _) => Outcome::Killed,
    }
}

/// Starts the command so that it stops, traced by the calling thread, before
/// its first instruction.
fn spawn_traced(cmd: &mut Command) -> io::Result<Child> {
    // A command keeps the hooks of all earlier runs. This switch makes each hook work only in its own run.
    let armed = Arc::new(AtomicBool::new(true));
    let switch = Arc::clone(&armed);
    let hook = move || {
        if switch.load(Ordering::Relaxed) {
            setpgid(Pid::from_raw(0), Pid::from_raw(0))?;
            ptrace::traceme()?;
        }
        Ok(())
    };
    // SAFETY: between fork and exec the hook reads a flag and makes two bare
    // system calls; it neither allocates nor locks.
    unsafe { cmd.pre_exec(hook) };
    let child = cmd.spawn();
    armed.store(false, Ordering::Relaxed);
    child
}

#[cfg(test)]
mod tests {
    use super::super::available;
    use super::*;
    use crate::disk::report_skip;

    #[test]
    fn a_run_without_end_is_killed() {
        if let Err(reason) = available() {
            return report_skip("a_run_without_end_is_killed", reason);
        }
        let mut sleep = Command::new("sleep");
        sleep.arg("1000");
        let error = run(&mut sleep, None, Duration::from_millis(200)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{error}");
    }

    #[test]
    fn a_missing_program_is_an_error() {
        if let Err(reason) = available() {
            return report_skip("a_missing_program_is_an_error", reason);
        }
        let mut missing = Command::new("/no/such/program");
        let error = run(&mut missing, None, Duration::from_secs(20)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound, "{error}");
    }
}
