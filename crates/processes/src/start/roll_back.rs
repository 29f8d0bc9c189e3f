//! Removes a member whose first start failed.

use crate::start::start_lock::StartGuard;
use protocol::{AgentName, DeadLetter, EventKind, JournalLine, JournalRecord, Recipient};
use teamdir::{AppendError, JoinError, LockError, PathError, RosterError, TeamDir, now};

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
    Lock(#[from] LockError),
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
    team.remove_member_folder(&owner)?;
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
    let lock = team.lock_inbox(owner)?;
    let reason = format!("'{name}' could not be started");
    let mut dead_letters = Vec::new();
    let mut add = |place: &str, bytes: &[u8]| {
        dead_letters.push(dead_letter(owner, place, &reason, bytes));
    };
    team.read_history(owner, |_, line| match line {
        JournalLine::Known(JournalRecord::Mail(record)) => {
            for entry in &record.mail {
                add(entry.id.as_str(), entry.line.get().as_bytes());
            }
        }
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
    Ok(team.remove_inbox(owner, &lock)?)
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
