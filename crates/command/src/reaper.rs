//! The reaper: a process between the owner and the command that kills all remaining processes.
//!
//! It is forked from a process with many threads and never executes a program. It must therefore not
//! take a lock or allocate: it uses only system calls and memory that existed before the fork. Nothing
//! here may panic.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::process::Command;
use std::time::Duration;

use libc::c_int;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{read, retry_on_intr, write};
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, getpgid, getpid, getppid, kill_process,
    kill_process_group, set_child_subreaper, set_parent_process_death_signal, setpgid, setsid,
    wait, waitid,
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
}

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
    set_child_subreaper(Some(reaper))?;
    // SAFETY: this process has one thread, and both sides of the fork do only what is allowed
    // after it. The reaper's side never returns from this function.
    match unsafe { libc::fork() } {
        0 => {
            inherit_nothing();
            setpgid(None, None)?;
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // The reaper may have died before the line above took effect.
            if getppid() == Some(reaper) {
                Ok(())
            } else {
                Err(io::ErrorKind::Interrupted.into())
            }
        }
        raw => match Pid::from_raw(raw) {
            Some(leader) if raw > 0 => Reaper::new(plan, leader).run(),
            Some(_) | None => Err(io::Error::last_os_error()),
        },
    }
}

/// The state of the reaper. All of it lives on the stack.
struct Reaper<'a> {
    plan: &'a Plan,
    leader: Pid,
    session: Option<i32>,
    /// Whether the leader has been reaped, after which its process id may be reused.
    leader_reaped: bool,
    control: BorrowedFd<'static>,
    status: BorrowedFd<'static>,
    /// Readable when a child has ended.
    ended: Option<OwnedFd>,
}

/// The descriptors of the two pipes.
const CONTROL: RawFd = 0;
const STATUS: RawFd = 1;
const FIRST_OTHER: RawFd = 2;

impl<'a> Reaper<'a> {
    fn new(plan: &'a Plan, leader: Pid) -> Self {
        // The leader does the same. The second call fails, which is harmless.
        let _ = setpgid(Some(leader), Some(leader));
        keep_only(&plan.control, &plan.status);
        // SAFETY: `keep_only` has moved the pipes there, and nothing closes them before the exit.
        let (control, status) = unsafe {
            (
                BorrowedFd::borrow_raw(CONTROL),
                BorrowedFd::borrow_raw(STATUS),
            )
        };
        let _ = rustix::process::chdir(c"/");
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
        let _ = retry_on_intr(|| write(self.status, &record.encode()));
    }

    /// Checks without reaping, because an unreaped leader reserves the id of its group.
    fn leader_has_ended(&mut self) -> bool {
        self.reap_others();
        let peek = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        !matches!(waitid(WaitId::Pid(self.leader), peek), Ok(None))
    }

    /// Waits until a child ends, or the owner closes its pipe or exits.
    fn told_to_stop(&mut self) -> bool {
        let mut fds = [
            PollFd::from_borrowed_fd(self.control, PollFlags::IN),
            // Without the descriptor for children the control pipe takes its place, with a timeout.
            PollFd::from_borrowed_fd(
                self.ended.as_ref().map_or(self.control, AsFd::as_fd),
                PollFlags::IN,
            ),
        ];
        let pause = self.ended.is_none().then_some(POLL_INTERVAL);
        let _ = poll(&mut fds, pause.map(timespec).as_ref());
        let [control, _] = &fds;
        let stop = !control.revents().is_empty();
        self.clear_child_events();
        stop
    }

    /// Reaps children other than the leader, up to the first that is the leader: an ended leader is
    /// reaped by [`Reaper::reap_all`].
    fn reap_others(&mut self) {
        let peek = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        if matches!(waitid(WaitId::Pid(self.leader), peek), Ok(None)) {
            self.reap_all();
        }
    }

