//! The reaper: a process between the owner and the command that kills all remaining processes.
//!
//! It is forked from a process with many threads and never executes a program. It must therefore not
//! take a lock or allocate: it uses only system calls and memory that existed before the fork. Nothing
//! here may panic.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use libc::c_int;
use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::prctl::{set_child_subreaper, set_name, set_pdeathsig};
use nix::sys::signal::{SigHandler, SigSet, SigmaskHow, Signal, kill, killpg, signal, sigprocmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::stat::Mode;
use nix::sys::time::TimeSpec;
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::{
    ForkResult, Pid, chdir, fork, getpgid, getpid, getppid, read, setpgid, setsid, write,
};

use crate::environment::{Found, find_setting};
use crate::record::Record;
use crate::session::session_of;

/// How long the reaper keeps sending SIGKILL to processes that do not die.
const GIVE_UP: Duration = Duration::from_secs(10);
/// The polling interval when no descriptor reports ended children.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// The children of this process, which has one thread.
const CHILDREN: &CStr = c"/proc/thread-self/children";
/// The name of the process.
const NAME: &CStr = c"job-reaper";

/// This process, where `setpgid` takes a process id.
const NONE: Pid = Pid::from_raw(0);

/// The data of the reaper, prepared before the fork.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The read end of the pipe whose end means "stop".
    pub(crate) control: OwnedFd,
    /// The write end of the pipe for records.
    pub(crate) status: OwnedFd,
    /// The time between SIGTERM and SIGKILL.
    pub(crate) grace: Duration,
    /// The variable assignment that marks the processes of this command.
    pub(crate) setting: Vec<u8>,
    pub(crate) kept: Kept,
}

/// A descriptor that the reaper keeps open until no process of the command is left. It is chosen after
/// the plan was made and before the fork.
#[derive(Clone, Debug)]
pub(crate) struct Kept(Arc<AtomicI32>);

impl Kept {
    pub(crate) fn none() -> Self {
        Self(Arc::new(AtomicI32::new(NO_DESCRIPTOR)))
    }

    /// Keeps a copy of this descriptor, which has to stay open until the fork.
    pub(crate) fn set(&self, descriptor: BorrowedFd<'_>) {
        self.0.store(descriptor.as_raw_fd(), Ordering::Relaxed);
    }

    fn get(&self) -> RawFd {
        self.0.load(Ordering::Relaxed)
    }
}

const NO_DESCRIPTOR: RawFd = -1;

/// Makes the command start as the child of a reaper. The process id of the spawned child is that
/// of the reaper.
pub(crate) fn put_under_reaper(command: &mut Command, plan: Plan) {
    use std::os::unix::process::CommandExt;
    let split = move || split(&plan);
    // SAFETY: the closure runs between fork and exec and does only what is allowed there: it makes
    // system calls, and uses no memory but the stack and the plan.
    unsafe {
        command.pre_exec(split);
    }
}

/// Runs in the forked child. Returns only in the leader, which then executes the shell.
fn split(plan: &Plan) -> io::Result<()> {
    setsid()?;
    let reaper = getpid();
    set_child_subreaper(true)?;
    // SAFETY: this process has one thread, and both sides of the fork do only what is allowed
    // after it. The reaper's side never returns from this function.
    match unsafe { fork() }? {
        ForkResult::Child => {
            inherit_nothing();
            setpgid(NONE, NONE)?;
            set_pdeathsig(Signal::SIGKILL)?;
            // The reaper may have died before the line above took effect.
            if getppid() == reaper {
                Ok(())
            } else {
                Err(io::ErrorKind::Interrupted.into())
            }
        }
        ForkResult::Parent { child } => Reaper::new(plan, child).run(),
    }
}

/// The state of the reaper, all of it on the stack.
struct Reaper<'a> {
    plan: &'a Plan,
    leader: Pid,
    session: Option<i32>,
    /// Whether the leader has been reaped, after which its process id may be reused.
    leader_reaped: bool,
    control: BorrowedFd<'static>,
    status: BorrowedFd<'static>,
    /// Readable when a child has ended.
    ended: Option<SignalFd>,
}

/// The descriptors of the two pipes, and of what is kept.
const CONTROL: RawFd = 0;
const STATUS: RawFd = 1;
const KEPT: RawFd = 2;
const FIRST_OTHER: RawFd = 3;

