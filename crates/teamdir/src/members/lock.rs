//! The member lock: which members run, and that none runs twice.
//!
//! A process holds `members/<name>/lock` while it runs. The kernel frees the lock when the process
//! ends, whatever ended it, so the lock alone shows whether a member runs. The text in the file is
//! for people, and for finding the process to signal.

use crate::error::{Context, PathError};
use crate::files::{self, create_dir};
use crate::locks::{FileLock, LockError, is_at};
use crate::members::live_file::{self, LiveFile};
use crate::roster::RosterError;
use crate::team_dir::TeamDir;
use nix::fcntl::{FcntlArg, fcntl};
use protocol::{AgentName, Holder, Incarnation, LiveState, MemberStatus, Recipient};
use std::fs::{File, TryLockError};
use std::io::{self, Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a held lock is retried: a check whether the member runs holds it for a moment too.
const PROBE_PATIENCE: Duration = Duration::from_millis(300);

/// The number of the descriptor of a lock that is held, at least. When a process is killed, Linux releases the
/// file with the highest number first. One of the others is that of the notifications, which takes some ten
/// milliseconds, and nobody should wait for those to learn of the death.
const LOCK_NUMBER: i32 = 200;

/// The text in a lock is a few hundred bytes.
const HOLDER_LIMIT: u64 = 64 << 10;

/// The right to act as a member: exactly one process has it. Dropping it gives it up.
#[derive(Debug)]
pub struct MemberGuard {
    owner: Recipient,
    incarnation: Incarnation,
    _lock: File,
    live: Mutex<LiveFile>,
}

/// The right to start, end or reap a member's process. Dropping it gives it up.
#[derive(Debug)]
pub struct StartLock {
    _lock: FileLock,
}

/// Whether a member runs.
#[derive(Debug, Clone, PartialEq)]
pub enum Liveness {
    /// A process holds the member's lock.
    Alive(Option<Holder>),
    /// No process does. The text of the last holder may remain.
    Gone(Option<Holder>),
}

/// Why a process did not become the member.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// The roster does not have the member.
    #[error("there is no member called {0} in the roster")]
    NotAMember(AgentName),
    /// Another process is the member.
    #[error("{owner} already runs{}", holder_text(holder))]
    Held {
        owner: Recipient,
        /// The process that is it.
        holder: Option<Box<Holder>>,
    },
    /// The roster has the last number as its incarnation.
    #[error(
        "'{owner}' cannot start again: its incarnation is the last possible number, which somebody wrote \
         into {}; set it to a smaller one there",
        path.display()
    )]
    LastIncarnation {
        owner: Recipient,
        /// The roster.
        path: PathBuf,
    },
    /// The lock could not be used.
    #[error(transparent)]
    File(#[from] PathError),
    /// The roster could not be read or changed.
    #[error(transparent)]
    Roster(#[from] RosterError),
}

fn holder_text(holder: &Option<Box<Holder>>) -> String {
    holder
        .as_ref()
        .map(|holder| format!(" as process {} on {}", holder.pid, holder.host))
        .unwrap_or_default()
}

impl MemberGuard {
    /// Who this process is.
    pub const fn owner(&self) -> &Recipient {
        &self.owner
    }

    /// The incarnation of the member.
    pub const fn incarnation(&self) -> Incarnation {
        self.incarnation
    }
}

impl TeamDir {
    /// Makes this process the member `owner`, in its next incarnation.
    pub fn join(&self, owner: &Recipient) -> Result<MemberGuard, JoinError> {
        let owner = self.roster_spelling(owner)?;
        create_dir(&self.layout.member_dir(&owner))?;
        let path = self.layout.member_lock(&owner);
        let mut lock = self.hold(&owner, &path)?;
        let incarnation = self.next_incarnation(&owner)?;
        let holder = MemberGuard::describe_self(incarnation);
        write_holder(&mut lock, &holder).context("write", &path)?;
        Ok(MemberGuard {
            owner,
            incarnation,
            _lock: lock,
            live: Mutex::default(),
        })
    }

    /// Locks a member whose process has ended, without starting a new incarnation. The member cannot
    /// be started until the guard is dropped.
    pub fn lock_dead_member(&self, owner: &Recipient) -> Result<MemberGuard, JoinError> {
        let owner = self.roster_spelling(owner)?;
        create_dir(&self.layout.member_dir(&owner))?;
        let lock = self.hold(&owner, &self.layout.member_lock(&owner))?;
        let roster = self.roster()?;
        let incarnation = match &owner {
            Recipient::Lead => roster.lead_incarnation,
            Recipient::Member(name) => roster
                .member(name)
                .map(|member| member.incarnation)
                .unwrap_or_default(),
        };
        Ok(MemberGuard {
            owner,
            incarnation,
            _lock: lock,
            live: Mutex::default(),
        })
    }

    /// Takes the lock for starting, ending or reaping a member's process, waiting at most `wait`
    /// for whoever has it.
    pub fn lock_start(&self, name: &AgentName, wait: Duration) -> Result<StartLock, LockError> {
        let lock = FileLock::acquire(&self.layout.start_lock(name), wait)?;
        Ok(StartLock { _lock: lock })
    }

    /// Waits until no process holds the lock of a member, for ever if need be.
    pub fn wait_for_lock_of(&self, owner: &Recipient) -> Result<(), PathError> {
        let path = self.layout.member_lock(owner);
        let lock = files::open_to_read(&path).context("open the lock", &path)?;
        lock.file.lock_shared().context("lock", &path)
    }

    /// Whether a member runs, according to its lock.
    pub fn liveness(&self, owner: &Recipient) -> Result<Liveness, PathError> {
        liveness_of(&self.layout.member_lock(owner))
    }

    /// Writes the live state of this member. Not synced: it means nothing after a power cut.
    pub fn write_live_state(
        &self,
        guard: &MemberGuard,
        state: &LiveState,
    ) -> Result<(), PathError> {
        let path = self.layout.live_state(&guard.owner);
        let bytes = serde_json::to_vec(state).expect("text keys and finite numbers encode");
        let mut live = guard.live.lock().unwrap_or_else(PoisonError::into_inner);
        live.show(&path, &bytes)
    }

    /// The last live state of a member; `None` if there is none or it does not parse.
    pub fn live_state(&self, owner: &Recipient) -> Result<Option<LiveState>, PathError> {
        let path = self.layout.live_state(owner);
        let bytes = live_file::read(&path).context("read", &path)?;
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    fn roster_spelling(&self, owner: &Recipient) -> Result<Recipient, JoinError> {
        let Recipient::Member(name) = owner else {
            return Ok(Recipient::Lead);
        };
        let roster = self.roster()?;
        let member = roster.member(name);
        member
            .map(|member| Recipient::Member(member.spec.name.clone()))
            .ok_or_else(|| JoinError::NotAMember(name.clone()))
    }

    fn hold(&self, owner: &Recipient, path: &Path) -> Result<File, JoinError> {
        let started = Instant::now();
        loop {
            let opened = files::open_or_create_to_write(path);
            let mut lock = opened.context("open the lock", path)?.file;
            match lock.try_lock() {
                Ok(()) if is_at(&lock, path)? => return Ok(released_first(lock)),
                // The file was deleted meanwhile: the next one is another.
                Ok(()) => {}
                Err(TryLockError::WouldBlock) if started.elapsed() > PROBE_PATIENCE => {
                    let holder = read_holder(&mut lock).map(Box::new);
                    let owner = owner.clone();
                    return Err(JoinError::Held { owner, holder });
                }
                Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_micros(100)),
                Err(TryLockError::Error(error)) => {
                    return Err(PathError::new("lock", path, error).into());
                }
            }
        }
    }

    /// Counts the new incarnation in the roster.
    fn next_incarnation(&self, owner: &Recipient) -> Result<Incarnation, JoinError> {
        self.update_roster(|roster| {
            let incarnation = match owner {
                Recipient::Lead => &mut roster.lead_incarnation,
                Recipient::Member(name) => match roster.member_mut(name) {
                    Some(member) => {
                        // In the same step: an incarnation that is killed at once must not look like
                        // one that has shut down.
                        if member.status == MemberStatus::Shutdown {
                            member.status = MemberStatus::Working;
                        }
                        &mut member.incarnation
                    }
                    None => return Err(JoinError::NotAMember(name.clone())),
                },
            };
            if incarnation.is_last() {
                return Err(JoinError::LastIncarnation {
                    owner: owner.clone(),
                    path: self.layout.roster(),
                });
            }
            *incarnation = incarnation.next();
            Ok(*incarnation)
        })
    }
}

/// The same lock under a number that makes it the first to be released when the process is killed. Where
/// such a number is not to be had it keeps its own.
fn released_first(lock: File) -> File {
    match fcntl(&lock, FcntlArg::F_DUPFD_CLOEXEC(LOCK_NUMBER)) {
        // SAFETY: the descriptor is new, and nobody else knows it.
        Ok(number) => File::from(unsafe { OwnedFd::from_raw_fd(number) }),
        Err(_) => lock,
    }
}

/// Writes the text of a lock file. Only the holder of the lock does.
fn write_holder(lock: &mut File, holder: &Holder) -> io::Result<()> {
    let mut text = serde_json::to_vec(holder).map_err(io::Error::from)?;
    text.push(b'\n');
    lock.set_len(0)?;
    lock.write_all(&text)
}

fn read_holder(lock: &mut File) -> Option<Holder> {
    let mut text = String::new();
    lock.take(HOLDER_LIMIT).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

/// Whether a process holds the lock file at `path`, and what is noted there of the last one that did.
pub(crate) fn liveness_of(path: &Path) -> Result<Liveness, PathError> {
    let mut file = match files::open_to_read(path) {
        Ok(opened) => opened.file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Liveness::Gone(None));
        }
        Err(error) => return Err(PathError::new("open the lock", path, error)),
    };
    let alive = match file.try_lock_shared() {
        Ok(()) => {
            // At once: whoever becomes the member now must not wait while we read.
            file.unlock().context("unlock", path)?;
            false
        }
        Err(TryLockError::WouldBlock) => true,
        Err(TryLockError::Error(error)) => return Err(PathError::new("lock", path, error)),
    };
    let holder = read_holder(&mut file);
    Ok(if alive {
        Liveness::Alive(holder)
    } else {
        Liveness::Gone(holder)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;
    use std::os::fd::AsRawFd;

    #[test]
    fn the_lock_is_the_first_file_to_be_released_and_no_program_inherits_it() {
        let folder = tempfile::tempdir().unwrap();
        let team = TeamDir::create(folder.path(), "test", Options::default()).unwrap();
        let guard = team.join(&Recipient::Lead).unwrap();
        let others: Vec<File> = (0..20)
            .map(|_| File::open(folder.path()).unwrap())
            .collect();
        let number = guard._lock.as_raw_fd();
        assert!(others.iter().all(|other| other.as_raw_fd() < number));
        let flags = fcntl(&guard._lock, FcntlArg::F_GETFD).unwrap();
        assert_ne!(flags & libc::FD_CLOEXEC, 0);
        // It is the same lock, held once.
        assert!(matches!(
            team.liveness(&Recipient::Lead).unwrap(),
            Liveness::Alive(Some(_))
        ));
        drop(guard);
        team.wait_for_lock_of(&Recipient::Lead).unwrap();
        assert!(matches!(
            team.liveness(&Recipient::Lead).unwrap(),
            Liveness::Gone(Some(_))
        ));
    }
}
