//! Models that refuse, make wait, or find a conversation too long.

use crate::harness::{KEY, LIMIT, Workspace, call, recipient, say};
use protocol::{Phase, RequestStatus, WaitingFor};
use serde_json::json;
use std::fs;
use test_support::llm_server::ServerReply;
use test_support::wait_until;

/// Checks that the key stands in no file and that no command prints it.
fn check_secret(workspace: &Workspace) {
    workspace.check_secret();
    let verbs: [&[&str]; 6] = [
        &["status"],
        &["inbox"],
        &["requests"],
        &["events"],
        &["logs", "alice"],
        &["task", "list"],
    ];
    for verb in verbs {
        for json in [false, true] {
            let mut args = verb.to_vec();
            if json {
                args.insert(0, "--json");
            }
            let run = workspace.run(&args);
            assert!(!run.out.contains(KEY) && !run.err.contains(KEY), "{args:?}");
        }
    }
}

#[test]
fn a_refused_key_fails_the_turn_and_the_member_stays_addressable() {
    let workspace = Workspace::new();
    let words = format!("invalid x-api-key: {KEY}");
    workspace.script(
        "alice",
        [ServerReply::error(401, "authentication_error", &words)],
    );
    workspace.spawn("alice", &["--prompt", "Say something."]);
    workspace.wait_phase("alice", Phase::Failed);
    let shown = workspace.shown("alice");
    assert_eq!(shown["state"], "failed", "{shown}");
    let reason = shown["reason"].as_str().unwrap();
    assert!(reason.contains("invalid x-api-key"), "{reason}");
    assert!(workspace.log("alice").contains("invalid x-api-key"));
    let notices = workspace.notices();
    let [(_, notice)] = notices.as_slice() else {
        panic!("{notices:?}");
    };
    assert!(notice.contains("alice cannot go on"), "{notice}");
    assert!(notice.contains("invalid x-api-key"), "{notice}");
    assert!(workspace.reports("alice").is_empty());
    assert_eq!(workspace.server.requests("alice").len(), 1);
    let headers = workspace.server.last_request("alice");
    assert_eq!(headers.header("x-api-key"), Some(KEY));

    workspace.script("alice", [say("Something.")]);
    workspace.ok(&["send", "alice", "Try again."]);
    assert_eq!(workspace.wait_reports("alice", 1), ["Something."]);
    assert_eq!(workspace.state("alice"), "idle");
    assert_eq!(
        workspace.count_in_last_request("alice", "Say something."),
        1
    );
    assert_eq!(workspace.count_in_last_request("alice", "Try again."), 1);
    check_secret(&workspace);
    workspace.end();
}

#[test]
fn a_failed_member_answers_a_shutdown_by_itself() {
    let workspace = Workspace::new();
    let refusal = ServerReply::error(401, "authentication_error", "no such key");
    workspace.server.always("alice", refusal);
    workspace.spawn("alice", &["--prompt", "Say something."]);
    workspace.wait_phase("alice", Phase::Failed);
    let run = workspace.run(&["shutdown", "alice", "--wait", "--timeout", "80"]);
    assert_eq!(run.code, 0, "{run:?}");
    let request = workspace.requests().pop().unwrap();
    assert_eq!(request.status(), RequestStatus::Approved);
    assert_eq!(workspace.state("alice"), "shutdown");
    workspace.check_gone();
}

#[test]
fn a_busy_server_is_waited_for_and_a_shutdown_is_answered_meanwhile() {
    let workspace = Workspace::new();
    workspace
        .server
        .always("alice", ServerReply::rate_limited(Some("600")));
    workspace.spawn("alice", &["--prompt", "Say something."]);
    workspace.wait_phase("alice", Phase::Waiting);
    let live = workspace.live("alice").unwrap();
    assert_eq!(live.waiting_for, Some(WaitingFor::RateLimit));
    let shown = workspace.shown("alice");
    assert_eq!(
        (&shown["state"], &shown["waiting_for"]),
        (&json!("waiting"), &json!("rate_limit"))
    );
    assert!(workspace.notices().is_empty());
    let run = workspace.run(&["shutdown", "alice", "--wait", "--timeout", "80"]);
    assert_eq!(run.code, 0, "{run:?}");
    let request = workspace.requests().pop().unwrap();
    assert_eq!(request.status(), RequestStatus::Approved);
    let mail = workspace.ok(&["inbox"]);
    assert!(mail.contains("answered by the program"), "{mail}");
    workspace.check_gone();

    // The next incarnation goes on where this one had to stop.
    workspace.server.always("alice", say("Something."));
    workspace.restart("alice");
    assert_eq!(workspace.wait_reports("alice", 1), ["Something."]);
    assert_eq!(
        workspace.count_in_last_request("alice", "Say something."),
        1
    );
    check_secret(&workspace);
    workspace.end();
}

