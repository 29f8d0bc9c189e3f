//! The keys of `watch` that answer what waits for a person.

use crate::harness::{LIMIT, Terminal, Workspace, call, say};
use protocol::{Request, RequestKind, RequestState, RequestStatus};
use serde_json::json;
use std::fs;
use test_support::wait_until;

/// A member that waits for permission to use the network, and a watch that shows it.
fn asked(workspace: &Workspace) -> (Terminal, Request) {
    let arguments = json!({"command": "echo ran >> ledger", "needs_network": true});
    workspace.script("alice", [call("bash", arguments), say("Done.")]);
    workspace.spawn("alice", &["--prompt", "Run it."]);
    let request = workspace.pending(RequestKind::Permission);
    let terminal = Terminal::start(workspace.command(&["watch"]), 40, 120);
    terminal.wait_for(&["Requests", request.id.as_str()]);
    (terminal, request)
}

/// The first press shows what is asked, so that nobody answers what they do not see.
fn show(terminal: &mut Terminal, key: &str) {
    terminal.type_keys(key);
    terminal.wait_for(&[
        "alice asks to run",
        "echo ran >> ledger",
        "it needs the network",
        "y yes, once  m for the member  t for the team  n no, with a reason",
    ]);
}

fn leave(workspace: &Workspace, mut terminal: Terminal) {
    terminal.type_keys("q");
    assert_eq!(terminal.end().code(), Some(0));
    terminal.assert_restored();
    workspace.end();
}

fn times(workspace: &Workspace) -> usize {
    let text = fs::read_to_string(workspace.path().join("ledger"));
    text.unwrap_or_default().lines().count()
}

/// The rules that were granted, and to whom.
fn granted(workspace: &Workspace) -> Vec<(String, Option<String>)> {
    let grants = workspace.team().grants().unwrap().rules.into_iter();
    let grants = grants.map(|grant| (grant.rule, grant.member.map(|member| member.to_string())));
    grants.collect()
}

#[test]
fn a_key_says_yes_once_for_the_member_or_for_the_team() {
    let rule = "Network(=echo ran >> ledger)".to_owned();
    let cases = [
        ("y", vec![]),
        ("m", vec![(rule.clone(), Some("alice".to_owned()))]),
        ("t", vec![(rule, None)]),
    ];
    for (key, expected) in cases {
        let workspace = Workspace::new();
        let (mut terminal, request) = asked(&workspace);
        show(&mut terminal, "y");
        assert_eq!(times(&workspace), 0, "{key}");
        terminal.type_keys(key);
        assert_eq!(workspace.wait_reports("alice", 1), ["Done."], "{key}");
        assert_eq!(times(&workspace), 1, "{key}");
        let decided = workspace.request(&request);
        assert_eq!(decided.status(), RequestStatus::Approved, "{key}");
        assert_eq!(granted(&workspace), expected, "{key}");
        let id = request.id.to_string();
        terminal.wait_until("no request", |screen| {
            !screen.contains(&format!("{id}  permission"))
        });
        leave(&workspace, terminal);
    }
}

#[test]
fn a_key_says_no_with_a_reason_that_the_member_reads() {
    let workspace = Workspace::new();
    let (mut terminal, request) = asked(&workspace);
    show(&mut terminal, "n");
    terminal.type_keys("n");
    terminal.wait_for(&["Reason for rejecting"]);
    terminal.type_keys("use the copy\r");
    workspace.wait_reports("alice", 1);
    assert_eq!(times(&workspace), 0);
    match workspace.request(&request).state {
        RequestState::Rejected(answer) => assert_eq!(answer.text, "use the copy"),
        other => panic!("{other:?}"),
    }
    let told = workspace.server.last_request("alice").last_text();
    assert!(told.contains("use the copy"), "{told}");
    leave(&workspace, terminal);
}

#[test]
fn everything_that_waits_is_listed_and_whoever_is_late_is_told() {
    let workspace = Workspace::new();
    let (mut terminal, permission) = asked(&workspace);
    let question = json!({"question": "Which port?", "choices": ["8080", "3000"]});
    workspace.script("bob", [call("ask_user", question), say("So be it.")]);
    workspace.spawn("bob", &["--prompt", "Start the server."]);
    let question = workspace.pending(RequestKind::Question);
    terminal.wait_for(&[permission.id.as_str(), question.id.as_str()]);
    show(&mut terminal, "y");
    terminal.type_keys("j");
    terminal.wait_for(&["bob asks", "Which port?", "2. 3000", "1-9 choose  r reply"]);
    terminal.type_keys("2");
    assert_eq!(workspace.wait_reports("bob", 1), ["So be it."]);
    let told = workspace.server.last_request("bob").last_text();
    assert!(told.contains("answers: 3000"), "{told}");
    // The other one is still there, and no key answers it until the person has chosen it.
    terminal.wait_for(&["alice asks to run"]);
    terminal.type_keys("y");
    terminal.wait_for(&["is no longer open, and this is another request"]);
    terminal.type_keys("\r");
    terminal.wait_for(&["y yes, once"]);
    assert_eq!(times(&workspace), 0);
    // Somebody answers it while the reason is typed.
    terminal.type_keys("n");
    terminal.wait_for(&["Reason for rejecting"]);
    workspace.ok(&["approve", permission.id.as_str()]);
    terminal.type_keys("too late\r");
    terminal.wait_for(&["already approved"]);
    workspace.wait_reports("alice", 1);
    wait_until("the command to run", LIMIT, || times(&workspace) == 1);
    leave(&workspace, terminal);
}
