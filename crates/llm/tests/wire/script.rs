//! Recorded turns.

use std::path::PathBuf;
use std::sync::Arc;

use llm::{
    Block, ClientOptions, Event, Model, ModelChoice, ModelError, Provider, ScriptError,
    ScriptModel, StopReason, ToolResult, Turn, Usage, Variables,
};

use crate::harness::{Outcome, ask, hello, request};

const LINES: &str = r#"
{"agent": "alice", "think": "hm", "say": "I look.", "calls": [{"name": "bash", "input": {"command": "ls", "all": 1}}, {"name": "list"}]}
{"agent": "bob", "say": "Hello."}

{"agent": "alice", "expect": ["Cargo.toml", "mail"], "say": "I see it.", "usage": {"input": 1, "output": 2, "cache_read": 3, "cache_write": 4}}
{"agent": "alice", "blocks": [{"type": "opaque", "provider": "anthropic", "json": {"z": 1, "a": 2}}], "stop": "max_tokens"}
"#;

fn model(text: &str, agent: &str) -> Result<Arc<dyn Model>, ScriptError> {
    Ok(Arc::new(ScriptModel::parse(
        "demo.jsonl".into(),
        text,
        agent,
    )?))
}

fn alice() -> Arc<dyn Model> {
    model(LINES, "alice").unwrap()
}

/// What the script says to the turn after its first one.
fn second(model: &Arc<dyn Model>, results: [&str; 2], text: &str) -> Outcome {
    let first = ask(model, hello()).0.unwrap();
    let results = first
        .tool_uses()
        .zip(results)
        .map(|(tool_use, content)| ToolResult::ok(&tool_use.id, content));
    let turns = vec![
        Turn::user("Hello?"),
        Turn::results(results),
        Turn::user(text),
    ];
    let mut request = request(turns);
    request
        .turns
        .insert(1, Turn::assistant(first.blocks.clone()));
    ask(model, request).0
}

