//! A later process continues the same conversation.

use agent::{Outcome, Settings};

use crate::support::{Stage, call, last_blocks, replay, say};

/// The conversation is cut behind each of its records in turn, and then continued.
#[tokio::test]
async fn the_conversation_continues_behind_any_record() {
    let tools = [
        ("a", "echo", r#"{"say":"one"}"#),
        ("b", "echo", r#"{"say":"two"}"#),
    ];
    let mut first = Stage::new(vec![call(&tools), say("done")]);
    first.finish("go").await;
    let records = &first.host.records;
    assert_eq!(records.len(), 5);
    let unknown = format!("error: {}", agent::INTERRUPTED);
    let not_started = format!("error: {}", agent::NOT_STARTED);
    let expected: [&[&str]; 4] = [
        &["go"],
        &[&unknown, &not_started],
        &["result: one", &unknown],
        &["result: one", "result: two"],
    ];
    for (count, expected) in (1..).zip(expected) {
        let before = replay(&records[..count]);
        assert!(before.is_waiting());
        let mut next = Stage::with(vec![say("done")], Settings::default(), before);
        let run = next
            .agent
            .run_turn(vec![], &mut next.host, &next.cancel)
            .await;
        assert!(matches!(run, Outcome::Finished { .. }), "{run:?}");
        assert_eq!(last_blocks(&next.model.asked()[0]), expected);
    }
    let whole = replay(records);
    assert!(!whole.is_waiting());
    let mut next = Stage::with(vec![], Settings::default(), whole);
    assert_eq!(next.finish(" ").await, "", "nothing is left to do");
}

#[tokio::test]
async fn a_paused_reply_is_resumed_by_the_next_process() {
    let paused = crate::support::reply(vec![llm::Block::text("well, ")], llm::StopReason::Paused);
    let mut first = Stage::new(vec![paused, crate::support::Answer::Never]);
    let waited = std::time::Duration::from_millis(20);
    assert!(
        tokio::time::timeout(waited, first.turn("go"))
            .await
            .is_err()
    );
    let mut next = Stage::with(vec![say("done")], Settings::default(), first.replayed());
    assert_eq!(next.finish("").await, "well, done");
    assert!(next.model.asked()[0].resume);
}
