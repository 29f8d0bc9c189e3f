//! Members that find their own work on the board.

use crate::harness::{LIMIT, Workspace, agent, call, say};
use protocol::{Party, Phase, Task, TaskStatus};
use serde_json::{Value, json};
use std::fs;
use test_support::llm_server::{Gate, ServerReply};
use test_support::wait_until;

fn tasks(workspace: &Workspace) -> Vec<Task> {
    let look = team::list(workspace.team()).unwrap();
    look.board.tasks().cloned().collect()
}

fn task(workspace: &Workspace, number: u64) -> Task {
    let mut found = tasks(workspace)
        .into_iter()
        .filter(|task| task.id.0 == number);
    found.next().expect("a task")
}

#[track_caller]
fn wait_completed(workspace: &Workspace, numbers: &[u64]) {
    wait_until(&format!("tasks {numbers:?} to be done"), LIMIT, || {
        let done = |task: &&Task| task.status == TaskStatus::Completed;
        let done = tasks(workspace)
            .iter()
            .filter(done)
            .map(|task| task.id.0)
            .collect::<Vec<_>>();
        numbers.iter().all(|number| done.contains(number))
    });
}

fn complete(number: u64) -> ServerReply {
    let input = json!({"task_id": number, "status": "completed", "result": "Done."});
    call("task_update", input)
}

/// A turn of a script: the model sees the task, runs a command and completes it.
fn turn(agent: &str, number: u64, command: &str) -> Value {
    json!({
        "agent": agent,
        "expect": format!("<auto-claimed>Task #{number}:"),
        "calls": [
            {"name": "bash", "input": {"command": command}},
            {"name": "task_update", "input": {"task_id": number, "status": "completed"}},
        ],
    })
}

/// Starts alice and bob, with scripts in which the two sides of the diamond wait for each other.
fn spawn_for_diamond(workspace: &Workspace) {
    let meet = |own: u64, other: u64| {
        format!("touch in-{own}; until [ -e in-{other} ]; do sleep 0.02; done; echo {own} >> order")
    };
    let sides = [
        (
            "alice",
            "coder",
            (1, "echo 1 >> order".to_owned()),
            (2, meet(2, 3)),
        ),
        (
            "bob",
            "tester",
            (3, meet(3, 2)),
            (4, "echo 4 >> order".to_owned()),
        ),
    ];
    for (name, role, first, second) in sides {
        let done = json!({"agent": name, "say": "Done."});
        let lines = [
            turn(name, first.0, &first.1),
            done.clone(),
            turn(name, second.0, &second.1),
            done,
        ];
        let model = workspace.script_file(name, &lines);
        workspace.spawn_as(name, role, &["--model", &model]);
    }
}

#[test]
fn a_diamond_of_tasks_is_done_by_two_members_at_the_same_time() {
    let workspace = Workspace::new();
    spawn_for_diamond(&workspace);
    let diamond = [
        ("Begin", "coder", ""),
        ("Left", "coder", "1"),
        ("Right", "tester", "1"),
        ("End", "tester", "2,3"),
        ("For nobody", "painter", ""),
    ];
    // All at once, or the first would be done before the others wait for it.
    workspace.while_stopped("alice", || {
        for (subject, role, before) in diamond {
            let mut args = vec!["task", "create", subject, "--role", role];
            if !before.is_empty() {
                args.extend(["--blocked-by", before]);
            }
            workspace.ok(&args);
        }
    });
    wait_completed(&workspace, &[1, 2, 3, 4]);
    workspace.wait_phase("alice", Phase::Idle);
    workspace.wait_phase("bob", Phase::Idle);
    let order = fs::read_to_string(workspace.path().join("order")).unwrap();
    assert!(
        order.starts_with("1\n") && order.ends_with("4\n"),
        "{order}"
    );
    assert_eq!(order.lines().count(), 4, "{order}");
    let by: Vec<_> = tasks(&workspace)
        .into_iter()
        .map(|task| task.owner.0)
        .collect();
    let member = |name: &str| Some(Party::Member(agent(name)));
    let expected = ["alice", "alice", "bob", "bob"].map(member);
    assert_eq!(by[..4], expected);
    assert_eq!(task(&workspace, 5).status, TaskStatus::Pending);
    assert!(workspace.notices().is_empty());
    workspace.end();
}

#[test]
fn a_dead_owners_task_is_taken_over_with_no_lead_running() {
    let workspace = Workspace::new();
    let gate = Gate::new();
    workspace.script("alice", [say("Never.").gate_head(&gate)]);
    workspace.ok(&["task", "create", "Mend the parser"]);
    workspace.spawn("alice", &[]);
    gate.wait_until_reached(LIMIT);
    assert_eq!(workspace.shown("alice")["task"], 1);
    workspace.spawn("bob", &[]);
    workspace.script("bob", [complete(1), say("Repaired.")]);
    // From here on nobody looks but bob.
    workspace.kill9("alice");
    workspace.server.wait_for_requests("bob", 2, LIMIT);
    wait_completed(&workspace, &[1]);
    let first = workspace.server.requests("bob")[0].last_text();
    assert!(
        first.contains("<auto-claimed>Task #1: Mend the parser"),
        "{first}"
    );
    assert!(first.contains("died in incarnation 1"), "{first}");
    assert_eq!(workspace.wait_reports("bob", 1), ["Repaired."]);
    let notices = workspace.notices();
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert!(
        notices[0].1.contains("its task #1 is back on the board"),
        "{notices:?}"
    );

    // The one that comes back does not do it again.
    workspace.script("alice", [say("I was away.")]);
    workspace.restart("alice");
    assert_eq!(workspace.wait_reports("alice", 1), ["I was away."]);
    assert_eq!(workspace.server.requests("alice").len(), 2);
    assert_eq!(task(&workspace, 1).status, TaskStatus::Completed);
    workspace.end();
}

