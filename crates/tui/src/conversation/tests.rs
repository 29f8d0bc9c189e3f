use super::*;

fn texts(lines: Vec<TextLine>) -> Vec<String> {
    lines.into_iter().map(|line| line.text).collect()
}

fn read(lines: &[&str]) -> (Vec<String>, Vec<String>) {
    let mut conversation = Conversation::new(true);
    let lines = lines.iter();
    let lines = lines.flat_map(|line| conversation.read(line.as_bytes()));
    (texts(lines.collect()), texts(conversation.running()))
}

/// The lines of one tool call with this result.
fn call(tool: &str, input: &Value, result: &str, is_error: bool) -> Vec<String> {
    let mut conversation = Conversation::new(true);
    let reply = serde_json::json!({
        "kind": "assistant", "stop": "tool_use",
        "blocks": [{"type": "tool_use", "id": "1", "name": tool, "input": input}],
    });
    conversation.read(reply.to_string().as_bytes());
    let result = serde_json::json!({
        "kind": "result", "millis": 1,
        "result": {"tool_use_id": "1", "content": result, "is_error": is_error},
    });
    texts(conversation.read(result.to_string().as_bytes()))
}

#[test]
fn a_turn_reads_as_a_conversation() {
    let (lines, running) = read(&[
        r#"{"kind":"open","member":"alice","incarnation":2,"time":1}"#,
        r#"{"kind":"user","messages":[{"source":{"prompt":"a-0"},"text":"Fix it.\nQuickly."}]}"#,
        r#"{"kind":"assistant","blocks":[{"type":"thinking","text":"hm"},{"type":"text","text":"I look."},{"type":"opaque","provider":"responses","json":{"type":"message","content":[{"type":"output_text","text":"And see."}]}},{"type":"tool_use","id":"1","name":"bash","input":{"command":"ls\nnowhere"}},{"type":"tool_use","id":"2","name":"list_teammates","input":{}}],"stop":"tool_use"}"#,
        r#"{"kind":"result","result":{"tool_use_id":"1","content":"no such file\n[exit status 2]","is_error":true},"millis":9}"#,
        r#"{"kind":"mail","incarnation":2,"time":1,"position":{},"mail":[]}"#,
        r#"{"kind":"user","messages":[{"source":{"mail":1},"text":"<mail from=\"bob\" type=\"message\">\na </b>\n</mail>"},{"source":{"mail":2},"text":""},{"source":{"mail":3},"text":"<mail from=\"carol\" type=\"shutdown_response\" request_id=\"1a2b3c4d\" approve=\"false\">\nbusy\n</mail>"},{"text":"<plan-decided>Your plan was decided.</plan-decided>"}]}"#,
    ]);
    assert_eq!(
        lines,
        [
            "! restarted 1x",
            "",
            "prompt: Fix it.",
            "Quickly.",
            "I look.",
            "And see.",
            "$ ls",
            "  nowhere",
            "  failed: no such file",
            "  [exit status 2]",
            "",
            "mail from bob: a </b>",
            "",
            "mail from carol (shutdown response, no): busy",
            "",
            "plan-decided: Your plan was decided.",
        ]
    );
    assert_eq!(running, ["list_teammates ..."]);
}

#[test]
fn a_call_that_a_death_interrupted_is_named() {
    let (lines, running) = read(&[
        r#"{"kind":"assistant","blocks":[{"type":"tool_use","id":"1","name":"bash","input":{"command":"make"}}],"stop":"tool_use"}"#,
        r#"{"kind":"open","member":"alice","incarnation":2,"time":1}"#,
    ]);
    assert_eq!(
        (lines, running),
        (vec!["! restarted 1x".to_owned()], vec![])
    );
    let (lines, _) = read(&[
        r#"{"kind":"assistant","blocks":[{"type":"tool_use","id":"1","name":"bash","input":{"command":"make"}}],"stop":"tool_use"}"#,
        r#"{"kind":"open","member":"alice","incarnation":2,"time":1}"#,
        r#"{"kind":"result","result":{"tool_use_id":"1","content":"interrupted","is_error":true},"millis":9}"#,
    ]);
    assert_eq!(lines, ["! restarted 1x", "$ make", "  failed: interrupted"]);
}

#[test]
fn of_an_output_the_end_is_shown() {
    let output: String = (1..=20).map(|line| format!("line {line}\n")).collect();
    let shown = call(
        "bash",
        &serde_json::json!({"command": "make"}),
        &output,
        false,
    );
    assert_eq!(shown[..3], ["$ make", "  ... 14 lines before", "  line 15"]);
    assert_eq!(shown.last().unwrap(), "  line 20");
    let shown = call(
        "read_file",
        &serde_json::json!({"path": "a.rs", "offset": 3}),
        &output,
        false,
    );
    assert_eq!(shown, ["read a.rs (offset 3)", "  20 lines"]);
}

#[test]
fn edits_are_shown_as_differences() {
    let input = serde_json::json!({
        "path": "a.rs", "old_text": "fn a() {\n    1\n}", "new_text": "fn a() {\n    2\n    3\n}",
    });
    let shown = call("edit_file", &input, "Replaced.", false);
    assert_eq!(shown, ["edit a.rs", "  -     1", "  +     2", "  +     3"]);
    let input = serde_json::json!({
        "path": "a.rs",
        "edits": [{"old_text": "x", "new_text": "y"}, {"old_text": "z", "new_text": ""}],
    });
    let shown = call("edit_file", &input, "Replaced.", false);
    assert_eq!(shown, ["edit a.rs", "  - x", "  + y", "  - z"]);
    let shown = call("edit_file", &input, "x is not in a.rs", true);
    assert_eq!(shown, ["edit a.rs", "  failed: x is not in a.rs"]);
    let input = serde_json::json!({"path": "b.rs", "content": "1\n".repeat(40)});
    let shown = call("write_file", &input, "Wrote it", false);
    assert_eq!(shown.len(), 18);
    assert_eq!(shown.last().unwrap(), "  + ... 24 more lines");
}

