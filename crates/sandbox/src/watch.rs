//! The two processes that stand between the caller and a command with namespaces of its own. Both
//! are forks that never execute a program, so that they may only make system calls.

use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use libc::{c_int, pid_t};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, sigprocmask};

/// The numbers of the descriptors that the outer process keeps, in their order.
const FIRST: RawFd = 0;
const LIFELINE: RawFd = FIRST;
const STATUS: RawFd = 1;
const ENDED: RawFd = 2;
/// The descriptor that init keeps.
const TO_STATUS: RawFd = FIRST;

/// What the outer process keeps open.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept<'a> {
    /// Its other end is closed when the caller is gone.
    pub(crate) lifeline: BorrowedFd<'a>,
    /// Where init reports how the command ended.
    pub(crate) status: BorrowedFd<'a>,
    /// Receives the same status when no process of the command is left.
    pub(crate) ended: BorrowedFd<'a>,
    /// The lock of the record, which lasts as long as any process of the command.
    pub(crate) record: Option<BorrowedFd<'a>>,
}

/// Blocks every signal. Returns what was blocked before.
pub(crate) fn block_signals() -> nix::Result<SigSet> {
    // SAFETY: sets a default action. A caller that ignores SIGCHLD would have its grandchildren
    // reaped by the kernel, and their status would be lost.
    unsafe {
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
    }
    let mut before = SigSet::empty();
    sigprocmask(
        SigmaskHow::SIG_SETMASK,
        Some(&SigSet::all()),
        Some(&mut before),
    )?;
    Ok(before)
}

/// Whether nobody holds the other end of a pipe any more.
pub(crate) fn is_abandoned(pipe: BorrowedFd<'_>) -> bool {
    let mut fds = [watched(pipe.as_raw_fd(), 0)];
    wait_for(&mut fds, 0);
    let [pipe] = fds;
    pipe.revents != 0
}

/// The outer process, which the caller sees as the command. It passes signals on, ends the sandbox
/// when the caller is gone, and ends itself exactly as the command did. Before that it reports the end:
/// its own takes longer, because its namespaces go with it.
pub(crate) fn outer(init: pid_t, kept: Kept<'_>) -> ! {
    keep([
        kept.lifeline.as_raw_fd(),
        kept.status.as_raw_fd(),
        kept.ended.as_raw_fd(),
        kept.record.map_or(-1, |record| record.as_raw_fd()),
    ]);
    // SAFETY: a constant path.
    unsafe {
        libc::chdir(c"/".as_ptr());
    }
    let signals = signals();
    let ended = loop {
        let mut fds = [
            watched(LIFELINE, libc::POLLIN),
            watched(STATUS, libc::POLLIN),
            watched(
                signals.as_ref().map_or(-1, AsRawFd::as_raw_fd),
                libc::POLLIN,
            ),
        ];
        wait_for(&mut fds, -1);
        let [lifeline, status, signal] = fds;
        if signal.revents != 0
            && let Some((number, _)) = next_signal(signals.as_ref())
            && number != libc::SIGCHLD
        {
            // SAFETY: the process is our child and not reaped, so that the number is right.
            unsafe {
                libc::kill(init, number);
            }
        }
        if lifeline.revents != 0 {
            // SAFETY: as above.
            unsafe {
                libc::kill(init, libc::SIGKILL);
            }
            break None;
        }
        if status.revents != 0 {
            break read_status();
        }
    };
    // The kernel ends this wait when the last process of the namespace is gone.
    let mut raw = 0;
    wait_pid(init, &mut raw);
    let ended = ended.unwrap_or(raw);
    report(ENDED, ended);
    end_like(ended)
}

/// The first process of the pid namespace. It reaps what is orphaned, passes signals from outside
/// on, and reports how the command ended. When it exits, the kernel kills all other processes.
pub(crate) fn init(command: pid_t, status: BorrowedFd<'_>) -> ! {
    keep([status.as_raw_fd()]);
    let signals = signals();
    loop {
        let mut raw = 0;
        // SAFETY: writes to a value on the stack.
        let pid = unsafe { libc::waitpid(-1, &raw mut raw, libc::WNOHANG) };
        if pid == command {
            report(TO_STATUS, raw);
            // SAFETY: ends the process at once, without the caller's exit handlers.
            unsafe {
                libc::_exit(0);
            }
        }
        if pid > 0 {
            continue;
        }
        if signals.is_none() {
            // Without a free descriptor, the end of the command is still noticed, but signals are not.
            wait_for(&mut [], 20);
            continue;
        }
        // Only senders outside of the namespace have the number 0 here, so a process inside cannot make
        // init signal the command.
        if let Some((number, 0)) = next_signal(signals.as_ref())
            && number != libc::SIGCHLD
        {
            // SAFETY: the command is our child and not reaped. It leads a group of its own as soon
            // as it has called setsid; before that only its own number exists.
            unsafe {
                if libc::kill(-command, number) != 0 {
                    libc::kill(command, number);
                }
            }
        }
    }
}

