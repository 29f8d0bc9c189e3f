//! Keeps the specification and the types in step: every example in `README.md` must decode with the
//! type its fence names and encode to the same JSON again, and every variant must have an example.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use protocol::{
    AppliedMark, BoardClaim, BoardCopy, Body, Budget, ConversationRecord, DeadLetter, EventKind,
    EventLine, ExitRecord, Frame, Grants, Holder, HostSpawn, JournalLine, JournalRecord, Line,
    LiveState, MemberStatus, Note, Payload, Peer, Request, RequestFile, RequestKind, RequestStatus,
    Roster, SentAnswer, SentMark, SessionHeader, Submission, Task, TaskStatus, TeamLimits,
    TodoList, ToldRequests, Traffic, decode_line, exit,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeSet;

const README: &str = include_str!("../README.md");

/// A fenced block of the specification.
struct Block {
    info: String,
    text: String,
    line: usize,
}

fn blocks() -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut inside = false;
    for (at, line) in README.lines().enumerate() {
        match (line.strip_prefix("```"), inside) {
            (Some(info), false) => {
                inside = true;
                blocks.push(Block {
                    info: info.to_owned(),
                    text: String::new(),
                    line: at + 1,
                });
            }
            (Some(_), true) => inside = false,
            (None, true) => {
                let block = blocks.last_mut().expect("inside means one was begun");
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, false) => {}
        }
    }
    assert!(!inside, "a fence is not closed");
    blocks
}

fn blocks_of(info: &str) -> Vec<Block> {
    let found: Vec<Block> = blocks().into_iter().filter(|b| b.info == info).collect();
    assert!(!found.is_empty(), "there is no example {info:?}");
    found
}

fn lines_of(info: &str) -> Vec<String> {
    let texts = blocks_of(info).into_iter().map(|block| block.text);
    let lines = texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>());
    lines.collect()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in {text}"))
}

fn encoded(value: &impl Serialize) -> Value {
    json(&serde_json::to_string(value).unwrap())
}

/// Decodes every block of a kind, compares it with what is encoded again, and returns the values.
fn documents<T: Serialize + DeserializeOwned>(info: &str) -> Vec<T> {
    let decode = |block: Block| {
        let value: T = serde_json::from_str(&block.text)
            .unwrap_or_else(|error| panic!("{info} at line {}: {error}", block.line));
        assert_eq!(
            encoded(&value),
            json(&block.text),
            "{info} at line {}",
            block.line
        );
        value
    };
    blocks_of(info).into_iter().map(decode).collect()
}

/// Lists the words of all variants of a type. A new variant does not compile until it has a word
/// here, and then the tests ask for its example.
macro_rules! words {
    ($list:ident, $word_of:ident, $type:ty { $($pattern:pat => $word:literal,)* }) => {
        const $list: &[&str] = &[$($word),*];

        fn $word_of(value: &$type) -> &'static str {
            match value {
                $($pattern => $word,)*
            }
        }
    };
}

words!(MESSAGE_TYPES, message_type, Body {
    Body::Message { .. } => "message",
    Body::Broadcast { .. } => "broadcast",
    Body::ShutdownRequest { .. } => "shutdown_request",
    Body::ShutdownResponse { .. } => "shutdown_response",
    Body::PlanApprovalRequest { .. } => "plan_approval_request",
    Body::PlanApprovalResponse { .. } => "plan_approval_response",
    Body::IdleNotification { .. } => "idle_notification",
    Body::Notice { .. } => "notice",
});

words!(EVENTS, event_word, EventKind {
    EventKind::Spawn { .. } => "spawn",
    EventKind::Ready { .. } => "ready",
    EventKind::HostSpawn { .. } => "host_spawn",
    EventKind::State { .. } => "state",
    EventKind::Send { .. } => "send",
    EventKind::Deliver { .. } => "deliver",
    EventKind::DeadLetter { .. } => "dead_letter",
    EventKind::Request { .. } => "request",
    EventKind::Resolve { .. } => "resolve",
    EventKind::Task { .. } => "task",
    EventKind::Submission { .. } => "submission",
    EventKind::Tree { .. } => "tree",
    EventKind::Land { .. } => "land",
    EventKind::Note { .. } => "note",
    EventKind::Death { .. } => "death",
    EventKind::GaveUp { .. } => "gave_up",
    EventKind::Restart { .. } => "restart",
    EventKind::Leave { .. } => "leave",
    EventKind::Tool { .. } => "tool",
    EventKind::File { .. } => "file",
    EventKind::Model { .. } => "model",
    EventKind::ModelSwitched { .. } => "model_switched",
    EventKind::Compaction { .. } => "compaction",
    EventKind::Budget { .. } => "budget",
    EventKind::HookFailed { .. } => "hook_failed",
    EventKind::Polling { .. } => "polling",
});

