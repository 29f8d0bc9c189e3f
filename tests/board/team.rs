//! Real teammates that find their own work, with the offline model.

use crate::Folder;
use protocol::{TaskId, TaskStatus};
use std::process::Command;
use std::time::Duration;
use teamdir::TeamDir;
use test_support::wait_until;

const LIMIT: Duration = Duration::from_secs(90);

/// A folder with live teammates, which are gone when this is.
struct Live {
    folder: Folder,
}

impl Live {
    fn new() -> Self {
        Self {
            folder: Folder::new(),
        }
    }

    fn lead(&self, args: &[&str]) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_team-lead"));
        command
            .current_dir(self.folder.path())
            .env("TEAM_FSYNC", "off");
        command.env("TEAM_MODEL", "offline");
        command.env("TEAMMATE_BIN", env!("CARGO_BIN_EXE_teammate"));
        let output = command.args(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
    }

    fn team(&self) -> &TeamDir {
        &self.folder.team
    }

    /// Who has a task, by its file alone: a command would mend things on the way.
    fn owner(&self, id: u64) -> Option<String> {
        let task = self.team().task(TaskId(id)).ok()?;
        task.owner.0.as_ref().map(|owner| owner.as_str().to_owned())
    }

    fn all_done(&self) -> bool {
        let tasks = self.team().tasks().unwrap();
        let is_done = |status| status == TaskStatus::Completed;
        tasks.into_iter().flatten().all(|task| is_done(task.status))
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        for name in ["alice", "bob"] {
            let mut command = Command::new(env!("CARGO_BIN_EXE_team-lead"));
            command.current_dir(self.folder.path());
            // One that does not run is gone already.
            let _ = command.args(["kill", name]).output();
        }
    }
}

#[test]
fn two_teammates_work_through_a_diamond() {
    let live = Live::new();
    live.lead(&["spawn", "alice", "coder"]);
    live.lead(&["spawn", "bob", "coder"]);
    let create = |what: &str, after: &str| {
        let mut args = vec!["create", what];
        if !after.is_empty() {
            args.extend(["--blocked-by", after]);
        }
        live.folder.ok(&args);
    };
    create("Run 'echo top > top.txt'", "");
    create("Run 'cat top.txt > left.txt'", "1");
    create("Run 'cat top.txt > right.txt'", "1");
    create("Run 'cat left.txt right.txt > bottom.txt'", "2,3");
    wait_until("all four tasks are done", LIMIT, || live.all_done());
    let bottom = std::fs::read_to_string(live.folder.path().join("bottom.txt")).unwrap();
    assert_eq!(bottom, "top\ntop\n", "each came after what it waited for");
    for id in 1..=4 {
        let task = live.team().task(TaskId(id)).unwrap();
        let completed = task.history.iter().filter(|l| l.action == "completed");
        assert_eq!(completed.count(), 1, "{task:?}");
    }
}

#[test]
fn a_colleague_takes_over_from_the_dead() {
    let live = Live::new();
    live.folder.ok(&["create", "Run 'sleep 600'"]);
    live.lead(&["spawn", "alice", "coder"]);
    let has = |name: &'static str| move |owner: String| owner == name;
    wait_until("alice is at it", LIMIT, || {
        live.owner(1).is_some_and(has("alice"))
    });
    live.lead(&["spawn", "bob", "coder"]);
    live.lead(&["kill", "alice"]);
    wait_until("bob has taken it over", LIMIT, || {
        live.owner(1).is_some_and(has("bob"))
    });
    let task = live.team().task(TaskId(1)).unwrap();
    let actions: Vec<&str> = task.history.iter().map(|l| l.action.as_str()).collect();
    assert_eq!(actions, ["created", "claimed", "released", "claimed"]);
}
