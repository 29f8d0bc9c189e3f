//! Real teammates that find their own work, with the offline model.

use super::board;
use crate::harness::{LIMIT, Workspace};
use protocol::{TaskId, TaskStatus};
use test_support::wait_until;

/// Who has a task, by its file alone: a command would repair the board on the way.
fn owner(workspace: &Workspace, id: u64) -> Option<String> {
    let task = workspace.team().task(TaskId(id)).ok()?;
    task.owner.0.as_ref().map(|owner| owner.as_str().to_owned())
}

fn all_done(workspace: &Workspace) -> bool {
    let tasks = workspace.team().tasks().unwrap();
    let is_done = |status| status == TaskStatus::Completed;
    tasks.into_iter().flatten().all(|task| is_done(task.status))
}

#[test]
fn two_teammates_work_through_a_diamond() {
    let workspace = board();
    workspace.ok(&["spawn", "alice", "coder"]);
    workspace.ok(&["spawn", "bob", "coder"]);
    let create = |what: &str, after: &str| {
        let mut args = vec!["create", what];
        if !after.is_empty() {
            args.extend(["--blocked-by", after]);
        }
        workspace.task(&args);
    };
    create("Run 'echo top > top.txt'", "");
    create("Run 'cat top.txt > left.txt'", "1");
    create("Run 'cat top.txt > right.txt'", "1");
    create("Run 'cat left.txt right.txt > bottom.txt'", "2,3");
    wait_until("all four tasks are done", LIMIT, || all_done(&workspace));
    let bottom = std::fs::read_to_string(workspace.path().join("bottom.txt")).unwrap();
    assert_eq!(bottom, "top\ntop\n", "each came after what it waited for");
    for id in 1..=4 {
        let task = workspace.team().task(TaskId(id)).unwrap();
        let completed = task.history.iter().filter(|l| l.action == "completed");
        assert_eq!(completed.count(), 1, "{task:?}");
    }
}

#[test]
fn a_colleague_takes_over_from_the_dead() {
    let workspace = board();
    workspace.task(&["create", "Run 'sleep 600'"]);
    workspace.ok(&["spawn", "alice", "coder"]);
    let has = |name: &'static str| move |owner: String| owner == name;
    wait_until("alice is at it", LIMIT, || {
        owner(&workspace, 1).is_some_and(has("alice"))
    });
    workspace.ok(&["spawn", "bob", "coder"]);
    workspace.ok(&["kill", "alice"]);
    wait_until("bob has taken it over", LIMIT, || {
        owner(&workspace, 1).is_some_and(has("bob"))
    });
    let task = workspace.team().task(TaskId(1)).unwrap();
    let actions: Vec<&str> = task.history.iter().map(|l| l.action.as_str()).collect();
    assert_eq!(actions, ["created", "claimed", "released", "claimed"]);
}