#[test]
fn turns_are_played_in_order() {
    let alice = alice();
    assert_eq!(alice.name(), "script:demo.jsonl");
    let (first, events) = ask(&alice, hello());
    let first = first.unwrap();
    assert_eq!(first.text(), "I look.");
    assert_eq!(first.stop, StopReason::ToolUse);
    let uses: Vec<_> = first
        .tool_uses()
        .map(|it| {
            (
                it.id.as_str(),
                it.name.as_str(),
                it.arguments().unwrap().get(),
            )
        })
        .collect();
    assert_eq!(
        uses,
        [
            ("script_1_1", "bash", r#"{"command": "ls", "all": 1}"#),
            ("script_1_2", "list", "{}"),
        ]
    );
    assert_eq!(events.len(), 4);
    assert_eq!(events[0], Event::ThinkingDelta("hm".into()));
}

#[test]
fn expectations_see_text_and_tool_results() {
    let reply = second(&alice(), ["Cargo.toml src", "-"], "and mail").unwrap();
    assert_eq!(reply.text(), "I see it.");
    assert_eq!(reply.stop, StopReason::EndTurn);
    let usage = Usage {
        input: 1,
        output: 2,
        cache_read: 3,
        cache_write: 4,
        reasoning: None,
        searches: 0,
    };
    assert_eq!(reply.usage, Some(usage));
}

#[test]
fn an_expectation_that_fails_is_loud() {
    let error = second(&alice(), ["Cargo.toml src", "-"], "and nothing").unwrap_err();
    assert_eq!(
        error,
        ModelError::Script(ScriptError::Unexpected {
            path: "demo.jsonl".into(),
            agent: "alice".into(),
            turn: 2,
            expected: "mail".into(),
            found: "Cargo.toml src\n-\nand nothing".into(),
        })
    );
}

#[test]
fn blocks_may_be_given_as_they_are_stored() {
    let alice = alice();
    let first = ask(&alice, hello()).0.unwrap();
    second_after(&alice, &first.blocks);
    let third = ask(&alice, hello()).0.unwrap();
    assert_eq!(third.stop, StopReason::MaxTokens);
    let kept = r#"{"z": 1, "a": 2}"#;
    assert!(matches!(&third.blocks[..],
        [Block::Opaque { provider: Provider::Anthropic, json }] if json.get() == kept));
}

fn second_after(model: &Arc<dyn Model>, first: &[Block]) {
    let ids = ["script_1_1", "script_1_2"];
    let request = request(vec![
        Turn::user("Hello?"),
        Turn::assistant(first.to_vec()),
        Turn::results(ids.map(|id| ToolResult::ok(id, "Cargo.toml mail"))),
    ]);
    ask(model, request).0.unwrap();
}

#[test]
fn a_script_without_more_turns_is_loud() {
    let bob = model(LINES, "bob").unwrap();
    assert_eq!(ask(&bob, hello()).0.unwrap().text(), "Hello.");
    let error = ask(&bob, hello()).0.unwrap_err().to_string();
    for word in ["demo.jsonl", "no turn 2", "bob", "it has 1", "alice, bob"] {
        assert!(error.contains(word), "{word} in {error}");
    }
    let carol = model(LINES, "carol").unwrap();
    let error = ask(&carol, hello()).0.unwrap_err().to_string();
    assert!(error.contains("no turn 1 for carol"), "{error}");
}

#[test]
fn a_restarted_agent_goes_on_where_it_was() {
    let script = r#"{"alice": [{"say": "one"}, {"say": "two"}, {"say": "three"}]}"#;
    let again = model(script, "alice").unwrap();
    let conversation = request(vec![
        Turn::user("go"),
        Turn::assistant(vec![Block::text("one")]),
        Turn::user("on"),
    ]);
    assert_eq!(ask(&again, conversation).0.unwrap().text(), "two");
    // From then on the place is kept, also if the conversation was shortened.
    assert_eq!(ask(&again, hello()).0.unwrap().text(), "three");
}

#[test]
fn a_wrong_script_names_its_line() {
    for (text, line, word) in [
        (
            "{\"agent\":\"a\",\"say\":\"x\"}\n{\"agent\":\"a\",\"sya\":\"x\"}",
            2,
            "sya",
        ),
        (
            "{\"agent\":\"a\",\"say\":\"x\"}\n\n{\"say\":\"x\"}",
            3,
            "agent",
        ),
        ("{\"agent\":\"a\"}", 1, "say"),
        (
            "{\"agent\":\"a\",\"say\":\"x\",\"blocks\":[{\"type\":\"text\",\"text\":\"\"}]}",
            1,
            "either",
        ),
        ("{\n\"a\": [{\"say\": 1}]}", 2, "string"),
        ("{\"a\": [{}]}", 1, "say"),
        ("nonsense", 1, "expected"),
    ] {
        match model(text, "a").err() {
            Some(ScriptError::Parse {
                line: found,
                reason,
                ..
            }) => {
                assert_eq!(found, line, "{text}");
                assert!(reason.contains(word), "{reason}");
            }
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[test]
fn a_script_is_chosen_by_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("demo.jsonl");
    std::fs::write(&file, LINES).unwrap();
    let value = format!("script:{}", file.display());
    let choice = ModelChoice::parse(&value, &Variables::default()).unwrap();
    assert_eq!(choice, ModelChoice::Script(file));
    let build = |choice: &ModelChoice| {
        choice.build(
            &Variables::default(),
            "bob",
            ClientOptions::default(),
            llm::LearnedSettings::default(),
        )
    };
    let bob = build(&choice).unwrap().unwrap();
    assert_eq!(ask(&bob, hello()).0.unwrap().text(), "Hello.");
    let missing = ModelChoice::Script(PathBuf::from("/nowhere/x.jsonl"));
    let error = build(&missing).err().unwrap().to_string();
    assert!(error.contains("/nowhere/x.jsonl"), "{error}");
}
