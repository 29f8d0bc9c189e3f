//! A journal that was cut says all that the whole one says.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use agent::Record;
use llm::{Block, StopReason, ToolResult, ToolUse, Turn, Usage};
use member::Recovered;
use protocol::{
    AssistantRecord, CompactionRecord, JournalRecord, KeptMessages, MessageId, MessageSource,
    PlanRecord, Recipient, ReportRecord, ResultRecord, SessionId, SessionMark, Timestamp,
    UserMessage, UserRecord,
};
use std::io::Write as _;
use teamdir::{MemberSession, Options, WatchChoice};
use test_support::TempTeam;

fn alice() -> Recipient {
    "alice".parse().unwrap()
}

fn open(temp: &TempTeam) -> MemberSession {
    MemberSession::open(temp.team(), &alice(), WatchChoice::Poll).unwrap()
}

fn deliver(temp: &TempTeam, session: &mut MemberSession, ids: &[&str]) {
    let inbox = temp.team().layout().inbox(&alice());
    let options = std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(inbox);
    let mut inbox = options.unwrap();
    for id in ids {
        writeln!(
            inbox,
            r#"{{"type":"message","from":"bob","id":"{id}","content":"text of {id}"}}"#
        )
        .unwrap();
    }
    let mut taken = 0;
    while taken < ids.len() {
        taken += session.try_next().unwrap().unwrap().mail.len();
    }
}

fn user(messages: Vec<UserMessage>) -> Record {
    Record::User(UserRecord { messages })
}

fn assistant(blocks: Vec<Block>, stop: StopReason) -> Record {
    let usage = Usage {
        input: 7,
        output: 3,
        ..Usage::default()
    };
    Record::Assistant(AssistantRecord {
        blocks,
        stop,
        usage: Some(usage),
    })
}

fn mark() -> SessionMark {
    let id = SessionId::new("1a2b3c4d").unwrap();
    SessionMark::new(id, Timestamp::from_secs(7), "offline")
}

fn compaction(text: &str) -> Record {
    Record::Compaction(CompactionRecord {
        archive: "somewhere".to_owned(),
        summarised: true,
        turns: vec![Turn::user(text)],
        usage: Some(Usage::default()),
        kept: KeptMessages::default(),
        reminder: Some("all is well".to_owned()),
        session: Some(mark()),
    })
}

/// Work in which everything is open that can be: mail out of order, a command, a plan, a cut reply.
fn work(temp: &TempTeam, session: &mut MemberSession, round: &str) {
    let ids = ["a", "b", "c", "d", "e"].map(|id| format!("{id}{round}"));
    deliver(temp, session, &ids.each_ref().map(String::as_str));
    let prompt = MessageSource::Prompt(MessageId::new("p-1").unwrap());
    let mail = |number| UserMessage::with_source(MessageSource::Mail(number), "mail");
    let uses = ["u1", "u2"].map(|id| Block::ToolUse(ToolUse::new(id, "bash", "{}")));
    let result = |id: &str| ResultRecord::new(ToolResult::ok(id, "done"));
    let records = [
        Record::Session(mark()),
        user(vec![UserMessage::with_source(prompt, "go"), mail(1)]),
        assistant(uses.to_vec(), StopReason::ToolUse),
        Record::Result(ResultRecord {
            command: Some("00c0ffee".to_owned()),
            ..result("u1")
        }),
        Record::Result(ResultRecord {
            mail: vec![4],
            ..result("u2")
        }),
        assistant(vec![Block::text("The first half")], StopReason::MaxTokens),
    ];
    for record in records {
        session.journal().append(&record).unwrap();
    }
    let plan = PlanRecord {
        request_id: "1a2b3c4d".parse().unwrap(),
        plan_hash: "abc".to_owned(),
    };
    let journal = session.journal();
    journal
        .append(&<JournalRecord>::Report(ReportRecord { n: 3 }))
        .unwrap();
    journal.append(&<JournalRecord>::Plan(plan)).unwrap();
    let more = assistant(vec![Block::text("and more")], StopReason::MaxTokens);
    journal.append(&more).unwrap();
    if round == "twice" {
        let said = user(vec![UserMessage::new("go on")]);
        journal.append(&said).unwrap();
    }
}

fn cut(temp: &TempTeam, session: &mut MemberSession, compaction: &Record) {
    let archive = temp.team().next_archive(session.guard());
    let cut = Recovered::read(temp.team(), &alice())
        .unwrap()
        .into_cut(archive);
    session.cut_journal(temp.team(), cut, compaction).unwrap();
}

