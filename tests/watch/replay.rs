//! The event log, replayed after a run with kills, tells what the files show.

use crate::support::{LIMIT, Office};
use protocol::{JournalLine, JournalRecord, Party, Recipient};
use std::collections::BTreeSet;
use teamdir::TeamDir;
use test_support::{try_wait_for, wait_until};
use view::Replay;

/// A team in words: by its files and processes, or by its history.
type Picture = BTreeSet<String>;

/// What the files and the processes show.
fn seen(team: &TeamDir) -> Picture {
    let mut picture = Picture::new();
    let views = crew::views(team).unwrap();
    for view in &views {
        let (name, role) = (&view.member.name, &view.member.role);
        let life = view.member.incarnation;
        picture.insert(format!("{name} ({role}) {} in life {life}", view.state));
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
    let owners = members.map(|view| Recipient::Member(view.member.name.clone()));
    for owner in owners.chain([Recipient::Lead]) {
        let unread = team.peek(&owner, |_, _| {}).unwrap();
        let read = journal(team, &owner).len();
        picture.insert(format!("{owner} has {read} read and {unread} unread"));
    }
    picture
}

/// The messages in a journal.
fn journal(team: &TeamDir, owner: &Recipient) -> BTreeSet<String> {
    let mut ids = BTreeSet::new();
    team.read_journal(owner, |_, line| {
        if let JournalLine::Known(JournalRecord::Mail(record)) = line {
            ids.extend(record.mail.iter().map(|entry| entry.id.to_string()));
        }
    })
    .unwrap();
    ids
}

/// What the history adds up to.
fn told(team: &TeamDir) -> Picture {
    let mut replay = Replay::default();
    team.read_events(|line| replay.line(line)).unwrap();
    assert_eq!(replay.broken, 0);
    let mut picture = Picture::new();
    let mut owners = vec![Recipient::Lead];
    for (member, life) in &replay.members {
        if *member == Recipient::Lead {
            continue;
        }
        owners.push(member.clone());
        let role = life.role.as_deref().unwrap_or("?");
        let (word, number) = (life.word(), life.incarnation);
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
    picture
}

/// Waits until history and files tell the same, and shows what is different if they never do.
#[track_caller]
fn assert_same(office: &Office) -> Picture {
    let same = || Some(seen(&office.team)).filter(|seen| *seen == told(&office.team));
    if let Some(picture) = try_wait_for(LIMIT, same) {
        return picture;
    }
    panic!(
        "files: {:#?}\nhistory: {:#?}",
        seen(&office.team),
        told(&office.team)
    );
}

/// A command that takes long the first time and no time after that.
const SLOW: &str = "[ -e \"$1\" ] && exit; : > \"$1\"; sleep 600\n";

/// Waits until a member is in the middle of its slow command.
fn wait_for_command(office: &Office, mark: &str) {
    let path = office.path().join(mark);
    wait_until("a member in a command", LIMIT, || path.exists());
}

#[test]
fn replaying_the_history_gives_the_roster_the_board_and_the_mail() {
    let office = Office::new();
    std::fs::write(office.path().join("slow.sh"), SLOW).unwrap();
    office.verb(&[
        "task",
        "create",
        "Say hello",
        "--description",
        "Run `echo hello`.",
    ]);
    office.verb(&["task", "create", "Wait long", "--blocked-by", "1"]);
    office.verb(&[
        "spawn",
        "alice",
        "coder",
        "--prompt",
        "Run `sh slow.sh mark-a`.",
    ]);
    wait_for_command(&office, "mark-a");
    office.verb(&["send", "alice", "This waits for you."]);
    office.verb(&["spawn", "bob", "tester"]);
    office.verb(&["send", "bob", "Run `sh slow.sh mark-b`."]);
    wait_for_command(&office, "mark-b");
    // Killed in the middle of a command, with mail that waits.
    office.kill("alice");
    office.kill("bob");
    office.verb(&["send", "alice", "And this."]);
    office.verb(&["status"]);
    let picture = assert_same(&office);
    assert!(
        picture.contains("alice (coder) dead in life 1"),
        "{picture:#?}"
    );
    office.verb(&["restart", "bob"]);
    office.verb(&["spawn", "carol", "writer"]);
    office.verb(&["shutdown", "carol", "--force"]);
    office.verb(&["broadcast", "Hello to all who live."]);
    office.verb(&["restart", "alice"]);
    // At rest: between a change and its event a killed process would leave the event out.
    office.verb(&["wait", "--idle", "--timeout", "120"]);
    office.kill("alice");
    office.verb(&["restart", "alice"]);
    office.verb(&["wait", "--idle", "--timeout", "120"]);
    office.verb(&["inbox", "lead", "--drain"]);
    let picture = assert_same(&office);
    assert!(
        picture.contains("carol (writer) shutdown in life 1"),
        "{picture:#?}"
    );
    assert!(
        picture.contains("alice (coder) idle in life 3"),
        "{picture:#?}"
    );
}