#[test]
fn a_report_that_is_cut_off_says_so() {
    let workspace = Workspace::new();
    let cut = ServerReply::text("more ").stop("max_tokens");
    workspace.server.always("alice", cut);
    workspace.spawn("alice", &["--prompt", "Count."]);
    let reports = workspace.wait_reports("alice", 1);
    assert!(reports[0].starts_with("more more "), "{reports:?}");
    assert!(reports[0].contains("not complete"), "{reports:?}");
    workspace.end();
}

#[test]
fn a_short_refusal_is_waited_out() {
    let workspace = Workspace::new();
    workspace.script(
        "alice",
        [
            ServerReply::rate_limited(Some("0")),
            ServerReply::overloaded(),
            say("At last."),
        ],
    );
    workspace.spawn("alice", &["--prompt", "Say something."]);
    assert_eq!(workspace.wait_reports("alice", 1), ["At last."]);
    assert_eq!(workspace.server.requests("alice").len(), 3);
    assert!(workspace.notices().is_empty());
    let models = workspace
        .events()
        .into_iter()
        .filter(|event| event["event"] == "model");
    assert_eq!(
        models
            .map(|event| event["retries"].clone())
            .collect::<Vec<_>>(),
        [json!(2)]
    );
    workspace.end();
}

/// The files in which a member keeps whole conversations.
fn archives(workspace: &Workspace, name: &str) -> Vec<String> {
    let folder = workspace.team().layout().member_archives(&recipient(name));
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let texts = entries
        .flatten()
        .map(|entry| fs::read_to_string(entry.path()).unwrap());
    texts.collect()
}

#[test]
fn a_conversation_that_is_too_long_is_kept_and_made_shorter() {
    let workspace = Workspace::new();
    let words = "prompt is too long: 210000 tokens > 200000 maximum";
    workspace.script(
        "alice",
        [
            call("bash", json!({"command": "echo a-long-story"})),
            ServerReply::error(400, "invalid_request_error", words),
            say(
                "## Goal\nA story.\n## Done\nSummary: alice told a long story.\n## Files\nNone.\n\
                 ## Open points\nNone.\n## Next step\nGo on.",
            ),
            say("I go on."),
        ],
    );
    workspace.spawn("alice", &["--prompt", "Tell a story."]);
    assert_eq!(workspace.wait_reports("alice", 1), ["I go on."]);
    assert_eq!(workspace.server.requests("alice").len(), 4);
    let last = workspace.server.last_request("alice");
    assert!(last.system_text().contains("You are 'alice', role: coder"));
    assert_eq!(
        workspace.count_in_last_request("alice", "Summary: alice told a long story."),
        1
    );
    let archives = archives(&workspace, "alice");
    assert_eq!(archives.len(), 1);
    assert!(archives[0].contains("a-long-story") && archives[0].contains("Tell a story."));

    // The next incarnation has the short form, and nothing is said twice.
    workspace.kill9("alice");
    workspace.script("alice", [say("I remember.")]);
    workspace.ok(&["send", "alice", "Do you remember?"]);
    workspace.restart("alice");
    assert_eq!(workspace.wait_reports("alice", 2)[1], "I remember.");
    assert_eq!(
        workspace.count_in_last_request("alice", "Summary: alice told a long story."),
        1
    );
    assert_eq!(
        workspace.count_in_last_request("alice", "Do you remember?"),
        1
    );
    check_secret(&workspace);
    workspace.end();
}

#[test]
fn offline_reading_fills_a_small_window_again_and_again() {
    let workspace = Workspace::new();
    let source = workspace.path().join("src");
    fs::create_dir(&source).unwrap();
    for number in 0..8 {
        let line = format!("// file {number}: a line that takes room in a window\n");
        fs::write(source.join(format!("f{number}.rs")), line.repeat(150)).unwrap();
    }
    let mut command = workspace.spawn_command(
        "alice",
        "coder",
        &[
            "--model",
            "offline",
            "--prompt",
            "Read every Rust file in src one by one",
        ],
    );
    let spawned = command.env("TEAM_WINDOW", "7000").output().unwrap();
    assert!(spawned.status.success(), "{spawned:?}");
    let reports = workspace.wait_reports("alice", 1);
    let archives = archives(&workspace, "alice");
    assert!(
        !archives.is_empty(),
        "{reports:?}\n{}",
        workspace.log("alice")
    );
    let compactions = workspace
        .events()
        .into_iter()
        .filter(|event| event["event"] == "compaction");
    assert_eq!(compactions.count(), archives.len());
    // Each file was read, once.
    let journal = workspace.history("alice");
    for number in 0..8 {
        let read = format!("\"path\":\"src/f{number}.rs\"");
        assert!(
            journal.contains(&read),
            "{read}: {}",
            workspace.log("alice")
        );
    }
    wait_until("rest", LIMIT, || workspace.state("alice") == "idle");
    workspace.end();
}
