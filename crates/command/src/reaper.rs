//! The keeper: a process between the owner and the command that leaves nothing behind.
//!
//! It is forked from a process with many threads and never executes a program. Until it exits it
//! may therefore do nothing that takes a lock or allocates: only system calls, and memory that was
//! there before. Nothing here may panic.

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

use crate::environment::{Found, look};
use crate::record::Record;
use crate::session::session_of;

/// How long the keeper goes on sending SIGKILL to processes that do not die.
const GIVE_UP: Duration = Duration::from_secs(10);
/// How long it waits between two looks when nothing tells it that a child has ended.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// The children of this process. It has one thread, so that they are those of the thread.
const CHILDREN: &CStr = c"/proc/thread-self/children";
/// The name under which the keeper shows in a list of processes.
const NAME: &CStr = c"job-keeper";

/// What the keeper needs, prepared before the fork.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The read end of the pipe whose end means "stop".
    pub(crate) control: OwnedFd,
    /// The write end of the pipe for records.
    pub(crate) status: OwnedFd,
    /// The time between SIGTERM and SIGKILL.
    pub(crate) grace: Duration,
    /// The setting that marks the processes of this command.
    pub(crate) setting: Vec<u8>,
}

/// Makes the command start as the child of a keeper. The process id of the spawned child is that
/// of the keeper.
pub(crate) fn put_under_reaper(command: &mut Command, plan: Plan) {
    use std::os::unix::process::CommandExt;
    let split = move || split(&plan);
    // SAFETY: the closure runs between fork and exec and restricts itself to what is allowed
    // there: it makes system calls, and uses no memory but the stack and the plan.
    unsafe {
        command.pre_exec(split);
    }
}

/// Runs in the forked child. Returns in the leader only, which goes on to execute the shell.
fn split(plan: &Plan) -> io::Result<()> {
    setsid()?;
    let reaper = getpid();
    set_child_subreaper(Some(reaper))?;
    // SAFETY: this process has one thread, and both sides of the fork keep to what is allowed
    // after it. The keeper's side never returns from this function.
    match unsafe { libc::fork() } {
        0 => {
            inherit_nothing();
            setpgid(None, None)?;
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // The keeper may have died before the line above took effect.
            if getppid() == Some(reaper) {
                Ok(())
            } else {
                Err(io::ErrorKind::Interrupted.into())
            }
        }
        raw => match Pid::from_raw(raw) {
            Some(leader) if raw > 0 => Keeper::new(plan, leader).run(),
            Some(_) | None => Err(io::Error::last_os_error()),
        },
    }
}

/// The state of the keeper. All of it lives on the stack.
struct Keeper<'a> {
    plan: &'a Plan,
    leader: Pid,
    session: Option<i32>,
    /// Whether the leader has been reaped, after which its number may come to mean another group.
    leader_reaped: bool,
    control: BorrowedFd<'static>,
    status: BorrowedFd<'static>,
    /// Readable when a child has ended.
    ended: Option<OwnedFd>,
}

/// Where the keeper puts its two pipes.
const CONTROL: RawFd = 0;
const STATUS: RawFd = 1;
const FIRST_OTHER: RawFd = 2;

impl<'a> Keeper<'a> {
    fn new(plan: &'a Plan, leader: Pid) -> Self {
        // The leader does the same; whoever comes first. The other one fails, and need not care.
        let _ = setpgid(Some(leader), Some(leader));
        keep_only(&plan.control, &plan.status);
        // SAFETY: `keep_only` has put the pipes there, and nothing closes them before the exit.
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
        // SAFETY: ends the process at once, without the owner's exit handlers.
        unsafe { libc::_exit(0) }
    }

    fn report(&self, record: Record) {
        // An owner that is gone does not listen, and nothing depends on it.
        let _ = retry_on_intr(|| write(self.status, &record.encode()));
    }

    /// Looks without reaping, because an unreaped leader keeps the number of its group.
    fn leader_has_ended(&mut self) -> bool {
        self.reap_others();
        let peek = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        !matches!(waitid(WaitId::Pid(self.leader), peek), Ok(None))
    }