#[test]
fn no_json_is_shown() {
    let input = serde_json::json!({"task_id": 3, "status": "completed", "blocked_by": [1, 2], "x": {"y": true}});
    let shown = call(
        "task_update",
        &input,
        r#"{"id":3,"owner":null,"history":["a","b"]}"#,
        false,
    );
    assert_eq!(
        shown,
        [
            "task_update 3 (blocked by 1, 2, status completed, x y yes)",
            "  history: a, b",
            "  id: 3",
            "  owner: none",
        ]
    );
    let input = serde_json::json!({"to": "bob", "content": "Look at\nthe tests."});
    let shown = call("send_message", &input, "Sent", false);
    assert_eq!(shown, ["message to bob", "  Look at", "  the tests."]);
}

#[test]
fn no_control_character_is_left() {
    let (lines, running) = read(&[
        "{\"kind\":\"user\",\"messages\":[{\"text\":\"a\\u001b[2Jb\"}]}",
        "{\"kind\":\"assistant\",\"blocks\":[{\"type\":\"text\",\"text\":\"c\\u009bd\\te\"},{\"type\":\"tool_use\",\"id\":\"1\",\"name\":\"f\\u001b\",\"input\":{\"command\":\"g\\u0007\"}},{\"type\":\"tool_use\",\"id\":\"2\",\"name\":\"h\\u001b\",\"input\":{}},{\"type\":\"tool_use\",\"id\":\"3\",\"name\":\"edit_file\",\"input\":{\"path\":\"\\u001b\",\"old_text\":\"\\u001b\",\"new_text\":\"\\r\"}}],\"stop\":\"tool_use\"}",
        "{\"kind\":\"result\",\"result\":{\"tool_use_id\":\"1\",\"content\":\"\\u001b]0;x\\u0007\"}}",
        "{\"kind\":\"result\",\"result\":{\"tool_use_id\":\"3\",\"content\":\"\\u001b\"}}",
    ]);
    let all = [lines, running].concat().concat();
    assert!(!all.chars().any(char::is_control), "{all:?}");
}

#[test]
fn unknown_lines_are_skipped() {
    let (lines, running) = read(&[
        "words",
        "",
        r#"{"kind":"dance"}"#,
        r#"{"kind":"user","messages":7}"#,
        r#"{"kind":"result","result":{"tool_use_id":"8","content":"of a call that was not read"}}"#,
        r#"{"kind":"assistant","blocks":[{"type":"text","text":"So."}],"stop":"end_turn","model":"m"}"#,
        r#"{"kind":"result","result":{"tool_use_id":"9","content":"late"}}"#,
        r#"{"kind":"compaction","archive":"archives/1-1.jsonl","summarised":true,"turns":[]}"#,
        r#"{"kind":"ended","reason":"interrupted"}"#,
    ]);
    assert_eq!(
        lines,
        [
            "So.",
            "a tool",
            "  late",
            "! the conversation was compacted; the full text is in archives/1-1.jsonl",
            "! interrupted",
        ]
    );
    assert_eq!(running, [""; 0]);
}

#[test]
fn long_texts_are_cut() {
    let text = "word\\n".repeat(MAX_LINES + 5);
    let line = format!(r#"{{"kind":"user","messages":[{{"text":"{text}"}}]}}"#);
    let (lines, _) = read(&[&line]);
    assert_eq!(lines.len(), MAX_LINES + 2);
    assert_eq!(lines.last().unwrap(), "... 5 more lines");
    let long = "ž".repeat(9000);
    let shown = call("bash", &serde_json::json!({"command": long}), "", false);
    assert!(shown[0].chars().count() < 600);
}

#[test]
fn without_colours_code_is_not_taken_apart() {
    let record = serde_json::json!({
        "kind": "assistant", "stop": "end_turn",
        "blocks": [{"type": "text", "text": "```rust\nfn main() {}\n```"}],
    });
    for colors in [true, false] {
        let lines = Conversation::new(colors).read(record.to_string().as_bytes());
        let code = lines.iter().find(|line| line.text == "fn main() {}");
        assert_eq!(code.unwrap().pieces.is_empty(), !colors);
    }
}

#[test]
fn a_call_of_an_engine_is_shown_like_any_other() {
    let began =
        r#"{"kind":"engine_tool","id":"t7","name":"bash","input":{"command":"cargo test"}}"#;
    let (lines, running) = read(&[began]);
    assert_eq!(
        (lines, running),
        (Vec::new(), vec!["$ cargo test ...".to_owned()])
    );
    let over = r#"{"kind":"engine_tool","id":"t7","name":"bash","input":{"command":"cargo test"},"result":{"text":"2 passed","is_error":false,"millis":5200}}"#;
    let failed = r#"{"kind":"engine_tool","id":"t8","name":"bash","input":{"command":"ls nowhere"},"result":{"text":"no such file","is_error":true}}"#;
    let (lines, running) = read(&[began, over, failed]);
    let of_model = |command: &str, output: &str, is_error| {
        let input = serde_json::json!({"command": command});
        call("bash", &input, output, is_error)
    };
    let expected = [
        of_model("cargo test", "2 passed", false),
        of_model("ls nowhere", "no such file", true),
    ];
    assert_eq!((lines, running), (expected.concat(), Vec::new()));
    let open = r#"{"kind":"open","member":"alice","incarnation":2,"time":1}"#;
    let (_, running) = read(&[began, open]);
    assert_eq!(running, Vec::<String>::new());
}
