//! Taking back a member that never came to be.

use crate::start::start_lock::StartGuard;
use protocol::{AgentName, DeadLetter, EventKind, JournalLine, JournalRecord, Recipient};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::thread;
use std::time::{Duration, Instant};
use teamdir::{AppendError, JoinError, PathError, RosterError, TeamDir, now};

/// How long a sender may have the inbox.
const INBOX_WAIT: Duration = Duration::from_secs(10);

/// Why a member that did not start was not taken back.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RollBackError {
    #[error(transparent)]
    Join(#[from] JoinError),
    #[error(transparent)]
    Roster(#[from] RosterError),
    #[error(transparent)]
    Letters(#[from] AppendError),
    #[error(transparent)]
    Path(#[from] PathError),
    #[error(transparent)]
    File(#[from] io::Error),
}

/// Removes a member whose first process did not become ready: from the roster, then its files.
/// What was sent to it goes to the dead letters.
pub(crate) fn roll_back(team: &TeamDir, start: &StartGuard) -> Result<(), RollBackError> {
    let owner = Recipient::Member(start.name.clone());
    // While we sit in its place nobody becomes the member, not even by hand.
    let guard = team.lock_dead_member(&owner)?;
    team.update_roster(|roster| {
        roster.members.retain(|member| member.name != start.name);
        Ok::<_, RosterError>(())
    })?;
    let _ = team.log_event(EventKind::Leave {
        member: owner.clone(),
        reason: format!("'{}' could not be started", start.name),
    });
    bury_mail(team, &start.name, &owner)?;
    fs::remove_dir_all(team.layout().member_dir(&owner))?;
    drop(guard);
    Ok(())
}

/// Puts all mail of the member among the dead letters: unread mail, and what its process took.
fn bury_mail(team: &TeamDir, name: &AgentName, owner: &Recipient) -> Result<(), RollBackError> {
    // Nobody finds the name in the roster any more; whoever found it before has the lock now.
    let _lock = lock_inbox(team, owner)?;
    let reason = format!("'{name}' could not be started");
    let mut letters = Vec::new();
    let mut bury = |place: &str, bytes: &[u8]| {
        letters.push(letter(owner, place, &reason, bytes));
    };
    let mut last_sealed = 0;
    team.read_journal(owner, |_, line| match line {
        JournalLine::Known(JournalRecord::Mail(record)) => {
            for entry in &record.mail {
                bury(entry.id.as_str(), entry.line.get().as_bytes());
            }
        }
        JournalLine::Known(JournalRecord::Seal(seal)) => last_sealed = seal.segment,
        JournalLine::Known(_) | JournalLine::Other { .. } | JournalLine::Corrupt { .. } => {}
    })?;
    let mut number = 0;
    team.unread_mail(owner, |bytes, _| {
        number += 1;
        bury(&number.to_string(), bytes);
    })?;
    for letter in &letters {
        team.add_dead_letter(letter)?;
    }
    // A file may have been set aside without a record of it yet.
    let segments = (1..=last_sealed + 1).map(|number| team.layout().segment(owner, number));
    for path in segments.chain([team.layout().inbox(owner)]) {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

fn letter(owner: &Recipient, place: &str, reason: &str, bytes: &[u8]) -> DeadLetter {
    let time = now();
    let line = serde_json::from_slice(bytes).ok();
    let raw = String::from_utf8_lossy(bytes).into_owned();
    DeadLetter {
        // The member may be spawned in vain again, and then this is another letter.
        id: format!("{owner}/unborn/{}/{place}", time.as_micros()),
        time,
        inbox: owner.clone(),
        reason: reason.to_owned(),
        raw: line.is_none().then_some(raw),
        line,
        raw_hex: None,
        extra: protocol::Extra::new(),
    }
}

fn lock_inbox(team: &TeamDir, owner: &Recipient) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).mode(0o600);
    let lock = options.open(team.layout().inbox_lock(owner))?;
    let started = Instant::now();
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(lock),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if started.elapsed() > INBOX_WAIT => {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(1)),
        }
    }
}
