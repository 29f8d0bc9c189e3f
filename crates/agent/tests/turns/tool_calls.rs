//! How tools are run.

use agent::{Event, Record};

use crate::support::{Stage, call, last_blocks, say};

#[tokio::test]
async fn every_failure_of_a_tool_is_reported_to_the_model() {
    let mut stage = Stage::new(vec![
        call(&[
            ("a", "nothing", ""),
            ("b", "echo", "[]"),
            ("c", "echo", r#"{"say":1}"#),
            ("d", "echo", "{}"),
            ("e", "echo", r#"{"say":""}"#),
            ("e", "echo", r#"{"say":"same id"}"#),
        ]),
        say("done"),
    ]);
    assert_eq!(stage.finish("go").await, "done");
    let blocks = last_blocks(&stage.model.asked()[1]);
    let starts = [
        "error: Unknown tool: nothing",
        "error: the tool was not run: its arguments are not a JSON object",
        "error: Error: Wrong arguments for echo",
        "error: Error: the tool crashed: nothing to say",
        "result: (no output)",
        "result: same id",
    ];
    assert_eq!(blocks.len(), starts.len());
    for (block, start) in blocks.iter().zip(starts) {
        assert!(block.starts_with(start), "{block}");
    }
}

#[tokio::test]
async fn a_gate_keeps_a_tool_from_being_run() {
    let mut stage = Stage::new(vec![
        call(&[
            ("a", "bash", r#"{"command":"touch x"}"#),
            ("b", "echo", r#"{"say":"hi"}"#),
        ]),
        say("done"),
    ]);
    stage.host.forbidden = Some("bash");
    stage.finish("go").await;
    let blocks = last_blocks(&stage.model.asked()[1]);
    assert_eq!(blocks, ["error: bash needs an approved plan", "result: hi"]);
    assert!(!stage.context.workspace.root().join("x").exists());
}

#[tokio::test]
async fn reads_run_at_the_same_time_and_others_in_order() {
    // Each meeting needs two calls at once; those around the write would wait for ever if the
    // write did not part them.
    let mut stage = Stage::new(vec![
        call(&[
            ("a", "meet", ""),
            ("b", "meet", ""),
            ("c", "echo", r#"{"say":"between"}"#),
            ("d", "meet", ""),
            ("e", "meet", ""),
        ]),
        say("done"),
    ]);
    stage.finish("go").await;
    let blocks = last_blocks(&stage.model.asked()[1]);
    assert_eq!(
        blocks,
        [
            "result: met",
            "result: met",
            "result: between",
            "result: met",
            "result: met"
        ]
    );
    let mut order = stage.host.events.iter().filter_map(|event| match event {
        Event::ToolStarted { id, .. } => Some(format!("+{id}")),
        Event::ToolFinished { id, .. } => Some(format!("-{id}")),
        _ => None,
    });
    let order: Vec<String> = order.by_ref().collect();
    assert_eq!(order[..2], ["+a", "+b"]);
    assert_eq!(order[4..6], ["+c", "-c"]);
    assert_eq!(order[6..8], ["+d", "+e"]);
}

#[tokio::test]
async fn each_result_is_recorded_with_the_time_it_took() {
    let mut stage = Stage::new(vec![
        call(&[("a", "bash", r#"{"command":"sleep 0.05; echo out"}"#)]),
        say("done"),
    ]);
    stage.finish("go").await;
    let record = stage.host.records.iter().find_map(|record| match record {
        Record::Result(result) => Some(result),
        _ => None,
    });
    let record = record.unwrap();
    assert_eq!(record.result.content, "out");
    assert!(record.millis >= 50, "{}", record.millis);
}
