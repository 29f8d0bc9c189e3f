use llm::Request;
use proptest::prelude::*;

use super::*;
use protocol::{
    ClearedRecord, ClearedResult, EndedRecord, JournalLine, JournalRecord, ResultRecord,
    UserMessage,
};

fn user(text: &str) -> Record {
    Record::User(UserRecord {
        messages: vec![UserMessage::new(text)],
    })
}

fn mail(number: u64) -> Record {
    let source = MessageSource::Mail(number);
    Record::User(UserRecord {
        messages: vec![UserMessage::with_source(source, format!("mail m{number}"))],
    })
}

fn uses(ids: &[&str]) -> Record {
    let uses = ids.iter();
    let uses = uses.map(|id| Block::ToolUse(ToolUse::new(*id, "bash", "")));
    Record::Assistant(AssistantRecord {
        blocks: uses.collect(),
        stop: StopReason::ToolUse,
        usage: None,
    })
}

fn says(text: &str, stop: StopReason) -> Record {
    Record::Assistant(AssistantRecord {
        blocks: vec![Block::text(text)],
        stop,
        usage: None,
    })
}

fn result(id: &str) -> Record {
    Record::Result(ResultRecord {
        millis: 1,
        ..ResultRecord::new(ToolResult::ok(id, format!("result of {id}")))
    })
}

fn sum(records: impl IntoIterator<Item = Record>) -> Conversation {
    let mut conversation = Conversation::new();
    records
        .into_iter()
        .for_each(|record| conversation.apply(record));
    conversation
}

/// The record as a later process reads it.
fn stored(record: &Record) -> Record {
    let line = serde_json::to_vec(record).unwrap();
    match JournalLine::<LlmTypes>::decode_as(&line) {
        JournalLine::Known(JournalRecord::Conversation(record)) => record,
        other => panic!("{other:?}"),
    }
}

#[test]
fn results_stand_in_the_order_of_the_uses_and_before_injections() {
    let records = [
        user("go"),
        uses(&["a", "b", "c"]),
        result("c"),
        result("a"),
        result("a"),
        result("stray"),
        result("b"),
        mail(1),
    ];
    let conversation = sum(records);
    let mut last =
        Turn::results(["a", "b", "c"].map(|id| ToolResult::ok(id, format!("result of {id}"))));
    last.blocks.push(Block::text("mail m1"));
    assert_eq!(conversation.turns().len(), 3);
    assert_eq!(conversation.turns()[2], last);
    assert_eq!(conversation.bytes(), turns_bytes(conversation.turns()));
}

#[test]
fn only_an_unfinished_turn_is_waiting() {
    let waiting = |records: Vec<Record>| {
        let conversation = sum(records);
        (conversation.is_waiting(), conversation.is_paused())
    };
    let end = || says("done", StopReason::EndTurn);
    assert_eq!(waiting(vec![]), (false, false));
    assert_eq!(waiting(vec![user("go")]), (true, false));
    assert_eq!(waiting(vec![user("go"), uses(&["a"])]), (true, false));
    assert_eq!(waiting(vec![user("go"), end()]), (false, false));
    let paused = says("wait", StopReason::Paused);
    assert_eq!(waiting(vec![user("go"), paused]), (true, true));
    let ended = Record::Ended(EndedRecord {
        reason: String::new(),
    });
    assert_eq!(waiting(vec![user("go"), ended]), (false, false));
}

#[test]
fn a_message_is_taken_in_once() {
    let end = || says("done", StopReason::EndTurn);
    let conversation = sum([mail(1), end(), mail(1), mail(2), mail(2)]);
    assert_eq!(conversation.turns().len(), 3);
    assert_eq!(conversation.turns()[2], Turn::user("mail m2"));
    assert!(
        conversation.was_given(&MessageSource::Mail(1))
            && !conversation.was_given(&MessageSource::Mail(3))
    );
}

#[test]
fn two_uses_with_one_id_get_different_ids() {
    let conversation = sum([user("go"), uses(&["a", "a"])]);
    let open: Vec<&str> = conversation
        .open_uses()
        .map(|open| open.id.as_str())
        .collect();
    assert_eq!(open, ["a", "a_2"]);
}

#[test]
fn cleared_results_are_whole_in_an_archive() {
    let long = Record::Result(ResultRecord {
        millis: 1,
        ..ResultRecord::new(ToolResult::ok("a", "x".repeat(500)))
    });
    let mut conversation = sum([user("go"), uses(&["a"]), long]);
    let before = conversation.turns().to_vec();
    conversation.apply(says("I see", StopReason::EndTurn));
    conversation.apply(cleared(2, 0));
    assert_eq!(
        conversation.turns()[2],
        Turn::results([ToolResult::ok("a", "[Cleared]")])
    );
    assert_eq!(conversation.whole_turns()[..3], before);
    assert_eq!(conversation.bytes(), turns_bytes(conversation.turns()));
}

fn cleared(turn: usize, block: usize) -> Record {
    let placeholder = "[Cleared]".to_owned();
    Record::Cleared(ClearedRecord {
        results: vec![ClearedResult {
            turn,
            block,
            placeholder,
        }],
    })
}

fn any_record() -> impl Strategy<Value = Record> {
    let id = || prop::sample::select(vec!["a", "b", "c"]);
    let ids = prop::collection::vec(id(), 0..4);
    let stop = prop::sample::select(vec![
        StopReason::EndTurn,
        StopReason::Paused,
        StopReason::MaxTokens,
    ]);
    prop_oneof![
        prop::sample::select(vec!["", "hello"]).prop_map(user),
        (1_u64..4).prop_map(mail),
        ids.prop_map(|ids| uses(&ids)),
        (prop::sample::select(vec!["", "yes"]), stop).prop_map(|(text, stop)| says(text, stop)),
        id().prop_map(result),
        (0_usize..9, 0_usize..3).prop_map(|(turn, block)| cleared(turn, block)),
        Just(Record::Ended(EndedRecord {
            reason: String::new()
        })),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    #[test]
    fn any_records_make_a_valid_request(records in prop::collection::vec(any_record(), 0..30)) {
        let stored = sum(records.iter().map(stored));
        let mut conversation = sum(records);
        prop_assert_eq!(&stored, &conversation);
        conversation.apply(user("and now"));
        let request = Request {
            turns: conversation.turns().to_vec(),
            max_tokens: 1,
            ..Request::default()
        };
        prop_assert_eq!(request.validate(), Ok(()));
        prop_assert_eq!(conversation.bytes(), turns_bytes(conversation.turns()));
    }
}
