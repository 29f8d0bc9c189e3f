//! The team in words, by its files and by its replayed history: they must be the same.

use protocol::{JournalLine, JournalRecord, Party, Recipient};
use std::collections::BTreeSet;
use teamdir::TeamDir;
use tui::Replay;

/// What is true of a team, a sentence each.
type Picture = BTreeSet<String>;

/// What only the files or only the history say.
pub(crate) fn differences(team: &TeamDir) -> anyhow::Result<Vec<String>> {
    let (seen, told) = (seen(team)?, told(team)?);
    let files = seen
        .difference(&told)
        .map(|words| format!("files only: {words}"));
    let events = told
        .difference(&seen)
        .map(|words| format!("events only: {words}"));
    Ok(files.chain(events).collect())
}

fn seen(team: &TeamDir) -> anyhow::Result<Picture> {
    let mut picture = Picture::new();
    let views = processes::views(team)?;
    for view in &views {
        let (name, role) = (&view.member.name, &view.member.role);
        let incarnation = view.member.incarnation;
        picture.insert(format!(
            "{name} ({role}) {} in life {incarnation}",
            view.state
        ));
    }
    for task in team.tasks()? {
        let task = task?;
        let owner = task.owner.0.as_ref().map_or("nobody", Party::as_str);
        picture.insert(format!("task {} {:?} of {owner}", task.id, task.status));
    }
    for request in team.requests()? {
        let request = request?;
        picture.insert(format!("request {} {:?}", request.id, request.status()));
    }
    let members = views.iter();
    let owners = members.map(|view| Recipient::Member(view.member.name.clone()));
    for owner in owners.chain([Recipient::Lead]) {
        let unread = team.unread_mail(&owner, |_, _| {})?;
        let read = read(team, &owner)?;
        picture.insert(format!("{owner} has {read} read and {unread} unread"));
    }
    Ok(picture)
}

/// How many messages are in a journal.
fn read(team: &TeamDir, owner: &Recipient) -> anyhow::Result<usize> {
    let mut ids = BTreeSet::new();
    team.read_journal(owner, |_, line| {
        if let JournalLine::Known(JournalRecord::Mail(record)) = line {
            ids.extend(record.mail.iter().map(|entry| entry.id.to_string()));
        }
    })?;
    Ok(ids.len())
}

fn told(team: &TeamDir) -> anyhow::Result<Picture> {
    let mut replay = Replay::default();
    team.read_events(|line| replay.line(line))?;
    let mut picture = Picture::new();
    if replay.broken > 0 {
        picture.insert(format!("{} lines are no events", replay.broken));
    }
    let mut owners = vec![Recipient::Lead];
    for (member, incarnation) in replay
        .members
        .iter()
        .filter(|(member, _)| **member != Recipient::Lead)
    {
        owners.push(member.clone());
        let role = incarnation.role.as_deref().unwrap_or("?");
        let (word, number) = (incarnation.word(), incarnation.incarnation);
        picture.insert(format!("{member} ({role}) {word} in life {number}"));
    }
    for (id, work) in &replay.tasks {
        let owner = work.owner.as_ref().map_or("nobody", Party::as_str);
        picture.insert(format!("task {id} {:?} of {owner}", work.status));
    }
    for (id, status) in &replay.requests {
        picture.insert(format!("request {id} {status:?}"));
    }
    for owner in owners {
        let mail = replay.mail.get(&owner).cloned().unwrap_or_default();
        let (read, unread) = (mail.delivered(), mail.sent() - mail.delivered());
        picture.insert(format!("{owner} has {read} read and {unread} unread"));
    }
    Ok(picture)
}