/// Gives these descriptors the first numbers, and closes all others. A negative one is skipped.
fn keep<const N: usize>(descriptors: [RawFd; N]) {
    // SAFETY: plain system calls. Neither process returns to the owners of what is closed. The
    // copies are made above the numbers in question, so that none overwrites the other.
    let copies = descriptors.map(|fd| unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 16) });
    for (number, copy) in (FIRST..).zip(copies) {
        // SAFETY: as above.
        unsafe {
            if libc::dup2(copy, number) < 0 {
                libc::close(number);
            }
        }
    }
    let rest = RawFd::try_from(N).unwrap_or(RawFd::MAX);
    // Before Linux 5.9 there are neither `close_range` nor the mounts that got us here.
    let _ = crate::syscalls::close_from(rest, false);
}

/// Writes a wait status to a pipe that has room for it. It does not matter whether it is read.
fn report(to: RawFd, status: c_int) {
    let bytes = status.to_ne_bytes();
    // SAFETY: writes from the stack.
    unsafe {
        libc::write(to, bytes.as_ptr().cast(), bytes.len());
    }
}

fn signals() -> Option<OwnedFd> {
    let set = SigSet::all();
    let flags = libc::SFD_CLOEXEC;
    // SAFETY: reads the set; the kernel returns a descriptor nobody else knows.
    unsafe {
        let fd = libc::signalfd(-1, set.as_ref(), flags);
        (fd >= 0).then(|| OwnedFd::from_raw_fd(fd))
    }
}

/// Waits for the next signal, and returns its number and its sender as known in this namespace.
fn next_signal(signals: Option<&OwnedFd>) -> Option<(c_int, u32)> {
    const LENGTH: usize = size_of::<libc::signalfd_siginfo>();
    let fd = signals?.as_raw_fd();
    // SAFETY: the structure is plain data for which zeros are valid, and the kernel fills it.
    unsafe {
        let mut info: libc::signalfd_siginfo = std::mem::zeroed();
        let count = libc::read(fd, (&raw mut info).cast(), LENGTH);
        let number = c_int::try_from(info.ssi_signo).ok()?;
        (usize::try_from(count) == Ok(LENGTH)).then_some((number, info.ssi_pid))
    }
}

fn read_status() -> Option<c_int> {
    let mut bytes = [0; size_of::<c_int>()];
    // SAFETY: reads into an array on the stack. So few bytes arrive in one piece.
    let count = unsafe { libc::read(STATUS, bytes.as_mut_ptr().cast(), bytes.len()) };
    (usize::try_from(count) == Ok(bytes.len())).then(|| c_int::from_ne_bytes(bytes))
}

fn wait_pid(pid: pid_t, status: &mut c_int) {
    // SAFETY: writes to a value of the caller.
    unsafe {
        while libc::waitpid(pid, status, 0) < 0 && *libc::__errno_location() == libc::EINTR {}
    }
}

/// Ends this process with the same wait status.
fn end_like(status: c_int) -> ! {
    if libc::WIFEXITED(status) {
        // SAFETY: ends the process at once, without the caller's exit handlers.
        unsafe { libc::_exit(libc::WEXITSTATUS(status)) }
    }
    let number = libc::WTERMSIG(status);
    let _ = nix::sys::resource::setrlimit(nix::sys::resource::Resource::RLIMIT_CORE, 0, 0);
    let mut set = SigSet::empty();
    if let Ok(signal) = Signal::try_from(number) {
        set.add(signal);
    }
    // SAFETY: sets a default action and signals this very process.
    unsafe {
        libc::signal(number, libc::SIG_DFL);
        libc::kill(libc::getpid(), number);
    }
    let _ = sigprocmask(SigmaskHow::SIG_UNBLOCK, Some(&set), None);
    // SAFETY: as above. Only a signal whose default is to do nothing gets here.
    unsafe { libc::_exit(128 | number) }
}

const fn watched(fd: RawFd, events: libc::c_short) -> libc::pollfd {
    libc::pollfd {
        fd,
        events,
        revents: 0,
    }
}

fn wait_for(fds: &mut [libc::pollfd], milliseconds: c_int) {
    let count = libc::nfds_t::try_from(fds.len()).unwrap_or(0);
    // SAFETY: the kernel writes to the slice, whose length is passed along.
    unsafe {
        libc::poll(fds.as_mut_ptr(), count, milliseconds);
    }
}