words!(JOURNAL_KINDS, journal_kind, JournalRecord {
    JournalRecord::Open(_) => "open",
    JournalRecord::Cut(_) => "cut",
    JournalRecord::Mail(_) => "mail",
    JournalRecord::Seal(_) => "seal",
    JournalRecord::Checkpoint(_) => "checkpoint",
    JournalRecord::Report(_) => "report",
    JournalRecord::Plan(_) => "plan",
    JournalRecord::EngineTool(_) => "engine_tool",
    JournalRecord::Conversation(ConversationRecord::User(_)) => "user",
    JournalRecord::Conversation(ConversationRecord::Assistant(_)) => "assistant",
    JournalRecord::Conversation(ConversationRecord::Asked(_)) => "asked",
    JournalRecord::Conversation(ConversationRecord::Started(_)) => "started",
    JournalRecord::Conversation(ConversationRecord::Result(_)) => "result",
    JournalRecord::Conversation(ConversationRecord::Cleared(_)) => "cleared",
    JournalRecord::Conversation(ConversationRecord::Compaction(_)) => "compaction",
    JournalRecord::Conversation(ConversationRecord::Ended(_)) => "ended",
    JournalRecord::Conversation(ConversationRecord::Session(_)) => "session",
});

words!(REQUEST_KINDS, request_kind, RequestKind {
    RequestKind::Shutdown => "shutdown",
    RequestKind::Plan => "plan",
    RequestKind::Permission => "permission",
    RequestKind::Question => "question",
});

words!(REQUEST_STATUSES, request_status, RequestStatus {
    RequestStatus::Pending => "pending",
    RequestStatus::Approved => "approved",
    RequestStatus::Rejected => "rejected",
    RequestStatus::Expired => "expired",
});

words!(TASK_STATUSES, task_status, TaskStatus {
    TaskStatus::Pending => "pending",
    TaskStatus::InProgress => "in_progress",
    TaskStatus::Completed => "completed",
});

/// Fails for each word of `all` that no example has.
fn assert_all_shown<'a>(what: &str, all: &[&str], shown: impl IntoIterator<Item = &'a str>) {
    let shown: BTreeSet<&str> = shown.into_iter().collect();
    let missing: Vec<_> = all.iter().filter(|word| !shown.contains(*word)).collect();
    assert!(missing.is_empty(), "{what} without an example: {missing:?}");
}

#[test]
fn every_fence_says_what_it_holds() {
    let known = [
        "json roster",
        "json message",
        "json unknown",
        "json holder",
        "json exit",
        "json request",
        "json grants",
        "json task",
        "json submission",
        "json journal",
        "json session_header",
        "json live_state",
        "json budget",
        "json limits",
        "json traffic",
        "json event",
        "json unknown_event",
        "json dead_letter",
        "json note",
        "json todo",
        "json frame",
        "json sent_mark",
        "json applied_mark",
        "json peer",
        "json board_copy",
        "json board_claim",
        "json host_spawn",
        "json sent_answer",
        "json told_requests",
        "text layout",
        "text record",
        "text line",
        "text corrupt",
        "sh",
    ];
    for block in blocks() {
        assert!(
            known.contains(&block.info.as_str()),
            "line {}: unknown info string {:?}",
            block.line,
            block.info
        );
    }
}

words!(PAYLOADS, payload_kind, Payload {
    Payload::Mail { .. } => "mail",
    Payload::Members(_) => "members",
    Payload::Board(_) => "board",
    Payload::Request { .. } => "request",
    Payload::Answer { .. } => "answer",
    Payload::AnswerRefused { .. } => "answer_refused",
    Payload::Spawn(_) => "spawn",
    Payload::Tree(_) => "tree",
});

