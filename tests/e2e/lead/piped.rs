//! `team-lead run` with lines on its standard input.

use crate::harness::Workspace;
use protocol::Phase;
use test_support::llm_server::ServerReply;

#[test]
fn each_line_is_a_query_and_their_answers_are_the_output() {
    let workspace = Workspace::new();
    for answer in ["One.", "Two."] {
        workspace.reply(ServerReply::text(answer));
    }
    let input = "first\n\n/tasks\n/nonsense\nsecond\nq\nnever\n";
    let run = workspace.run_lead(&[], input);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(run.out, "One.\nNo tasks.\nTwo.\n", "{run:?}");
    assert!(run.err.contains("There is no command /nonsense"), "{run:?}");
    assert!(run.err.contains("/requests"), "{run:?}");
    let asked = workspace.lead_requests();
    assert!(asked[1].contains("second"), "{asked:?}");
}

#[test]
fn a_failed_line_is_told_and_the_next_one_done() {
    let workspace = Workspace::new();
    workspace.reply(ServerReply::error(400, "invalid_request_error", "no"));
    workspace.reply(ServerReply::text("Two."));
    let run = workspace.run_lead(&[], "first\nsecond\n");
    assert_eq!((run.code, run.out.as_str()), (1, "Two.\n"), "{run:?}");
}

#[test]
fn the_commands_show_the_team() {
    let workspace = Workspace::new();
    let alice = [
        "spawn",
        "alice",
        "coder",
        "--model",
        "offline",
        "--no-claim",
    ];
    workspace.ok(&alice);
    workspace.ok(&["task", "create", "Write code"]);
    let input = "/team\n/inbox\n/tasks\n/requests\n/costs\n/help\n/compact\n";
    let run = workspace.run_lead(&[], input);
    assert_eq!(run.code, 0, "{run:?}");
    for text in [
        "alice (coder): ",
        "The lead has read all its mail.",
        "#1: Write code",
        "No requests.",
        "/requests ",
        "what waits for an answer: plans, permissions, questions, shutdowns",
    ] {
        assert!(run.out.contains(text), "{text}: {run:?}");
    }
    // She may have said that she is ready, which is a call.
    let costs = ["MEMBER  CALLS  TOKENS  COST", "Nothing was spent yet."];
    assert!(costs.iter().any(|text| run.out.contains(text)), "{run:?}");
    assert!(run.err.contains("There is nothing to compact."), "{run:?}");
}

#[test]
fn a_compaction_can_be_asked_for() {
    let workspace = Workspace::new();
    workspace.reply(ServerReply::text("I know it all."));
    workspace.reply(ServerReply::text("<summary>They asked, I knew.</summary>"));
    let run = workspace.run_lead(&[], "what do you know?\n/compact\n");
    assert_eq!(
        (run.code, run.out.as_str()),
        (0, "I know it all.\n"),
        "{run:?}"
    );
    assert!(run.err.contains("Compacted."), "{run:?}");
}

#[test]
fn all_tasks_done_is_news_to_the_lead() {
    let workspace = Workspace::new();
    workspace.ok(&["task", "create", "Write code"]);
    let mut session = workspace.start_lead(&[]);
    session.type_text("hello\n");
    workspace.wait_for_lead_request("hello");
    workspace.wait_alive("lead", Phase::Idle);
    workspace.ok(&["task", "claim", "1"]);
    workspace.ok(&["task", "update", "1", "--status", "completed"]);
    workspace.wait_for_lead_request("All 1 tasks are done.");
    assert_eq!(session.end().code, 0);
}
