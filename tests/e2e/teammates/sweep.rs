//! Kills of a busy member at many points.

use crate::harness::{LIMIT, Workspace, agent, recipient};
use protocol::{Phase, Recipient};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::time::Instant;
use team::Actor;
use test_support::{Rng, wait_until};

/// How many commands the member runs.
const COMMANDS: usize = 16;
/// How often it is killed.
const KILLS: usize = 20;

/// The records of a kind in a member's journal.
fn records(workspace: &Workspace, kind: &str) -> Vec<Value> {
    let journal = workspace.journal("alice");
    let lines = journal.lines().map(serde_json::from_str::<Value>);
    let records = lines.filter_map(Result::ok);
    records.filter(|record| record["kind"] == kind).collect()
}

fn script(workspace: &Workspace) -> String {
    let mut lines = Vec::new();
    for number in 0..COMMANDS {
        let command = format!("echo {number} >> ledger; echo ran-{number}-");
        let input = json!({"command": command});
        lines.push(json!({"agent": "alice", "calls": [{"name": "bash", "input": input}]}));
    }
    // Each message may be a turn of its own.
    let heard = json!({"agent": "alice", "say": "Heard."});
    lines.extend(std::iter::repeat_n(heard, 4 * KILLS + 10));
    workspace.script_file("alice", &lines)
}

fn send(workspace: &Workspace, number: usize) {
    let text = format!("message-{number}-");
    team::send(workspace.team(), &Actor::user(), recipient("alice"), &text).unwrap();
}

/// Kills the member again and again, each time when its journal has grown by a few bytes more.
fn sweep(workspace: &Workspace, model: &str) {
    let path = workspace.team().layout().transcript(&recipient("alice"));
    let size = || fs::metadata(&path).map_or(0, |metadata| metadata.len());
    let mut rng = Rng::new(11);
    for number in 0..KILLS {
        send(workspace, number);
        let enough = size() + rng.below(900);
        let mut alice = workspace.launch_teammate("alice", model);
        let began = Instant::now();
        while size() < enough && workspace.phase("alice") != Some(Phase::Idle) {
            assert!(began.elapsed() < LIMIT, "{}", workspace.log("alice"));
            assert_eq!(alice.try_wait(), None, "{}", workspace.log("alice"));
            std::thread::yield_now();
        }
        alice.kill9();
    }
}

#[test]
fn kills_in_a_busy_turn_lose_nothing_and_repeat_nothing() {
    let workspace = Workspace::new();
    let model = script(&workspace);
    workspace.start_teammate("alice").kill9();
    sweep(&workspace, &model);
    let _alice = workspace.launch_teammate("alice", &model);
    wait_until("all messages to be heard", LIMIT, || {
        let said = records(&workspace, "user");
        let text = serde_json::to_string(&said).unwrap();
        (0..KILLS).all(|number| text.contains(&format!("message-{number}-")))
            && workspace.phase("alice") == Some(Phase::Idle)
            && processes::member_view(workspace.team(), &agent("alice"))
                .unwrap()
                .unread
                == 0
    });

    // Each message was taken once and said once.
    let (taken, said) = (records(&workspace, "mail"), records(&workspace, "user"));
    for number in 0..KILLS {
        let message = format!("message-{number}-");
        for records in [&taken, &said] {
            let text = serde_json::to_string(records).unwrap();
            assert_eq!(text.matches(&message).count(), 1, "{message}: {text}");
        }
    }
    // No command ran twice, and none is said to have run that has not.
    let ledger = fs::read_to_string(workspace.path().join("ledger")).unwrap_or_default();
    let mut ran: BTreeMap<usize, usize> = BTreeMap::new();
    for line in ledger.lines() {
        *ran.entry(line.parse().unwrap()).or_default() += 1;
    }
    assert!(ran.values().all(|count| *count == 1), "{ran:?}");
    let results = serde_json::to_string(&records(&workspace, "result")).unwrap();
    for number in 0..COMMANDS {
        let told = results.matches(&format!("ran-{number}-")).count();
        assert!(told <= ran.get(&number).copied().unwrap_or(0), "{number}");
    }
    let answered = results.matches("\"is_error\":").count();
    assert_eq!(answered, COMMANDS, "{results}");
    // The lead has each report once.
    let drained = workspace.json(&["inbox", "--drain"]);
    let messages = drained["messages"].as_array().unwrap();
    let mut ids: Vec<String> = messages.iter().map(|m| m["id"].to_string()).collect();
    ids.sort();
    let all = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), all, "{drained}");
    assert!(workspace.inbox(&Recipient::Lead).is_empty());
    workspace.end();
}