impl<'a> Reaper<'a> {
    fn new(plan: &'a Plan, leader: Pid) -> Self {
        // The leader does the same. The second call fails, which is harmless.
        let _ = setpgid(leader, leader);
        keep_only(&plan.control, &plan.status, plan.kept.get());
        // SAFETY: `keep_only` has moved the pipes there, and nothing closes them before the exit.
        let (control, status) = unsafe {
            (
                BorrowedFd::borrow_raw(CONTROL),
                BorrowedFd::borrow_raw(STATUS),
            )
        };
        let _ = chdir(c"/");
        Self {
            plan,
            leader,
            session: session_of(getpid()),
            leader_reaped: false,
            control,
            status,
            ended: ended_children(),
        }
    }

    fn run(mut self) -> ! {
        while !self.leader_has_ended() && !self.told_to_stop() {}
        let left = self.sweep();
        self.report(Record::Swept(left));
        // SAFETY: ends the process immediately, without the owner's exit handlers.
        unsafe { libc::_exit(0) }
    }

    fn report(&self, record: Record) {
        // This fails if the owner has exited, which is harmless.
        while write(self.status, &record.encode()) == Err(Errno::EINTR) {}
    }

    /// Checks without reaping, because an unreaped leader reserves the id of its group.
    fn leader_has_ended(&mut self) -> bool {
        self.reap_others();
        !self.leader_runs()
    }

    /// Waits until a child ends, or the owner closes its pipe or exits.
    fn told_to_stop(&mut self) -> bool {
        let mut fds = [
            PollFd::new(self.control, PollFlags::POLLIN),
            // Without the descriptor for children the control pipe takes its place, with a timeout.
            PollFd::new(
                self.ended.as_ref().map_or(self.control, AsFd::as_fd),
                PollFlags::POLLIN,
            ),
        ];
        let pause = self.ended.is_none().then_some(POLL_INTERVAL);
        let _ = ppoll(&mut fds, pause.map(TimeSpec::from), None);
        let [control, _] = &fds;
        let stop = control.any() == Some(true);
        self.clear_child_events();
        stop
    }

    /// Reaps children other than the leader, up to the first that is the leader: an ended leader is
    /// reaped by [`Reaper::reap_all`].
    fn reap_others(&mut self) {
        if self.leader_runs() {
            self.reap_all();
        }
    }

    fn leader_runs(&self) -> bool {
        let peek = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        waitid(Id::Pid(self.leader), peek) == Ok(WaitStatus::StillAlive)
    }

    /// Reaps all ended children, and reports the end of the leader.
    fn reap_all(&mut self) {
        while let Some((pid, status)) = reap_one() {
            if pid == self.leader {
                self.leader_reaped = true;
                self.report(Record::Ended(status));
            }
        }
    }

    /// Kills all processes. Returns the number of those that remain.
    fn sweep(&mut self) -> i32 {
        if !self.leader_reaped {
            self.signal_group(Signal::SIGTERM);
        }
        // Children that have already ended, such as the leader, must not be waited for.
        self.reap_all();
        let start = now();
        let mut left = self.signal_children(Signal::SIGTERM);
        while left > 0 && since(start) < self.plan.grace {
            self.wait_for_child(self.plan.grace.saturating_sub(since(start)));
            self.reap_all();
            // Processes orphaned since the last round have not been signalled yet.
            left = self.signal_children(Signal::SIGTERM);
        }
        let start = now();
        while left > 0 && since(start) < GIVE_UP {
            if !self.leader_reaped {
                self.signal_group(Signal::SIGKILL);
            }
            self.signal_children(Signal::SIGKILL);
            self.wait_for_child(POLL_INTERVAL);
            self.reap_all();
            left = self.count_children();
        }
        left
    }

    /// Signals the group of the leader. Only to be called while the leader is not reaped, or while
    /// a child is known to be in the group: both keep its id from being reused.
    fn signal_group(&self, signal: Signal) {
        let _ = killpg(self.leader, signal);
    }

    fn signal_children(&self, signal: Signal) -> i32 {
        for_each_child(|pid| {
            let ours = self.is_ours(pid);
            if ours {
                if getpgid(Some(pid)) == Ok(self.leader) {
                    self.signal_group(signal);
                }
                let _ = kill(pid, signal);
            }
            ours
        })
    }

    fn count_children(&self) -> i32 {
        for_each_child(|pid| self.is_ours(pid))
    }

