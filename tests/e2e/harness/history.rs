//! The state of a team by its files and by its event log, as text.

use chaos::Replay;
use protocol::{JournalLine, JournalRecord, Line, Party, Recipient};
use std::collections::BTreeSet;
use std::time::Duration;
use teamdir::TeamDir;
use test_support::try_wait_for;

/// How long the event log and the files may take to agree.
const LIMIT: Duration = Duration::from_secs(60);

/// The state of a team, one fact per line.
pub(crate) type Picture = BTreeSet<String>;

/// The state by the files and the processes.
fn by_files(team: &TeamDir) -> Picture {
    let mut picture = Picture::new();
    let views = processes::member_views(team).unwrap();
    for view in &views {
        let (name, role) = (&view.member.spec.name, &view.member.spec.role);
        let incarnation = view.member.incarnation;
        picture.insert(format!(
            "{name} ({role}) {} in incarnation {incarnation}",
            view.state
        ));
    }
    for task in team.tasks().unwrap() {
        let task = task.unwrap();
        let owner = task.owner.0.as_ref().map_or("nobody", Party::as_str);
        picture.insert(format!("task {} {:?} of {owner}", task.id, task.status));
    }
    for request in team.requests().unwrap() {
        let request = request.unwrap();
        picture.insert(format!("request {} {:?}", request.id, request.status()));
    }
    let members = views.iter();
    let owners = members.map(|view| Recipient::Member(view.member.spec.name.clone()));
    for owner in owners.chain([Recipient::Lead]) {
        let read = journal(team, &owner);
        let unread = unread(team, &owner, &read);
        let read = read.len();
        picture.insert(format!("{owner} has {read} read and {unread} unread"));
    }
    picture
}

/// The number of messages that wait. On a slow machine a shutdown request is sent again while its
/// addressee acts on the first, and the repeat stays behind.
fn unread(team: &TeamDir, owner: &Recipient, read: &BTreeSet<String>) -> usize {
    let mut count = 0;
    let is_repeat = |line: &Line| match line {
        Line::Message(message) => {
            let id = message.id.as_ref().map(ToString::to_string);
            id.is_some_and(|id| read.contains(&id))
        }
        Line::Unknown(_) | Line::Text(_) | Line::Corrupt { .. } | Line::Blank => false,
    };
    let visit = |_: &[u8], line: Line| count += usize::from(!is_repeat(&line));
    team.unread_mail(owner, visit).unwrap();
    count
}

/// The messages in a journal.
fn journal(team: &TeamDir, owner: &Recipient) -> BTreeSet<String> {
    let mut ids = BTreeSet::new();
    team.read_history(owner, |_, line| {
        if let JournalLine::Known(JournalRecord::Mail(record)) = line {
            ids.extend(record.mail.iter().map(|entry| entry.id.to_string()));
        }
    })
    .unwrap();
    ids
}

/// The state by the replayed event log.
fn by_events(team: &TeamDir) -> Picture {
    let mut replay = Replay::default();
    team.read_events(|line| replay.line(line)).unwrap();
    assert_eq!(replay.broken, 0);
    let mut picture = Picture::new();
    let mut owners = vec![Recipient::Lead];
    for (member, incarnation) in &replay.members {
        if *member == Recipient::Lead {
            continue;
        }
        owners.push(member.clone());
        let role = incarnation.role.as_deref().unwrap_or("?");
        let (word, number) = (incarnation.state_name(), incarnation.incarnation);
        picture.insert(format!("{member} ({role}) {word} in incarnation {number}"));
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
    picture
}

/// Waits until the event log and the files agree, and shows both if they never do.
#[track_caller]
pub(crate) fn assert_same(team: &TeamDir) -> Picture {
    let same = || Some(by_files(team)).filter(|state| *state == by_events(team));
    if let Some(picture) = try_wait_for(LIMIT, same) {
        return picture;
    }
    panic!(
        "files: {:#?}\nhistory: {:#?}",
        by_files(team),
        by_events(team)
    );
}
