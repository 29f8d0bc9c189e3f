//! Calls that somebody is asked about: asked once, run at most once.

use agent::{Answered, Outcome, Record, Settings};
use tools::{Access, ToolOutput};

use crate::support::{Stage, call, say};

fn run() -> Answered {
    Answered::Run {
        access: Access::default(),
        remark: None,
    }
}

fn echo(id: &'static str) -> (&'static str, &'static str, &'static str) {
    (id, "echo", r#"{"say":"hello"}"#)
}

fn stage(uses: &[(&str, &str, &str)]) -> Stage {
    let mut stage = Stage::new(vec![call(uses), say("done")]);
    stage.host.asks = Some("echo");
    stage
}

/// The results that the records have, each with its id.
fn results(stage: &Stage) -> Vec<(String, String)> {
    let records = stage.host.records.iter();
    let results = records.filter_map(|record| match record {
        Record::Result(record) => {
            let result = &record.result;
            Some((result.tool_use_id.clone(), result.content.clone()))
        }
        _ => None,
    });
    results.collect()
}

fn result(id: &str, text: &str) -> (String, String) {
    (id.to_owned(), text.to_owned())
}

/// What the records are about, as words.
fn kinds(stage: &Stage) -> Vec<&'static str> {
    let records = stage.host.records.iter();
    let kinds = records.map(|record| match record {
        Record::User(_) => "user",
        Record::Assistant(_) => "assistant",
        Record::Asked(_) => "asked",
        Record::Started(_) => "started",
        Record::Result(_) => "result",
        Record::Cleared(_) | Record::Compaction(_) | Record::Ended(_) | Record::Session(_) => {
            "other"
        }
    });
    kinds.collect()
}

/// A later process with the same records, whose host answers as given.
fn restarted(before: &Stage, answers: impl IntoIterator<Item = Answered>) -> Stage {
    let conversation = before.replayed();
    let mut stage = Stage::with(vec![say("done")], Settings::default(), conversation);
    stage.host.asks = Some("echo");
    stage.host.answers.extend(answers);
    stage
}

async fn go_on(stage: &mut Stage) -> Outcome {
    let agent = &mut stage.agent;
    agent
        .run_turn(Vec::new(), &mut stage.host, &stage.cancel)
        .await
}

#[tokio::test]
async fn an_allowed_call_is_recorded_as_asked_and_as_started_before_it_runs() {
    let mut stage = stage(&[echo("u1")]);
    stage.host.answers.push_back(Answered::Run {
        access: Access::default(),
        remark: Some("[allowed by anna]".to_owned()),
    });
    stage.finish("go").await;
    let expected = [
        "user",
        "assistant",
        "asked",
        "started",
        "result",
        "assistant",
    ];
    assert_eq!(kinds(&stage), expected);
    assert_eq!(results(&stage), [result("u1", "[allowed by anna]\nhello")]);
}

#[tokio::test]
async fn a_refused_call_is_not_run_and_the_turn_goes_on() {
    let mut stage = stage(&[echo("u1")]);
    let refused = ToolOutput::error("echo was not run: anna refused it");
    stage.host.answers.push_back(Answered::NotRun(refused));
    assert_eq!(stage.finish("go").await, "done");
    assert_eq!(
        results(&stage),
        [result("u1", "echo was not run: anna refused it")]
    );
    assert!(!kinds(&stage).contains(&"started"));
}

#[tokio::test]
async fn a_later_process_goes_on_waiting_under_the_same_id_and_runs_what_is_behind() {
    let mut first = stage(&[
        ("u0", "bash", r#"{"command":"true"}"#),
        echo("u1"),
        echo("u2"),
    ]);
    assert!(matches!(first.turn("go").await, Outcome::Interrupted));
    assert_eq!(first.host.asked, [result("u1", "r1")]);
    assert_eq!(results(&first), [result("u0", "(no output)")]);

    let mut second = restarted(&first, [run(), run()]);
    assert!(matches!(go_on(&mut second).await, Outcome::Finished { .. }));
    assert_eq!(second.host.asked, [result("u1", "r1"), result("u2", "r1")]);
    assert_eq!(
        results(&second),
        [result("u1", "hello"), result("u2", "hello")]
    );
    // The ids of the second host begin anew; that of the first call came from the log.
    assert_eq!(second.host.requests, 1);
}

#[tokio::test]
async fn a_call_that_was_started_is_never_started_again() {
    let mut first = stage(&[echo("u1")]);
    first.host.answers.push_back(run());
    // The process dies after the record that the call starts.
    first.host.room = Some(4);
    assert!(matches!(first.turn("go").await, Outcome::Failed { .. }));
    assert_eq!(kinds(&first).last(), Some(&"started"));

    let mut second = restarted(&first, [run()]);
    assert!(matches!(go_on(&mut second).await, Outcome::Finished { .. }));
    assert!(second.host.asked.is_empty());
    assert_eq!(results(&second), [result("u1", agent::INTERRUPTED)]);
}

#[tokio::test]
async fn input_that_comes_while_a_call_waits_follows_its_result() {
    let mut first = stage(&[echo("u1")]);
    assert!(matches!(first.turn("go").await, Outcome::Interrupted));
    let mut second = restarted(&first, [run()]);
    second.finish("are you there?").await;
    assert_eq!(kinds(&second), ["started", "result", "user", "assistant"]);
}

#[tokio::test]
async fn a_cancelled_turn_leaves_a_waiting_call_as_it_is() {
    let mut first = stage(&[echo("u1")]);
    assert!(matches!(first.turn("go").await, Outcome::Interrupted));
    let mut second = restarted(&first, []);
    second.cancel.cancel();
    assert!(matches!(go_on(&mut second).await, Outcome::Interrupted));
    assert!(second.host.records.is_empty());
}
