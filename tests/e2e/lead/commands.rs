//! The slash commands that change something, typed at a terminal of three sizes.

use super::screen::{PROMPT, SIZES, leave};
use crate::harness::{LIMIT, Terminal, Workspace, bash, call, say};
use crate::trees::repository;
use protocol::{Phase, RequestKind, RequestState, RequestStatus};
use serde_json::json;
use std::fs;
use test_support::llm_server::ServerReply;
use test_support::wait_until;

/// A lead at a terminal of this size, which has nothing to do yet.
fn lead(workspace: &Workspace, (rows, columns): (u16, u16)) -> Terminal {
    let terminal = Terminal::start(workspace.lead_command(&["--keep"]), rows, columns);
    terminal.wait_for_last_line(PROMPT);
    terminal
}

fn guarded() -> ServerReply {
    call(
        "bash",
        json!({"command": "echo ran >> ledger", "needs_network": true}),
    )
}

#[test]
fn what_waits_is_approved_or_rejected_by_a_command() {
    for size in SIZES {
        let workspace = Workspace::new();
        workspace.script("alice", [guarded(), say("Done.")]);
        workspace.script("bob", [guarded(), say("I see.")]);
        let mut terminal = lead(&workspace, size);
        workspace.spawn("alice", &["--prompt", "Run it."]);
        let first = workspace.pending(RequestKind::Permission);
        terminal.wait_for(&["waits for you"]);
        terminal.type_keys("/approve ali\t\r");
        workspace.wait_phase("alice", Phase::Idle);
        assert_eq!(workspace.request(&first).status(), RequestStatus::Approved);
        let ledger = fs::read_to_string(workspace.path().join("ledger"));
        assert_eq!(ledger.unwrap(), "ran\n");
        workspace.spawn("bob", &["--prompt", "Run it."]);
        let second = workspace.pending(RequestKind::Permission);
        terminal.wait_for(&["waits for you"]);
        // Without a reason nothing is rejected.
        terminal.type_keys("/reject bob\r");
        terminal.wait_for(&["Type /reject ID|NAME TEXT."]);
        let line = format!("/reject {} use the copy\r", second.id);
        terminal.type_keys(&line);
        workspace.wait_phase("bob", Phase::Idle);
        match workspace.request(&second).state {
            RequestState::Rejected(answer) => assert_eq!(answer.text, "use the copy"),
            other => panic!("{other:?}"),
        }
        let told = workspace.server.last_request("bob").last_text();
        assert!(told.contains("use the copy"), "{told}");
        leave(&mut terminal);
        workspace.end();
    }
}

#[test]
fn a_question_is_answered_by_a_command() {
    for size in SIZES {
        let workspace = Workspace::new();
        let question = json!({"question": "Which port?", "choices": ["8080", "3000"]});
        workspace.script("alice", [call("ask_user", question), say("So be it.")]);
        let mut terminal = lead(&workspace, size);
        workspace.spawn("alice", &["--prompt", "Start the server."]);
        workspace.pending(RequestKind::Question);
        terminal.wait_for(&["Which port?", "waits for you"]);
        terminal.type_keys("/answer alice neither, take 9090\r");
        workspace.wait_phase("alice", Phase::Idle);
        let told = workspace.server.last_request("alice").last_text();
        assert!(told.contains("neither, take 9090"), "{told}");
        leave(&mut terminal);
        workspace.end();
    }
}

#[test]
fn what_a_member_has_changed_is_shown_by_a_command() {
    for size in SIZES {
        let workspace = repository();
        let change = "echo two >> shared.txt && git commit --quiet --all --message more";
        workspace.script("alice", [bash(change), say("Changed.")]);
        let mut terminal = lead(&workspace, size);
        workspace.spawn("alice", &["--tree", "own", "--prompt", "Change it."]);
        wait_until("the change", LIMIT, || {
            workspace.run(&["diff", "alice"]).out.contains("+two")
        });
        terminal.type_keys("/diff alice\r");
        terminal.wait_for_line_above("+two", PROMPT);
        terminal.type_keys("/diff nobody\r");
        terminal.wait_for(&["no member"]);
        leave(&mut terminal);
        workspace.end();
    }
}

