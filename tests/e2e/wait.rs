//! `wait`: until the team is quiet, or until all tasks are completed.

use crate::harness::{Behaviour, LIMIT, Workspace, recipient, set_state};
use protocol::{MemberStatus, Phase, Task, exit};
use serde_json::{Value, json};
use teamdir::{MemberSession, WatchChoice};

/// This process as the member `name`.
fn post(workspace: &Workspace, name: &str) -> MemberSession {
    MemberSession::open(workspace.team(), &recipient(name), WatchChoice::Poll).unwrap()
}

#[test]
fn a_team_without_work_is_quiet() {
    let workspace = Workspace::with_members(&["alice"]);
    let run = workspace.run(&["wait"]);
    assert_eq!(run.has_code(exit::DONE).out, "The team is quiet.\n");
    let alice = post(&workspace, "alice");
    set_state(workspace.team(), &alice, Phase::Idle, MemberStatus::Idle);
    let run = workspace.run(&["wait", "--idle", "--json"]).json();
    assert_eq!(run, json!({"idle": true, "failed": [], "waiting": []}));
}

#[test]
fn a_member_at_work_is_waited_for() {
    let workspace = Workspace::with_members(&["alice"]);
    let alice = post(&workspace, "alice");
    set_state(
        workspace.team(),
        &alice,
        Phase::Working,
        MemberStatus::Working,
    );
    let run = workspace.run(&["wait", "--timeout", "0"]);
    run.complains(exit::TIMED_OUT, "'alice' is working", "team-lead status");
    let run = workspace.run(&["wait", "--timeout", "0.3", "--json"]);
    run.json_error(exit::TIMED_OUT, "timed_out");
    let mut waiting = workspace.start(&["wait"]);
    assert_eq!(waiting.try_wait(), None);
    set_state(workspace.team(), &alice, Phase::Idle, MemberStatus::Idle);
    assert_eq!(waiting.line(LIMIT), "The team is quiet.");
    assert_eq!(waiting.wait(LIMIT).code(), Some(0));
    // Mail that it has not read is work to come.
    workspace.run(&["send", "alice", "hello"]);
    let run = workspace.run(&["wait", "--timeout", "0"]);
    run.has_code(exit::TIMED_OUT);
}

#[test]
fn a_quiet_team_with_somebody_failed_or_dead_is_told_apart() {
    let workspace = Workspace::with_members(&["alice", "bob"]);
    let alice = post(&workspace, "alice");
    set_state(workspace.team(), &alice, Phase::Failed, MemberStatus::Idle);
    let run = workspace.run(&["wait"]);
    run.complains(exit::TEAM_FAILED, "alice failed", "team-lead logs alice");
    set_state(workspace.team(), &alice, Phase::Idle, MemberStatus::Idle);
    workspace.play_member("bob", Behaviour::Silent).kill9();
    let run = workspace.run(&["wait"]);
    run.complains(exit::TEAM_FAILED, "bob is dead", "team-lead logs bob");
    let run = workspace.run(&["wait", "--json"]);
    run.json_error(exit::TEAM_FAILED, "team_failed");
    let object: Value = serde_json::from_str(&run.out).unwrap();
    let expected = json!({"idle": true, "failed": ["bob"], "waiting": []});
    assert_eq!(object, expected);
}

#[test]
fn tasks_are_waited_for_until_all_are_completed() {
    let workspace = Workspace::with_members(&["alice"]);
    let none = workspace.run(&["wait", "--tasks", "--json"]).json();
    assert_eq!(none, json!({"tasks": 0, "completed": 0}));
    let board = workspace.team().lock_board().unwrap();
    let task = board
        .create(|id| Task::new(id, "Write the parser"))
        .unwrap();
    drop(board);
    let run = workspace.run(&["wait", "--tasks", "--timeout", "0"]);
    run.complains(exit::TIMED_OUT, "not completed: #1", "team-lead task list");
    let mut waiting = workspace.start(&["wait", "--tasks"]);
    let me = team::Actor::user();
    team::complete(workspace.team(), &me, task.id, None).unwrap();
    assert_eq!(waiting.line(LIMIT), "All 1 tasks are completed.");
    assert_eq!(waiting.wait(LIMIT).code(), Some(0));
}

#[test]
fn tasks_that_nobody_can_do_are_not_waited_for() {
    let workspace = Workspace::with_members(&["bob"]);
    let board = workspace.team().lock_board().unwrap();
    board
        .create(|id| Task::new(id, "Write the parser"))
        .unwrap();
    drop(board);
    workspace.play_member("bob", Behaviour::Silent).kill9();
    let run = workspace.run(&["wait", "--tasks"]);
    run.complains(
        exit::TEAM_FAILED,
        "not completed: #1, but bob is dead",
        "team-lead logs bob",
    );
}
