//! A task of the one board that a silent host lost: its claim ends, somebody at home takes it, and what the silent host
//! still does about it is refused by the number of its claim.

use super::{CALLED, CALLER, Hosts, mail};
use crate::harness::{LIMIT, Workspace, script_bash, signal};
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use std::fs;
use test_support::wait_until;

/// The seconds after which a silent host loses its claims.
const LEASE: &str = "4";

fn task(workspace: &Workspace) -> Value {
    workspace.json(&["task", "show", "1"])
}

fn board(workspace: &Workspace) -> Value {
    workspace.json(&["task", "list"])["tasks"].clone()
}

/// What alice does: a task that lasts until there is a file `go`.
fn script_of_alice(gpu: &Workspace) -> String {
    let done = json!({"task_id": 1, "status": "completed", "result": "Done on gpu1."});
    let turns = [
        script_bash(
            "alice",
            "touch begun; while [ ! -e go ]; do sleep 0.1; done",
        ),
        json!({"agent": "alice", "calls": [{"name": "task_update", "input": done}]}),
        json!({"agent": "alice", "say": "I have tried."}),
        json!({"agent": "alice", "say": "I have read it."}),
        json!({"agent": "alice", "say": "I am done."}),
    ];
    gpu.script_file("alice", &turns)
}

#[test]
fn what_a_host_does_after_its_lease_has_ended_is_refused_by_number() {
    let hosts = Hosts::new(&[], &["bob"]);
    let (laptop, gpu) = (&hosts.laptop, &hosts.gpu);
    let model = script_of_alice(gpu);
    let program = hosts.program.to_str().unwrap();
    let mut command = laptop.command(&["bridge", &hosts.address(), "--name", CALLER]);
    command.args(["--remote-program", program, "--lease", LEASE]);
    let bridge = laptop.start_command(command.env("TEAM_SSH", &hosts.ssh));
    wait_until("the hosts are linked", LIMIT, || {
        let there = laptop.json(&["status"])["hosts"][0].clone();
        let here = gpu.json(&["status"])["hosts"][0].clone();
        there["name"] == CALLED && there["state"] == "linked" && here["state"] == "linked"
    });
    laptop.ok(&["task", "create", "Train the model"]);
    gpu.spawn("alice", &["--model", &model]);
    // An idle member claims what is ready, from the board that is at home on the other host.
    wait_until("her claim", LIMIT, || {
        gpu.path().join("begun").exists() && task(laptop)["owner"] == "alice"
    });
    assert_eq!(task(laptop)["lease"], 1);

    let called = hosts.called_process().unwrap();
    signal(called, Signal::SIGSTOP);
    wait_until(
        &format!("the end of her lease: {}", bridge.err()),
        LIMIT,
        || task(laptop)["status"] == "pending",
    );
    laptop.ok(&["task", "claim", "1"]);
    assert_eq!(task(laptop)["lease"], 2);
    fs::write(gpu.path().join("go"), "").unwrap();
    wait_until("what the silent host still does", LIMIT, || {
        let tool = |event: &Value| event["event"] == "tool" && event["name"] == "task_update";
        gpu.events().iter().any(tool)
    });
    assert_eq!(task(laptop)["owner"], "user");
    signal(called, Signal::SIGCONT);

    let refused = "your claim 1 of task 1 has ended";
    wait_until("the refusal", LIMIT, || {
        gpu.journal("alice").contains(refused)
    });
    wait_until("her words for the lead", LIMIT, || {
        mail(laptop, "lead")
            .iter()
            .any(|text| text.contains("Done on gpu1."))
    });
    assert_eq!(task(laptop)["status"], "in_progress");
    laptop.ok(&["task", "complete", "1", "--result", "Done at home."]);
    wait_until("the same board on both hosts", LIMIT, || {
        let here = board(laptop);
        here[0]["status"] == "completed" && here == board(gpu)
    });
    assert_eq!(task(gpu)["result"], "Done at home.");
    let completed = |event: &&Value| event["event"] == "task" && event["action"] == "completed";
    assert_eq!(laptop.events().iter().filter(completed).count(), 1);
    drop(bridge);
}
