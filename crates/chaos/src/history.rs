//! Compares the files of the team with its replayed event log: they must agree.

use crate::replay::Replay;
use protocol::{JournalLine, JournalRecord, Party, Recipient};
use std::collections::BTreeSet;
use teamdir::TeamDir;

/// The state of a team, one fact per line.
type Facts = BTreeSet<String>;

/// The facts that only the files or only the events have.
pub(crate) fn differences(team: &TeamDir) -> anyhow::Result<Vec<String>> {
    let (by_files, by_events) = (by_files(team)?, by_events(team)?);
    let files = by_files
        .difference(&by_events)
        .map(|fact| format!("files only: {fact}"));
    let events = by_events
        .difference(&by_files)
        .map(|fact| format!("events only: {fact}"));
    Ok(files.chain(events).collect())
}

fn by_files(team: &TeamDir) -> anyhow::Result<Facts> {
    let mut facts = Facts::new();
    let views = processes::member_views(team)?;
    for view in &views {
        let (name, role) = (&view.member.spec.name, &view.member.spec.role);
        let incarnation = view.member.incarnation;
        facts.insert(format!(
            "{name} ({role}) {} in incarnation {incarnation}",
            view.state
        ));
    }
    for task in team.tasks()? {
        let task = task?;
        let owner = task.owner.0.as_ref().map_or("nobody", Party::as_str);
        facts.insert(format!("task {} {:?} of {owner}", task.id, task.status));
    }
    for request in team.requests()? {
        let request = request?;
        facts.insert(format!("request {} {:?}", request.id, request.status()));
    }
    let members = views.iter();
    let owners = members.map(|view| Recipient::Member(view.member.spec.name.clone()));
    for owner in owners.chain([Recipient::Lead]) {
        let unread = team.unread_mail(&owner, |_, _| {})?;
        let read = read(team, &owner)?;
        facts.insert(format!("{owner} has {read} read and {unread} unread"));
    }
    Ok(facts)
}

/// How many messages are in a journal.
fn read(team: &TeamDir, owner: &Recipient) -> anyhow::Result<usize> {
    let mut ids = BTreeSet::new();
    team.read_history(owner, |_, line| {
        if let JournalLine::Known(JournalRecord::Mail(record)) = line {
            ids.extend(record.mail.iter().map(|entry| entry.id.to_string()));
        }
    })?;
    Ok(ids.len())
}

fn by_events(team: &TeamDir) -> anyhow::Result<Facts> {
    let mut replay = Replay::default();
    team.read_events(|line| replay.line(line))?;
    let mut facts = Facts::new();
    if replay.broken > 0 {
        facts.insert(format!("{} lines are no events", replay.broken));
    }
    let mut owners = vec![Recipient::Lead];
    for (member, incarnation) in replay
        .members
        .iter()
        .filter(|(member, _)| **member != Recipient::Lead)
    {
        owners.push(member.clone());
        let role = incarnation.role.as_deref().unwrap_or("?");
        let (state, number) = (incarnation.state_name(), incarnation.incarnation);
        facts.insert(format!("{member} ({role}) {state} in incarnation {number}"));
    }
    for (id, work) in &replay.tasks {
        let owner = work.owner.as_ref().map_or("nobody", Party::as_str);
        facts.insert(format!("task {id} {:?} of {owner}", work.status));
    }
    for (id, status) in &replay.requests {
        facts.insert(format!("request {id} {status:?}"));
    }
    for owner in owners {
        let mail = replay.mail.get(&owner).cloned().unwrap_or_default();
        let (read, unread) = (mail.delivered(), mail.sent() - mail.delivered());
        facts.insert(format!("{owner} has {read} read and {unread} unread"));
    }
    Ok(facts)
}