#[test]
fn a_member_that_comes_back_takes_its_task_up_again() {
    let workspace = Workspace::new();
    let gate = Gate::new();
    workspace.script("alice", [say("Never.").gate_head(&gate)]);
    workspace.ok(&["task", "create", "Mend the parser"]);
    workspace.spawn("alice", &[]);
    gate.wait_until_reached(LIMIT);
    workspace.ok(&["task", "update", "1", "--note", "Half of it is done."]);
    workspace.kill9("alice");
    assert_eq!(workspace.state("alice"), "dead");
    assert_eq!(task(&workspace, 1).status, TaskStatus::Pending);
    workspace.script(
        "alice",
        [say("Where was I?"), complete(1), say("Repaired.")],
    );
    workspace.restart("alice");
    wait_completed(&workspace, &[1]);
    workspace.wait_reports("alice", 1);
    let history = serde_json::to_string(&task(&workspace, 1).history).unwrap();
    assert!(history.contains("Half of it is done."), "{history}");
    assert_eq!(
        task(&workspace, 1).owner.0,
        Some(Party::Member(agent("alice")))
    );
    workspace.end();
}

#[test]
fn a_member_that_stops_with_a_task_in_hand_is_asked_once() {
    let workspace = Workspace::new();
    workspace.ok(&["task", "create", "Mend the parser"]);
    let claim = call("claim_task", json!({"task_id": 1}));
    workspace.script("alice", [claim, say("I stop."), say("I said so.")]);
    workspace.spawn("alice", &["--no-claim", "--prompt", "Take a task."]);
    assert_eq!(workspace.wait_reports("alice", 1), ["I said so."]);
    assert_eq!(workspace.server.requests("alice").len(), 3);
    assert_eq!(
        workspace.count_in_last_request("alice", "<task-outcome>"),
        1
    );
    let given_back = task(&workspace, 1);
    assert_eq!(given_back.status, TaskStatus::Pending);
    assert_eq!(given_back.owner.0, None);
    let history = serde_json::to_string(&given_back.history).unwrap();
    assert!(history.contains("without an outcome"), "{history}");
    workspace.end();
}

#[test]
fn a_member_that_gives_no_outcome_does_not_take_the_same_task_for_ever() {
    let workspace = Workspace::new();
    workspace.server.always("alice", say("I stop."));
    workspace.ok(&["task", "create", "Mend the parser"]);
    workspace.spawn("alice", &[]);
    workspace.wait_reports("alice", 1);
    let asked = workspace.server.requests("alice").len();
    // A message is a turn of its own; the task must not be part of it again and again.
    workspace.ok(&["send", "alice", "Anything new?"]);
    workspace.wait_reports("alice", 2);
    let more = workspace.server.requests("alice").len();
    assert!(
        asked <= 4 && more <= asked + 4,
        "{asked}, then {more} requests"
    );
    workspace.end();
}

#[test]
fn two_offline_members_finish_a_chain() {
    let workspace = Workspace::new();
    workspace.spawn("alice", &["--model", "offline"]);
    workspace.spawn("bob", &["--model", "offline"]);
    workspace.ok(&["task", "create", "Write one to one.txt"]);
    workspace.ok(&[
        "task",
        "create",
        "Write two to two.txt",
        "--blocked-by",
        "1",
    ]);
    workspace.ok(&[
        "task",
        "create",
        "Write three to three.txt",
        "--blocked-by",
        "2",
    ]);
    wait_completed(&workspace, &[1, 2, 3]);
    for name in ["one", "two", "three"] {
        let text = fs::read_to_string(workspace.path().join(format!("{name}.txt"))).unwrap();
        assert_eq!(text.trim_end(), name);
    }
    workspace.ok(&["wait", "--tasks", "--timeout", "80"]);
    workspace.ok(&["wait", "--idle", "--timeout", "80"]);
    workspace.end();
}

#[test]
fn a_member_that_shall_not_claim_does_not() {
    let workspace = Workspace::new();
    workspace.spawn("alice", &["--no-claim"]);
    workspace.spawn("bob", &["--model", "offline"]);
    workspace.ok(&["task", "create", "Write one to one.txt"]);
    wait_completed(&workspace, &[1]);
    // Mail finds the board as it was, and alice free.
    workspace.ok(&[
        "task",
        "create",
        "Write two to two.txt",
        "--role",
        "painter",
    ]);
    workspace.script("alice", [say("Hello.")]);
    workspace.ok(&["send", "alice", "Hello?"]);
    assert_eq!(workspace.wait_reports("alice", 1), ["Hello."]);
    assert_eq!(workspace.server.requests("alice").len(), 1);
    assert_eq!(workspace.count_in_last_request("alice", "auto-claimed"), 0);
    workspace.end();
}

#[test]
fn a_member_that_is_idle_for_long_ends_by_itself() {
    let workspace = Workspace::new();
    workspace.spawn("alice", &["--idle-timeout", "1", "--model", "offline"]);
    workspace.wait_state("alice", "shutdown");
    assert!(workspace.notices().is_empty(), "{:?}", workspace.notices());
    workspace.check_gone();
    // It can be woken for more.
    workspace.spawn(
        "alice",
        &["--model", "offline", "--prompt", "Write one to one.txt"],
    );
    workspace.wait_state("alice", "shutdown");
    assert!(workspace.path().join("one.txt").exists());
    assert_eq!(workspace.incarnation("alice"), 2);
    workspace.check_gone();
}
