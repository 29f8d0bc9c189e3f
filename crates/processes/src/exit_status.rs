//! How the process of an incarnation ended.
//!
//! The operating system tells this to the parent, until the parent has collected the status. A process
//! that starts a member waits for its end, records the status in a file of the team and collects it after
//! that. So at every moment the status of its child is in `/proc`, or in the file.
//!
//! A member whose parent is another process, because `team-lead spawn` started it and ended, can be watched
//! by the lead: Linux 6.15 and later tell the exit status to whoever had a handle on the process. Without a
//! parent and without a watcher of the team, the cause stays unknown.

use command::Pidfd;
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;
use protocol::{DeathCause, ExitRecord, Holder, Incarnation, Recipient};
use std::fs;
use std::os::fd::AsRawFd;
use std::process::Child;
use teamdir::{Liveness, TeamDir};

/// Set in the flags of a process that is ending.
const PF_EXITING: u64 = 0x4;

/// `struct pidfd_info` of the kernel, in its first version.
#[repr(C)]
#[derive(Default)]
struct PidfdInfo {
    /// What is asked for, and then what is there.
    mask: u64,
    cgroup: u64,
    /// The ids of the process, its parent and its owners.
    ids: [u32; 11],
    exit_code: i32,
}

/// The bit of `mask` for the exit status.
const PIDFD_INFO_EXIT: u64 = 1 << 3;

nix::ioctl_readwrite!(pidfd_get_info, 0xff, 11, PidfdInfo);

/// Waits for the end of a child that is this incarnation of a member, records how it ended, and collects
/// its exit status.
pub(crate) fn record_exit(
    team: &TeamDir,
    owner: &Recipient,
    incarnation: Incarnation,
    child: &mut Child,
) {
    if let Some(cause) = wait_for_end(Pid::from_raw(child.id().cast_signed())) {
        record(team, owner, (incarnation, child.id()), cause);
    }
    let _ = child.wait();
}

/// Records how the process ended that was this incarnation. Nothing happens if the process was a wrapper,
/// whose status says nothing about the member, or if the member or the team is gone by now. The lock may be
/// held for a moment longer: a process that was just forked has a copy of it until it executes its program.
fn record(
    team: &TeamDir,
    owner: &Recipient,
    (incarnation, pid): (Incarnation, u32),
    cause: DeathCause,
) {
    let holder = match team.liveness(owner) {
        Ok(Liveness::Gone(holder) | Liveness::Alive(holder)) => holder,
        Err(_) => None,
    };
    if holder.is_some_and(|holder| (holder.incarnation, holder.pid) == (incarnation, pid)) {
        // Without the file the cause of the death stays unknown.
        let _ = team.write_exit(owner, &ExitRecord { incarnation, cause });
    }
}

/// Records how a process that was watched through a handle ended, if the system tells. It must have ended.
pub(crate) fn record_watched_exit(
    team: &TeamDir,
    owner: &Recipient,
    holder: &Holder,
    process: &Pidfd,
) {
    let incarnation = holder.incarnation;
    let recorded = team.exit_record(owner).map(|record| record.incarnation);
    // In this order: a status that is collected between the two steps is known to the handle by then.
    let cause = uncollected(holder).or_else(|| collected(process));
    if let Some(cause) = cause.filter(|_| recorded != Some(incarnation)) {
        record(team, owner, (incarnation, holder.pid), cause);
    }
}

/// How this incarnation ended, as far as anybody knows. Its lock must be free.
pub(crate) fn exit_cause(
    team: &TeamDir,
    owner: &Recipient,
    incarnation: Incarnation,
) -> DeathCause {
    // In this order: a status that is collected between the two steps is in the file by then.
    if let Ok(Liveness::Gone(Some(holder))) = team.liveness(owner)
        && holder.incarnation == incarnation
        && let Some(cause) = uncollected(&holder)
    {
        return cause;
    }
    match team.exit_record(owner) {
        Some(record) if record.incarnation == incarnation => record.cause,
        Some(_) | None => DeathCause::Unknown,
    }
}

