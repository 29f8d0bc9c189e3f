//! A disk that is full for a while, under a member at work.

use crate::harness::{LIMIT, Workspace, call, say};
use protocol::TaskStatus;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Duration;
use test_support::llm_server::Gate;
use test_support::{SmallDisk, report_skip, try_wait_for, wait_until};

/// Long enough for something to happen that may not be seen.
const MOMENT: Duration = Duration::from_secs(3);

/// Takes all room of a disk until it is dropped.
struct DiskFiller(PathBuf);

impl DiskFiller {
    fn fill(disk: &Path) -> Self {
        let path = disk.join("filler");
        // A page at a time, so that no room is left for anybody.
        let mut file = std::fs::File::create(&path).unwrap();
        while std::io::Write::write_all(&mut file, &[0; 4096]).is_ok() {}
        Self(path)
    }
}

impl Drop for DiskFiller {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn disk(test: &str) -> Option<SmallDisk> {
    match SmallDisk::tmpfs(8 << 20) {
        Ok(disk) => Some(disk),
        Err(skip) => {
            report_skip(test, skip);
            None
        }
    }
}

#[test]
fn a_report_that_found_no_room_is_sent_when_there_is_room_and_not_before_the_member_is_idle() {
    let Some(disk) = disk("a report on a full disk") else {
        return;
    };
    let workspace = Workspace::at(disk.path());
    let gate = Gate::new();
    workspace
        .server
        .always("alice", say("All is done.").gate_head(&gate));
    workspace.spawn("alice", &["--prompt", "Say that all is done."]);
    gate.wait_until_reached(LIMIT);
    let filler = DiskFiller::fill(disk.path());
    gate.open();
    // The last page of the log may be full too.
    try_wait_for(MOMENT, || {
        workspace
            .log("alice")
            .contains("the report was not sent")
            .then_some(())
    });
    drop(filler);
    let reports = workspace.wait_reports("alice", 1);
    assert_eq!(reports, ["All is done."]);
    workspace.end();
}

#[test]
fn a_task_in_hand_is_done_or_given_back_after_the_disk_was_full() {
    let Some(disk) = disk("a task on a full disk") else {
        return;
    };
    let workspace = Workspace::at(disk.path());
    let gate = Gate::new();
    let complete = json!({"task_id": 1, "status": "completed", "result": "done"});
    workspace.script(
        "alice",
        [call("task_update", complete.clone()).gate_head(&gate)],
    );
    workspace.spawn("alice", &[]);
    workspace.ok(&["task", "create", "Say hello"]);
    gate.wait_until_reached(LIMIT);
    let filler = DiskFiller::fill(disk.path());
    for _ in 0..3 {
        workspace.script("alice", [call("task_update", complete.clone())]);
    }
    workspace.server.always("alice", say("Done."));
    gate.open();
    try_wait_for(MOMENT, || {
        workspace
            .log("alice")
            .contains("the turn failed")
            .then_some(())
    });
    drop(filler);
    wait_until("its end, or its return", LIMIT, || {
        let task = workspace.team().task(protocol::TaskId(1)).unwrap();
        task.status != TaskStatus::InProgress
    });
    workspace.end();
}
