//! What the registry makes of calls that go wrong.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use test_support::wait_until;
use tools::{Control, Effect, Tool, ToolContext, ToolError, ToolOutput};

use crate::bench::{Bench, LONG, block_on};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct How {
    /// In which way to go wrong.
    how: String,
}

/// Goes wrong in every way a tool can.
struct Broken;

impl Tool for Broken {
    const NAME: &'static str = "broken";
    const DESCRIPTION: &'static str = "Does not work.";
    const EFFECT: Effect = Effect::Read;
    type Args = How;

    async fn call(&self, args: How, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        match args.how.as_str() {
            "panic" => panic!("the number was {}", 7),
            "panic late" => {
                tokio::task::yield_now().await;
                panic!("later");
            }
            "empty" => Ok(ToolOutput::ok("")),
            "long" => Ok(ToolOutput::ok("ä".repeat(60_000))),
            "hang" => {
                std::fs::write(context.workspace.root().join("hangs"), "").unwrap();
                std::future::pending().await
            }
            other => Err(ToolError::new(other)),
        }
    }
}

fn bench() -> Bench {
    let mut bench = Bench::new();
    bench.registry.add(Broken).unwrap();
    bench
}

#[test]
fn whatever_goes_wrong_becomes_an_output() {
    let bench = bench();
    let broken = |how: &str| bench.fails("broken", json!({"how": how}));
    assert_eq!(broken("some reason"), "Error: some reason");
    assert_eq!(broken("panic"), "Error: the tool crashed: the number was 7");
    assert_eq!(broken("panic late"), "Error: the tool crashed: later");
    assert_eq!(
        bench.works("broken", json!({"how": "empty"})),
        "(no output)"
    );
    assert_eq!(bench.fails("no_such", json!({})), "Unknown tool: no_such");
    let long = bench.works("broken", json!({"how": "long"}));
    assert!(long.chars().count() <= tools::LIMIT && long.contains("the full output is in"));
    // And the next call works.
    assert_eq!(bench.works("bash", json!({"command": "echo on"})), "on");
}

#[test]
fn wrong_arguments_are_explained() {
    let bench = bench();
    let call = |text: &str| {
        let output = block_on(bench.registry.call("read_file", text, &bench.context));
        assert!(output.is_error, "{output:?}");
        output.text
    };
    let missing = call("{}");
    assert!(missing.starts_with("Error: Wrong arguments for read_file: missing field `path`"));
    assert!(missing.ends_with(
        "It takes: path (string), offset (integer, optional), limit (integer, optional)"
    ));
    assert!(call(r#"{"path": 3}"#).contains("expected a string"));
    assert!(call(r#"{"path": "x", "line": 3}"#).contains("unknown field `line`"));
    assert!(call(r#"{"path": "x", "limit": -1}"#).contains("Wrong arguments"));
    assert!(call("not json").contains("Wrong arguments"));
    assert!(call("").contains("missing field `path`"));
    let compact = block_on(bench.registry.call("compact", "", &bench.context));
    assert_eq!(compact.control, Some(Control::Compact { focus: None }));
    let arguments = r#"{"focus": "the tests"}"#;
    let compact = block_on(bench.registry.call("compact", arguments, &bench.context));
    let focus = Some("the tests".to_owned());
    assert_eq!(compact.control, Some(Control::Compact { focus }));
    assert_eq!(
        (compact.text.as_str(), compact.is_error),
        ("Compressing...", false)
    );
}

#[test]
fn a_read_that_hangs_can_be_cancelled() {
    let bench = bench();
    let (cancel, hangs) = (bench.context.cancel.clone(), bench.root().join("hangs"));
    let waiter = std::thread::spawn(move || {
        wait_until("it hangs", LONG, || hangs.exists());
        cancel.cancel();
    });
    let text = bench.fails("broken", json!({"how": "hang"}));
    waiter.join().unwrap();
    assert_eq!(text, "Error: interrupted before it was done");
}

#[test]
fn tools_declare_their_arguments_and_effects() {
    let mut bench = Bench::new();
    let effects: Vec<(&str, Effect, bool)> = bench
        .registry
        .definitions()
        .map(|tool| (&*tool.name, tool.effect, tool.effect.is_concurrent()))
        .collect();
    assert_eq!(
        effects,
        [
            ("bash", Effect::Execute, false),
            ("read_file", Effect::Read, true),
            ("write_file", Effect::Mutate, false),
            ("edit_file", Effect::Mutate, false),
            ("grep", Effect::Read, true),
            ("glob", Effect::Read, true),
            ("list_dir", Effect::Read, true),
            ("compact", Effect::State, false),
            ("background_run", Effect::Mutate, false),
            ("check_background", Effect::Read, true),
        ]
    );
    for tool in bench.registry.definitions() {
        let schema = tool.schema.value();
        assert_eq!(schema["type"], "object", "{}", tool.name);
        for key in ["$schema", "additionalProperties"] {
            assert!(schema.get(key).is_none(), "{}", tool.name);
        }
        let properties = schema["properties"].as_object().unwrap();
        let described = |property: &serde_json::Value| property["description"].is_string();
        assert!(properties.values().all(described), "{}", tool.name);
    }
    assert_eq!(
        bench.registry.definitions().next().unwrap().schema.value(),
        json!({
            "type": "object",
            "properties": {
                "command": {"type": "string", "description": "The command, for bash."},
                "timeout": {
                    "type": "integer",
                    "description": "The limit in seconds, 120 if absent.",
                },
                "needs_network": {
                    "type": "boolean",
                    "description": "True if the command needs the network and yours is off: \
                                    a person is asked first.",
                },
            },
            "required": ["command"],
        })
    );
    assert_eq!(bench.registry.effect("bash", "{}"), Some(Effect::Execute));
    assert_eq!(bench.registry.effect("none", "{}"), None);
    let twice = bench.registry.add(tools::Bash).unwrap_err();
    assert!(twice.to_string().contains("bash"));
}
