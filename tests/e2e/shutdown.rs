//! `shutdown`: asked, agreed, refused, unanswered, forced, interrupted.

use crate::harness::{Behaviour, LIMIT, Run, Workspace, recipient, wait_for_text};
use nix::sys::signal::Signal;
use protocol::{MemberStatus, exit};
use serde_json::{Value, json};
use std::process::Stdio;
use test_support::wait_until;

fn requests(workspace: &Workspace) -> Vec<Value> {
    let found = workspace.run(&["requests", "--json"]).json();
    found["requests"].as_array().unwrap().clone()
}

fn roster_status(workspace: &Workspace, name: &str) -> MemberStatus {
    let roster = workspace.team().roster().unwrap();
    roster
        .member(&name.parse().unwrap())
        .unwrap()
        .status
        .clone()
}

#[test]
fn a_member_that_agrees_is_gone() {
    let workspace = Workspace::with_members(&["alice"]);
    let mut alice = workspace.play_member("alice", Behaviour::Agrees);
    let run = workspace.run(&["shutdown", "Alice", "--wait", "--reason", "All is done."]);
    let [first, second] = run.has_code(exit::DONE).out.lines().collect::<Vec<_>>()[..] else {
        panic!("{run:?}");
    };
    let id = requests(&workspace)[0]["request_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let line = format!("Shutdown request {id} sent to 'alice' (status: pending)");
    assert_eq!(first, line);
    assert_eq!(second, "'alice' agreed and is gone");
    assert!(alice.wait(LIMIT).success());
    let request = &requests(&workspace)[0];
    assert_eq!(request["status"], "approved");
    assert_eq!(request["reason"], "All is done.");
    assert_eq!(request["from"], "user");
    assert_eq!(request["to_incarnation"], 1);
}

#[test]
fn without_waiting_the_request_is_all_that_is_told() {
    let workspace = Workspace::with_members(&["alice"]);
    let mut alice = workspace.play_member("alice", Behaviour::Agrees);
    let asked = workspace.run(&["shutdown", "alice", "--json"]).json();
    assert_eq!(
        (&asked["to"], &asked["status"]),
        (&json!("alice"), &json!("pending"))
    );
    assert!(alice.wait(LIMIT).success());
    // The answer lies in the lead's inbox, and whoever looks takes it in.
    let status = || requests(&workspace)[0]["status"].clone();
    wait_until("the answer", LIMIT, || status() == "approved");
    assert_eq!(requests(&workspace)[0]["request_id"], asked["request_id"]);
}

#[test]
fn a_refusal_is_told_with_its_reason() {
    let workspace = Workspace::with_members(&["alice", "bob"]);
    let mut alice = workspace.play_member("alice", Behaviour::Refuses);
    let mut bob = workspace.play_member("bob", Behaviour::Agrees);
    let run = workspace.run(&["shutdown", "--all", "--wait"]);
    run.has_code(exit::FAILED);
    let refusal = "'alice' refused: the parser is half done\n";
    assert!(run.out.contains(refusal), "{run:?}");
    assert!(run.out.contains("'bob' agreed and is gone\n"), "{run:?}");
    assert!(run.err.contains("1 of 2 still runs: alice"), "{run:?}");
    assert!(
        run.err.contains("next: team-lead shutdown alice --force"),
        "{run:?}"
    );
    assert!(bob.wait(LIMIT).success());
    assert_eq!(alice.try_wait(), None);

    let run = workspace.run(&["shutdown", "alice", "--wait", "--json"]);
    run.json_error(exit::FAILED, "still_running");
    let object: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(object["to"], "alice");
    assert_eq!(object["status"], "rejected");
    assert_eq!(object["outcome"], "refused");
    assert_eq!(object["gone"], false);
}

#[test]
fn silence_is_a_time_out() {
    let workspace = Workspace::with_members(&["alice"]);
    let mut alice = workspace.play_member("alice", Behaviour::Silent);
    let run = workspace.run(&["shutdown", "alice", "--wait", "--timeout", "0.2"]);
    run.has_code(exit::TIMED_OUT);
    assert!(run.out.contains("'alice' gave no answer"), "{run:?}");
    assert_eq!(requests(&workspace)[0]["status"], "expired");
    assert_eq!(alice.try_wait(), None);
}

#[test]
fn force_ends_those_that_do_not_go_by_themselves() {
    let workspace = Workspace::with_members(&["alice", "bob", "carol"]);
    let mut members = [
        workspace.play_member("alice", Behaviour::Silent),
        workspace.play_member("bob", Behaviour::Stubborn),
        workspace.play_member("carol", Behaviour::Refuses),
    ];
    let run = workspace.run(&["shutdown", "--all", "--force", "--timeout", "0.2"]);
    run.has_code(exit::DONE);
    for line in [
        "'alice' was ended by SIGTERM\n",
        "'bob' was ended by SIGKILL\n",
        "'carol' was ended by SIGTERM\n",
    ] {
        assert!(run.out.contains(line), "{line} is not in {run:?}");
    }
    for member in &mut members {
        member.wait(LIMIT);
    }
    for name in ["alice", "bob", "carol"] {
        assert_eq!(roster_status(&workspace, name), MemberStatus::Shutdown);
    }
}

#[test]
fn a_member_that_does_not_run_is_told_and_is_no_failure() {
    let workspace = Workspace::with_members(&["alice", "bob"]);
    workspace.play_member("bob", Behaviour::Silent).kill9();
    let run = workspace.run(&["shutdown", "--all", "--wait"]);
    assert_eq!(
        run.has_code(exit::DONE).out,
        "'alice' is already shut down\n'bob' is not running: it is dead\n"
    );
    // The death was dealt with on the way.
    let inbox = workspace.team().layout().inbox(&recipient("lead"));
    wait_for_text(&inbox, "notice");
    let run = workspace.run(&["shutdown", "bob", "--json"]).json();
    let expected =
        json!({"request_id": null, "to": "bob", "status": "not_running", "state": "dead"});
    assert_eq!(run, expected);
    assert_eq!(requests(&workspace), Vec::<Value>::new());
}

#[test]
fn a_typo_in_the_last_name_asks_nobody() {
    let workspace = Workspace::with_members(&["alice"]);
    let mut alice = workspace.play_member("alice", Behaviour::Agrees);
    let run = workspace.run(&["shutdown", "alice", "alcie", "--force"]);
    run.complains(exit::NOT_FOUND, "alcie", "team-lead status");
    assert_eq!(requests(&workspace), Vec::<Value>::new());
    assert_eq!(alice.try_wait(), None);
}

#[test]
fn ctrl_c_ends_the_waiting_and_the_request_stays() {
    let workspace = Workspace::with_members(&["alice"]);
    let mut alice = workspace.play_member("alice", Behaviour::Silent);
    let mut waiting = workspace.start(&["shutdown", "alice", "--force"]);
    let line = waiting.line(LIMIT);
    assert!(line.starts_with("Shutdown request "), "{line}");
    waiting.signal(Signal::SIGINT);
    let code = waiting.wait(LIMIT).code();
    assert_eq!(code, Some(i32::from(exit::INTERRUPTED)));
    assert_eq!(requests(&workspace)[0]["status"], "pending");
    assert_eq!(alice.try_wait(), None);
}

#[test]
fn members_are_ended_also_if_nobody_reads_along() {
    let workspace = Workspace::with_members(&["alice"]);
    let mut alice = workspace.play_member("alice", Behaviour::Silent);
    let mut command = workspace.command(&["shutdown", "alice", "--force", "--timeout", "0.2"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    alice.wait(LIMIT);
    assert_eq!(roster_status(&workspace, "alice"), MemberStatus::Shutdown);
}

#[test]
fn inv_16_a_shutdown_meant_for_one_incarnation_never_touches_the_next() {
    let workspace = Workspace::with_members(&["alice"]);
    let mut first = workspace.play_member("alice", Behaviour::Silent);
    let mut forced = workspace.start(&["shutdown", "alice", "--force", "--timeout", "3"]);
    assert!(forced.line(LIMIT).starts_with("Shutdown request "));
    first.kill9();
    let mut second = workspace.play_member("alice", Behaviour::Agrees);
    // The one that was asked is gone, and that is all that was wanted.
    assert_eq!(forced.wait(LIMIT).code(), Some(0));
    let request = &requests(&workspace)[0];
    assert_eq!(request["to_incarnation"], 1);
    assert_eq!(request["status"], "expired");
    assert_eq!(second.try_wait(), None);
    let run: Run = workspace.run(&["shutdown", "alice", "--wait"]);
    run.has_code(exit::DONE);
    assert!(second.wait(LIMIT).success());
}
