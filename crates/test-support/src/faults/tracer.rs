//! Follows one traced process from system call to system call.

use std::collections::HashMap;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use nix::errno::Errno;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::names::name_of;
use super::{BEGIN, CHANGES, Call, Counts, END, Fault, Plan};

/// The mark of a stop at a system call, with the option TRACESYSGOOD.
const CALL_STOP: i32 = libc::SIGTRAP | 0x80;
/// A call number that the kernel does not have: the call is not made.
const NO_CALL: u64 = u64::MAX;

/// Whether the fault was injected into the chosen call.
#[derive(Clone, Copy, Debug)]
pub(super) enum Hit {
    Done,
    NotApplicable,
}

/// The state of one thread of the process.
#[derive(Debug, Default)]
struct Thread {
    /// Its first stop has been seen.
    started: bool,
    in_region: bool,
    at_exit: Option<AtExit>,
}

/// What the tracer does when the call with the fault returns.
#[derive(Clone, Copy, Debug)]
enum AtExit {
    Kill,
    RestoreLength(u64),
    Return(i32),
}

/// What the tracer does with a stopped thread.
enum Next {
    Resume,
    /// The process has been killed.
    Leave,
    /// The process is about to leave its group. The waits would then never return.
    Lost,
}

/// The tracer of one process. All of it works in the thread that started the
/// process.
pub(super) struct Tracer {
    leader: Pid,
    plan: Option<Plan>,
    threads: HashMap<Pid, Thread>,
    pub(super) calls: Vec<Call>,
    pub(super) hit: Option<Hit>,
}

impl Tracer {
    pub(super) fn new(leader: Pid, plan: Option<Plan>) -> Self {
        Self {
            leader,
            plan,
            threads: HashMap::new(),
            calls: Vec::new(),
            hit: None,
        }
    }

    /// Follows the process until it has ended and is reaped.
    pub(super) fn follow(&mut self) -> io::Result<ExitStatus> {
        self.start()?;
        loop {
            let (tid, status) = wait(-self.leader.as_raw())?;
            if libc::WIFSTOPPED(status) {
                self.stopped(tid, status)?;
            } else {
                self.threads.remove(&tid);
                // The leader's end is reported after that of all its threads.
                if tid == self.leader {
                    return Ok(ExitStatus::from_raw(status));
                }
            }
        }
    }

    /// Kills a process that cannot be traced any further, so that it is not left behind.
    pub(super) fn give_up(&mut self) {
        // A failure means that it is gone already.
        let _ = kill(self.leader, Signal::SIGKILL);
        // Its threads have to be reaped before it can be.
        while let Ok((tid, status)) = wait(-self.leader.as_raw()) {
            if tid == self.leader && !libc::WIFSTOPPED(status) {
                return;
            }
        }
    }

    /// Takes the stop that follows the exec of the command.
    fn start(&mut self) -> io::Result<()> {
        let (_, status) = wait(self.leader.as_raw())?;
        if !libc::WIFSTOPPED(status) {
            let message = format!("it ended at once: {}", ExitStatus::from_raw(status));
            return Err(io::Error::other(message));
        }
        // Forks are not followed: other processes run untouched.
        let options = Options::PTRACE_O_TRACESYSGOOD
            | Options::PTRACE_O_EXITKILL
            | Options::PTRACE_O_TRACECLONE
            | Options::PTRACE_O_TRACEEXEC;
        ptrace::setoptions(self.leader, options)?;
        self.threads.entry(self.leader).or_default().started = true;
        let signal = libc::WSTOPSIG(status);
        let forward = if signal == libc::SIGTRAP { 0 } else { signal };
        Ok(unless_gone(resume(self.leader, forward))?)
    }

    fn stopped(&mut self, tid: Pid, status: i32) -> io::Result<()> {
        let thread = self.threads.entry(tid).or_default();
        let first = !std::mem::replace(&mut thread.started, true);
        let signal = libc::WSTOPSIG(status);
        let is_event = status >> 16 != 0;
        if signal == CALL_STOP {
            // The process can be killed from outside at any time; its end is
            // then what the next wait reports.
            return match self.at_call(tid) {
                Ok(Next::Resume) => Ok(unless_gone(resume(tid, 0))?),
                Ok(Next::Leave) | Err(Errno::ESRCH) => Ok(()),
                Ok(Next::Lost) => Err(io::Error::other(
                    "a process that leaves its process group cannot be traced",
                )),
                Err(error) => Err(error.into()),
            };
        }
        // A new thread starts with a stop that nobody sent, and a stop of the whole process carries no
        // signal either. All other signals are delivered to the program.
        let born = first && signal == libc::SIGSTOP;
        let nothing_to_deliver = is_event || born || ptrace::getsiginfo(tid) == Err(Errno::EINVAL);
        let forward = if nothing_to_deliver { 0 } else { signal };
        Ok(unless_gone(resume(tid, forward))?)
    }

    fn at_call(&mut self, tid: Pid) -> Result<Next, Errno> {
        let op = ptrace::syscall_info(tid)?.op;
        if op == libc::PTRACE_SYSCALL_INFO_ENTRY {
            self.at_entry(tid)
        } else if op == libc::PTRACE_SYSCALL_INFO_EXIT {
            self.at_return(tid)
        } else {
            Ok(Next::Resume)
        }
    }

