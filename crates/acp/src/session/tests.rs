//! The session against lines that agents send.

use super::*;

fn opening(earlier: Option<&str>) -> Opening {
    Opening {
        folder: "/w".into(),
        team: Some(TeamServer {
            program: "/bin/team-lead".into(),
            args: vec!["mcp".into()],
            environment: vec![("A".into(), "1".into())],
        }),
        earlier: earlier.map(str::to_owned),
        mode: Some("ask".into()),
        version: "1".into(),
    }
}

fn sent(events: &[SessionEvent]) -> Value {
    match events {
        [SessionEvent::Send(line)] => serde_json::from_str(line).unwrap(),
        other => panic!("{other:?}"),
    }
}

fn answer(id: &Value, result: Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string()
}

/// A session that is open and has sent a prompt, and the id of the prompt.
fn prompting() -> (Session, Value) {
    let (mut session, first) = Session::begin(opening(None));
    let first: Value = serde_json::from_str(&first).unwrap();
    assert_eq!(first["method"], "initialize");
    let new = sent(&session.line(&answer(&first["id"], json!({"protocolVersion": 1}))));
    assert_eq!(new["method"], "session/new");
    assert_eq!(new["params"]["mcpServers"][0]["env"][0]["name"], "A");
    let modes = json!({"currentModeId": "auto", "availableModes": [{"id": "ask", "name": "Ask"}]});
    let mode = session.line(&answer(
        &new["id"],
        json!({"sessionId": "s1", "modes": modes}),
    ));
    let mode = sent(&mode);
    assert_eq!(mode["params"]["modeId"], "ask");
    let opened = session.line(&answer(&mode["id"], json!({})));
    assert!(
        matches!(&opened[..], [SessionEvent::Opened { id, is_restored: false, .. }] if id == "s1")
    );
    let prompt: Value = serde_json::from_str(&session.prompt("Hi.").unwrap()).unwrap();
    assert_eq!(prompt["params"]["prompt"][0]["text"], "Hi.");
    assert_eq!(session.prompt("Again."), None, "one at a time");
    (session, prompt["id"].clone())
}

fn update(update: Value) -> String {
    let params = json!({"sessionId": "s1", "update": update});
    json!({"jsonrpc": "2.0", "method": "session/update", "params": params}).to_string()
}

fn ask(id: u64, options: Value) -> String {
    let call = json!({"toolCallId": "t1", "title": "ls", "kind": "execute", "rawInput": {"command": "ls"}});
    let params = json!({"sessionId": "s1", "toolCall": call, "options": options});
    json!({"jsonrpc": "2.0", "id": id, "method": "session/request_permission", "params": params})
        .to_string()
}

fn options() -> Value {
    json!([
        {"optionId": "x", "name": "Always", "kind": "allow_always"},
        {"optionId": "y", "name": "Once", "kind": "allow_once"},
        {"optionId": "z", "name": "Once, and change the mode", "kind": "allow_once"},
        {"optionId": "n", "name": "No", "kind": "reject_once"},
    ])
}

#[test]
fn text_and_tools_come_out_and_a_prompt_ends_once() {
    let (mut session, prompt) = prompting();
    let text =
        json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Hel"}});
    assert_eq!(
        session.line(&update(text)),
        [SessionEvent::Text("Hel".into())]
    );
    let call = json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "ls", "status": "pending"});
    assert!(
        matches!(&session.line(&update(call))[..], [SessionEvent::ToolStarted(call)] if call.title == "ls")
    );
    let done = json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "failed",
        "content": [{"type": "content", "content": {"type": "text", "text": "no"}}]});
    let ended = session.line(&update(done));
    assert!(
        matches!(&ended[..], [SessionEvent::ToolEnded { text, is_error: true, .. }] if text == "no")
    );
    let usage = json!({"totalTokens": 3, "inputTokens": 1, "outputTokens": 2});
    let end = answer(&prompt, json!({"stopReason": "end_turn", "usage": usage}));
    assert!(matches!(
        &session.line(&end)[..],
        [SessionEvent::Ended(PromptEnd::Finished { usage: Some(_) })]
    ));
    assert_eq!(session.line(&end), [], "a second answer is none");
    assert!(session.prompt("Next.").is_some());
}