/// What a restart finds, but for the mail whose events are written before a cut.
fn recovered(temp: &TempTeam) -> String {
    let mut recovered = Recovered::read(temp.team(), &alice()).unwrap();
    recovered.last_taken.clear();
    format!("{recovered:#?}")
}

#[test]
fn a_restart_finds_the_same_in_a_journal_that_was_cut() {
    let [whole, short] = [(), ()].map(|()| TempTeam::new(&["alice"], Options::default()));
    let (mut kept, mut parted) = (open(&whole), open(&short));
    for round in ["once", "twice"] {
        work(&whole, &mut kept, round);
        work(&short, &mut parted, round);
        kept.journal().append(&compaction(round)).unwrap();
        cut(&short, &mut parted, &compaction(round));
        assert_eq!(recovered(&whole), recovered(&short), "{round}");
    }
    let text = recovered(&short);
    assert!(
        text.contains("and more") && text.contains("00c0ffee"),
        "{text}"
    );
    assert!(text.contains("is_waiting: true"), "{text}");
}

#[test]
fn mail_goes_on_after_a_cut_without_loss_or_repetition() {
    let temp = TempTeam::new(&["alice"], Options::default());
    let mut session = open(&temp);
    work(&temp, &mut session, "");
    cut(&temp, &mut session, &compaction("short"));
    drop(session);
    let mut session = open(&temp);
    assert!(session.try_next().unwrap().is_none());
    // One that came before, from the same sender, is not taken again.
    deliver(&temp, &mut session, &["f"]);
    let inbox = temp.team().layout().inbox(&alice());
    let again = r#"{"type":"message","from":"bob","id":"a","content":"text of a"}"#;
    let mut file = std::fs::OpenOptions::new()
        .append(true)
        .open(inbox)
        .unwrap();
    writeln!(file, "{again}").unwrap();
    assert!(
        session
            .try_next()
            .unwrap()
            .is_none_or(|taken| taken.mail.is_empty())
    );
    let found = Recovered::read(temp.team(), &alice()).unwrap();
    assert_eq!(found.mail, 6);
    assert_eq!(
        found.pending_mail.keys().copied().collect::<Vec<_>>(),
        [2, 3, 5, 6]
    );
    assert_eq!(temp.recorded(&alice()), ["a", "b", "c", "d", "e", "f"]);
}

#[test]
fn the_journal_follows_the_conversation_and_the_archives_keep_the_rest() {
    let temp = TempTeam::new(&["alice"], Options::default());
    let mut session = open(&temp);
    let size = || {
        std::fs::metadata(temp.team().layout().transcript(&alice()))
            .unwrap()
            .len()
    };
    let mut first = 0;
    for round in 0..20 {
        let text = "x".repeat(50_000);
        let said = assistant(vec![Block::text(text)], StopReason::EndTurn);
        session
            .journal()
            .append(&user(vec![UserMessage::new("go")]))
            .unwrap();
        session.journal().append(&said).unwrap();
        cut(&temp, &mut session, &compaction("short"));
        let after = size();
        if round == 0 {
            first = after;
        }
        assert!(after < first + 60_000, "{after} bytes after {round} cuts");
    }
    let mut replies = 0;
    let visit = |_: &[u8], line| {
        let protocol::JournalLine::Known(JournalRecord::Conversation(record)) = line else {
            return;
        };
        replies += usize::from(matches!(record, protocol::ConversationRecord::Assistant(_)));
    };
    temp.team().read_history(&alice(), visit).unwrap();
    assert_eq!(replies, 20);
}

#[test]
fn without_room_for_the_archive_the_journal_stays_as_it_was() {
    let temp = TempTeam::new(&["alice"], Options::default());
    let mut session = open(&temp);
    work(&temp, &mut session, "");
    let before = std::fs::read(temp.team().layout().transcript(&alice())).unwrap();
    // Something else stands where the archives are kept.
    std::fs::write(temp.team().layout().member_archives(&alice()), "").unwrap();
    let archive = temp.team().next_archive(session.guard());
    let record = Recovered::read(temp.team(), &alice())
        .unwrap()
        .into_cut(archive);
    let refused = session.cut_journal(temp.team(), record, &compaction("short"));
    assert!(
        matches!(refused, Err(teamdir::CutError::NotCut(_))),
        "{refused:?}"
    );
    let after = std::fs::read(temp.team().layout().transcript(&alice())).unwrap();
    assert!(before == after);
    session.journal().append(&compaction("short")).unwrap();
}