    fn at_entry(&mut self, tid: Pid) -> Result<Next, Errno> {
        // The kernel reads only the low half of the register for a `pid_t`.
        let regs = ptrace::getregs(tid)?;
        let thread = self.threads.entry(tid).or_default();
        if is_call(regs.orig_rax, libc::SYS_getpgid) {
            let pid = regs.rdi as libc::pid_t;
            if pid == BEGIN || pid == END {
                thread.in_region = pid == BEGIN;
                return Ok(Next::Resume);
            }
        }
        if is_call(regs.orig_rax, libc::SYS_setpgid) {
            // A program may move its children, which are not traced.
            let own = [0, self.leader.as_raw()];
            let (who, group) = (regs.rdi as libc::pid_t, regs.rsi as libc::pid_t);
            if own.contains(&who) && !own.contains(&group) {
                return Ok(Next::Lost);
            }
        }
        let name = name_of(regs.orig_rax);
        let counts = match self.plan.map(|plan| plan.counts) {
            Some(Counts::Changes) => name.is_some_and(|name| CHANGES.contains(&name)),
            Some(Counts::Marked) | None => thread.in_region,
        };
        if !counts {
            return Ok(Next::Resume);
        }
        let call = Call {
            index: self.calls.len() + 1,
            name: name.unwrap_or_else(|| format!("syscall_{}", regs.orig_rax).leak()),
            writes: is_call(regs.orig_rax, libc::SYS_write)
                || is_call(regs.orig_rax, libc::SYS_pwrite64),
        };
        self.calls.push(call);
        match self.plan {
            Some(plan) if plan.index == call.index => self.disturb(tid, call, plan.fault),
            Some(_) | None => Ok(Next::Resume),
        }
    }

    fn disturb(&mut self, tid: Pid, call: Call, fault: Fault) -> Result<Next, Errno> {
        let mut regs = ptrace::getregs(tid)?;
        let length = regs.rdx;
        let at_exit = match fault {
            Fault::Kill => {
                // The kernel skips the call of a killed process; this makes it
                // certain.
                regs.orig_rax = NO_CALL;
                ptrace::setregs(tid, regs)?;
                self.hit = Some(Hit::Done);
                kill(self.leader, Signal::SIGKILL)?;
                return Ok(Next::Leave);
            }
            Fault::Tear if call.writes => {
                regs.rdx = length / 2;
                AtExit::Kill
            }
            // A write of one byte never returns zero, so it cannot be short.
            Fault::Short if call.writes && length >= 2 => {
                regs.rdx = length / 2;
                AtExit::RestoreLength(length)
            }
            Fault::Errno(errno) => {
                regs.orig_rax = NO_CALL;
                AtExit::Return(errno)
            }
            Fault::Tear | Fault::Short => {
                self.hit = Some(Hit::NotApplicable);
                return Ok(Next::Resume);
            }
        };
        ptrace::setregs(tid, regs)?;
        self.hit = Some(Hit::Done);
        self.threads.entry(tid).or_default().at_exit = Some(at_exit);
        Ok(Next::Resume)
    }

    fn at_return(&mut self, tid: Pid) -> Result<Next, Errno> {
        let thread = self.threads.entry(tid).or_default();
        let Some(at_exit) = thread.at_exit.take() else {
            return Ok(Next::Resume);
        };
        let mut regs = ptrace::getregs(tid)?;
        match at_exit {
            AtExit::Kill => {
                kill(self.leader, Signal::SIGKILL)?;
                return Ok(Next::Leave);
            }
            // The program expects a call to leave its arguments unchanged.
            AtExit::RestoreLength(length) => regs.rdx = length,
            AtExit::Return(errno) => regs.rax = i64::from(-errno).cast_unsigned(),
        }
        ptrace::setregs(tid, regs)?;
        Ok(Next::Resume)
    }
}

fn is_call(number: u64, call: libc::c_long) -> bool {
    number == call.cast_unsigned()
}

/// A thread that is gone cannot be resumed, which is no error: its end is
/// reported by the next wait.
fn unless_gone(result: Result<(), Errno>) -> Result<(), Errno> {
    match result {
        Err(Errno::ESRCH) => Ok(()),
        other => other,
    }
}

/// Lets a stopped thread run to its next system call, delivering the signal if
/// it is not zero. (The function of `nix` knows no real-time signals.)
fn resume(tid: Pid, signal: i32) -> Result<(), Errno> {
    // SAFETY: this request reads no memory of ours; the last two arguments are
    // numbers that are passed as pointers are.
    let result = unsafe {
        libc::ptrace(
            libc::PTRACE_SYSCALL,
            tid.as_raw(),
            0 as libc::c_long,
            libc::c_long::from(signal),
        )
    };
    Errno::result(result).map(drop)
}

/// Waits for a change of one child or traced thread of this thread: of that
/// with the given number, or, if it is negative, of any in that process group.
fn wait(which: libc::pid_t) -> Result<(Pid, i32), Errno> {
    loop {
        let mut status = 0;
        // SAFETY: the pointer is to a local variable that outlives the call.
        let tid =
            unsafe { libc::waitpid(which, &raw mut status, libc::__WALL | libc::__WNOTHREAD) };
        match Errno::result(tid) {
            Ok(tid) => return Ok((Pid::from_raw(tid), status)),
            Err(Errno::EINTR) => {}
            Err(error) => return Err(error),
        }
    }
}
