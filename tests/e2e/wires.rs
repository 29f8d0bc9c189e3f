//! Members on every wire format, with images and with kills between.

use crate::harness::{Run, Workspace, call, say};
use serde_json::json;
use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use test_support::llm_server::{CapturedRequest, ServerReply, Wire};

/// The smallest file that is known as an image by its content.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
/// The same in base64.
const DATA: &str = "iVBORw0KGgoAAAANSUhEUg==";

/// A command with the server as a provider that follows OpenAI.
fn openai(workspace: &Workspace, args: &[&str]) -> Command {
    let mut command = workspace.command(args);
    command.env("OPENAI_BASE_URL", workspace.server.openai_base_url("alice"));
    command
}

fn runs(mut command: Command) {
    let run = Run::of(&mut command);
    assert_eq!(run.code, 0, "{run:?}");
}

#[test]
fn a_member_learns_the_wire_and_keeps_its_sealed_thoughts_over_a_kill() {
    let workspace = Workspace::new();
    let needs = "This model is only supported in v1/responses and not in v1/chat/completions.";
    workspace.script(
        "alice",
        [
            ServerReply::error(404, "invalid_request_error", needs),
            ServerReply::thinking("Hm.", "c2VhbGVk").call("bash", json!({"command": "echo hi"})),
            say("Done."),
        ],
    );
    let spawn = [
        "spawn", "alice", "coder", "--model", "openai:x", "--prompt", "Go.",
    ];
    runs(openai(&workspace, &spawn));
    assert_eq!(workspace.wait_reports("alice", 1), ["Done."]);
    let wires: Vec<_> = workspace.server.requests("alice");
    let wires: Vec<_> = wires.iter().map(|request| request.wire()).collect();
    assert_eq!(wires, [Wire::OpenAi, Wire::Responses, Wire::Responses]);

    workspace.kill9("alice");
    workspace.script("alice", [say("Still here.")]);
    runs(openai(&workspace, &["restart", "alice"]));
    workspace.ok(&["send", "alice", "And now?"]);
    assert_eq!(workspace.wait_reports("alice", 2)[1], "Still here.");
    let last = workspace.server.last_request("alice");
    assert_eq!(last.wire(), Wire::Responses);
    assert_eq!(
        workspace.server.requests("alice").len(),
        4,
        "no more refusals"
    );
    let items = last.messages();
    let sealed = items.iter().find(|item| item["type"] == "reasoning");
    assert_eq!(sealed.unwrap()["encrypted_content"], "c2VhbGVk");
    let said = items.iter().filter(|item| item["type"] == "message");
    assert_eq!(said.filter(|item| item["role"] == "assistant").count(), 1);
}

#[test]
fn images_reach_the_model_from_a_tool_from_mail_and_from_a_prompt_and_survive_a_kill() {
    let workspace = Workspace::new();
    fs::write(workspace.path().join("shot.png"), PNG).unwrap();
    workspace.script(
        "alice",
        [
            call("read_file", json!({"path": "shot.png"})),
            say("I see it."),
            say("And again."),
        ],
    );
    workspace.spawn("alice", &["--prompt", "Look."]);
    assert_eq!(workspace.wait_reports("alice", 1), ["I see it."]);
    assert_eq!(workspace.count_in_last_request("alice", DATA), 1);

    workspace.kill9("alice");
    workspace.restart("alice");
    workspace.ok(&[
        "send",
        "alice",
        "Compare it with @shot.png, not with @gone.png.",
    ]);
    assert_eq!(workspace.wait_reports("alice", 2)[1], "And again.");
    assert_eq!(workspace.count_in_last_request("alice", DATA), 2);
    let note = "[@gone.png was not attached: ";
    assert_eq!(workspace.count_in_last_request("alice", note), 1);

    let run = workspace.run_lead(&["What is on @shot.png?"], "");
    assert_eq!(run.code, 0, "{run:?}");
    let first = &workspace.server.requests("lead")[0];
    assert!(first.body().to_string().contains(DATA));
}

#[test]
fn the_limit_of_output_is_learned_once_for_all_processes() {
    let workspace = Workspace::new();
    let refused = |request: &CapturedRequest| request.body()["max_tokens"].as_u64() > Some(1_000);
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    workspace.server.decide("lead", move |request| {
        counted.fetch_add(1, Ordering::SeqCst);
        match refused(&request) {
            true => ServerReply::error(
                400,
                "invalid_request_error",
                "max_tokens: too large; the maximum allowed number of output tokens is 1000",
            ),
            false => say("Yes."),
        }
    });
    for requests in [2, 3] {
        let run = workspace.run_lead(&["hello"], "");
        assert_eq!((run.code, run.out.as_str()), (0, "Yes.\n"), "{run:?}");
        assert_eq!(asked.load(Ordering::SeqCst), requests, "one was refused");
    }
}

#[test]
fn a_model_that_is_known_to_take_no_images_gets_none_and_it_is_said_once() {
    let workspace = Workspace::with_config("[models.test]\nimages = false\n");
    fs::write(workspace.path().join("shot.png"), PNG).unwrap();
    workspace.server.always("lead", say("I cannot see it."));
    let run = workspace.run_lead(&[], "What is on @shot.png?\nAnd now?\n");
    assert_eq!(run.code, 0, "{run:?}");
    let said = "anthropic:test takes no images";
    assert_eq!(run.err.matches(said).count(), 1, "{run:?}");
    let requests = workspace.server.requests("lead");
    assert_eq!(requests.len(), 2, "nothing was refused");
    for request in requests {
        let body = request.body().to_string();
        assert!(!body.contains(DATA), "{body}");
        assert!(
            body.contains("[image/png of 16 bytes, not shown]"),
            "{body}"
        );
    }
}

#[test]
fn a_model_that_refuses_images_works_on_without_them() {
    let workspace = Workspace::new();
    fs::write(workspace.path().join("shot.png"), PNG).unwrap();
    workspace.script(
        "alice",
        [
            call("read_file", json!({"path": "shot.png"})),
            ServerReply::error(
                400,
                "invalid_request_error",
                "this model takes no image input",
            ),
            say("I cannot see it."),
        ],
    );
    workspace.spawn("alice", &["--prompt", "Look."]);
    assert_eq!(workspace.wait_reports("alice", 1), ["I cannot see it."]);
    assert_eq!(workspace.count_in_last_request("alice", DATA), 0);
    let hidden = "[image/png of 16 bytes, not shown]";
    assert_eq!(workspace.count_in_last_request("alice", hidden), 1);
}
