//! Every conversation ends, whatever the instructions and the tool results are.

use std::collections::HashSet;

use llm::{CancellationToken, Model, ModelError, Request, ToolResult, Turn};
use offline::OfflineModel;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::harness::{Agent, Reply, message};

/// Runs until a text ends the turn, and returns the calls.
fn run(agent: &mut Agent, answer: impl Fn(&str) -> (String, bool)) -> Vec<(String, Value)> {
    let mut calls = Vec::new();
    let mut ids = HashSet::new();
    loop {
        match agent.step() {
            Reply::Text(text) => {
                assert!(!text.trim().is_empty());
                return calls;
            }
            Reply::Call { id, tool, input } => {
                assert!(ids.insert(id.clone()), "{id} was used twice");
                let (text, failed) = answer(&tool);
                calls.push((tool, input));
                assert!(calls.len() < 200, "endless: {calls:?}");
                agent.answer(if failed {
                    ToolResult::error(id, text)
                } else {
                    ToolResult::ok(id, text)
                });
            }
        }
    }
}

#[test]
fn a_failed_call_is_reported_and_not_repeated() {
    let mut lead = Agent::lead();
    lead.user_says("Spawn alice and bob. Ask alice to run ls. Create 2 tasks: 'a', 'b'. Make them depend on each other. Read x.txt");
    let calls = run(&mut lead, |_| ("Error: disk full".into(), true));
    let unique: HashSet<String> = calls
        .iter()
        .map(|(tool, input)| format!("{tool}{input}"))
        .collect();
    assert_eq!(unique.len(), calls.len(), "{calls:?}");
    let said = lead.request.turns.last().unwrap().blocks[0]
        .readable_text()
        .unwrap()
        .into_owned();
    assert!(said.contains("did not work: Error: disk full"), "{said}");
}

#[test]
fn an_interrupted_call_is_retried_once() {
    let mut lead = Agent::lead();
    lead.user_says("Read x.txt");
    let calls = run(&mut lead, |_| {
        ("Error: interrupted before it was done".into(), true)
    });
    assert_eq!(calls.len(), 2);
}

#[test]
fn a_gate_that_never_opens_is_given_up() {
    let mut bob = Agent::teammate("bob", "coder");
    bob.user_says("Write hello to a.txt");
    let calls = run(&mut bob, |_| {
        (
            "Error: refused: submit a plan with plan_approval first".into(),
            true,
        )
    });
    assert!(calls.len() < 12, "{calls:?}");
}

#[test]
fn long_instructions_are_read_or_refused() {
    let words = [
        "the ",
        "and ",
        ",",
        "please ",
        "alice and ",
        "spawn ",
        "( ",
        "tasks : ",
        ".",
        "'",
    ];
    for (word, count) in words.iter().flat_map(|word| [(word, 200), (word, 100_000)]) {
        for start in ["Run ", "Spawn ", "Ask ", "Create tasks: ", ""] {
            let mut bob = Agent::teammate("bob", "coder");
            bob.user_says(&format!("{start}{}.", word.repeat(count)));
            let reply = OfflineModel.reply(&bob.request);
            let said = reply.text();
            assert!(reply.tool_uses().count() > 0 || !said.is_empty());
            assert!(count < 1_000 || said.len() < 4_000, "{start}{word}");
        }
    }
}

fn instruction() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "Spawn",
        "alice",
        "bob",
        "(coder)",
        "and",
        ",",
        "then",
        "Ask",
        "to",
        "write",
        "hello",
        "a.txt",
        "read",
        "every",
        "Rust",
        "file",
        "in",
        "crates/",
        "her",
        "them",
        "plan",
        "submit",
        "approve",
        "reject",
        "it",
        "shut",
        "down",
        "all",
        "teammates",
        "tasks",
        ":",
        "\"x y\"",
        "'q'",
        "create",
        "3",
        "run",
        "ls",
        "background",
        "the",
        "a",
        ".",
        "broadcast",
        "message",
        "send",
        "?",
        "\n",
        "depend",
        "on",
        "each",
        "other",
        "#",
        "(",
        ")",
        "\u{201c}",
        "ü",
    ]);
    prop::collection::vec(word, 0..25).prop_map(|words| words.join(" "))
}

fn result() -> impl Strategy<Value = (String, bool)> {
    let text = prop::sample::select(vec![
        "",
        "ok",
        "[Previous: used bash]",
        "Error: no",
        "Error: submit a plan with plan_approval for approval",
        "interrupted",
        "[]",
        "{\"id\": 9223372036854775807}",
        "#1",
        "crates/a.rs\ncrates/b.rs",
        "Team: default\n  alice (x): idle",
        "Plan submitted (request_id=ab). Waiting.",
        "<mail from=\"lead\" type=\"message\">\nRun ls?\n</mail>",
    ]);
    (text.prop_map(str::to_owned), any::<bool>())
}

proptest! {
    #[test]
    fn every_conversation_ends(
        texts in prop::collection::vec((0..4u8, prop_oneof![instruction(), ".*"]), 1..6),
        answers in prop::collection::vec(result(), 1..5),
        lead in any::<bool>(),
    ) {
        let mut agent = if lead { Agent::lead() } else { Agent::teammate("bob", "coder") };
        for (form, text) in texts {
            match form {
                0 => agent.user_says(&format!("<auto-claimed>Task #7: {text}</auto-claimed>")),
                1 => agent.mail(json!([message("message", "lead", &text)])),
                2 => agent.mail(json!([{"type": "plan_approval_response", "request_id": "0badcafe", "from": "lead", "approve": false, "content": text}])),
                _ => agent.user_says(&format!("{text} .")),
            }
            let count = std::cell::Cell::new(0);
            run(&mut agent, |_| {
                count.set(count.get() + 1);
                answers[count.get() % answers.len()].clone()
            });
        }
    }
}

#[tokio::test]
async fn it_answers_as_a_model_does() {
    let mut agent = Agent::lead();
    agent.user_says("Run ls");
    let cancel = CancellationToken::new();
    let mut events = Vec::new();
    let mut sink = |event| events.push(event);
    let reply = OfflineModel
        .complete(&agent.request, &mut sink, &cancel)
        .await
        .unwrap();
    assert_eq!(OfflineModel.name(), "offline");
    assert_eq!(reply.tool_uses().count(), 1);
    assert_eq!(events.len(), 1);
    cancel.cancel();
    let gone = OfflineModel
        .complete(&agent.request, &mut |_| {}, &cancel)
        .await;
    assert!(matches!(gone, Err(ModelError::Cancelled)));
    let empty = Request {
        turns: Vec::<Turn>::new(),
        ..agent.request
    };
    let wrong = OfflineModel
        .complete(&empty, &mut |_| {}, &CancellationToken::new())
        .await;
    assert!(wrong.is_err());
}