#[test]
fn permissions_are_answered_by_kind_and_cancelled_with_the_prompt() {
    let (mut session, prompt) = prompting();
    let asked = session.line(&ask(7, options()));
    let [SessionEvent::Asked(question)] = &asked[..] else {
        panic!("{asked:?}");
    };
    assert_eq!(
        (
            question.call.kind,
            question.call.arguments["command"].as_str()
        ),
        (ToolKind::Executes, Some("ls"))
    );
    let line = session.decide(question.ask, Verdict::Allow).unwrap();
    let line: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(
        (&line["id"], &line["result"]["outcome"]["optionId"]),
        (&json!(7), &json!("y"))
    );
    assert_eq!(session.decide(question.ask, Verdict::Allow), None, "once");

    let [SessionEvent::Asked(second)] = &session.line(&ask(8, options()))[..] else {
        panic!("asked");
    };
    let line = session.decide(second.ask, Verdict::Reject).unwrap();
    assert!(line.contains(r#""optionId":"n""#), "{line}");
    // Without an option that allows once, nothing is allowed.
    let only_always = json!([{"optionId": "x", "name": "Always", "kind": "allow_always"}]);
    let [SessionEvent::Asked(third)] = &session.line(&ask(9, only_always))[..] else {
        panic!("asked");
    };
    let line = session.decide(third.ask, Verdict::Allow).unwrap();
    assert!(line.contains("cancelled"), "{line}");

    session.line(&ask(10, options()));
    let lines = session.cancel();
    assert!(
        lines[0].contains("session/cancel") && lines[1].contains("cancelled"),
        "{lines:?}"
    );
    // What is asked after that is cancelled at once.
    let late = sent(&session.line(&ask(11, options())));
    assert_eq!(late["result"]["outcome"]["outcome"], "cancelled");
    let end = answer(&prompt, json!({"stopReason": "end_turn"}));
    assert_eq!(
        session.line(&end),
        [SessionEvent::Ended(PromptEnd::Cancelled)]
    );
}

#[test]
fn an_earlier_session_is_restored_if_the_agent_can_and_has_it() {
    for (capabilities, method) in [
        (json!({"loadSession": true}), "session/load"),
        (
            json!({"loadSession": true, "sessionCapabilities": {"resume": {}}}),
            "session/resume",
        ),
        (json!({}), "session/new"),
    ] {
        let (mut session, _) = Session::begin(opening(Some("old")));
        let init = json!({"protocolVersion": 1, "agentCapabilities": capabilities});
        let line = sent(&session.line(&answer(&json!(1), init)));
        assert_eq!(line["method"], method);
        if method == "session/new" {
            continue;
        }
        let replayed = json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "old"}});
        assert_eq!(
            session.line(&update(replayed)),
            [],
            "history is not said again"
        );
        let error = json!({"jsonrpc": "2.0", "id": line["id"], "error": {"code": -32002, "message": "gone"}});
        let line = sent(&session.line(&error.to_string()));
        assert_eq!(line["method"], "session/new");
    }
}

#[test]
fn logins_other_versions_and_garbage_are_failures() {
    let failed = |line: &str| {
        let (mut session, _) = Session::begin(opening(None));
        match &session.line(line)[..] {
            [SessionEvent::Failed(failure)] => failure.clone(),
            other => panic!("{other:?}"),
        }
    };
    let version = failed(&answer(&json!(1), json!({"protocolVersion": 2})));
    assert_eq!(version, Failure::Version("2".into()));
    let login =
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"Authentication required"}}"#;
    assert!(matches!(failed(login), Failure::Login(_)));
    let (mut session, _) = Session::begin(opening(None));
    let all: Vec<SessionEvent> = (0..=MAX_GARBAGE).flat_map(|_| session.line("{")).collect();
    assert_eq!(all.last(), Some(&SessionEvent::Failed(Failure::Garbage)));
    let (mut session, _) = prompting();
    let unknown = r#"{"jsonrpc":"2.0","id":"q","method":"fs/read_text_file","params":{}}"#;
    assert_eq!(sent(&session.line(unknown))["error"]["code"], -32601);
}
