//! A handle on the process of one incarnation, as the operating system knows it.
//!
//! The kernel reuses process ids, so a pid read from a file may belong to another process a moment later. A
//! pidfd always refers to one process. It is opened by pid, and the process is compared with the lock's
//! text before and after that: if pid, start time and boot id match both times, the handle refers to that
//! process.

use crate::exit_status::{record_watched_exit, uncollected};
use command::Pidfd;
use nix::errno::Errno;
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use protocol::{Holder, Incarnation, Recipient};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::thread;
use std::time::{Duration, Instant};
use teamdir::{Liveness, PathError, TeamDir, is_running};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// How long a process that has just taken its lock may take to write its identity.
const IDENTITY_TIMEOUT: Duration = Duration::from_secs(2);
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// The thread that waits for a lock calls the system and nothing else.
const WAITER_STACK: usize = 64 << 10;

/// The process of one incarnation of a member, or of the lead.
#[derive(Debug)]
pub struct ProcessHandle {
    owner: Recipient,
    holder: Holder,
    process: Pidfd,
}

/// Why a process could not be found or signalled.
#[derive(Debug, thiserror::Error)]
pub enum ProcessHandleError {
    #[error(transparent)]
    Lock(#[from] PathError),
    /// The lock is held, and its text names no running process of this machine.
    #[error(
        "a process holds the lock of '{owner}', but the text in the lock does not say which one, \
         so it cannot be signalled; find it with `lslocks` and end it by hand"
    )]
    Unnamed { owner: Recipient },
    #[error("cannot watch process {pid} of '{owner}': {cause}")]
    Open {
        owner: Recipient,
        pid: u32,
        cause: io::Error,
    },
    #[error("cannot signal process {pid} of '{owner}': {cause}")]
    Signal {
        owner: Recipient,
        pid: u32,
        cause: io::Error,
    },
}