    /// Waits until a child ends or the owner closes its end or is gone.
    fn told_to_stop(&mut self) -> bool {
        let mut fds = [
            PollFd::from_borrowed_fd(self.control, PollFlags::IN),
            // Without news of children the control pipe is looked at in its place, now and then.
            PollFd::from_borrowed_fd(
                self.ended.as_ref().map_or(self.control, AsFd::as_fd),
                PollFlags::IN,
            ),
        ];
        let pause = self.ended.is_none().then_some(LOOK_AGAIN);
        let _ = poll(&mut fds, pause.map(timespec).as_ref());
        let [control, _] = &fds;
        let stop = !control.revents().is_empty();
        self.forget_news();
        stop
    }

    /// Reaps children that are not the leader, as long as the leader does not stand in the way: if
    /// it has ended, it is reaped by [`Keeper::reap_all`].
    fn reap_others(&mut self) {
        let peek = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        if matches!(waitid(WaitId::Pid(self.leader), peek), Ok(None)) {
            self.reap_all();
        }
    }

    /// Reaps whoever has ended, and reports the end of the leader.
    fn reap_all(&mut self) {
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            if pid == self.leader {
                self.leader_reaped = true;
                self.report(Record::Ended(status.as_raw()));
            }
        }
    }

    /// Kills everything. Returns how many are left all the same.
    fn sweep(&mut self) -> i32 {
        if !self.leader_reaped {
            self.signal_group(Signal::TERM);
        }
        // Whoever has ended already, the leader for one, must not be waited for.
        self.reap_all();
        let start = now();
        let mut left = self.signal_children(Signal::TERM);
        while left > 0 && since(start) < self.plan.grace {
            self.wait_for_news(self.plan.grace.saturating_sub(since(start)));
            self.reap_all();
            // Whoever was orphaned since the last look has not had a signal of its own yet.
            left = self.signal_children(Signal::TERM);
        }
        let start = now();
        while left > 0 && since(start) < GIVE_UP {
            if !self.leader_reaped {
                self.signal_group(Signal::KILL);
            }
            self.signal_children(Signal::KILL);
            self.wait_for_news(LOOK_AGAIN);
            self.reap_all();
            left = self.count_children();
        }
        left
    }

    /// Signals the group of the leader. Only to be called while the leader is not reaped, or while
    /// a child of ours is known to be in the group: both keep its number from being used again.
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

    /// Whether a child is to be killed: it is in our session, or carries our mark. One that is in
    /// a session of its own and has had the mark removed was let go on purpose.
    fn is_ours(&self, pid: Pid) -> bool {
        if session_of(pid) == self.session {
            return true;
        }
        match look(pid.as_raw_nonzero().get(), &self.plan.setting) {
            // A process that is about to exit has no environment any more, but still has children,
            // which come to us when it is gone.
            Found::Yes | Found::Empty | Found::Unreadable => true,
            Found::No => false,
        }
    }

    fn wait_for_news(&mut self, most: Duration) {
        let mut fds = [PollFd::from_borrowed_fd(
            self.ended.as_ref().map_or(self.status, AsFd::as_fd),
            PollFlags::IN,
        )];
        let most = if self.ended.is_some() {
            most
        } else {
            most.min(LOOK_AGAIN)
        };
        let _ = poll(&mut fds, Some(&timespec(most)));
        self.forget_news();
    }

    fn forget_news(&self) {
        if let Some(ended) = &self.ended {
            let mut buffer = [0; size_of::<libc::signalfd_siginfo>()];
            let _ = read(ended, &mut buffer);
        }
    }
}

/// Closes every descriptor but two, which get the first two numbers. What the owner has open, locks
/// and the ends of other pipes above all, must not live on here.
fn keep_only(control: &OwnedFd, status: &OwnedFd) {
    // SAFETY: plain system calls. The descriptors that are closed belong to values which this
    // process never touches again, because it never returns to their owners.
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

/// Keeps what the owner has open, on purpose or by inheritance of its own, from the command. Where
/// the kernel is too old for it, the rule of the standard library remains: what it opens is closed.
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

/// Blocks all signals, so that only SIGKILL ends the keeper, and returns a descriptor that tells
/// when a child has ended. Without it the keeper looks at intervals.
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

/// Calls `visit` with every child of this process. Returns for how many it said yes. A list that
/// changes while it is read may miss some, so that callers look until none is left.
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

/// The time since the machine was started.
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
