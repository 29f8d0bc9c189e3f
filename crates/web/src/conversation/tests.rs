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
