//! `requests`, `approve` and `reject`.

use crate::harness::{Run, Workspace};
use protocol::{Incarnation, Request, exit};
use serde_json::{Value, json};
use std::process::Stdio;

/// Submits a plan as a member would.
fn submit(workspace: &Workspace, name: &str, plan: &str) -> Request {
    let name = name.parse().unwrap();
    team::submit_plan(workspace.team(), &name, Incarnation(1), plan).unwrap()
}

fn file(workspace: &Workspace, request: &Request) -> Value {
    let path = workspace.team().layout().request(&request.id);
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn requests_are_listed_as_in_their_files_and_the_pending_ones_first() {
    let workspace = Workspace::with_members(&["alice", "bob"]);
    let none = workspace.run(&["requests"]);
    assert_eq!(none.has_code(exit::DONE).out, "No requests.\n");
    assert_eq!(
        workspace.run(&["requests", "--json"]).json(),
        json!({"requests": []})
    );

    let decided = submit(&workspace, "alice", "1. Look.\n2. Leap.");
    workspace
        .run(&["reject", "alice", "--feedback", "Think first."])
        .has_code(exit::DONE);
    let pending = submit(&workspace, "bob", "1. Read.\n2. Write.");
    let listed = workspace.run(&["requests", "--json"]).json();
    let files = json!([file(&workspace, &pending), file(&workspace, &decided)]);
    assert_eq!(listed["requests"], files);

    let text = workspace.run(&["requests"]).out;
    let heading = format!("{} plan bob -> lead: pending, created ", pending.id);
    assert!(text.starts_with(&heading), "{text}");
    assert!(text.contains("\n    1. Read.\n    2. Write.\n"), "{text}");
    let approve = format!("team-lead approve {}", pending.id);
    assert!(text.contains(&approve), "{text}");
    assert!(
        text.contains("\n    answered by ") && text.contains("(user): Think first.\n"),
        "{text}"
    );
    assert!(
        !text.contains("Leap"),
        "decided ones are told in short: {text}"
    );

    let id = decided.id.as_str();
    let one = workspace.run(&["requests", id]).out;
    assert!(one.contains("2. Leap.") && !one.contains("bob"), "{one}");
    let one = workspace.run(&["requests", id, "--json"]).json();
    assert_eq!(one["requests"], json!([file(&workspace, &decided)]));
}

#[test]
fn a_plan_is_decided_by_its_id_or_its_author() {
    let workspace = Workspace::with_members(&["alice"]);
    submit(&workspace, "alice", "superseded");
    let plan = submit(&workspace, "alice", "the latest");
    let run = workspace.run(&["approve", "ALICE", "--feedback", "Go ahead."]);
    assert_eq!(run.has_code(exit::DONE).out, "Plan approved for 'alice'\n");
    let id = plan.id.as_str();
    // The same decision again only tells the author again.
    let again = workspace.run(&["approve", id, "--json"]).json();
    let expected = json!({"request_id": id, "to": "alice", "status": "approved"});
    assert_eq!(again, expected);
    let stored = file(&workspace, &plan);
    assert_eq!(stored["resolved_by"], "user");
    assert_eq!(stored["resolution"], "Go ahead.");
    let inbox = workspace.run(&["inbox", "alice", "--json"]).json();
    let answer = &inbox["messages"][0];
    assert_eq!(answer["type"], "plan_approval_response");
    assert_eq!(answer["approve"], true);
    assert_eq!(answer["feedback"], "Go ahead.");

    let other = workspace.run(&["reject", id, "--feedback", "no"]);
    let next = format!("team-lead requests {id}");
    other.complains(exit::ALREADY_ANSWERED, "already approved by", &next);
    let other = workspace.run(&["reject", id, "--feedback", "no", "--json"]);
    other.json_error(exit::ALREADY_ANSWERED, "already_answered");
}

#[test]
fn of_two_decisions_at_once_one_counts() {
    let workspace = Workspace::with_members(&["alice"]);
    for round in 0..5 {
        let plan = submit(&workspace, "alice", &format!("plan {round}"));
        let id = plan.id.as_str();
        let start = |words: &[&str]| {
            let mut command = workspace.command(words);
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            command.spawn().unwrap()
        };
        let approve = start(&["approve", id]);
        let reject = start(&["reject", id, "--feedback", "no"]);
        let runs = [approve, reject].map(|run| Run::ended(run.wait_with_output().unwrap()));
        let (yes, no) = (runs[0].code, runs[1].code);
        let expected = match file(&workspace, &plan)["status"].as_str().unwrap() {
            "approved" => (0, i32::from(exit::ALREADY_ANSWERED)),
            "rejected" => (i32::from(exit::ALREADY_ANSWERED), 0),
            other => panic!("{other}: {runs:?}"),
        };
        assert_eq!((yes, no), expected, "{runs:?}");
        let inbox = workspace.run(&["inbox", "alice", "--json"]).json();
        let answers = inbox["messages"].as_array().unwrap().len();
        assert_eq!(answers, round + 1, "the author is told once of each");
    }
}

#[test]
fn what_is_not_there_or_no_plan_is_not_decided() {
    let workspace = Workspace::with_members(&["alice"]);
    let unknown = workspace.run(&["approve", "1a2b3c4d"]);
    unknown.complains(
        exit::NOT_FOUND,
        "no request and no member",
        "team-lead requests",
    );
    let unknown = workspace.run(&["approve", "../config", "--json"]);
    unknown.json_error(exit::NOT_FOUND, "unknown_request");
    let nothing = workspace.run(&["approve", "alice"]);
    nothing.complains(
        exit::NOT_FOUND,
        "alice has no pending plan or permission",
        "team-lead requests",
    );
    let unknown = workspace.run(&["requests", "1a2b3c4d"]);
    unknown.complains(
        exit::NOT_FOUND,
        "there is no request 1a2b3c4d",
        "team-lead requests",
    );

    let wish = team::ShutdownOptions {
        to: "alice".parse().unwrap(),
        reason: String::new(),
        timeout: crate::harness::LIMIT,
        force: false,
        lead_leaves: false,
    };
    let me = team::Actor::user();
    let shutdown = team::ask_shutdown(workspace.team(), &me, &wish, Incarnation(1)).unwrap();
    let run = workspace.run(&["approve", shutdown.id.as_str()]);
    let next = format!("team-lead requests {}", shutdown.id);
    run.complains(exit::FAILED, "asks a member to shut down", &next);
}

#[test]
fn a_broken_file_hides_no_request_and_ignored_answers_are_shown() {
    let workspace = Workspace::with_members(&["alice"]);
    let plan = submit(&workspace, "alice", "Look.");
    let folder = workspace.team().layout().requests_dir();
    std::fs::write(folder.join("broken.json"), "{").unwrap();
    // A stranger decides.
    let line = format!(
        r#"{{"type":"plan_approval_response","from":"bob","request_id":"{}","approve":true}}"#,
        plan.id
    );
    let protocol::Line::Message(message) = protocol::decode_line(line.as_bytes()) else {
        panic!("{line}");
    };
    team::record_mailed_answer(workspace.team(), &message).unwrap();
    let run = workspace.run(&["requests"]);
    run.has_code(exit::DONE);
    assert!(
        run.out.contains("ignored answer: bob approved: "),
        "{run:?}"
    );
    assert!(run.err.contains("broken.json"), "{run:?}");
    assert_eq!(workspace.run(&["-q", "requests"]).err, "");
}
