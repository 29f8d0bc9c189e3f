//! A turn that is cancelled ends within a second, wherever it is.

use std::time::{Duration, Instant};

use agent::Outcome;

use crate::support::{Answer, Stage, call, last_blocks, say};

/// Runs a turn and cancels it as soon as the condition holds. Returns how long it then took.
async fn interrupt(stage: &mut Stage, mut now: impl FnMut() -> bool + Send + 'static) -> Duration {
    let cancel = stage.cancel.clone();
    let watch = tokio::task::spawn_blocking(move || {
        test_support::wait_until("the moment", Duration::from_secs(10), &mut now);
        cancel.cancel();
        Instant::now()
    });
    let outcome = stage.turn("go").await;
    assert!(matches!(outcome, Outcome::Interrupted), "{outcome:?}");
    watch.await.unwrap().elapsed()
}

#[tokio::test]
async fn a_model_call_that_never_ends_is_given_up() {
    let mut stage = Stage::new(vec![Answer::Never, say("done")]);
    let model = std::sync::Arc::clone(&stage.model);
    let took = interrupt(&mut stage, move || !model.asked().is_empty()).await;
    assert!(took < Duration::from_secs(1), "{took:?}");
    assert!(stage.replayed().is_waiting());
    stage.cancel = llm::CancellationToken::new();
    assert_eq!(stage.finish("again").await, "done");
    assert_eq!(last_blocks(&stage.model.asked()[1]), ["go", "again"]);
}

#[tokio::test]
async fn a_long_command_is_stopped_and_what_follows_is_not_run() {
    let command = r#"{"command":"touch began; sleep 60"}"#;
    let mut stage = Stage::new(vec![
        call(&[("a", "bash", command), ("b", "echo", r#"{"say":"hi"}"#)]),
        say("done"),
    ]);
    let began = stage.context.workspace.root().join("began");
    let took = interrupt(&mut stage, move || began.exists()).await;
    assert!(took < Duration::from_secs(1), "{took:?}");
    stage.cancel = llm::CancellationToken::new();
    assert_eq!(stage.finish("again").await, "done");
    assert_eq!(
        last_blocks(&stage.model.asked()[1]),
        [
            "error: [interrupted]",
            "error: interrupted before it was started",
            "again"
        ]
    );
}

#[tokio::test]
async fn a_tool_that_does_not_listen_is_left_behind() {
    let mut stage = Stage::new(vec![call(&[("a", "stubborn", "")]), say("done")]);
    let began = stage.context.workspace.root().join("began");
    let took = interrupt(&mut stage, move || began.exists()).await;
    assert!(took < Duration::from_secs(1), "{took:?}");
    stage.cancel = llm::CancellationToken::new();
    stage.finish("again").await;
    let blocks = last_blocks(&stage.model.asked()[1]);
    assert_eq!(blocks[0], format!("error: {}", agent::INTERRUPTED));
}

#[tokio::test]
async fn a_turn_that_is_dropped_loses_nothing() {
    let mut stage = Stage::new(vec![Answer::Never, say("done")]);
    stage.host.reminder = Some("remember".into());
    let moment = Duration::from_millis(20);
    let dropped = tokio::time::timeout(moment, stage.turn("go")).await;
    assert!(dropped.is_err());
    assert_eq!(stage.agent.conversation(), &stage.replayed());
    assert_eq!(stage.finish("again").await, "done");
    assert_eq!(
        last_blocks(&stage.model.asked()[1]),
        ["go", "remember", "again"]
    );
}
