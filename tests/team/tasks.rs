//! Members that find their own work on the board.

use crate::harness::{LIMIT, Team, agent, call, say};
use protocol::{Party, Phase, Task, TaskStatus};
use serde_json::{Value, json};
use std::fs;
use test_support::llm_server::{Gate, ServerReply};
use test_support::wait_until;

fn tasks(team: &Team) -> Vec<Task> {
    let look = team::list(&team.team).unwrap();
    look.board.tasks().cloned().collect()
}

fn task(team: &Team, number: u64) -> Task {
    let mut found = tasks(team).into_iter().filter(|task| task.id.0 == number);
    found.next().expect("a task")
}

#[track_caller]
fn wait_completed(team: &Team, numbers: &[u64]) {
    wait_until(&format!("tasks {numbers:?} to be done"), LIMIT, || {
        let done = |task: &&Task| task.status == TaskStatus::Completed;
        let done = tasks(team)
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
fn spawn_for_diamond(team: &Team) {
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
        let model = team.script_file(name, &lines);
        team.spawn_as(name, role, &["--model", &model]);
    }
}

#[test]
fn a_diamond_of_tasks_is_done_by_two_members_at_the_same_time() {
    let team = Team::new();
    spawn_for_diamond(&team);
    let diamond = [
        ("Begin", "coder", ""),
        ("Left", "coder", "1"),
        ("Right", "tester", "1"),
        ("End", "tester", "2,3"),
        ("For nobody", "painter", ""),
    ];
    // All at once, or the first would be done before the others wait for it.
    team.while_stopped("alice", || {
        for (subject, role, before) in diamond {
            let mut args = vec!["task", "create", subject, "--role", role];
            if !before.is_empty() {
                args.extend(["--blocked-by", before]);
            }
            team.ok(&args);
        }
    });
    wait_completed(&team, &[1, 2, 3, 4]);
    team.wait_phase("alice", Phase::Idle);
    team.wait_phase("bob", Phase::Idle);
    let order = fs::read_to_string(team.path().join("order")).unwrap();
    assert!(
        order.starts_with("1\n") && order.ends_with("4\n"),
        "{order}"
    );
    assert_eq!(order.lines().count(), 4, "{order}");
    let by: Vec<_> = tasks(&team).into_iter().map(|task| task.owner.0).collect();
    let member = |name: &str| Some(Party::Member(agent(name)));
    let expected = ["alice", "alice", "bob", "bob"].map(member);
    assert_eq!(by[..4], expected);
    assert_eq!(task(&team, 5).status, TaskStatus::Pending);
    assert!(team.notices().is_empty());
    team.end();
}

#[test]
fn a_dead_owners_task_is_taken_over_with_no_lead_running() {
    let team = Team::new();
    let gate = Gate::new();
    team.script("alice", [say("Never.").gate_head(&gate)]);
    team.ok(&["task", "create", "Mend the parser"]);
    team.spawn("alice", &[]);
    gate.wait_until_reached(LIMIT);
    assert_eq!(team.shown("alice")["task"], 1);
    team.spawn("bob", &[]);
    team.script("bob", [complete(1), say("Repaired.")]);
    // From here on nobody looks but bob.
    team.kill9("alice");
    team.server.wait_for_requests("bob", 2, LIMIT);
    wait_completed(&team, &[1]);
    let first = team.server.requests("bob")[0].last_text();
    assert!(
        first.contains("<auto-claimed>Task #1: Mend the parser"),
        "{first}"
    );
    assert!(first.contains("died in incarnation 1"), "{first}");
    assert_eq!(team.wait_reports("bob", 1), ["Repaired."]);
    let notices = team.notices();
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert!(
        notices[0].1.contains("its task #1 is back on the board"),
        "{notices:?}"
    );

    // The one that comes back does not do it again.
    team.script("alice", [say("I was away.")]);
    team.restart("alice");
    assert_eq!(team.wait_reports("alice", 1), ["I was away."]);
    assert_eq!(team.server.requests("alice").len(), 2);
    assert_eq!(task(&team, 1).status, TaskStatus::Completed);
    team.end();
}

#[test]
fn a_member_that_comes_back_takes_its_task_up_again() {
    let team = Team::new();
    let gate = Gate::new();
    team.script("alice", [say("Never.").gate_head(&gate)]);
    team.ok(&["task", "create", "Mend the parser"]);
    team.spawn("alice", &[]);
    gate.wait_until_reached(LIMIT);
    team.ok(&["task", "update", "1", "--note", "Half of it is done."]);
    team.kill9("alice");
    assert_eq!(team.state("alice"), "dead");
    assert_eq!(task(&team, 1).status, TaskStatus::Pending);
    team.script(
        "alice",
        [say("Where was I?"), complete(1), say("Repaired.")],
    );
    team.restart("alice");
    wait_completed(&team, &[1]);
    team.wait_reports("alice", 1);
    let history = serde_json::to_string(&task(&team, 1).history).unwrap();
    assert!(history.contains("Half of it is done."), "{history}");
    assert_eq!(task(&team, 1).owner.0, Some(Party::Member(agent("alice"))));
    team.end();
}

#[test]
fn a_member_that_stops_with_a_task_in_hand_is_asked_once() {
    let team = Team::new();
    team.ok(&["task", "create", "Mend the parser"]);
    let claim = call("claim_task", json!({"task_id": 1}));
    team.script("alice", [claim, say("I stop."), say("I said so.")]);
    team.spawn("alice", &["--no-claim", "--prompt", "Take a task."]);
    assert_eq!(team.wait_reports("alice", 1), ["I said so."]);
    assert_eq!(team.server.requests("alice").len(), 3);
    assert_eq!(team.said("alice", "<task-outcome>"), 1);
    let given_back = task(&team, 1);
    assert_eq!(given_back.status, TaskStatus::Pending);
    assert_eq!(given_back.owner.0, None);
    let history = serde_json::to_string(&given_back.history).unwrap();
    assert!(history.contains("without an outcome"), "{history}");
    team.end();
}

#[test]
fn a_member_that_gives_no_outcome_does_not_take_the_same_task_for_ever() {
    let team = Team::new();
    team.server.always("alice", say("I stop."));
    team.ok(&["task", "create", "Mend the parser"]);
    team.spawn("alice", &[]);
    team.wait_reports("alice", 1);
    let asked = team.server.requests("alice").len();
    // A letter is a turn of its own; the task must not be part of it again and again.
    team.ok(&["send", "alice", "Anything new?"]);
    team.wait_reports("alice", 2);
    let more = team.server.requests("alice").len();
    assert!(
        asked <= 4 && more <= asked + 4,
        "{asked}, then {more} requests"
    );
    team.end();
}

#[test]
fn two_offline_members_finish_a_chain() {
    let team = Team::new();
    team.spawn("alice", &["--model", "offline"]);
    team.spawn("bob", &["--model", "offline"]);
    team.ok(&["task", "create", "Write one to one.txt"]);
    team.ok(&[
        "task",
        "create",
        "Write two to two.txt",
        "--blocked-by",
        "1",
    ]);
    team.ok(&[
        "task",
        "create",
        "Write three to three.txt",
        "--blocked-by",
        "2",
    ]);
    wait_completed(&team, &[1, 2, 3]);
    for name in ["one", "two", "three"] {
        let text = fs::read_to_string(team.path().join(format!("{name}.txt"))).unwrap();
        assert_eq!(text.trim_end(), name);
    }
    team.ok(&["wait", "--tasks", "--timeout", "80"]);
    team.ok(&["wait", "--idle", "--timeout", "80"]);
    team.end();
}

#[test]
fn a_member_that_shall_not_claim_does_not() {
    let team = Team::new();
    team.spawn("alice", &["--no-claim"]);
    team.spawn("bob", &["--model", "offline"]);
    team.ok(&["task", "create", "Write one to one.txt"]);
    wait_completed(&team, &[1]);
    // Mail finds the board as it was, and alice free.
    team.ok(&[
        "task",
        "create",
        "Write two to two.txt",
        "--role",
        "painter",
    ]);
    team.script("alice", [say("Hello.")]);
    team.ok(&["send", "alice", "Hello?"]);
    assert_eq!(team.wait_reports("alice", 1), ["Hello."]);
    assert_eq!(team.server.requests("alice").len(), 1);
    assert_eq!(team.said("alice", "auto-claimed"), 0);
    team.end();
}

#[test]
fn a_member_that_is_idle_for_long_ends_by_itself() {
    let team = Team::new();
    team.spawn("alice", &["--idle-timeout", "1", "--model", "offline"]);
    team.wait_state("alice", "shutdown");
    assert!(team.notices().is_empty(), "{:?}", team.notices());
    team.check_gone();
    // It can be woken for more.
    team.spawn(
        "alice",
        &["--model", "offline", "--prompt", "Write one to one.txt"],
    );
    team.wait_state("alice", "shutdown");
    assert!(team.path().join("one.txt").exists());
    assert_eq!(team.incarnation("alice"), 2);
    team.check_gone();
}