impl ProcessHandle {
    /// The running process of `owner`, if there is one on this host.
    pub fn of(team: &TeamDir, owner: &Recipient) -> Result<Option<Self>, ProcessHandleError> {
        // The lock of somebody at home on another host is held here by the bridge, which must not be
        // signalled in their place.
        let roster = team.roster();
        if roster.is_ok_and(|roster| roster.host_of(owner).is_some()) {
            return Ok(None);
        }
        let started = Instant::now();
        loop {
            let found = match team.liveness(owner)? {
                Liveness::Gone(_) => return Ok(None),
                Liveness::Alive(holder) => holder,
            };
            // A text that does not match is that of the previous holder: the new one is about to write its
            // own.
            if let Some(holder) = found
                && let Some(process) = open(owner, &holder)?
            {
                let owner = owner.clone();
                return Ok(Some(Self {
                    owner,
                    holder,
                    process,
                }));
            }
            if started.elapsed() > IDENTITY_TIMEOUT {
                let owner = owner.clone();
                return Err(ProcessHandleError::Unnamed { owner });
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    pub const fn holder(&self) -> &Holder {
        &self.holder
    }

    pub const fn incarnation(&self) -> Incarnation {
        self.holder.incarnation
    }

    /// Whether the process has ended.
    pub fn is_gone(&self) -> bool {
        self.wait(Duration::ZERO)
    }

    /// Waits until the process has ended, at most `limit`. Returns whether it has ended.
    pub fn wait(&self, limit: Duration) -> bool {
        self.process.wait(limit)
    }

    /// Completes when the process has ended. Safe to cancel.
    pub async fn ended(&self) {
        match self.readable() {
            Ok(readable) => drop(readable.readable().await),
            // The event loop accepts no further descriptor.
            Err(_) => {
                while !self.is_gone() {
                    tokio::time::sleep(teamdir::POLL_INTERVAL).await;
                }
            }
        }
    }

    /// Completes when the process has ended or its end cannot be stopped any more: it has no lock and no
    /// memory, and runs no instruction. A process that receives notifications is in that state for some ten
    /// milliseconds. Safe to cancel.
    pub async fn ended_or_ending(&self, team: &TeamDir) {
        let is_ending = async {
            // A process that gives up its lock and goes on has not ended.
            if self.lock_released(team).await.is_err() || uncollected(&self.holder).is_none() {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            () = self.ended() => {}
            () = is_ending => {}
        }
    }

    /// Completes when the member's lock is free. The thread that waits for it ends with the member.
    async fn lock_released(&self, team: &TeamDir) -> io::Result<()> {
        let (team, owner) = (team.clone(), self.owner.clone());
        let (released, is_released) = tokio::sync::oneshot::channel();
        let waiter = thread::Builder::new().name("member lock".to_owned());
        waiter.stack_size(WAITER_STACK).spawn(move || {
            // Nobody may be there any more to learn of it.
            let _ = released.send(team.wait_for_lock_of(&owner));
        })?;
        match is_released.await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(io::ErrorKind::Other.into()),
        }
    }

    /// Records how the process ended, for whoever reaps it. It must have ended, or be ending.
    pub fn record_exit(&self, team: &TeamDir) {
        record_watched_exit(team, &self.owner, &self.holder, &self.process);
    }

    fn readable(&self) -> io::Result<AsyncFd<Pidfd>> {
        let process = self.process.try_clone()?;
        // SAFETY: a `Pidfd` is open and stays the same until it is dropped, which it is with the
        // value made from it.
        let registered = unsafe { AsyncFd::register_with_interest(process, Interest::READABLE) };
        Ok(registered?)
    }

    /// Sends a signal to this process and to no other. Nothing happens if it has ended.
    pub fn signal(&self, signal: Signal) -> Result<(), ProcessHandleError> {
        match self.process.send_signal(signal) {
            Ok(()) | Err(Errno::ESRCH) => Ok(()),
            Err(error) => Err(ProcessHandleError::Signal {
                owner: self.owner.clone(),
                pid: self.holder.pid,
                cause: error.into(),
            }),
        }
    }
}

impl AsFd for ProcessHandle {
    /// Becomes readable when the process ends.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.process.as_fd()
    }
}

/// A handle on the process that `holder` describes, if it still runs.
fn open(owner: &Recipient, holder: &Holder) -> Result<Option<Pidfd>, ProcessHandleError> {
    if !is_running(holder) {
        return Ok(None);
    }
    let Ok(pid) = i32::try_from(holder.pid) else {
        return Ok(None);
    };
    match Pidfd::open(Pid::from_raw(pid)) {
        // The second comparison proves that the handle refers to the compared process.
        Ok(process) => Ok(is_running(holder).then_some(process)),
        Err(Errno::ESRCH) => Ok(None),
        Err(error) => Err(ProcessHandleError::Open {
            owner: owner.clone(),
            pid: holder.pid,
            cause: error.into(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::AgentName;
    use std::io::{BufRead, BufReader, Write};
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Child, Command, Stdio};
    use teamdir::Options;
    use test_support::{TempTeam, wait_until};

    fn sleeper() -> Child {
        Command::new("sleep").arg("600").spawn().unwrap()
    }

    fn holder(child: &Child) -> Holder {
        let text = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
        let start_time = text.rsplit_once(')').unwrap().1;
        let start_time = start_time.split_ascii_whitespace().nth(19).unwrap();
        let boot_id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
        let mut holder: Holder = serde_json::from_value(serde_json::json!({
            "pid": child.id(), "start_time": start_time.parse::<u64>().unwrap()
        }))
        .unwrap();
        holder.boot_id = boot_id.trim().to_owned();
        holder
    }

    fn owner() -> Recipient {
        Recipient::Member(AgentName::new("alice").unwrap())
    }

    #[test]
    fn a_process_that_reuses_the_pid_is_never_opened() {
        let mut child = sleeper();
        let holder = holder(&child);
        assert!(open(&owner(), &holder).unwrap().is_some());
        for other in [
            Holder {
                start_time: holder.start_time - 1,
                ..holder.clone()
            },
            Holder {
                boot_id: "another boot".into(),
                ..holder.clone()
            },
        ] {
            assert!(open(&owner(), &other).unwrap().is_none());
        }
        child.kill().unwrap();
        let status = child.wait().unwrap();
        assert_eq!(status.signal(), Some(9));
        assert!(open(&owner(), &holder).unwrap().is_none());
    }

    #[test]
    fn an_end_is_seen_before_the_exit_status_is_collected() {
        let mut child = sleeper();
        let holder = holder(&child);
        let process = open(&owner(), &holder).unwrap().unwrap();
        let process = ProcessHandle {
            owner: owner(),
            holder,
            process,
        };
        assert!(!process.is_gone());
        process.signal(Signal::SIGKILL).unwrap();
        wait_until("the end", Duration::from_secs(60), || process.is_gone());
        // It is a zombie now; a signal has no effect and is no error.
        process.signal(Signal::SIGTERM).unwrap();
        child.wait().unwrap();
        process.signal(Signal::SIGTERM).unwrap();
    }

    /// A process that holds the lock of a member until it is told to give it up, and goes on.
    fn locker(team: &TeamDir) -> Child {
        std::fs::create_dir_all(team.layout().member_dir(&owner())).unwrap();
        let script =
            "exec 9<>\"$0\"; flock 9; echo held; read line; flock -u 9; echo free; exec sleep 600";
        let mut command = Command::new("sh");
        command
            .args(["-c", script])
            .arg(team.layout().member_lock(&owner()));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.spawn().unwrap()
    }

    #[tokio::test]
    async fn a_process_has_not_ended_because_its_lock_is_free() {
        let temp = TempTeam::new(&["alice"], Options::default());
        let mut child = locker(temp.team());
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
        assert_eq!(said.next().unwrap().unwrap(), "held");
        let holder = holder(&child);
        let process = open(&owner(), &holder).unwrap().unwrap();
        let owner = owner();
        let process = ProcessHandle {
            owner,
            holder,
            process,
        };
        let mut ending = Box::pin(process.ended_or_ending(temp.team()));
        let mut released = Box::pin(process.lock_released(temp.team()));
        child.stdin.take().unwrap().write_all(b"\n").unwrap();
        tokio::select! {
            biased;
            () = &mut ending => panic!("it runs"),
            result = &mut released => result.unwrap(),
        }
        assert_eq!(said.next().unwrap().unwrap(), "free");
        assert!(!process.is_gone());
        child.kill().unwrap();
        ending.await;
        child.wait().unwrap();
    }

    #[test]
    fn a_member_without_a_process_has_no_handle() {
        let temp = TempTeam::new(&["alice"], Options::default());
        assert!(ProcessHandle::of(temp.team(), &owner()).unwrap().is_none());
    }

    #[test]
    fn a_holder_without_a_readable_identity_cannot_be_signalled() {
        let temp = TempTeam::new(&["alice"], Options::default());
        let team = temp.team();
        // Held as `inbox --drain` holds it: without a text.
        let _guard = team.lock_dead_member(&owner()).unwrap();
        let error = ProcessHandle::of(team, &owner()).unwrap_err();
        assert!(
            matches!(error, ProcessHandleError::Unnamed { .. }),
            "{error}"
        );
        assert!(error.to_string().contains("lslocks"), "{error}");
    }
}
