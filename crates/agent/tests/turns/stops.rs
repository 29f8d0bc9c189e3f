//! Every reason for which a model stops, and every way in which it fails.

use agent::{Event, Outcome, Record, Settings, TurnError};
use llm::{Block, Detail, ModelError, Role, StopReason, ToolUse};
use protocol::{MessageSource, UserMessage};

use crate::support::{Answer, Stage, call, last_blocks, reply, say};

#[tokio::test]
async fn a_turn_ends_when_the_model_does_and_everything_is_in_the_log() {
    let mut stage = Stage::new(vec![call(&[("a", "echo", r#"{"say":"hi"}"#)]), say("done")]);
    assert_eq!(stage.finish("go").await, "done");
    let kinds = stage.host.records.iter().map(|record| match record {
        Record::User(_) => "user",
        Record::Assistant(_) => "assistant",
        Record::Asked(_) => "asked",
        Record::Started(_) => "started",
        Record::Result(_) => "result",
        Record::Cleared(_) | Record::Compaction(_) | Record::Ended(_) | Record::Session(_) => {
            "other"
        }
    });
    let kinds: Vec<&str> = kinds.collect();
    assert_eq!(kinds, ["user", "assistant", "result", "assistant"]);
    let asked = stage.model.asked();
    assert_eq!(last_blocks(&asked[1]), ["result: hi"]);
    assert_eq!(asked[1].system, "You are 'alice', role: coder");
    assert_eq!(asked[1].tools.len(), 7);
    assert_eq!(stage.agent.conversation(), &stage.replayed());
    let usage = stage.host.records.iter().filter_map(|record| match record {
        Record::Assistant(reply) => reply.usage,
        _ => None,
    });
    assert_eq!(usage.map(|usage| usage.output).sum::<u64>(), 2);
    let replied = |event: &&Event| matches!(event, Event::Replied { .. });
    assert_eq!(stage.host.events.iter().filter(replied).count(), 2);
    assert!(stage.host.events.contains(&Event::Text("done".into())));
}

#[tokio::test]
async fn without_anything_to_answer_the_model_is_not_asked() {
    let mut stage = Stage::new(vec![]);
    assert_eq!(stage.finish("  ").await, "");
    assert!(stage.host.records.is_empty());
}

#[tokio::test]
async fn a_tool_can_end_the_turn_and_what_waits_is_taken_by_the_next() {
    let both = [
        ("a", "goodbye", "{}"),
        ("b", "echo", r#"{"say":"still run"}"#),
    ];
    let mut stage = Stage::new(vec![call(&both), say("back again")]);
    stage
        .host
        .after_tools
        .push_back(vec![UserMessage::with_source(
            MessageSource::Mail(1),
            "mail",
        )]);
    assert_eq!(stage.finish("go").await, "");
    assert_eq!(stage.model.asked().len(), 1);
    assert!(!stage.agent.conversation().is_waiting());
    assert_eq!(stage.agent.conversation(), &stage.replayed());
    assert!(
        !stage
            .agent
            .conversation()
            .was_given(&MessageSource::Mail(1))
    );

    assert_eq!(stage.finish("come back").await, "back again");
    let last = stage.model.asked().pop().unwrap();
    let expected = ["result: bye", "result: still run", "come back"];
    assert_eq!(last_blocks(&last), expected);
}

#[tokio::test]
async fn a_turn_can_run_as_a_task_of_its_own() {
    let mut stage = Stage::new(vec![say("done")]);
    let task = tokio::spawn(async move { stage.finish("go").await });
    assert_eq!(task.await.unwrap(), "done");
}

#[tokio::test]
async fn messages_go_behind_tool_results_and_keep_a_model_from_stopping() {
    let mut stage = Stage::new(vec![
        call(&[("a", "echo", r#"{"say":"hi"}"#)]),
        say("done"),
        say("really done"),
    ]);
    let mail = || UserMessage::with_source(MessageSource::Mail(1), "mail one");
    stage.host.after_tools.push_back(vec![mail()]);
    stage.host.when_stopping.push_back(vec![
        mail(),
        UserMessage::with_source(MessageSource::Mail(2), "mail two"),
    ]);
    stage.host.when_stopping.push_back(vec![
        mail(),
        UserMessage::with_source(MessageSource::Mail(3), " "),
    ]);
    assert_eq!(stage.finish("go").await, "really done");
    let asked = stage.model.asked();
    assert_eq!(last_blocks(&asked[1]), ["result: hi", "mail one"]);
    assert_eq!(last_blocks(&asked[2]), ["mail two"]);
    assert!(
        stage.replayed().was_given(&MessageSource::Mail(3)),
        "an empty one counts as delivered"
    );
}

#[tokio::test]
async fn a_reply_that_is_cut_off_goes_on_as_often_as_needed() {
    let mut stage = Stage::new(vec![cut("one "), cut("two "), cut("three "), say("four")]);
    assert_eq!(stage.finish("go").await, "one two three four");
    let asked = stage.model.asked();
    for request in &asked[1..] {
        let last = last_blocks(request);
        assert!(
            last[0].contains("Go on exactly where it stopped"),
            "{last:?}"
        );
    }
    stage.model.answer(say("five"));
    assert_eq!(stage.finish("more").await, "five");
}

#[tokio::test]
async fn a_reply_without_an_end_is_given_up_and_is_no_finished_turn() {
    let replies = (0..20).map(|_| cut("more ")).chain([say("done")]);
    let mut stage = Stage::new(replies.collect());
    let Outcome::CutOff { text } = stage.turn("go").await else {
        panic!("it ended")
    };
    let count = stage.model.asked().len();
    assert_eq!(text, "more ".repeat(count));
    assert_eq!(count, 16);
    assert!(
        !stage.replayed().is_waiting(),
        "no later process goes on by itself"
    );
}

#[tokio::test]
async fn thoughts_that_are_cut_off_are_followed_by_a_request_for_words() {
    let thoughts = || {
        let thinking = Block::Thinking {
            text: "hm".into(),
            signature: None,
        };
        reply(vec![thinking], StopReason::MaxTokens)
    };
    let mut stage = Stage::new(vec![thoughts(), cut("one "), thoughts(), say("two")]);
    assert_eq!(stage.finish("go").await, "one two");
    let asked = stage.model.asked();
    for (at, expected) in [(1, "still thinking"), (2, "Go on"), (3, "still thinking")] {
        let last = last_blocks(&asked[at]);
        assert!(last[last.len() - 1].contains(expected), "{last:?}");
    }
}

#[tokio::test]
async fn a_later_process_joins_the_parts_of_a_reply_that_was_cut_off() {
    let mut stage = Stage::new(vec![cut("one "), Answer::Error(ModelError::Cancelled)]);
    assert!(matches!(stage.turn("go").await, Outcome::Interrupted));
    let answers = vec![say("two")];
    let mut later = Stage::with(answers, Settings::default(), stage.replayed());
    let outcome = later
        .agent
        .run_turn(vec![], &mut later.host, &later.cancel)
        .await;
    assert!(matches!(outcome, Outcome::Finished { text } if text == "one two"));

    let answers = vec![say("two")];
    let mut later = Stage::with(answers, Settings::default(), stage.replayed());
    assert_eq!(
        later.finish("forget it").await,
        "two",
        "other words, other answer"
    );
}

#[tokio::test]
async fn a_tool_use_that_is_cut_off_again_and_again_ends_the_turn() {
    let call = || {
        let tool_use = ToolUse::new("a", "echo", r#"{"say":"h"#).cut();
        reply(vec![Block::ToolUse(tool_use)], StopReason::MaxTokens)
    };
    let settings = Settings {
        max_rounds: 0,
        ..Settings::default()
    };
    let replies = (0..20).map(|_| call()).collect();
    let mut stage = Stage::with(replies, settings, agent::Conversation::new());
    assert!(matches!(stage.turn("go").await, Outcome::CutOff { .. }));
    assert_eq!(stage.model.asked().len(), 16);
}

fn cut(text: &str) -> Answer {
    reply(vec![Block::text(text)], StopReason::MaxTokens)
}

#[tokio::test]
async fn a_tool_use_that_was_cut_off_is_not_run() {
    let cut = ToolUse::new("a", "echo", r#"{"say":"h"#).cut();
    let mut stage = Stage::new(vec![
        reply(vec![Block::ToolUse(cut)], StopReason::MaxTokens),
        reply(vec![], StopReason::MaxTokens),
        say("done"),
    ]);
    assert_eq!(stage.finish("go").await, "done");
    let asked = last_blocks(&stage.model.asked()[1]);
    assert!(
        asked[0].starts_with("error: the tool was not run"),
        "{asked:?}"
    );
}

#[tokio::test]
async fn a_paused_reply_is_resumed() {
    let mut stage = Stage::new(vec![
        reply(vec![Block::text("let me see. ")], StopReason::Paused),
        say("I see."),
    ]);
    assert_eq!(stage.finish("go").await, "let me see. I see.");
    let asked = stage.model.asked();
    assert!(!asked[0].resume && asked[1].resume);
    assert_eq!(asked[1].turns.last().unwrap().role, Role::Assistant);
}

#[tokio::test]
async fn a_refusal_is_reported_and_nothing_of_it_is_run() {
    let refusal = StopReason::Refusal {
        category: Some("cyber".into()),
        explanation: None,
    };
    let tool_use = Block::ToolUse(ToolUse::new("a", "echo", r#"{"say":"hi"}"#));
    let mut stage = Stage::new(vec![
        reply(vec![Block::text("No"), tool_use], refusal),
        say("yes"),
    ]);
    assert_eq!(
        stage.finish("go").await,
        "No\n[The model refused to go on: cyber.]"
    );
    assert_eq!(stage.finish("something else").await, "yes");
}

#[tokio::test]
async fn other_reasons_end_the_turn_with_what_was_said() {
    for stop in [StopReason::StopSequence, StopReason::Other("odd".into())] {
        let mut stage = Stage::new(vec![reply(vec![Block::text("so")], stop)]);
        assert_eq!(stage.finish("go").await, "so");
    }
}

#[tokio::test]
async fn a_reply_of_nothing_is_asked_for_a_word_once_and_is_no_failure() {
    let nothing = || reply(vec![], StopReason::EndTurn);
    let echo = || call(&[("a", "echo", r#"{"say":"hi"}"#)]);
    let mut stage = Stage::new(vec![echo(), nothing(), say("all is done")]);
    assert_eq!(stage.finish("go").await, "all is done");
    let asked = last_blocks(&stage.model.asked()[2]);
    assert!(asked[1].contains("without a word"), "{asked:?}");

    let answers = vec![echo(), nothing(), echo(), nothing(), say("yes")];
    let mut stage = Stage::new(answers);
    assert_eq!(stage.finish("go").await, "", "a second time it is accepted");
    assert!(!stage.replayed().is_waiting());
    assert_eq!(stage.finish("well?").await, "yes");
}

#[tokio::test]
async fn a_permanent_error_ends_the_turn_and_the_conversation_goes_on_later() {
    let mut stage = Stage::new(vec![
        Answer::Error(ModelError::Billing(Detail::default())),
        say("paid"),
    ]);
    let outcome = stage.turn("go").await;
    let Outcome::Failed {
        error: TurnError::Model(ModelError::Billing(_)),
    } = outcome
    else {
        panic!("{outcome:?}")
    };
    assert!(stage.replayed().is_waiting(), "it can be tried again");
    let outcome = stage
        .agent
        .run_turn(vec![], &mut stage.host, &stage.cancel)
        .await;
    assert!(matches!(outcome, Outcome::Finished { text } if text == "paid"));
}

#[tokio::test]
async fn the_round_limit_ends_the_turn_with_a_reason_and_counts_anew() {
    let tool = || call(&[("a", "echo", r#"{"say":"hi"}"#)]);
    let settings = Settings {
        max_rounds: 2,
        ..Settings::default()
    };
    let answers = vec![tool(), tool(), tool(), say("done")];
    let mut stage = Stage::with(answers, settings, agent::Conversation::new());
    let Outcome::RoundLimit { text } = stage.turn("go").await else {
        panic!("no limit")
    };
    assert!(text.contains("2 rounds"), "{text}");
    assert!(
        !stage.replayed().is_waiting(),
        "no later process goes on by itself"
    );
    assert_eq!(stage.finish("go on").await, "done");
    assert_eq!(
        last_blocks(&stage.model.asked()[2]),
        ["result: hi", "go on"]
    );
}

#[tokio::test]
async fn zero_rounds_is_no_limit() {
    assert_eq!(Settings::default().max_rounds, 50);
    let mut answers: Vec<Answer> = (0..120)
        .map(|_| call(&[("a", "echo", r#"{"say":"hi"}"#)]))
        .collect();
    answers.push(say("done"));
    let settings = Settings {
        max_rounds: 0,
        ..Settings::default()
    };
    let mut stage = Stage::with(answers, settings, agent::Conversation::new());
    assert_eq!(stage.finish("go").await, "done");
}

#[tokio::test]
async fn a_log_that_fails_ends_the_turn_before_the_model_is_asked_again() {
    for room in 0..4 {
        let mut stage = Stage::new(vec![call(&[("a", "echo", r#"{"say":"hi"}"#)]), say("done")]);
        stage.host.room = Some(room);
        let outcome = stage.turn("go").await;
        assert!(
            matches!(
                outcome,
                Outcome::Failed {
                    error: TurnError::Log(_)
                }
            ),
            "{outcome:?}"
        );
        assert_eq!(
            stage.agent.conversation(),
            &stage.replayed(),
            "after {room} records"
        );
        assert!(stage.model.asked().len() <= room.div_ceil(2).max(usize::from(room > 0)));
    }
}
