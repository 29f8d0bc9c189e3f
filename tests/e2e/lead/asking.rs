//! A lead that is killed while something waits for a person: its own call, and that of a teammate.

use crate::harness::{LIMIT, Workspace, call, say};
use protocol::{Phase, RequestKind, RequestStatus, exit};
use serde_json::json;
use std::fs;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use test_support::faults::{self, Outcome};
use test_support::llm_server::{CapturedRequest, ServerReply};
use test_support::{Rng, report_skip, wait_until};

/// How many of the changes the lead is killed at, unless the long tests run.
const STRIKES: u64 = 10;
const SEED: u64 = 15;

fn is_long() -> bool {
    std::env::var("TEAM_TEST").is_ok_and(|value| value == "long")
}

/// A command that leaves a line each time it runs. Whatever the sandbox is, the network asks.
fn guarded(file: &str) -> ServerReply {
    let command = format!("touch reached && echo ran >> {file}");
    call("bash", json!({"command": command, "needs_network": true}))
}

fn times(workspace: &Workspace, file: &str) -> usize {
    let text = fs::read_to_string(workspace.path().join(file));
    text.unwrap_or_default().lines().count()
}

/// A model that runs one command, whichever of its processes asks it.
fn runs_once(file: &'static str) -> impl Fn(CapturedRequest) -> ServerReply {
    move |request| {
        let body = String::from_utf8_lossy(request.raw_body());
        match body.contains("tool_result") {
            true => say("Done."),
            false => guarded(file),
        }
    }
}

/// A team in which alice waits for permission already.
fn prepared() -> Workspace {
    let workspace = Workspace::new();
    workspace.server.decide("alice", runs_once("alice-ran"));
    workspace.server.decide("lead", runs_once("lead-ran"));
    workspace.spawn("alice", &["--prompt", "Run it."]);
    workspace.pending(RequestKind::Permission);
    workspace
}

/// Approves whatever waits while `work` is done.
fn with_answers<T>(workspace: &Workspace, work: impl FnOnce() -> T) -> T {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            wait_until("the lead's end", LIMIT * 4, || {
                for request in team::waiting(workspace.team()).unwrap_or_default() {
                    // Its author may have ended meanwhile.
                    workspace.run(&["approve", request.id.as_str()]);
                }
                is_over.load(Ordering::Relaxed)
            });
        });
        let done = work();
        is_over.store(true, Ordering::Relaxed);
        done
    })
}

/// Whoever comes next goes on: everything was asked once and run at most once, and nothing waits.
fn check(workspace: &Workspace, what: &str) {
    let run = with_answers(workspace, || {
        workspace.run_lead(&["--keep", "--on-ask", "wait", "--resume", "And then?"], "")
    });
    assert_eq!(i32::from(exit::DONE), run.code, "{what}: {run:?}");
    workspace.wait_phase("alice", Phase::Idle);
    assert_eq!(times(workspace, "alice-ran"), 1, "{what}");
    let requests = workspace.requests();
    let pending = requests
        .iter()
        .filter(|request| request.status() == RequestStatus::Pending);
    assert_eq!(pending.count(), 0, "{what}: {requests:?}");
    let of = |name: &str| {
        let from = |request: &&protocol::Request| request.from.to_string() == name;
        requests.iter().filter(from).count()
    };
    assert_eq!(of("alice"), 1, "{what}: {requests:?}");
    assert!(of("lead") <= 1, "{what}: {requests:?}");
    let ran = times(workspace, "lead-ran");
    match workspace.journal("lead").contains("outcome unknown") {
        // Killed between the start and the result: nobody knows, and it is not run again.
        true => assert!(ran <= 1, "{what}"),
        false => assert_eq!(ran, of("lead"), "{what}"),
    }
    workspace.end();
}

fn lead(workspace: &Workspace, index: Option<usize>) -> (Outcome, faults::Trace) {
    let mut command = workspace.lead_command(&["--keep", "--on-ask", "wait", "Run it."]);
    command.env("TEAM_DUMPABLE", "on");
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(Stdio::null());
    with_answers(workspace, || {
        faults::kill_at_change(&mut command, index).unwrap()
    })
}

#[test]
fn a_lead_killed_at_any_change_leaves_nothing_stuck_and_runs_nothing_twice() {
    if let Err(reason) = faults::available() {
        return report_skip("a lead killed at any change", reason);
    }
    let workspace = prepared();
    let (_, trace) = lead(&workspace, None);
    assert!(trace.status.success(), "{:?}", trace.status);
    assert_eq!(times(&workspace, "lead-ran"), 1);
    check(&workspace, "undisturbed");
    let changes = u64::try_from(trace.calls.len()).unwrap();
    assert!(changes > STRIKES, "{changes} changes");
    let strikes = if is_long() { changes } else { STRIKES };
    let mut random = Rng::new(SEED);
    let mut killed = 0;
    for strike in 0..strikes {
        // One in each equal part of the run, so that all of its stages are hit.
        let (from, until) = (strike * changes / strikes, (strike + 1) * changes / strikes);
        let index = usize::try_from(from + random.below(until - from) + 1).unwrap();
        let workspace = prepared();
        let (outcome, trace) = lead(&workspace, Some(index));
        let name = trace.calls.last().map_or("none", |call| call.name);
        let what = format!("change {index} of {changes}, {name}: {outcome:?}");
        killed += usize::from(outcome == Outcome::Killed);
        check(&workspace, &what);
    }
    assert!(killed > 0, "the lead was never killed");
}
