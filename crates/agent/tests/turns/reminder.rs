//! What changes around the agent is told when it has changed, where it costs the cache nothing.

use agent::Conversation;
use agent::Settings;
use llm::{Block, Request, Turn};
use protocol::{MessageSource, UserMessage};

use crate::support::{Stage, call, last_blocks, say, summary};

fn echo(id: &str) -> crate::support::Answer {
    call(&[(id, "echo", r#"{"say":"hi"}"#)])
}

/// The turns of a request that the next one repeats.
fn starts_with(request: &Request, before: &Request) -> bool {
    let turns: &[Turn] = &before.turns;
    request.turns.starts_with(turns) && request.system == before.system
}

#[tokio::test]
async fn it_is_told_once_and_again_with_the_next_input_after_a_change() {
    let mut stage = Stage::new(vec![echo("a"), say("one"), say("two"), say("three")]);
    stage.host.reminder = Some("your task is 7".into());
    stage.finish("go").await;
    stage.finish("again").await;
    stage.host.reminder = Some("your task is 8".into());
    stage.finish("and now").await;
    let asked = stage.model.asked();
    assert_eq!(last_blocks(&asked[0]), ["go", "your task is 7"]);
    assert_eq!(last_blocks(&asked[1]), ["result: hi"]);
    assert_eq!(last_blocks(&asked[2]), ["again"]);
    assert_eq!(last_blocks(&asked[3]), ["and now", "your task is 8"]);
    for (at, pair) in asked.windows(2).enumerate() {
        assert!(starts_with(&pair[1], &pair[0]), "request {}", at + 1);
    }
    assert_eq!(stage.agent.conversation(), &stage.replayed());
    assert_eq!(stage.host.prompts, 4, "it is read anew for each request");
}

#[tokio::test]
async fn a_change_in_the_middle_of_a_turn_waits_for_mail_or_the_end() {
    let mut stage = Stage::new(vec![echo("a"), echo("b"), say("done"), say("more")]);
    stage.host.reminder = Some("old".into());
    let mail = UserMessage::with_source(MessageSource::Mail(1), "mail");
    stage.host.after_tools.extend([vec![], vec![mail]]);
    let other = UserMessage::with_source(MessageSource::Mail(2), "other mail");
    stage.host.when_stopping.push_back(vec![other]);
    stage
        .host
        .next_reminders
        .extend(["old", "new", "newer", "newest"]);
    stage.finish("go").await;
    let asked = stage.model.asked();
    assert_eq!(last_blocks(&asked[0]), ["go", "old"]);
    assert_eq!(
        last_blocks(&asked[1]),
        ["result: hi"],
        "no text stands between results and the reply"
    );
    assert_eq!(last_blocks(&asked[2]), ["result: hi", "mail", "newer"]);
    assert_eq!(last_blocks(&asked[3]), ["other mail", "newest"]);
}

#[tokio::test]
async fn a_new_process_tells_it_though_nothing_seems_to_have_changed() {
    let mut before = Stage::new(vec![say("hello")]);
    before.host.reminder = Some("all is well".into());
    before.finish("hi").await;
    let mut stage = Stage::with(
        vec![say("one"), say("two")],
        Settings::default(),
        before.replayed(),
    );
    stage.host.reminder = Some("all is well".into());
    stage.finish("go").await;
    stage.finish("on").await;
    let asked = stage.model.asked();
    assert_eq!(last_blocks(&asked[0]), ["go", "all is well"]);
    assert_eq!(last_blocks(&asked[1]), ["on"]);
}

#[tokio::test]
async fn a_new_process_tells_it_behind_the_results_of_an_interrupted_call_once() {
    let mut before = Stage::new(vec![call(&[("a", "echo", r#"{"say":"hi"}"#)])]);
    before.host.room = Some(2);
    let _ = before.turn("go").await;
    let answers = vec![echo("b"), say("done")];
    let mut stage = Stage::with(answers, Settings::default(), before.replayed());
    stage.host.reminder = Some("you have no task".into());
    let _ = stage
        .agent
        .run_turn(Vec::new(), &mut stage.host, &stage.cancel)
        .await;
    let asked = stage.model.asked();
    let said = last_blocks(&asked[0]);
    assert_eq!(said.len(), 2, "{said:?}");
    assert_eq!(said[1], "you have no task");
    assert_eq!(last_blocks(&asked[1]), ["result: hi"]);
}

#[tokio::test]
async fn a_compaction_keeps_the_newest_one_and_no_older() {
    let answers = vec![
        call(&[("a", "compact", "{}")]),
        summary("All is said: your task is 1."),
        echo("b"),
        say("done"),
    ];
    let mut stage = Stage::with(answers, Settings::default(), Conversation::new());
    stage.host.reminder = Some("your task is 7".into());
    stage
        .host
        .next_reminders
        .extend(["your task is 7", "your task is 8"]);
    stage.host.open_work = Some("Task 8: build the roof.".into());
    stage.finish("go").await;
    let asked = stage.model.asked();
    let said = last_blocks(&asked[2]);
    let told = |text: &str| said.iter().filter(|block| *block == text).count();
    assert_eq!(told("your task is 8"), 1, "{said:?}");
    assert_eq!(told("Task 8: build the roof."), 1, "{said:?}");
    assert!(!said.concat().contains("your task is 7"), "{said:?}");
    assert_eq!(last_blocks(&asked[3]), ["result: hi"]);
    assert_eq!(stage.agent.conversation(), &stage.replayed());
}

#[tokio::test]
async fn only_what_has_changed_is_told_and_everything_after_a_compaction() {
    let state = |task: &str| {
        format!("<state>\nTeam: lead, you, bob (tester), carol (reviewer)\n{task}\n</state>")
    };
    let answers = vec![
        say("one"),
        say("two"),
        call(&[("a", "compact", "{}")]),
        summary("It goes on."),
        say("three"),
    ];
    let mut stage = Stage::new(answers);
    stage.host.reminder = Some(state("Your task: #7"));
    stage.finish("go").await;
    stage.host.reminder = Some(state("Your task: #8"));
    stage.finish("on").await;
    stage.finish("and on").await;
    let asked = stage.model.asked();
    assert_eq!(last_blocks(&asked[0]), ["go", &state("Your task: #7")]);
    let changed = "<state>\nChanged:\nYour task: #8\n</state>";
    assert_eq!(last_blocks(&asked[1]), ["on", changed]);
    assert!(starts_with(&asked[1], &asked[0]));
    let after = last_blocks(&asked[4]).concat();
    assert!(after.contains(&state("Your task: #8")), "{after}");
    assert!(!after.contains("Changed:"), "{after}");
}

#[tokio::test]
async fn after_a_cut_everything_is_told_behind_the_changes_that_are_left() {
    let state = |task: &str| {
        format!("<state>\nTeam: lead, you, bob (tester), carol (reviewer)\n{task}\n</state>")
    };
    let answers = vec![
        say("one"),
        say("two"),
        call(&[("a", "compact", "{}")]),
        say("no summary"),
        say("no summary"),
        say("three"),
        say("four"),
    ];
    let mut stage = Stage::new(answers);
    for (task, input) in [("Your task: #7", "go"), ("Your task: #8", "on")] {
        stage.host.reminder = Some(state(task));
        stage.finish(input).await;
    }
    stage.host.reminder = Some(state("Your task: #9"));
    stage.finish("and on").await;
    stage.finish("to the end").await;
    let asked = stage.model.asked();
    let all: Vec<String> = asked[5].turns.iter().flat_map(texts).collect();
    assert!(all[0].contains("[Earlier conversation cut."), "{all:?}");
    let whole = state("Your task: #9");
    assert_eq!(all.last(), Some(&whole), "{all:?}");
    let told = all.iter().filter(|text| **text == whole).count();
    assert_eq!(told, 1, "{all:?}");
    assert_eq!(last_blocks(&asked[6]), ["to the end"]);
    assert_eq!(stage.agent.conversation(), &stage.replayed());
}

/// The texts of a turn.
fn texts(turn: &Turn) -> Vec<String> {
    let texts = turn.blocks.iter().filter_map(|block| match block {
        Block::Text { text } => Some(text.clone()),
        _ => None,
    });
    texts.collect()
}

#[tokio::test]
async fn nothing_is_told_of_nothing_and_that_nothing_is_left() {
    let mut stage = Stage::new(vec![say("one"), say("two"), say("three"), say("four")]);
    stage.finish("a").await;
    stage.host.reminder = Some("<state>\nbob\n</state>".into());
    stage.finish("b").await;
    stage.host.reminder = None;
    stage.finish("c").await;
    stage.finish("d").await;
    let asked = stage.model.asked();
    assert_eq!(last_blocks(&asked[0]), ["a"]);
    assert_eq!(last_blocks(&asked[1]), ["b", "<state>\nbob\n</state>"]);
    let nothing = "Nothing is left of how things stood before.";
    assert_eq!(last_blocks(&asked[2]), ["c", nothing]);
    assert_eq!(last_blocks(&asked[3]), ["d"]);
}
