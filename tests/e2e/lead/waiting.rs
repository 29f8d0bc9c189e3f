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
