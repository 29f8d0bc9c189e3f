//! `inbox --drain`: a person takes the mail of a member whose process is gone.
//!
//! Three steps: the mail is recorded in the member's journal, as whenever mail is taken; it is
//! printed; and it is marked there as shown, so that a later life of the member does not show it to
//! its model. Killed before the mark, the mail waits in the journal for that later life: it may be
//! read twice, by the person and by the member, and is never lost.
//!
//! What an earlier life took and did not come to show stays as it is. It is not in the inbox, so
//! nobody who looks at the inbox has seen it.

use super::{MailItem, show};
use crate::cli::Args;
use crate::failure::{Failure, Kind};
use protocol::{EventKind, JournalLine, JournalRecord, Line, MailEntry, Recipient};
use serde_json::{Value, json};
use teamdir::{JoinError, MemberSession, SessionError, TeamDir};

pub(super) fn drain(team: &TeamDir, args: &Args, owner: &Recipient) -> Result<(), Failure> {
    // An empty inbox is not worth a record in the journal.
    if team.unread_mail(owner, |_, _| {})? == 0 && !is_held(team, owner)? {
        return show(args, owner, &[]);
    }
    let mut session =
        MemberSession::open_dead(team, owner).map_err(|error| explain(error, owner))?;
    if *owner == Recipient::Lead {
        session.before_commit(team::record_before_commit(team));
    }
    let before = visit(team, owner, |_, _| {})?;
    let mut broken = 0;
    while let Some(delivery) = session.try_next()? {
        broken += delivery.bad.len();
        for received in delivery.mail {
            // The event only tells people about it; the journal has the letter.
            let _ = team.log_event(EventKind::Deliver {
                id: received.id,
                to: owner.clone(),
            });
        }
    }
    let mut letters = Vec::new();
    visit(team, owner, |number, entry| {
        if number > before {
            let line = entry.decode();
            judge(team, owner, &line);
            letters.push(MailItem::new(entry.line.get().as_bytes(), &line));
        }
    })?;
    show(args, owner, &letters)?;
    if broken > 0 {
        args.note(&format!(
            "{broken} broken lines were put among the dead letters"
        ));
    }
    if !letters.is_empty() {
        session.journal().append(&shown(before, letters.len()))?;
    }
    Ok(session.close()?)
}

/// An answer to a request counts also if a person takes it out of the lead's inbox. A plan that
/// came without a request becomes one, so that it can be decided.
fn judge(team: &TeamDir, owner: &Recipient, line: &Line) {
    if let (Recipient::Lead, Line::Message(message)) = (owner, line) {
        // What fails here is a request that stays pending; the letter is shown all the same.
        let _ = team::record_mailed_answer(team, message);
        let _ = team::record_plan(team, message);
    }
}

fn is_held(team: &TeamDir, owner: &Recipient) -> Result<bool, Failure> {
    Ok(matches!(team.liveness(owner)?, teamdir::Liveness::Alive(_)))
}

fn explain(error: SessionError, owner: &Recipient) -> Failure {
    let SessionError::Join(JoinError::Held { holder, .. }) = &error else {
        return error.into();
    };
    // Who drains holds the place without writing its name there: then a dead process's is left.
    let incarnations = holder.as_deref().is_some_and(teamdir::is_running);
    if incarnations {
        let message = format!("{error}, and takes its mail itself");
        return Failure::new(Kind::Refused, message).hint(format!("team-lead inbox {owner}"));
    }
    let message = format!("another process holds the place of {owner} at this moment");
    Failure::new(Kind::Refused, message).hint("team-lead status")
}

/// Calls `see` with each letter of a journal and its number, by which it is known in there. Returns
/// how many there are.
fn visit(
    team: &TeamDir,
    owner: &Recipient,
    mut see: impl FnMut(usize, &MailEntry),
) -> Result<usize, Failure> {
    let mut count = 0;
    team.read_journal(owner, |_, line| {
        if let JournalLine::Known(JournalRecord::Mail(record)) = line {
            for entry in &record.mail {
                count += 1;
                see(count, entry);
            }
        }
    })?;
    Ok(count)
}

/// The record that says that the letters after the first `before` were shown: said to the model
/// with no words.
fn shown(before: usize, count: usize) -> Value {
    let numbers = before + 1..=before + count;
    let messages: Vec<Value> = numbers
        .map(|number| json!({"id": format!("mail:{number}"), "text": ""}))
        .collect();
    json!({"kind": "user", "messages": messages})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_numbered_from_one() {
        let record = json!({"kind": "user", "messages": [
            {"id": "mail:3", "text": ""},
            {"id": "mail:4", "text": ""},
        ]});
        assert_eq!(shown(2, 2), record);
        assert!(record.to_string().starts_with(r#"{"kind":"user""#));
    }
}