    /// Reaps all ended children, and reports the end of the leader.
    fn reap_all(&mut self) {
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            if pid == self.leader {
                self.leader_reaped = true;
                self.report(Record::Ended(status.as_raw()));
            }
        }
    }

    /// Kills all processes. Returns the number of those that remain.
    fn sweep(&mut self) -> i32 {
        if !self.leader_reaped {
            self.signal_group(Signal::TERM);
        }
        // Children that have already ended, such as the leader, must not be waited for.
        self.reap_all();
        let start = now();
        let mut left = self.signal_children(Signal::TERM);
        while left > 0 && since(start) < self.plan.grace {
            self.wait_for_child(self.plan.grace.saturating_sub(since(start)));
            self.reap_all();
            // Processes orphaned since the last round have not been signalled yet.
            left = self.signal_children(Signal::TERM);
        }
        let start = now();
        while left > 0 && since(start) < GIVE_UP {
            if !self.leader_reaped {
                self.signal_group(Signal::KILL);
            }
            self.signal_children(Signal::KILL);
            self.wait_for_child(POLL_INTERVAL);
            self.reap_all();
            left = self.count_children();
        }
        left
    }

    /// Signals the group of the leader. Only to be called while the leader is not reaped, or while
    /// a child is known to be in the group: both keep its id from being reused.
    fn signal_group(&self, signal: Signal) {
        let _ = kill_process_group(self.leader, signal);
    }

    fn signal_children(&self, signal: Signal) -> i32 {
        for_each_child(|pid| {
            let ours = self.is_ours(pid);
            if ours {
                if getpgid(Some(pid)) == Ok(self.leader) {
                    self.signal_group(signal);
                }
                let _ = kill_process(pid, signal);
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
        match find_setting(pid.as_raw_nonzero().get(), &self.plan.setting) {
            // An exiting process has no environment any more, but may have children, which become
            // children of the reaper.
            Found::Yes | Found::Empty | Found::Unreadable => true,
            Found::No => false,
        }
    }

    fn wait_for_child(&mut self, limit: Duration) {
        let mut fds = [PollFd::from_borrowed_fd(
            self.ended.as_ref().map_or(self.status, AsFd::as_fd),
            PollFlags::IN,
        )];
        let limit = if self.ended.is_some() {
            limit
        } else {
            limit.min(POLL_INTERVAL)
        };
        let _ = poll(&mut fds, Some(&timespec(limit)));
        self.clear_child_events();
    }

    fn clear_child_events(&self) {
        if let Some(ended) = &self.ended {
            let mut buffer = [0; size_of::<libc::signalfd_siginfo>()];
            let _ = read(ended, &mut buffer);
        }
    }
}

/// Closes all descriptors except two, which become 0 and 1. The open files of the owner, in particular
/// locks and pipes, must not stay open here.
fn keep_only(control: &OwnedFd, status: &OwnedFd) {
    // SAFETY: plain system calls. The closed descriptors belong to values that this process never uses
    // again.
    unsafe {
        libc::dup2(control.as_raw_fd(), CONTROL);
        libc::dup2(status.as_raw_fd(), STATUS);
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
fn ended_children() -> Option<OwnedFd> {
    // SAFETY: plain system calls on sets on the stack, which `sigfillset` and `sigemptyset`
    // initialise; `prctl` reads a string constant.
    unsafe {
        libc::prctl(libc::PR_SET_NAME, NAME.as_ptr());
        let mut set = std::mem::zeroed();
        libc::sigfillset(&raw mut set);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const set, std::ptr::null_mut());
        // An owner that ignores SIGCHLD would otherwise have our children reaped by the kernel.
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        let fd = libc::signalfd(-1, &raw const set, libc::SFD_NONBLOCK | libc::SFD_CLOEXEC);
        (fd >= 0).then(|| OwnedFd::from_raw_fd(fd))
    }
}

/// Calls `visit` with every child of this process. Returns how often it returned true. A list that
/// changes while it is read may miss some, so callers repeat until none is left.
fn for_each_child(mut visit: impl FnMut(Pid) -> bool) -> i32 {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let Ok(file) = open(CHILDREN, flags, Mode::empty()) else {
        return 0;
    };
    let mut buffer = [0; 1024];
    let mut number: i32 = 0;
    let mut yes: i32 = 0;
    while let Ok(count @ 1..) = retry_on_intr(|| read(&file, &mut buffer)) {
        for byte in buffer.iter().take(count) {
            if byte.is_ascii_digit() {
                let digit = i32::from(byte.wrapping_sub(b'0'));
                number = number.wrapping_mul(10).wrapping_add(digit);
                continue;
            }
            if let Some(pid) = Pid::from_raw(number.max(0))
                && visit(pid)
            {
                yes = yes.saturating_add(1);
            }
            number = 0;
        }
    }
    yes
}

/// The time since boot.
fn now() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: writes to a value on the stack.
    unsafe {
        libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time);
    }
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u32::try_from(time.tv_nsec).unwrap_or(0).min(999_999_999);
    Duration::new(seconds, nanos)
}

fn since(start: Duration) -> Duration {
    now().saturating_sub(start)
}

fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: duration.subsec_nanos().into(),
    }
}
