use super::*;

fn read(conversation: &mut Conversation, line: &str) -> Vec<Value> {
    let entries = conversation.read(line.as_bytes());
    let entries = entries.iter();
    entries
        .map(|entry| serde_json::from_str(entry).unwrap())
        .collect()
}

#[test]
fn a_call_runs_under_the_number_under_which_its_result_comes() {
    let mut conversation = Conversation::default();
    read(
        &mut conversation,
        r#"{"kind":"open","member":"alice","incarnation":1,"time":1}"#,
    );
    let reply = r#"{"kind":"assistant","blocks":[{"type":"text","text":"Hi"},
        {"type":"tool_use","id":"t1","name":"edit_file",
         "input":{"path":"a","old_text":"x","new_text":"y"}}],"stop":"tool_use"}"#;
    let reply = reply.replace('\n', " ");
    let shown = read(&mut conversation, &reply);
    assert_eq!(shown.len(), 2, "{shown:?}");
    assert_eq!(shown[0]["text"], "Hi");
    assert_eq!(shown[1]["state"], "running");
    assert_eq!(shown[1]["change"], json!([{"old": "x", "new": "y"}]));
    let result = r#"{"kind":"result","result":{"tool_use_id":"t1","content":"ok","is_error":false},"millis":4}"#;
    let shown_result = read(&mut conversation, result);
    assert_eq!(shown_result[0]["n"], shown[1]["n"]);
    assert_eq!(shown_result[0]["state"], "done");
    assert_eq!(shown_result[0]["output"], "ok");
}

#[test]
fn only_the_newest_entries_are_kept_and_long_texts_are_cut() {
    let mut conversation = Conversation::default();
    let long = "x".repeat(1 << 20);
    for _ in 0..MAX_ENTRIES + 50 {
        let line = json!({"kind": "ended", "reason": long}).to_string();
        conversation.read(line.as_bytes());
    }
    assert!(conversation.entries().count() <= MAX_ENTRIES);
    let bytes: usize = conversation.entries().map(|entry| entry.len()).sum();
    assert!(bytes <= MAX_ENTRIES * (MAX_TEXT + 200), "{bytes}");
}

#[test]
fn a_call_of_an_engine_is_shown_like_any_other() {
    let mut conversation = Conversation::default();
    let began =
        r#"{"kind":"engine_tool","id":"t7","name":"bash","input":{"command":"cargo test"}}"#;
    let shown = read(&mut conversation, began);
    assert_eq!(shown.len(), 1, "{shown:?}");
    assert_eq!(shown[0]["state"], "running");
    assert_eq!(shown[0]["call"], "$ cargo test");
    let over = r#"{"kind":"engine_tool","id":"t7","name":"bash","input":{"command":"cargo test"},
        "result":{"text":"2 passed","is_error":false,"millis":5200}}"#;
    let over = read(&mut conversation, &over.replace('\n', " "));
    assert_eq!(over.len(), 1, "{over:?}");
    assert_eq!(over[0]["n"], shown[0]["n"]);
    assert_eq!(
        (&over[0]["state"], &over[0]["output"]),
        (&json!("done"), &json!("2 passed"))
    );
    // An edit of which only the end was written down, and which has failed.
    let failed = r#"{"kind":"engine_tool","id":"t8","name":"edit_file","input":{"path":"a","old_text":"x","new_text":"y"},
        "result":{"text":"no such file","is_error":true}}"#;
    let failed = read(&mut conversation, &failed.replace('\n', " "));
    let last = failed.last().unwrap();
    assert_eq!(last["state"], "failed");
    assert_eq!(last["change"], json!([{"old": "x", "new": "y"}]));
    // One that runs when its process dies does not run any more.
    read(&mut conversation, &began.replace("t7", "t9"));
    let open = r#"{"kind":"open","member":"alice","incarnation":2,"time":1}"#;
    let opened = read(&mut conversation, open);
    assert_eq!(opened[0]["state"], "interrupted");
    assert_eq!(conversation.entries().count(), 4);
}

#[test]
fn what_the_program_has_added_is_named_by_its_tag() {
    let mut conversation = Conversation::default();
    let line = r#"{"kind":"user","messages":[{"text":"<auto-claimed>Task #3: Write</auto-claimed>"},{"text":"<b>Hi</b> there"}]}"#;
    let shown = read(&mut conversation, line);
    assert_eq!(
        (&shown[0]["from"], &shown[0]["text"]),
        (&json!("auto-claimed"), &json!("Task #3: Write"))
    );
    assert_eq!(
        (&shown[1]["from"], &shown[1]["text"]),
        (&json!("user"), &json!("<b>Hi</b> there"))
    );
}
