//! `wait`: until the team is quiet, or until all tasks are completed.

use crate::support::{LIMIT, Manners, Workspace, be, who};
use protocol::{MemberStatus, Phase, Task, exit};
use serde_json::{Value, json};
use teamdir::{MemberSession, WatchChoice};

/// This process as the member `name`.
fn post(workspace: &Workspace, name: &str) -> MemberSession {
    MemberSession::open(workspace.team(), &who(name), WatchChoice::Poll).unwrap()
}

#[test]
fn a_team_without_work_is_quiet() {
    let workspace = Workspace::new(&["alice"]);
    let run = workspace.lead(&["wait"]);
    assert_eq!(run.has_code(exit::DONE).out, "The team is quiet.\n");
    let alice = post(&workspace, "alice");
    be(workspace.team(), &alice, Phase::Idle, MemberStatus::Idle);
    let run = workspace.lead(&["wait", "--idle", "--json"]).json();
    assert_eq!(run, json!({"idle": true, "failed": [], "waiting": []}));
}

#[test]
fn a_member_at_work_is_waited_for() {
    let workspace = Workspace::new(&["alice"]);
    let alice = post(&workspace, "alice");
    be(
        workspace.team(),
        &alice,
        Phase::Working,
        MemberStatus::Working,
    );
    let run = workspace.lead(&["wait", "--timeout", "0"]);
    run.complains(exit::TIMED_OUT, "'alice' is working", "team-lead status");
    let run = workspace.lead(&["wait", "--timeout", "0.3", "--json"]);
    run.json_error(exit::TIMED_OUT, "timed_out");
    let mut waiting = workspace.start(&["wait"]);
    assert_eq!(waiting.try_wait(), None);
    be(workspace.team(), &alice, Phase::Idle, MemberStatus::Idle);
    assert_eq!(waiting.line(LIMIT), "The team is quiet.");
    assert_eq!(waiting.wait(LIMIT).code(), Some(0));
    // Mail that it has not read is work to come.
    workspace.lead(&["send", "alice", "hello"]);
    let run = workspace.lead(&["wait", "--timeout", "0"]);
    run.has_code(exit::TIMED_OUT);
}

#[test]
fn a_quiet_team_with_somebody_failed_or_dead_is_told_apart() {
    let workspace = Workspace::new(&["alice", "bob"]);
    let alice = post(&workspace, "alice");
    be(workspace.team(), &alice, Phase::Failed, MemberStatus::Idle);
    let run = workspace.lead(&["wait"]);
    run.complains(exit::TEAM_FAILED, "alice failed", "team-lead logs alice");
    be(workspace.team(), &alice, Phase::Idle, MemberStatus::Idle);
    workspace.member("bob", Manners::Silent).kill9();
    let run = workspace.lead(&["wait"]);
    run.complains(
        exit::TEAM_FAILED,
        "bob died in incarnation 1",
        "team-lead logs bob",
    );
    let run = workspace.lead(&["wait", "--json"]);
    run.json_error(exit::TEAM_FAILED, "team_failed");
    let object: Value = serde_json::from_str(&run.out).unwrap();
    let expected = json!({"idle": true, "failed": ["bob"], "waiting": []});
    assert_eq!(object, expected);
}

#[test]
fn tasks_are_waited_for_until_all_are_completed() {
    let workspace = Workspace::new(&["alice"]);
    let none = workspace.lead(&["wait", "--tasks", "--json"]).json();
    assert_eq!(none, json!({"tasks": 0, "completed": 0}));
    let board = workspace.team().lock_board().unwrap();
    let task = board
        .create(|id| Task::new(id, "Write the parser"))
        .unwrap();
    drop(board);
    let run = workspace.lead(&["wait", "--tasks", "--timeout", "0"]);
    run.complains(exit::TIMED_OUT, "not completed: #1", "team-lead task list");
    let mut waiting = workspace.start(&["wait", "--tasks"]);
    let me = team::Actor::user();
    team::complete(workspace.team(), &me, task.id, None).unwrap();
    assert_eq!(waiting.line(LIMIT), "All 1 tasks are completed.");
    assert_eq!(waiting.wait(LIMIT).code(), Some(0));
}

#[test]
fn tasks_that_nobody_can_do_are_not_waited_for() {
    let workspace = Workspace::new(&["bob"]);
    let board = workspace.team().lock_board().unwrap();
    board
        .create(|id| Task::new(id, "Write the parser"))
        .unwrap();
    drop(board);
    workspace.member("bob", Manners::Silent).kill9();
    let run = workspace.lead(&["wait", "--tasks"]);
    run.complains(
        exit::TEAM_FAILED,
        "not completed: #1, but bob died",
        "team-lead logs bob",
    );
}
