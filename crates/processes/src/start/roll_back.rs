//! Removes a member whose first start failed.

use crate::start::start_lock::StartGuard;
use protocol::{AgentName, DeadLetter, EventKind, JournalLine, JournalRecord, Recipient};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::thread;
use std::time::{Duration, Instant};
use teamdir::{AppendError, JoinError, PathError, RosterError, TeamDir, now};

/// How long a sender may hold the inbox lock.
const INBOX_WAIT: Duration = Duration::from_secs(10);

/// Why the member was not removed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RollBackError {
    #[error(transparent)]
    Join(#[from] JoinError),
    #[error(transparent)]
    Roster(#[from] RosterError),
    #[error(transparent)]
    DeadLetters(#[from] AppendError),
    #[error(transparent)]
    Path(#[from] PathError),
    #[error(transparent)]
    File(#[from] io::Error),
}

/// Removes a member whose first process did not become ready: its roster entry, then its files. Its mail
/// becomes dead letters.
pub(crate) fn roll_back(team: &TeamDir, start: &StartGuard) -> Result<(), RollBackError> {
    let owner = Recipient::Member(start.name.clone());
    // While the member's lock is held, no process can become the member, not even one started by hand.
    let guard = team.lock_dead_member(&owner)?;
    team.update_roster(|roster| {
        roster
            .members
            .retain(|member| member.spec.name != start.name);
        Ok::<_, RosterError>(())
    })?;
    let _ = team.log_event(EventKind::Leave {
        member: owner.clone(),
        reason: format!("'{}' could not be started", start.name),
    });
    move_to_dead_letters(team, &start.name, &owner)?;
    fs::remove_dir_all(team.layout().member_dir(&owner))?;
    drop(guard);
    Ok(())
}

/// Moves all mail of the member to the dead letters: its unread mail, and the mail its process received.
fn move_to_dead_letters(
    team: &TeamDir,
    name: &AgentName,
    owner: &Recipient,
) -> Result<(), RollBackError> {
    // The name is not in the roster any more; a sender that found it before holds the lock now.
    let _lock = lock_inbox(team, owner)?;
    let reason = format!("'{name}' could not be started");
    let mut dead_letters = Vec::new();
    let mut add = |place: &str, bytes: &[u8]| {
        dead_letters.push(dead_letter(owner, place, &reason, bytes));
    };
    let mut last_sealed = 0;
    team.read_journal(owner, |_, line| match line {
        JournalLine::Known(JournalRecord::Mail(record)) => {
            for entry in &record.mail {
                add(entry.id.as_str(), entry.line.get().as_bytes());
            }
        }
        JournalLine::Known(JournalRecord::Seal(seal)) => last_sealed = seal.segment,
        JournalLine::Known(_) | JournalLine::Other { .. } | JournalLine::Corrupt { .. } => {}
    })?;
    let mut number = 0;
    team.unread_mail(owner, |bytes, _| {
        number += 1;
        add(&number.to_string(), bytes);
    })?;
    for dead_letter in &dead_letters {
        team.add_dead_letter(dead_letter)?;
    }
    // A segment may exist without a journal record.
    let segments = (1..=last_sealed + 1).map(|number| team.layout().segment(owner, number));
    for path in segments.chain([team.layout().inbox(owner)]) {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

fn dead_letter(owner: &Recipient, place: &str, reason: &str, bytes: &[u8]) -> DeadLetter {
    let time = now();
    let line = serde_json::from_slice(bytes).ok();
    let raw = String::from_utf8_lossy(bytes).into_owned();
    DeadLetter {
        // Another failed start of the member must not reuse the id.
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