/// Waits for the end of a child, and leaves its status to be collected.
fn wait_for_end(pid: Pid) -> Option<DeathCause> {
    loop {
        match waitid(Id::Pid(pid), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT) {
            Ok(WaitStatus::Exited(_, code)) => return Some(DeathCause::Code(code)),
            Ok(WaitStatus::Signaled(_, signal, _)) => {
                return Some(DeathCause::Signal(signal as i32));
            }
            Err(nix::errno::Errno::EINTR) => {}
            Ok(_) | Err(_) => return None,
        }
    }
}

/// How a process ended, or is about to, whose parent has not collected its status.
pub(crate) fn uncollected(holder: &Holder) -> Option<DeathCause> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", holder.pid)).ok()?;
    ended(&stat, holder.start_time)
}

/// How a process ended whose parent has collected its status. The handle must be older than the end.
fn collected(process: &Pidfd) -> Option<DeathCause> {
    let mut info = PidfdInfo {
        mask: PIDFD_INFO_EXIT,
        ..PidfdInfo::default()
    };
    // SAFETY: the descriptor is open while `process` is borrowed, and the system reads and writes the
    // struct alone, whose size is part of the request.
    unsafe { pidfd_get_info(process.as_raw_fd(), &raw mut info) }.ok()?;
    (info.mask & PIDFD_INFO_EXIT != 0).then(|| cause_of(info.exit_code))
}

/// What the text of `/proc/<pid>/stat` says about the end of the process that was started at `start_time`.
fn ended(stat: &str, start_time: u64) -> Option<DeathCause> {
    // The second field is the program's name in brackets and may contain anything.
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    let is_ending = number(9)? & PF_EXITING != 0 || matches!(fields.first(), Some(&("Z" | "X")));
    if number(22)? != start_time || !is_ending {
        return None;
    }
    let status = i32::try_from(number(52)?).ok()?;
    Some(cause_of(status))
}

/// The cause in a status as `wait` returns it.
const fn cause_of(status: i32) -> DeathCause {
    match status & 0x7f {
        0 => DeathCause::Code((status >> 8) & 0xff),
        signal => DeathCause::Signal(signal),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    fn stat_of(child: &Child) -> String {
        fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap()
    }

    fn start_time(stat: &str) -> u64 {
        let (_, rest) = stat.rsplit_once(')').unwrap();
        let field = rest.split_ascii_whitespace().nth(19);
        field.unwrap().parse().unwrap()
    }

    #[test]
    fn the_status_of_a_child_can_be_read_until_it_is_collected() {
        for (script, cause) in [
            ("exit 3", DeathCause::Code(3)),
            ("kill -9 $$", DeathCause::Signal(9)),
        ] {
            let mut child = Command::new("sh").args(["-c", script]).spawn().unwrap();
            let pid = Pid::from_raw(child.id().cast_signed());
            assert_eq!(wait_for_end(pid), Some(cause));
            let stat = stat_of(&child);
            assert_eq!(ended(&stat, start_time(&stat)), Some(cause));
            assert_eq!(ended(&stat, start_time(&stat) + 1), None);
            child.wait().unwrap();
            assert_eq!(wait_for_end(pid), None);
        }
    }

    #[test]
    fn a_handle_knows_the_status_after_it_was_collected() {
        for (script, cause) in [
            ("read line; exit 3", DeathCause::Code(3)),
            ("read line; kill -9 $$", DeathCause::Signal(9)),
        ] {
            let mut command = Command::new("sh");
            let command = command.args(["-c", script]).stdin(Stdio::piped());
            let mut child = command.spawn().unwrap();
            let handle = Pidfd::open(Pid::from_raw(child.id().cast_signed())).unwrap();
            assert_eq!(collected(&handle), None);
            drop(child.stdin.take());
            child.wait().unwrap();
            // Older systems do not know the question.
            match collected(&handle) {
                Some(found) => assert_eq!(found, cause),
                None => assert!(kernel_version() < (6, 15)),
            }
        }
    }

    fn kernel_version() -> (u32, u32) {
        let text = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
        let mut numbers = text.split(['.', '-']).map(|part| part.parse().unwrap_or(0));
        (numbers.next().unwrap(), numbers.next().unwrap())
    }

    #[test]
    fn a_running_process_has_no_status() {
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        let stat = stat_of(&child);
        assert_eq!(ended(&stat, start_time(&stat)), None);
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
