//! What a member reads and holds when it starts, after much history and after little. The long version has a history
//! of 100,000 messages.

use crate::support::{LIMIT, TestTeam, is_long, unsynced};
use agent::Record;
use llm::{Block, StopReason, Turn, Usage};
use member::Recovered;
use protocol::{
    AssistantRecord, Body, CompactionRecord, Event, EventKind, KeptMessages, Message, MessageId,
    MessageSource, Recipient, Sender, UserMessage, UserRecord,
};
use std::io::Write as _;
use std::time::{Duration, Instant};
use teamdir::{MemberSession, Options, WatchChoice};
use test_support::TempTeam;

/// After how many turns the conversation is made short.
const COMPACTED: u64 = 15;

/// How many messages each turn is given: so many that ten turns fill what is remembered of each sender, which
/// every start reads.
fn per_turn() -> u64 {
    if is_long() { 100 } else { 40 }
}

/// What a process had read and held when it had started.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Start {
    read: u64,
    /// Memory of its own, in KiB.
    held: u64,
}

impl Start {
    fn within(self, other: Self) -> bool {
        let within = |ours: u64, theirs: u64| 10 * ours <= 12 * theirs;
        within(self.read, other.read) && within(self.held, other.held)
    }
}

fn message(owner: &Recipient, number: u64) -> Message {
    let mut message = Message::new(Body::Message {
        content: format!("{number} {}", "x".repeat(80)),
    });
    message.id = Some(MessageId::new(&format!("w-{number}")).unwrap());
    message.from = Some(Sender::new(["bob", "carol", "dave"][number as usize % 3]));
    message.to = Some(owner.clone());
    message
}

/// One turn: it takes mail, which becomes an event, gives it to the model and keeps the reply.
fn turn(team: &TestTeam, session: &mut MemberSession, first: u64) {
    let owner = session.guard().owner().clone();
    let numbers = first..first + per_turn();
    let lines: Vec<u8> = numbers
        .clone()
        .flat_map(|number| message(&owner, number).to_line().to_vec())
        .collect();
    let inbox = team.team.layout().inbox(&owner);
    let options = std::fs::File::options()
        .append(true)
        .create(true)
        .open(inbox);
    options.unwrap().write_all(&lines).unwrap();
    let mut events = Vec::new();
    while let Some(delivery) = session.next(Some(Instant::now())).unwrap() {
        for received in delivery.mail {
            let (id, to) = (received.id, owner.clone());
            events.push(Event::new(teamdir::now(), EventKind::Deliver { id, to }));
        }
    }
    assert_eq!(events.len() as u64, per_turn());
    team.team.log_events(&events).unwrap();
    let given = numbers.map(|number| {
        let source = MessageSource::Mail(number + 1);
        UserMessage::with_source(source, "a message that the model was given")
    });
    let messages = given.collect();
    let reply = AssistantRecord {
        blocks: vec![Block::text("What to do, and what was done.".repeat(20))],
        stop: StopReason::EndTurn,
        usage: Some(Usage::default()),
    };
    let journal = session.journal();
    journal
        .append(&Record::User(UserRecord { messages }))
        .unwrap();
    journal.append(&Record::Assistant(reply)).unwrap();
}

fn compact(team: &TestTeam, session: &mut MemberSession) {
    let archive = team.team.next_archive(session.guard());
    let recovered = Recovered::read(&team.team, session.guard().owner()).unwrap();
    let compaction = Record::Compaction(CompactionRecord {
        archive: "somewhere".to_owned(),
        summarised: true,
        turns: vec![Turn::user("what was done until now")],
        usage: Some(Usage::default()),
        kept: KeptMessages::default(),
        reminder: None,
        session: None,
    });
    let cut = recovered.into_cut(archive);
    session.cut_journal(&team.team, cut, &compaction).unwrap();
}

/// A team whose member has lived through so many turns.
fn after(owner: &Recipient, turns: u64) -> TestTeam {
    let options = Options {
        // Files that were read are gone, as they are after a minute.
        segment_grace: Duration::ZERO,
        ..unsynced()
    };
    let team = TestTeam::of(TempTeam::new(&["alice", "bob"], options));
    let mut session = MemberSession::open(&team.team, owner, WatchChoice::Poll).unwrap();
    for done in 0..turns {
        // The last ones are the live conversation.
        if done > 0 && (turns - done) % COMPACTED == 10 {
            compact(&team, &mut session);
        }
        turn(&team, &mut session, done * per_turn());
    }
    team
}

fn figure(pid: u32, file: &str, key: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap();
    let line = text.lines().find(|line| line.starts_with(key)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Starts the member again, as after a kill.
fn start(team: &TestTeam, owner: &Recipient) -> Start {
    let mut member = team.start(&["live", "--name", &owner.to_string()]);
    assert_eq!(member.line(LIMIT), "ready");
    Start {
        read: figure(member.id(), "io", "rchar:"),
        held: figure(member.id(), "smaps_rollup", "Anonymous:"),
    }
}

fn size(team: &TestTeam, owner: &Recipient) -> u64 {
    let journal = std::fs::metadata(team.team.layout().transcript(owner));
    journal.unwrap().len()
}

#[test]
fn inv_18_a_start_after_a_thousand_turns_costs_what_one_after_ten_does() {
    for owner in ["alice", "lead"] {
        let owner: Recipient = owner.parse().unwrap();
        let (short, long) = (after(&owner, 10), after(&owner, 1_000));
        let (little, as_little) = (start(&short, &owner), start(&long, &owner));
        println!(
            "{owner}: journals of {} and {} bytes, {little:?} and {as_little:?}",
            size(&short, &owner),
            size(&long, &owner)
        );
        assert!(
            as_little.within(little),
            "{owner}: {little:?} and {as_little:?}"
        );
    }
}
