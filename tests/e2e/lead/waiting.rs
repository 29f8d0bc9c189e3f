//! What a lead does about things that wait for a person: what its model sees, and who is asked.

use crate::harness::{LIMIT, Terminal, Workspace, call, say};
use protocol::{Phase, RequestKind, RequestStatus, exit};
use serde_json::json;
use test_support::llm_server::ServerReply;
use test_support::wait_until;

/// Whatever the sandbox is, the network asks.
fn guarded(file: &str) -> ServerReply {
    let command = format!("touch {file}");
    call("bash", json!({"command": command, "needs_network": true}))
}

/// Alice, who waits for permission.
fn alice_waits(workspace: &Workspace) -> protocol::Request {
    workspace.script("alice", [guarded("ledger"), say("Done.")]);
    workspace.spawn("alice", &["--prompt", "Run it."]);
    workspace.pending(RequestKind::Permission)
}

#[test]
fn the_leads_model_sees_what_waits_and_hears_the_reason_but_has_no_say() {
    let workspace = Workspace::new();
    let request = alice_waits(&workspace);
    let id = request.id.to_string();
    let input = json!({"request_id": id, "approve": true, "text": "Go on."});
    workspace.reply(call("answer_request", input));
    for text in ["I see.", "So be it.", "Well.", "Good."] {
        workspace.reply(say(text));
    }
    let lead = workspace.start_lead(&["--keep", "--on-ask", "wait", "What waits?"]);
    workspace.wait_for_lead_request("Unknown tool: answer_request");
    let requests = workspace.server.requests("lead");
    assert!(!requests[0].tool_names().contains(&"answer_request"));
    let seen = workspace.lead_requests().concat();
    assert!(seen.contains(&format!("permission {id}")), "{seen}");
    assert_eq!(workspace.request(&request).status(), RequestStatus::Pending);
    let reason = "Not on a Friday.";
    workspace.ok(&["reject", &id, "--feedback", reason]);
    workspace.wait_for_lead_request(reason);
    wait_until("alice to be told", LIMIT, || {
        workspace
            .server
            .last_request("alice")
            .last_text()
            .contains(reason)
    });
    lead.finish("").has_code(exit::DONE);
    workspace.wait_phase("alice", Phase::Idle);
    assert!(!workspace.path().join("ledger").exists());
    workspace.end();
}

#[test]
fn without_a_terminal_a_teammate_is_told_that_nobody_could_be_asked() {
    let workspace = Workspace::new();
    let request = alice_waits(&workspace);
    workspace.reply(say("Hello."));
    let run = workspace.run_lead(&["--keep", "Hello."], "");
    run.has_code(exit::TEAM_FAILED);
    assert!(run.err.contains("--on-ask wait"), "{run:?}");
    workspace.wait_phase("alice", Phase::Idle);
    let told = workspace.server.last_request("alice").last_text();
    assert!(told.contains("nobody could be asked"), "{told}");
    assert!(told.contains("nobody has refused it"), "{told}");
    assert_eq!(workspace.request(&request).status(), RequestStatus::Expired);
    assert!(!workspace.path().join("ledger").exists());
    workspace.end();
}

#[test]
fn at_a_terminal_nobody_is_asked_if_that_was_chosen() {
    let workspace = Workspace::new();
    workspace.reply(guarded("ledger"));
    workspace.reply(say("I could not."));
    let command = workspace.lead_command(&["--on-ask", "deny", "Run it."]);
    let mut terminal = Terminal::start(command, 40, 120);
    terminal.wait_for(&["Nobody could be asked", "I could not."]);
    assert_eq!(terminal.end().code(), Some(i32::from(exit::TEAM_FAILED)));
    assert!(!workspace.path().join("ledger").exists());
    let told = workspace.server.last_request("lead").last_text();
    assert!(told.contains("nobody could be asked"), "{told}");
}

#[test]
fn a_person_who_interrupts_the_lead_takes_its_question_back() {
    let workspace = Workspace::new();
    workspace.reply(guarded("ledger"));
    let mut terminal = Terminal::start(workspace.lead_command(&["--keep"]), 40, 120);
    terminal.wait_for_last_line("team >>");
    terminal.type_keys("Run it.\r");
    terminal.wait_for(&["lead asks to run", "touch ledger", "[y] yes, once"]);
    let request = workspace.pending(RequestKind::Permission);
    terminal.type_keys("\u{3}");
    wait_until("the question to end", LIMIT, || {
        workspace.request(&request).status() == RequestStatus::Expired
    });
    let late = workspace.run(&["approve", request.id.as_str()]);
    late.has_code(exit::ALREADY_ANSWERED);
    // The first one has ended the turn alone.
    terminal.wait_for(&["Interrupted. Say what"]);
    terminal.type_keys("\u{3}");
    assert_eq!(terminal.end().code(), Some(i32::from(exit::INTERRUPTED)));
    let journal = workspace.journal("lead");
    assert!(
        journal.contains("interrupted before it was started"),
        "{journal}"
    );
    assert!(!workspace.path().join("ledger").exists());
}

#[test]
fn a_question_of_the_lead_is_answered_by_a_key_or_a_text() {
    let workspace = Workspace::new();
    let question = json!({"question": "Which port?", "choices": ["8080", "3000"]});
    workspace.reply(call("ask_user", question.clone()));
    workspace.reply(call("ask_user", question));
    workspace.reply(say("So be it."));
    let mut terminal = Terminal::start(workspace.lead_command(&["--keep"]), 40, 120);
    terminal.wait_for_last_line("team >>");
    terminal.type_keys("Start the server.\r");
    terminal.wait_for(&["lead asks", "Which port?", "2. 3000", "[1-2] choose"]);
    terminal.type_keys("2\r");
    workspace.wait_for_lead_request("answers: 3000");
    let second = workspace.pending(RequestKind::Question);
    terminal.wait_for(&[second.id.as_str(), "[r] reply"]);
    terminal.type_keys("r\r");
    terminal.wait_for_last_line("answer >>");
    terminal.type_keys("the one that is free\r");
    workspace.wait_for_lead_request("answers: the one that is free");
    terminal.wait_for(&["So be it."]);
    terminal.type_keys("\u{4}");
    assert_eq!(terminal.end().code(), Some(0));
}