#[test]
fn every_kind_of_frame_and_the_marks_of_a_bridge_are_shown_and_read_as_written() {
    let mut shown = Vec::new();
    for text in lines_of("json frame") {
        let frame: Frame = serde_json::from_str(&text).unwrap();
        assert_eq!(encoded(&frame), json(&text));
        shown.push(payload_kind(&frame.payload));
    }
    assert_all_shown("kinds of frames", PAYLOADS, shown);
    documents::<SentMark>("json sent_mark");
    documents::<AppliedMark>("json applied_mark");
    documents::<Peer>("json peer");
    documents::<BoardCopy>("json board_copy");
    documents::<BoardClaim>("json board_claim");
    documents::<HostSpawn>("json host_spawn");
    documents::<SentAnswer>("json sent_answer");
    documents::<ToldRequests>("json told_requests");
}

#[test]
fn every_message_type_is_shown_and_reads_as_written() {
    let mut shown = Vec::new();
    for text in lines_of("json message") {
        let Line::Message(message) = decode_line(text.as_bytes()) else {
            panic!("not a message: {text}");
        };
        assert_eq!(encoded(&message), json(&text));
        assert_eq!(message.body.kind(), message_type(&message.body));
        shown.push(message_type(&message.body));
    }
    assert_all_shown("message types", MESSAGE_TYPES, shown);
}

#[test]
fn lines_that_are_no_messages_are_what_the_text_says() {
    for text in lines_of("json unknown") {
        match decode_line(text.as_bytes()) {
            Line::Unknown(unknown) => assert_eq!(Value::Object(unknown.object), json(&text)),
            other => panic!("{text} is {other:?}"),
        }
    }
    for text in lines_of("text line") {
        assert_eq!(decode_line(text.as_bytes()), Line::Text(text));
    }
    for text in lines_of("text corrupt") {
        let found = decode_line(text.as_bytes());
        assert!(matches!(found, Line::Corrupt { .. }), "{text} is {found:?}");
    }
}

#[test]
fn the_roster_reads_as_written() {
    let rosters: Vec<Roster> = documents("json roster");
    let statuses = rosters.iter().flat_map(|roster| &roster.members);
    for member in statuses {
        assert!(!matches!(member.status, MemberStatus::Other(_)));
    }
    assert!(rosters.iter().any(|roster| !roster.extra.is_empty()));
}

#[test]
fn every_kind_and_status_of_a_request_is_shown() {
    let mut kinds = Vec::new();
    let mut statuses = Vec::new();
    for file in documents::<RequestFile>("json request") {
        let before = encoded(&file);
        let request = Request::try_from(file).unwrap();
        kinds.push(request_kind(&request.kind()));
        statuses.push(request_status(&request.status()));
        assert_eq!(encoded(&RequestFile::from(request)), before);
    }
    assert_all_shown("request kinds", REQUEST_KINDS, kinds);
    assert_all_shown("request statuses", REQUEST_STATUSES, statuses);
}

#[test]
fn the_granted_rules_read_as_written() {
    let grants: Vec<Grants> = documents("json grants");
    let rules: Vec<_> = grants.iter().flat_map(|grants| &grants.rules).collect();
    assert!(rules.iter().any(|rule| rule.member.is_some()));
    assert!(rules.iter().any(|rule| rule.revoked_at.is_some()));
}

#[test]
fn every_status_of_a_task_is_shown() {
    let tasks: Vec<Task> = documents("json task");
    let shown = tasks.iter().map(|task| task_status(&task.status));
    assert_all_shown("task statuses", TASK_STATUSES, shown);
}

#[test]
fn submissions_read_as_written() {
    let all: Vec<Submission> = documents("json submission");
    assert!(all.iter().any(|found| found.check.is_some()));
    assert!(all.iter().any(|found| found.conflict.is_some()));
}

