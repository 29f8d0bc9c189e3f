//! Tasks and members in awkward hands: what nobody can do, what is held while waiting, and what must
//! not make a member run in circles.

use crate::harness::{LIMIT, Team, call, say};
use protocol::{Phase, TaskId, TaskStatus};
use serde_json::json;
use std::fs::OpenOptions;
use std::io::Write;
use test_support::wait_until;

fn status(team: &Team, number: u64) -> TaskStatus {
    team.team.task(TaskId(number)).unwrap().status
}

/// Whether the model of a member was told so.
fn heard(team: &Team, name: &str, words: &str) -> bool {
    let requests = team.server.requests(name);
    requests
        .iter()
        .any(|asked| asked.last_text().contains(words))
}

/// How often a member entered the phase `working`.
fn turns(team: &Team, name: &str) -> usize {
    let events = team.events();
    let begun = events.iter().filter(|event| {
        event["event"] == "state" && event["member"] == name && event["phase"] == "working"
    });
    begun.count()
}

#[test]
fn a_task_that_nobody_can_do_goes_through_each_hand_once() {
    let team = Team::new();
    for name in ["alice", "bob"] {
        team.server.always(name, say("I only talk."));
        team.spawn(name, &[]);
    }
    team.ok(&["task", "create", "Square the circle"]);
    wait_until("both gave it back", LIMIT, || {
        let task = team.team.task(TaskId(1)).unwrap();
        let back = task.history.iter().filter(|line| line.action == "released");
        back.count() == 2
    });
    team.ok(&["wait", "--timeout", "90"]);
    assert_eq!(status(&team, 1), TaskStatus::Pending);
    for name in ["alice", "bob"] {
        // Once for the task, once for its outcome.
        assert_eq!(team.server.requests(name).len(), 2, "{name}");
    }
    team.end();
}

#[test]
fn a_turn_that_is_ended_on_purpose_does_not_leave_a_task_in_hand() {
    let team = Team::new();
    let complete = json!({"task_id": 1, "status": "completed"});
    team.script(
        "alice",
        [
            call("idle", json!({})),
            call("task_update", complete),
            say("Done."),
        ],
    );
    team.spawn("alice", &[]);
    team.ok(&["task", "create", "Something"]);
    wait_until("the task is done", LIMIT, || {
        status(&team, 1) == TaskStatus::Completed
    });
    let asked = team.server.requests("alice")[1].last_text();
    assert!(asked.contains("<task-outcome>"), "{asked}");
    team.wait_phase("alice", Phase::Idle);
    team.end();
}

#[test]
fn a_member_that_is_restarted_in_the_middle_of_its_task_gets_it_back() {
    let team = Team::new();
    let wait = json!({"command": "touch began; sleep 600"});
    team.script("alice", [call("bash", wait)]);
    team.spawn("alice", &[]);
    team.ok(&["task", "create", "Something long"]);
    wait_until("the command runs", LIMIT, || {
        team.path().join("began").exists()
    });
    let complete = json!({"task_id": 1, "status": "completed"});
    team.script("alice", [call("task_update", complete), say("Done.")]);
    team.restart("alice");
    wait_until("the task is done", LIMIT, || {
        status(&team, 1) == TaskStatus::Completed
    });
    team.wait_phase("alice", Phase::Idle);
    let results = team.server.requests("alice");
    assert!(
        results
            .iter()
            .all(|asked| !asked.last_text().contains("claim it first")),
        "it holds the task again before it goes on"
    );
    team.end();
}

#[test]
fn a_member_that_waits_for_its_plan_keeps_its_task_and_takes_no_other() {
    let team = Team::new();
    team.script(
        "alice",
        [
            call("plan_approval", json!({"plan": "Do it."})),
            say("Waiting."),
        ],
    );
    team.spawn("alice", &["--require-plan"]);
    for subject in ["First", "Second", "Third"] {
        team.ok(&["task", "create", subject]);
    }
    team.wait_phase("alice", Phase::Waiting);
    assert_eq!(status(&team, 1), TaskStatus::InProgress);
    assert_eq!(status(&team, 2), TaskStatus::Pending);
    let complete = |id: u64| json!({"task_id": id, "status": "completed"});
    team.script(
        "alice",
        [
            call("task_update", complete(1)),
            say("One."),
            call("task_update", complete(2)),
            say("Two."),
            call("task_update", complete(3)),
            say("Three."),
        ],
    );
    team.decide("alice", &["approve", "alice"]);
    wait_until("all are done", LIMIT, || {
        (1..=3).all(|number| status(&team, number) == TaskStatus::Completed)
    });
    team.end();
}

#[test]
fn a_plan_can_be_required_of_a_member_that_lives() {
    let team = Team::new();
    let write = json!({"path": "hacked.txt", "content": "x"});
    team.script("alice", [call("write_file", write), say("Refused.")]);
    team.spawn("alice", &[]);
    team.wait_phase("alice", Phase::Idle);
    team.spawn("alice", &["--require-plan", "--prompt", "Write it."]);
    let requests = team.server.wait_for_requests("alice", 2, LIMIT);
    assert!(requests[1].last_text().contains("approved plan"));
    assert!(!team.path().join("hacked.txt").exists());
    team.end();
}

#[test]
fn half_a_line_in_an_inbox_costs_nothing_and_waits_for_its_end() {
    let team = Team::new();
    team.server.always("alice", say("Heard."));
    team.spawn("alice", &[]);
    team.wait_phase("alice", Phase::Idle);
    let inbox = team.team.layout().inbox(&"alice".parse().unwrap());
    wait_until("it waits for mail", LIMIT, || inbox.exists());
    let mut file = OpenOptions::new().append(true).open(inbox).unwrap();
    file.write_all(br#"{"type":"message","from":"bob","#)
        .unwrap();
    // A message by another way shows that it is awake and has looked at the half line.
    team.ok(&["task", "create", "Wake up", "--role", "coder"]);
    wait_until("it has worked", LIMIT, || {
        !team.server.requests("alice").is_empty()
    });
    team.ok(&["wait", "--timeout", "90"]);
    let before = turns(&team, "alice");
    file.write_all(b"\"content\":\"the whole line\"}\n")
        .unwrap();
    wait_until("the line is said", LIMIT, || {
        heard(&team, "alice", "the whole line")
    });
    assert!(turns(&team, "alice") <= before + 2, "it does not spin");
    team.end();
}

#[test]
fn an_inbox_that_was_removed_is_watched_again() {
    let team = Team::new();
    team.server.always("alice", say("Heard."));
    team.spawn("alice", &[]);
    team.wait_phase("alice", Phase::Idle);
    let inbox = team.team.layout().inbox(&"alice".parse().unwrap());
    wait_until("it waits for mail", LIMIT, || inbox.exists());
    std::fs::remove_file(&inbox).unwrap();
    team.ok(&["send", "alice", "after the removal"]);
    wait_until("the letter is said", LIMIT, || {
        heard(&team, "alice", "after the removal")
    });
    team.end();
}

#[test]
fn a_line_for_a_life_that_does_not_exist_ends_nobody() {
    let team = Team::new();
    team.server.always("alice", say("Heard."));
    team.spawn("alice", &[]);
    let line = json!({"type": "message", "from": "bob", "content": "x", "to_incarnation": 99});
    team.write_line("alice", &line);
    wait_until("the letter is said", LIMIT, || {
        heard(&team, "alice", "a life that does not exist")
    });
    team.wait_phase("alice", Phase::Idle);
    assert_eq!(team.incarnation("alice"), 1);
    team.end();
}
