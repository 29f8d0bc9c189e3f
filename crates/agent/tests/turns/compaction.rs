//! The conversation stays short enough, whatever the model does.

use agent::{Conversation, Event, Limits, Outcome, Record, Settings, TurnError};
use llm::{Detail, ModelError, Request, Role, StopReason};

use protocol::{MessageSource, UserMessage, UserRecord};

use crate::support::{Answer, Stage, call, is_summary, last_blocks, replay, reply, say, summary};

fn settings(window: u64) -> Settings {
    Settings {
        limits: Limits::for_window(window),
        max_rounds: 0,
        ..Settings::default()
    }
}

fn too_long() -> Answer {
    Answer::Error(ModelError::ContextTooLong {
        tokens: None,
        limit: None,
        detail: Detail::default(),
    })
}

#[tokio::test]
async fn the_compact_tool_summarises_with_its_focus_and_work_goes_on() {
    let mut stage = Stage::new(vec![
        call(&[("a", "compact", r#"{"focus":"the roof"}"#)]),
        summary("We build a house."),
        say("done"),
    ]);
    assert_eq!(stage.finish("build it").await, "done");
    let asked = stage.model.asked();
    assert!(is_summary(&asked[1]));
    assert!(last_blocks(&asked[1])[1].contains("care of this: the roof"));
    assert!(
        asked[1].turns.starts_with(&asked[0].turns) && asked[1].tools == asked[0].tools,
        "the provider has the conversation in its cache"
    );
    assert_eq!(asked[1].system, asked[0].system);
    let [turn] = asked[2].turns.as_slice() else {
        panic!("{:?}", asked[2].turns)
    };
    assert_eq!(turn.role, Role::User);
    let said = last_blocks(&asked[2]);
    let begin = "[Conversation compressed. Transcript: archive-1]\n\n## Goal\nWe build a house.";
    assert!(said[0].starts_with(begin), "{said:?}");
    assert!(said[1].contains("[message 1]\nbuild it\n"), "{said:?}");
    assert_eq!(asked[2].system, "You are 'alice', role: coder");
    assert_eq!(
        replay(&stage.host.archives[0]).turns().len(),
        3,
        "the whole conversation is kept"
    );
    assert_eq!(stage.agent.conversation(), &stage.replayed());
}

#[tokio::test]
async fn a_model_that_finds_it_too_long_is_asked_once_more_after_a_summary() {
    let full = reply(vec![], StopReason::ContextWindowExceeded);
    for refused in [too_long(), full] {
        let mut stage = Stage::new(vec![refused, summary("summary"), say("done")]);
        assert_eq!(stage.finish("the open question").await, "done");
        let said = last_blocks(&stage.model.asked()[2]).concat();
        assert!(said.contains("summary") && said.contains("the open question"));
    }
    let mut stage = Stage::new(vec![too_long(), summary("summary"), too_long()]);
    let outcome = stage.turn("go").await;
    assert!(matches!(
        outcome,
        Outcome::Failed {
            error: TurnError::Model(ModelError::ContextTooLong { .. })
        }
    ));
    let full = || reply(vec![], StopReason::ContextWindowExceeded);
    let mut stage = Stage::new(vec![full(), summary("summary"), full()]);
    let outcome = stage.turn("go").await;
    assert!(matches!(
        outcome,
        Outcome::Failed {
            error: TurnError::WindowFull
        }
    ));
}

#[tokio::test]
async fn after_four_failures_to_summarise_the_conversation_is_cut() {
    let mut stage = Stage::new(vec![
        call(&[("a", "echo", r#"{"say":"one"}"#)]),
        too_long(),
        too_long(),
        too_long(),
        too_long(),
        too_long(),
        say("done"),
    ]);
    assert_eq!(stage.finish("build it").await, "done");
    let asked = stage.model.asked();
    assert!(asked[2..6].iter().all(is_summary));
    assert!(
        asked[2].tools.is_empty(),
        "what the model found too long is not sent again"
    );
    assert!(
        format!("{:?}", asked[6].turns)
            .contains("[Earlier conversation cut. Transcript: archive-1]")
    );
    let compacted = Event::Compacted {
        archive: "archive-1".into(),
        summarised: false,
    };
    assert!(stage.host.events.contains(&compacted));
    assert_eq!(stage.agent.conversation(), &stage.replayed());
}

#[tokio::test]
async fn a_reply_that_lacks_its_parts_is_asked_for_once_more() {
    let called = call(&[("x", "echo", r#"{"say":"step 0"}"#)]);
    for bad in [say("step 0"), called, reply(vec![], StopReason::EndTurn)] {
        let compact = call(&[("a", "compact", "{}")]);
        let answers = vec![compact, bad, summary("A house."), say("done")];
        let mut stage = Stage::new(answers);
        assert_eq!(stage.finish("build it").await, "done");
        let asked = stage.model.asked();
        assert!(is_summary(&asked[1]) && is_summary(&asked[2]));
        let again = last_blocks(&asked[2]).concat();
        assert!(again.contains("was not taken: it "), "{again}");
        assert_eq!(asked[2].turns.len(), asked[1].turns.len());
        assert!(last_blocks(&asked[3])[0].contains("A house."));
        let usage = stage.host.records.iter().find_map(|record| match record {
            Record::Compaction(compaction) => compaction.usage,
            _ => None,
        });
        assert_eq!(usage.unwrap().output, 2, "both answers were paid for");
    }
}

#[tokio::test]
async fn a_model_that_cannot_summarise_goes_on_with_what_the_program_kept() {
    let compact = call(&[("a", "compact", "{}")]);
    let answers = vec![compact, say("step 0"), say("step 0"), say("done")];
    let mut stage = Stage::new(answers);
    stage.host.reminder = Some("all is well".into());
    stage.host.open_work = Some("Task 7: the roof.".into());
    assert_eq!(stage.finish("build it").await, "done");
    let last = stage.model.asked().pop().unwrap();
    let said = format!("{:?}", last.turns);
    for text in [
        "Earlier conversation cut",
        "build it",
        "Task 7: the roof.",
        "all is well",
    ] {
        assert_eq!(said.matches(text).count(), 1, "{text}: {said}");
    }
    assert!(!said.contains("step 0"), "{said}");
}

#[tokio::test]
async fn a_key_that_is_refused_does_not_cost_the_conversation() {
    let refused = || Answer::Error(ModelError::Billing(Detail::default()));
    let mut stage = Stage::new(vec![say("hello"), refused()]);
    stage.finish("hi").await;
    let outcome = stage
        .agent
        .compact(None, &mut stage.host, &stage.cancel)
        .await;
    assert!(matches!(
        outcome,
        Outcome::Failed {
            error: TurnError::Model(_)
        }
    ));
    assert_eq!(stage.agent.conversation().turns().len(), 2);
}

#[tokio::test]
async fn compacting_an_idle_conversation_starts_nothing() {
    let mut stage = Stage::new(vec![say("hello"), summary("They greeted."), say("yes")]);
    let outcome = stage
        .agent
        .compact(None, &mut stage.host, &stage.cancel)
        .await;
    assert!(
        matches!(outcome, Outcome::Finished { .. }),
        "nothing was said yet"
    );
    stage.finish("hi").await;
    let outcome = stage
        .agent
        .compact(None, &mut stage.host, &stage.cancel)
        .await;
    assert!(matches!(outcome, Outcome::Finished { text } if text.contains("archive-1")));
    assert!(!stage.replayed().is_waiting());
    assert_eq!(stage.finish("are you there?").await, "yes");
    assert_eq!(last_blocks(&stage.model.asked()[2])[2], "are you there?");
}

fn mail(number: u64) -> UserMessage {
    let text = format!("<inbox>note {number}. {}</inbox>", "x".repeat(90));
    UserMessage::with_source(MessageSource::Mail(number), text)
}

/// Which of these notes a request shows, each once.
fn notes_in(request: &Request) -> Vec<u64> {
    let text = last_blocks(request).concat();
    let shown = |number: &u64| text.matches(&format!("note {number}. ")).count() == 1;
    (1..=400).filter(shown).collect()
}

/// A process that was killed after it recorded mail and before its request; a compaction is due at
/// once when the next one starts.
#[tokio::test]
async fn mail_that_a_killed_process_recorded_survives_a_compaction_before_its_first_request() {
    let mut before = Stage::new(vec![say(&"long ".repeat(3_000))]);
    before.finish("hello").await;
    let messages: Vec<UserMessage> = (1..=25).map(mail).collect();
    let mail = Record::User(UserRecord { messages });
    before.host.records.push(mail);
    let answers = vec![summary("They greeted."), say("done")];
    let mut stage = Stage::with(answers, settings(4_000), before.replayed());
    let outcome = stage
        .agent
        .run_turn(Vec::new(), &mut stage.host, &stage.cancel)
        .await;
    assert!(matches!(outcome, Outcome::Finished { text } if text == "done"));
    let asked = stage.model.asked();
    assert!(is_summary(&asked[0]));
    assert_eq!(notes_in(&asked[1]), (1..=25).collect::<Vec<u64>>());
}

#[tokio::test]
async fn more_mail_than_fits_in_a_request_comes_in_portions() {
    let settings = settings(4_000);
    let portion = settings.limits.portion();
    let answers = (0..30).map(|_| summary("noted")).collect();
    let mut stage = Stage::with(answers, settings, Conversation::new());
    // A source offers all mail that no record has as given.
    let all: Vec<UserMessage> = (1..=100).map(mail).collect();
    stage.host.when_stopping.extend(vec![all.clone(); 30]);
    let outcome = stage
        .agent
        .run_turn(all, &mut stage.host, &stage.cancel)
        .await;
    assert!(matches!(outcome, Outcome::Finished { .. }));
    let asked = stage.model.asked();
    let mut shown = Vec::new();
    for request in asked.iter().filter(|request| !is_summary(request)) {
        assert!(last_blocks(request).concat().len() <= 2 * portion);
        shown.extend(notes_in(request));
    }
    assert_eq!(shown, (1..=100).collect::<Vec<u64>>());
}