#[test]
fn every_kind_of_journal_record_is_shown() {
    let mut shown = Vec::new();
    for text in lines_of("json journal") {
        let JournalLine::Known(record) = JournalLine::decode(text.as_bytes()) else {
            panic!("not a known record: {text}");
        };
        let again = serde_json::to_string(&record).unwrap();
        assert_eq!(json(&again), json(&text));
        if let JournalRecord::Checkpoint(_) = record {
            // Recovery searches for these bytes, and the specification promises them.
            for text in [&text, &again] {
                assert!(text.starts_with(r#"{"kind":"checkpoint""#), "{text}");
            }
        }
        shown.push(journal_kind(&record));
    }
    assert_all_shown("journal kinds", JOURNAL_KINDS, shown);
}

#[test]
fn the_mail_record_fits_the_inbox_it_tells_of() {
    let mut inbox = Vec::new();
    for text in lines_of("json journal") {
        let JournalLine::Known(JournalRecord::Mail(record)) = JournalLine::decode(text.as_bytes())
        else {
            continue;
        };
        for entry in &record.mail {
            let line = match entry.decode() {
                Line::Text(text) => text,
                _ => entry.line.get().to_owned(),
            };
            inbox.extend_from_slice(line.as_bytes());
            inbox.push(b'\n');
        }
        for bad in &record.bad {
            inbox.extend_from_slice(bad.raw.as_bytes());
            inbox.push(b'\n');
        }
        assert_eq!(record.position.end, inbox.len() as u64);
        let checked = inbox.len().saturating_sub(64);
        assert_eq!(record.position.check, fnv1a(&inbox[checked..]));
    }
    for bytes in [&b""[..], b"a"] {
        assert!(README.contains(&fnv1a(bytes).to_string()), "{bytes:?}");
    }
}

/// The hash as the specification describes it, written a second time on purpose.
fn fnv1a(bytes: &[u8]) -> u64 {
    let mut hash: u64 = 14_695_981_039_346_656_037;
    for byte in bytes {
        hash ^= u64::from(*byte);
        hash = hash.wrapping_mul(1_099_511_628_211);
    }
    (hash ^ (hash >> 53)) & ((1 << 53) - 1)
}

#[test]
fn every_event_is_shown_and_reads_as_written() {
    let mut shown = Vec::new();
    for text in lines_of("json event") {
        let EventLine::Known(event) = EventLine::decode(text.as_bytes()) else {
            panic!("not a known event: {text}");
        };
        assert_eq!(encoded(&event), json(&text));
        shown.push(event_word(&event.kind));
    }
    assert_all_shown("events", EVENTS, shown);
    for text in lines_of("json unknown_event") {
        let found = EventLine::decode(text.as_bytes());
        assert!(
            matches!(found, EventLine::Unknown(_)),
            "{text} is {found:?}"
        );
    }
}

#[test]
fn holder_live_state_and_dead_letters_read_as_written() {
    documents::<Holder>("json holder");
    documents::<ExitRecord>("json exit");
    documents::<LiveState>("json live_state");
    for text in lines_of("json session_header") {
        let header: SessionHeader = serde_json::from_str(&text).unwrap();
        assert_eq!(encoded(&header), json(&text));
    }
    for text in lines_of("json dead_letter") {
        let dead: DeadLetter = serde_json::from_str(&text).unwrap();
        assert_eq!(encoded(&dead), json(&text));
    }
}

#[test]
fn budgets_and_limits_read_as_written() {
    documents::<Budget>("json budget");
    documents::<TeamLimits>("json limits");
    documents::<Traffic>("json traffic");
}

#[test]
fn every_exit_code_is_in_the_table() {
    for (code, meaning) in exit::ALL {
        let row = format!("| {code} | {meaning} |");
        assert!(README.lines().any(|line| line == row), "no row {row:?}");
    }
}

#[test]
fn every_link_inside_the_page_leads_to_a_heading() {
    let slug = |heading: &str| {
        let kept = heading.chars().filter_map(|c| match c {
            ' ' => Some('-'),
            _ => (c.is_alphanumeric() || c == '-').then(|| c.to_ascii_lowercase()),
        });
        kept.collect::<String>()
    };
    let headings: BTreeSet<String> = README
        .lines()
        .filter_map(|line| line.strip_prefix('#'))
        .map(|line| slug(line.trim_start_matches('#').trim()))
        .collect();
    for part in README.split("](#").skip(1) {
        let (target, _) = part.split_once(')').expect("a link is closed");
        assert!(headings.contains(target), "no heading #{target}");
    }
}

#[test]
fn notes_and_to_do_lists_read_as_written() {
    for text in lines_of("json note") {
        let note: Note = serde_json::from_str(&text).unwrap();
        assert_eq!(encoded(&note), json(&text));
        assert!(!note.text.is_empty());
    }
    for list in documents::<TodoList>("json todo") {
        assert!(list.summary().is_some());
    }
}
