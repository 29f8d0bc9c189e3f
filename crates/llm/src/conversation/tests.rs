use super::*;

fn round_trip(block: Block, stored: &str) {
    assert_eq!(serde_json::to_string(&block).unwrap(), stored);
    assert_eq!(serde_json::from_str::<Block>(stored).unwrap(), block);
}

#[test]
fn every_block_is_stored_and_read_back_unchanged() {
    round_trip(Block::text("hi"), r#"{"type":"text","text":"hi"}"#);
    round_trip(
        Block::Thinking {
            text: String::new(),
            signature: Some("Eq==".into()),
        },
        r#"{"type":"thinking","text":"","signature":"Eq=="}"#,
    );
    round_trip(
        Block::Thinking {
            text: "hm".into(),
            signature: None,
        },
        r#"{"type":"thinking","text":"hm"}"#,
    );
    round_trip(
        Block::RedactedThinking { data: "x/+".into() },
        r#"{"type":"redacted_thinking","data":"x/+"}"#,
    );
    round_trip(
        Block::ToolUse(ToolUse::new("t1", "bash", r#"{ "b": 1.0, "a": 2 }"#)),
        r#"{"type":"tool_use","id":"t1","name":"bash","input":{ "b": 1.0, "a": 2 }}"#,
    );
    round_trip(
        Block::ToolUse(ToolUse::new("t1", "bash", r#"{"a"#).cut()),
        r#"{"type":"tool_use","id":"t1","name":"bash","input":{"INVALID_JSON":"{\"a"},"flaw":"cut"}"#,
    );
    round_trip(
        Block::ToolResult(ToolResult::error("t1", "no")),
        r#"{"type":"tool_result","tool_use_id":"t1","content":"no","is_error":true}"#,
    );
    let image = Image::new("image/png", b"\x89PNG");
    round_trip(
        Block::Image(image.clone()),
        r#"{"type":"image","media_type":"image/png","data":"iVBORw=="}"#,
    );
    round_trip(
        Block::ToolResult(ToolResult::ok("t1", "seen").with_images(vec![image])),
        r#"{"type":"tool_result","tool_use_id":"t1","content":"seen","is_error":false,"images":[{"media_type":"image/png","data":"iVBORw=="}]}"#,
    );
    round_trip(
        Block::Opaque {
            provider: Provider::Anthropic,
            json: RawJson::parse(r#"{"type":"new", "z":[1]}"#).unwrap(),
        },
        r#"{"type":"opaque","provider":"anthropic","json":{"type":"new", "z":[1]}}"#,
    );
}

#[test]
fn a_turn_is_stored_with_its_role() {
    let turn = Turn::user("go");
    let stored = r#"{"role":"user","blocks":[{"type":"text","text":"go"}]}"#;
    assert_eq!(serde_json::to_string(&turn).unwrap(), stored);
    assert_eq!(serde_json::from_str::<Turn>(stored).unwrap(), turn);
}

#[test]
fn a_bad_stored_block_is_named() {
    let error = |text: &str| serde_json::from_str::<Block>(text).unwrap_err().to_string();
    assert!(error(r#"{"type":"txt"}"#).contains("\"txt\""));
    assert!(error(r#"{"type":"tool_use","id":"1","input":{}}"#).contains("\"name\""));
}

#[test]
fn arguments_are_an_object_or_a_flaw() {
    let input = |text| {
        ToolUse::new("t", "n", text)
            .arguments()
            .map(|raw| raw.get().to_owned())
    };
    assert_eq!(input(""), Ok("{}".into()));
    assert_eq!(input(" null "), Ok("{}".into()));
    assert_eq!(input(r#"{"a": 1}"#), Ok(r#"{"a": 1}"#.into()));
    assert_eq!(input("[1]"), Err(InputError::NotAnObject));
    assert_eq!(input("{\"a\":"), Err(InputError::NotAnObject));
    assert_eq!(input(r#"{"a":"\ud83d"}"#), Ok(r#"{"a":"\ufffd"}"#.into()));
    assert_eq!(input(r#"{"a":"\ud83dx"}"#), Ok(r#"{"a":"\ufffdx"}"#.into()));
}

#[test]
fn a_cut_use_is_never_run_even_if_it_looks_complete() {
    let cut = ToolUse::new("t", "n", r#"{"a":1}"#).cut();
    assert_eq!(cut.arguments(), Err(InputError::Cut));
    assert_eq!(
        cut.replayed_input().get(),
        r#"{"INVALID_JSON":"{\"a\":1}"}"#
    );
}

#[test]
fn only_blocks_for_readers_have_readable_text() {
    let opaque = Block::Opaque {
        provider: Provider::Anthropic,
        json: RawJson::parse(r#"{"type":"text","text":"seen","citations":[1]}"#).unwrap(),
    };
    assert_eq!(opaque.readable_text().as_deref(), Some("seen"));
    assert_eq!(Block::text("a").readable_text().as_deref(), Some("a"));
    let thought = Block::Thinking {
        text: "hm".into(),
        signature: None,
    };
    assert_eq!(thought.readable_text(), None);
}