#[test]
fn another_model_takes_over_and_goes_on_with_the_session() {
    for size in SIZES {
        let workspace = Workspace::new();
        let mut terminal = lead(&workspace, size);
        terminal.type_keys("hello\r");
        terminal.wait_for_line_above("Standing by.", PROMPT);
        terminal.type_keys("/model\r");
        terminal.wait_for(&["Another one can take over: /model NAME"]);
        let asked = workspace.lead_requests().len();
        for (line, said) in [
            ("/model openai:some-model", "OPENAI_API_KEY"),
            ("/model nobody:some-model", "nobody"),
            ("/model a b", "Type /model [MODEL]."),
        ] {
            terminal.type_keys(&format!("{line}\r"));
            terminal.wait_for(&[said]);
        }
        terminal.type_keys("/model offline\r");
        terminal.wait_for(&["The lead's model is offline from now on.", "── offline"]);
        terminal.type_keys("Run \"echo $((40 + 2))\"\r");
        terminal.wait_for_line_above("42", PROMPT);
        assert_eq!(workspace.lead_requests().len(), asked);
        terminal.type_keys("/model anthropic:test\r");
        terminal.wait_for(&["The lead's model is anthropic:test from now on."]);
        leave(&mut terminal);
        // A session goes on with the model that it had last, and not with that of a new one.
        let resumed = workspace.command_as("lead", &["run", "--keep", "--resume"]);
        let mut terminal = Terminal::start(resumed, size.0, size.1);
        terminal.wait_for(&["── anthropic:test", "You said: Run"]);
        leave(&mut terminal);
    }
}

#[test]
fn the_arguments_of_commands_are_completed() {
    for size in SIZES {
        let workspace = repository();
        let change = "echo two >> shared.txt && git commit --quiet --all --message more";
        let submit = call("submit", json!({}));
        workspace.script("alice", [bash(change), submit, say("Submitted.")]);
        workspace.script("bob", [guarded(), say("Done.")]);
        let mut terminal = lead(&workspace, size);
        workspace.spawn("alice", &["--tree", "own", "--prompt", "Change it."]);
        workspace.wait_phase("alice", Phase::Idle);
        workspace.spawn("bob", &["--prompt", "Run it."]);
        let request = workspace.pending(RequestKind::Permission);
        terminal.wait_for(&["1 request waits for you"]);
        let asked = workspace.lead_requests().len();
        // As far as all agree, and then what there is to choose from.
        terminal.type_keys("/model anthropic:claude-h\t");
        terminal.wait_for_last_line("team >> /model anthropic:claude-haiku-");
        terminal.wait_for(&[
            "  anthropic:claude-haiku-4-5",
            "  anthropic:claude-haiku-5-5",
        ]);
        terminal.type_keys("4\t");
        terminal.wait_for_last_line("team >> /model anthropic:claude-haiku-4-5");
        terminal.type_keys("\u{15}/model \t");
        terminal.wait_for(&["  anthropic:claude-3-5-haiku", " more"]);
        terminal.type_keys("off\t");
        terminal.wait_for_last_line("team >> /model offline");
        let start = request.id.as_str().get(..7).unwrap();
        for (typed, completed) in [
            (
                format!("/approve {start}\t"),
                format!("/approve {}", request.id),
            ),
            ("/reject bo\t".to_owned(), "/reject bob".to_owned()),
            ("/answer bo\t".to_owned(), "/answer bob".to_owned()),
            ("/send a\t".to_owned(), "/send alice".to_owned()),
            ("/logs a\t".to_owned(), "/logs alice".to_owned()),
            ("/diff a\t".to_owned(), "/diff alice".to_owned()),
            ("/submissions \t".to_owned(), "/submissions 1".to_owned()),
            // Nothing fits, so nothing changes.
            ("/team \t".to_owned(), "/team".to_owned()),
            ("/send zoe\t".to_owned(), "/send zoe".to_owned()),
        ] {
            terminal.type_keys(&format!("\u{15}{typed}"));
            terminal.wait_for_last_line(&format!("team >> {completed}"));
        }
        terminal.type_keys("\u{15}");
        // Nothing of this was sent to the model.
        assert_eq!(workspace.lead_requests().len(), asked);
        leave(&mut terminal);
    }
}