    /// Whether to kill a child: it is in this session, or carries the mark. One in a session of its own
    /// without the mark was released on purpose.
    fn is_ours(&self, pid: Pid) -> bool {
        if session_of(pid) == self.session {
            return true;
        }
        match find_setting(pid.as_raw(), &self.plan.setting) {
            // An exiting process has no environment any more, but may have children, which become
            // children of the reaper.
            Found::Yes | Found::Empty | Found::Unreadable => true,
            Found::No => false,
        }
    }

    fn wait_for_child(&mut self, limit: Duration) {
        let mut fds = [PollFd::new(
            self.ended.as_ref().map_or(self.status, AsFd::as_fd),
            PollFlags::POLLIN,
        )];
        let limit = if self.ended.is_some() {
            limit
        } else {
            limit.min(POLL_INTERVAL)
        };
        let _ = ppoll(&mut fds, Some(TimeSpec::from(limit)), None);
        self.clear_child_events();
    }

    fn clear_child_events(&self) {
        if let Some(ended) = &self.ended {
            let _ = ended.read_signal();
        }
    }
}

/// Closes all descriptors except three, which become 0, 1 and 2. The open files of the owner, in particular
/// locks and pipes, must not stay open here.
fn keep_only(control: &OwnedFd, status: &OwnedFd, kept: RawFd) {
    // SAFETY: plain system calls. The closed descriptors belong to values that this process never uses
    // again.
    unsafe {
        libc::dup2(control.as_raw_fd(), CONTROL);
        libc::dup2(status.as_raw_fd(), STATUS);
        if libc::dup2(kept, KEPT) != KEPT {
            libc::close(KEPT);
        }
        if libc::syscall(libc::SYS_close_range, FIRST_OTHER, c_int::MAX, 0) != 0 {
            // Before Linux 5.9.
            for fd in FIRST_OTHER..4096 {
                libc::close(fd);
            }
        }
    }
}

/// Prevents the command from inheriting descriptors of the owner. On kernels without this call, only
/// the descriptors that the standard library opened are closed.
fn inherit_nothing() {
    // SAFETY: a plain system call, which marks descriptors to be closed by exec.
    unsafe {
        libc::syscall(
            libc::SYS_close_range,
            libc::STDERR_FILENO + 1,
            c_int::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        );
    }
}

/// Blocks all signals, so that only SIGKILL ends the reaper, and returns a descriptor that becomes
/// readable when a child has ended. Without it the reaper polls.
fn ended_children() -> Option<SignalFd> {
    let _ = set_name(NAME);
    let _ = sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::all()), None);
    // An owner that ignores SIGCHLD would otherwise have our children reaped by the kernel.
    // SAFETY: the default handler is no function of ours.
    let _ = unsafe { signal(Signal::SIGCHLD, SigHandler::SigDfl) };
    let child = SigSet::from(Signal::SIGCHLD);
    SignalFd::with_flags(&child, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC).ok()
}

/// Reaps a child that has ended. `nix` has no status for a process that a real-time signal killed,
/// so the call is made directly.
fn reap_one() -> Option<(Pid, c_int)> {
    let mut status = 0;
    // SAFETY: writes to a value on the stack.
    let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) };
    (pid > 0).then(|| (Pid::from_raw(pid), status))
}

/// Calls `visit` with every child of this process. Returns how often it returned true. A list that
/// changes while it is read may miss some, so callers repeat until none is left.
fn for_each_child(mut visit: impl FnMut(Pid) -> bool) -> i32 {
    let flags = OFlag::O_RDONLY | OFlag::O_CLOEXEC;
    let Ok(file) = open(CHILDREN, flags, Mode::empty()) else {
        return 0;
    };
    let mut buffer = [0; 1024];
    let mut number: i32 = 0;
    let mut yes: i32 = 0;
    loop {
        let count = match read(&file, &mut buffer) {
            Ok(count @ 1..) => count,
            Err(Errno::EINTR) => continue,
            Ok(0) | Err(_) => return yes,
        };
        for byte in buffer.iter().take(count) {
            if byte.is_ascii_digit() {
                let digit = i32::from(byte.wrapping_sub(b'0'));
                number = number.wrapping_mul(10).wrapping_add(digit);
                continue;
            }
            if number > 0 && visit(Pid::from_raw(number)) {
                yes = yes.saturating_add(1);
            }
            number = 0;
        }
    }
}

/// The time since boot.
fn now() -> Duration {
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(Duration::ZERO, Duration::from)
}

fn since(start: Duration) -> Duration {
    now().saturating_sub(start)
}
