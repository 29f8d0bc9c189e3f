//! Crash points: ends or disturbs a program at a chosen system call.
//!
//! The program under test marks the region of interest with [`mark_begin`] and
//! [`mark_end`]. [`record`] runs it undisturbed and lists the system calls of
//! the region; [`inject`] runs it again and puts a [`Fault`] at one of them:
//!
//! ```no_run
//! # use std::process::Command;
//! # use test_support::faults::{self, Fault, Outcome};
//! # fn main() -> std::io::Result<()> {
//! for index in 1.. {
//!     let outcome = faults::inject(&mut Command::new("./program"), index, Fault::Kill)?;
//!     // Check here what the killed program left behind.
//!     if outcome == Outcome::NotReached {
//!         break;
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! What counts:
//!
//! - A region belongs to the thread that made the marks, main thread or not.
//!   Calls of other threads are not counted and not disturbed, so that the
//!   count does not hang on how threads take turns. If several threads mark
//!   regions at the same time, their calls are counted in one common row.
//! - Calls are counted through all regions of the run, from 1 on.
//! - Other processes that the program starts run untouched, and a kill leaves
//!   them alone. A program that replaces itself by `exec` is followed.
//! - [`kill_at_change`] needs no marks: it counts, in all threads, the calls that
//!   change what other processes see. Their order hangs on how threads take turns.
//! - Calls that the kernel answers without being entered (the clock, through
//!   the vDSO) are not seen.
//!
//! How the command runs: it becomes the leader of a process group of its own,
//! so that its `setsid` is refused; to leave the group ends the run as an error.
//! Its standard streams are as the command says; piped
//! output is collected in the [`Trace`], a piped input is at its end at once.
//! A run that takes longer than [`LIMIT`] is killed and is an error of kind
//! `TimedOut`. The same command value may be run again and again.

use std::io;
use std::process::{Command, ExitStatus};
use std::sync::OnceLock;
use std::time::Duration;

#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod names;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod output;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod run;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod tracer;

/// The longest time that one run may take.
pub const LIMIT: Duration = Duration::from_secs(60);

// No process has a negative number, so asking for the process group of these numbers fails without an
// effect, and no other code asks for them.
const BEGIN: libc::pid_t = -0x7e57_0001;
const END: libc::pid_t = -0x7e57_0002;

/// Begins a marked region of the calling thread. Without a tracer it does
/// nothing.
pub fn mark_begin() {
    mark(BEGIN);
}

/// Ends the marked region of the calling thread. Without a tracer it does
/// nothing.
pub fn mark_end() {
    mark(END);
}

fn mark(which: libc::pid_t) {
    // SAFETY: getpgid takes a number and touches no memory of ours.
    unsafe { libc::getpgid(which) };
}

/// One system call of a marked region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Its place in the run, from 1 on.
    pub index: usize,
    /// Its name, as in "write" or "openat", or "syscall_N" for an unknown one.
    pub name: &'static str,
    /// Whether it is a write or pwrite64, to which [`Fault::Tear`] and
    /// [`Fault::Short`] apply.
    pub writes: bool,
}

/// What happens at the chosen call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The process is killed with SIGKILL in place of the call.
    Kill,
    /// Only half of the bytes are written, then the process is killed. Of one
    /// byte none is written.
    Tear,
    /// Only half of the bytes are written, and the program sees the short
    /// count. It needs a write of at least two bytes.
    Short,
    /// The call is not made and fails with this error number.
    Errno(i32),
}

/// How a run with a fault ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The fault happened and the process was killed with SIGKILL.
    Killed,
    /// The fault happened and the process exited with this code.
    Exited(i32),
    /// The fault happened and the process ended by this other signal.
    Signalled(i32),
    /// The program ended, in whatever way, before the chosen call.
    NotReached,
    /// The chosen call was made undisturbed, because the fault does not apply
    /// to it: not a write, or too short to be shortened.
    NotApplicable,
}

/// What a run did.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The calls of the marked regions, in order. One at whose entry the
    /// process was killed is the last.
    pub calls: Vec<Call>,
    /// How the process ended.
    pub status: ExitStatus,
    /// What it printed, if the command has its standard output piped. If some
    /// other process still holds the pipe, what came until shortly after the
    /// end.
    pub stdout: Vec<u8>,
    /// What it printed on standard error, likewise.
    pub stderr: Vec<u8>,
}

/// Runs the command undisturbed and lists the calls of its marked regions.
pub fn record(cmd: &mut Command) -> io::Result<Trace> {
    run(cmd, None, LIMIT).map(|(_, trace)| trace)
}

/// Runs the command with a fault at the call with this index, counted from 1.
/// An error means that the run could not be made, not that the program failed.
pub fn inject(cmd: &mut Command, index: usize, fault: Fault) -> io::Result<Outcome> {
    inject_traced(cmd, index, fault).map(|(outcome, _)| outcome)
}

/// As [`inject`], but also returns what the run did.
pub fn inject_traced(
    cmd: &mut Command,
    index: usize,
    fault: Fault,
) -> io::Result<(Outcome, Trace)> {
    if index == 0 {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "calls are counted from 1",
        ));
    }
    let plan = Plan {
        index,
        fault,
        counts: Counts::Marked,
    };
    run(cmd, Some(plan), LIMIT)
}

/// Runs the command and kills it instead of the change with this index, counted from 1 in all of its
/// threads. With `None` it runs to its end.
pub fn kill_at_change(cmd: &mut Command, index: Option<usize>) -> io::Result<(Outcome, Trace)> {
    let plan = Plan {
        // No run makes so many changes.
        index: index.unwrap_or(usize::MAX),
        fault: Fault::Kill,
        counts: Counts::Changes,
    };
    run(cmd, Some(plan), LIMIT)
}

/// Why crash points do not work on this machine, in a sentence.
#[derive(Clone, Debug)]
pub struct Unavailable(String);

impl std::fmt::Display for Unavailable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Checks whether crash points work on this machine.
pub fn available() -> Result<(), Unavailable> {
    static ANSWER: OnceLock<Result<(), Unavailable>> = OnceLock::new();
    ANSWER
        .get_or_init(|| match record(&mut Command::new("true")) {
            Ok(trace) if trace.status.success() => Ok(()),
            Ok(trace) => {
                let why = format!("A traced `true` failed with {}.", trace.status);
                Err(Unavailable(why))
            }
            Err(error) => Err(Unavailable(format!(
                "A command cannot be traced here: {error}."
            ))),
        })
        .clone()
}

/// The fault of a run, and where it happens.
#[derive(Clone, Copy, Debug)]
struct Plan {
    index: usize,
    fault: Fault,
    counts: Counts,
}

/// Which calls are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counts {
    /// Those of the marked regions.
    Marked,
    /// Those of the whole process that change what other processes see.
    Changes,
}

/// The names of calls that change what other processes see.
const CHANGES: [&str; 11] = [
    "write",
    "pwrite64",
    "writev",
    "rename",
    "renameat",
    "renameat2",
    "link",
    "linkat",
    "unlink",
    "unlinkat",
    "flock",
];

#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
use run::run;

#[cfg(not(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu")))]
fn run(_: &mut Command, _: Option<Plan>, _: Duration) -> io::Result<(Outcome, Trace)> {
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        "crash points need Linux on x86_64 with glibc",
    ))
}
