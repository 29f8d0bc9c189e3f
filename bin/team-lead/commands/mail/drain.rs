//! `inbox --drain`: prints the mail of a member that is not running, and marks it as read.

use super::{MailItem, show};
use crate::cli::Args;
use crate::failure::{Failure, Kind};
use protocol::Recipient;
use team::{DrainError, DrainedMail};
use teamdir::{JoinError, SessionError, TeamDir};

pub(super) fn drain(team: &TeamDir, args: &Args, owner: &Recipient) -> Result<(), Failure> {
    // An empty inbox needs no record in the journal.
    if team.unread_mail(owner, |_, _| {})? == 0 && !is_held(team, owner)? {
        return show(args, owner, &[]);
    }
    let drained = DrainedMail::receive(team, owner).map_err(|error| explain(error, owner))?;
    let entries = drained.mail.iter();
    let items = entries.map(|entry| MailItem::new(entry.line.get().as_bytes(), &entry.decode()));
    show(args, owner, &items.collect::<Vec<_>>())?;
    if drained.broken > 0 {
        args.note(&format!(
            "{} damaged lines were moved to the dead letters",
            drained.broken
        ));
    }
    drained.mark_shown().map_err(|error| explain(error, owner))
}

fn is_held(team: &TeamDir, owner: &Recipient) -> Result<bool, Failure> {
    Ok(matches!(team.liveness(owner)?, teamdir::Liveness::Alive(_)))
}

fn explain(error: DrainError, owner: &Recipient) -> Failure {
    let error = match error {
        DrainError::Session(error) => error,
        DrainError::Receive(error) => return error.into(),
        DrainError::Path(error) => return error.into(),
    };
    let SessionError::Join(JoinError::Held { holder, .. }) = &error else {
        return error.into();
    };
    // A draining process holds the lock without writing its name into it: the name there is then
    // that of a process that has ended.
    let is_running = holder.as_deref().is_some_and(teamdir::is_running);
    if is_running {
        let message = format!("{error}, and reads its mail itself");
        return Failure::new(Kind::Refused, message).hint(format!("team-lead inbox {owner}"));
    }
    let message = format!("another process holds the lock of {owner}");
    Failure::new(Kind::Refused, message).hint("team-lead status")
}
