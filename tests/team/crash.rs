//! SIGKILL in every state, and what the next life finds.

use crate::harness::{LIMIT, Run, Team, call, recipient, say};
use protocol::{Phase, RequestKind, WaitingFor};
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use test_support::llm_server::{Gate, ServerReply};
use test_support::wait_until;

/// Checks that the lead was told of the death of one life, once.
#[track_caller]
fn check_told(team: &Team, name: &str, incarnation: u64) {
    assert_eq!(team.state(name), "dead");
    let id = format!("death/{name}/{incarnation}");
    let told = team.notices().into_iter().filter(|(found, _)| *found == id);
    assert_eq!(told.count(), 1, "{:?}", team.notices());
}

#[test]
fn killed_while_idle() {
    let team = Team::new();
    team.script("alice", [say("The word is heliotrope.")]);
    team.spawn("alice", &["--prompt", "Think of a word."]);
    team.wait_reports("alice", 1);
    team.kill9("alice");
    team.ok(&["send", "alice", "Which word?"]);
    check_told(&team, "alice", 1);
    check_told(&team, "alice", 1);
    assert_eq!(team.shown("alice")["unread"], 1);
    team.script("alice", [say("Heliotrope.")]);
    team.restart("alice");
    assert_eq!(team.wait_reports("alice", 2)[1], "Heliotrope.");
    assert_eq!(team.incarnation("alice"), 2);
    for text in ["Think of a word.", "The word is heliotrope.", "Which word?"] {
        assert_eq!(team.said("alice", text), 1, "{text}");
    }
    team.end();
}

#[test]
fn killed_in_a_model_call() {
    let team = Team::new();
    let gate = Gate::new();
    team.script(
        "alice",
        [
            call("task_list", json!({})),
            say("Never heard.").gate(2, &gate),
        ],
    );
    team.spawn("alice", &["--prompt", "Look at the board."]);
    gate.wait_until_reached(LIMIT);
    team.ok(&["send", "alice", "And hurry."]);
    team.kill9("alice");
    check_told(&team, "alice", 1);
    team.script("alice", [say("No tasks.")]);
    team.restart("alice");
    assert_eq!(team.wait_reports("alice", 1), ["No tasks."]);
    // The finished tool call stands, and is not made again.
    assert_eq!(team.server.requests("alice").len(), 3);
    assert_eq!(team.said("alice", "Look at the board."), 1);
    assert_eq!(team.said("alice", "And hurry."), 1);
    assert_eq!(team.said("alice", "tool_result"), 1);
    assert_eq!(team.said("alice", "outcome unknown"), 0);
    team.end();
}

#[test]
fn killed_in_a_tool() {
    let team = Team::new();
    let first = "echo done >> counted; echo finished-well";
    let second = "echo begun >> counted; touch started; sleep 6000 & sleep 6000";
    team.script(
        "alice",
        [ServerReply::calls([
            ("bash", json!({"command": first})),
            ("bash", json!({"command": second, "timeout": 7000})),
            ("bash", json!({"command": "echo never >> counted"})),
        ])],
    );
    team.spawn("alice", &["--prompt", "Run three commands."]);
    let started = team.path().join("started");
    wait_until("the second command", LIMIT, || started.exists());
    team.ok(&["send", "alice", "How is it?"]);
    team.kill9("alice");
    check_told(&team, "alice", 1);
    // Its commands end with it.
    team.check_gone();
    team.script("alice", [say("One of them ran.")]);
    team.restart("alice");
    assert_eq!(team.wait_reports("alice", 1), ["One of them ran."]);
    let text = team.server.last_request("alice").last_text();
    assert_eq!(text.matches("finished-well").count(), 1, "{text}");
    assert_eq!(
        text.matches("interrupted, outcome unknown").count(),
        1,
        "{text}"
    );
    assert_eq!(
        text.matches("interrupted before it was started").count(),
        1,
        "{text}"
    );
    assert_eq!(text.matches("How is it?").count(), 1, "{text}");
    let counted = fs::read_to_string(team.path().join("counted")).unwrap();
    assert_eq!(counted, "done\nbegun\n");
    team.end();
}

#[test]
fn killed_while_a_plan_waits() {
    let team = Team::new();
    team.script(
        "alice",
        [
            call("plan_approval", json!({"plan": "Write."})),
            say("I wait."),
        ],
    );
    team.spawn("alice", &["--require-plan", "--prompt", "Write a file."]);
    team.wait_phase("alice", Phase::Waiting);
    let request = team.pending(RequestKind::Plan);
    team.kill9("alice");
    check_told(&team, "alice", 1);
    team.restart("alice");
    team.wait_phase("alice", Phase::Waiting);
    assert_eq!(team.server.requests("alice").len(), 2);
    let write = json!({"path": "a.txt", "content": "x"});
    team.script(
        "alice",
        [call("write_file", write.clone()), say("Written.")],
    );
    team.decide("alice", &["approve", request.id.as_str()]);
    assert_eq!(team.wait_reports("alice", 1), ["Written."]);
    assert!(team.path().join("a.txt").exists());

    // The approval outlives the life that got it.
    team.kill9("alice");
    let write = json!({"path": "b.txt", "content": "x"});
    team.script("alice", [call("write_file", write), say("Again.")]);
    team.ok(&["send", "alice", "Write another."]);
    team.restart("alice");
    assert_eq!(team.wait_reports("alice", 2)[1], "Again.");
    assert!(team.path().join("b.txt").exists());
    team.end();
}

#[test]
fn decided_while_it_was_dead() {
    let team = Team::new();
    team.script(
        "alice",
        [
            call("plan_approval", json!({"plan": "Write."})),
            say("I wait."),
        ],
    );
    team.spawn("alice", &["--require-plan", "--prompt", "Write a file."]);
    team.wait_phase("alice", Phase::Waiting);
    let request = team.pending(RequestKind::Plan);
    team.kill9("alice");
    team.ok(&["approve", request.id.as_str()]);
    let write = json!({"path": "a.txt", "content": "x"});
    team.script("alice", [call("write_file", write), say("Written.")]);
    team.restart("alice");
    assert_eq!(team.wait_reports("alice", 1), ["Written."]);
    assert!(team.path().join("a.txt").exists());
    team.end();
}

#[test]
fn killed_between_the_reply_and_the_report() {
    let team = Team::new();
    team.spawn("alice", &[]);
    team.script("alice", [say("The last words.")]);
    // Nobody can write to the lead meanwhile.
    let lock = team.team.layout().inbox_lock(&protocol::Recipient::Lead);
    let lock = fs::File::options()
        .create(true)
        .append(true)
        .open(lock)
        .unwrap();
    lock.lock().unwrap();
    team.ok(&["send", "alice", "Speak."]);
    wait_until("the reply in the journal", LIMIT, || {
        team.journal("alice").contains("The last words.")
    });
    let process = team.process("alice");
    crate::harness::signal(process.holder().pid, "KILL");
    wait_until("its end", LIMIT, || process.is_gone());
    assert!(team.reports("alice").is_empty());
    drop(lock);
    team.restart("alice");
    assert_eq!(team.wait_reports("alice", 1), ["The last words."]);
    assert_eq!(team.server.requests("alice").len(), 1);
    // And never again.
    team.kill9("alice");
    team.restart("alice");
    team.wait_phase("alice", Phase::Idle);
    assert_eq!(team.reports("alice").len(), 1);
    team.end();
}

#[test]
fn killed_with_a_command_in_the_background() {
    let team = Team::new();
    let command = json!({"command": "touch started; sleep 6000"});
    team.script("alice", [call("background_run", command), say("It runs.")]);
    team.spawn("alice", &["--prompt", "Start something."]);
    wait_until("alice to wait for it", LIMIT, || {
        let live = team.live("alice").unwrap();
        live.waiting_for == Some(WaitingFor::Background)
    });
    let started = team.path().join("started");
    wait_until("the command", LIMIT, || started.exists());
    // The turn has its report, or the next one has.
    let before = team.reports("alice").len();
    team.kill9("alice");
    team.check_gone();
    team.script("alice", [say("It is gone.")]);
    team.restart("alice");
    assert_eq!(
        team.wait_reports("alice", before + 1)[before],
        "It is gone."
    );
    let text = team.server.last_request("alice").last_text();
    assert!(
        text.contains("it ended with the process that ran it"),
        "{text}"
    );

    // What became of it is told once, in whatever life.
    team.kill9("alice");
    team.script("alice", [say("Nothing runs.")]);
    team.ok(&["send", "alice", "What runs?"]);
    team.restart("alice");
    let reports = team.wait_reports("alice", before + 2);
    assert_eq!(reports[before + 1], "Nothing runs.");
    assert_eq!(
        team.said("alice", "it ended with the process that ran it"),
        1
    );
    team.end();
}

#[test]
fn the_end_of_a_background_command_wakes_its_member() {
    let team = Team::new();
    let command = json!({"command": "until [ -e go ]; do sleep 0.02; done; echo well-done"});
    team.script("alice", [call("background_run", command), say("It runs.")]);
    team.spawn("alice", &["--prompt", "Start something."]);
    wait_until("alice to wait for it", LIMIT, || {
        let live = team.live("alice").unwrap();
        live.waiting_for == Some(WaitingFor::Background)
    });
    let before = team.reports("alice").len();
    team.script("alice", [say("It is done.")]);
    fs::write(team.path().join("go"), "").unwrap();
    assert_eq!(
        team.wait_reports("alice", before + 1)[before],
        "It is done."
    );
    let text = team.server.last_request("alice").last_text();
    assert_eq!(text.matches("well-done").count(), 1, "{text}");
    team.end();
}

/// A program in the place of `teammate` that does this.
fn wrapper(team: &Team, text: &str) -> String {
    let path = team.path().join("wrapper.sh");
    fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

#[test]
fn killed_while_starting() {
    let team = Team::new();
    let dies = wrapper(&team, "kill -s KILL $$");
    let mut command = team.spawn_command("alice", &["--prompt", "Live."]);
    let run = Run::of(command.env("TEAMMATE_BIN", &dies).output().unwrap());
    assert_ne!(run.code, 0, "{run:?}");
    // Nothing is left of a member that never was.
    let roster = team.team.roster().unwrap();
    assert!(roster.members.is_empty(), "{roster:?}");
    assert!(!team.path().join(".team/members/alice").exists());
    team.check_gone();

    // A member that was keeps everything.
    team.script("alice", [say("I live.")]);
    team.spawn("alice", &["--prompt", "Live."]);
    team.wait_reports("alice", 1);
    team.kill9("alice");
    team.ok(&["send", "alice", "Do you live?"]);
    let mut command = team.spawn_command("alice", &["--prompt", "Rise."]);
    let run = Run::of(command.env("TEAMMATE_BIN", &dies).output().unwrap());
    assert_ne!(run.code, 0, "{run:?}");
    assert_eq!(team.shown("alice")["unread"], 1);
    team.script("alice", [say("I do.")]);
    team.restart("alice");
    assert_eq!(team.wait_reports("alice", 2)[1], "I do.");
    assert_eq!(team.said("alice", "Do you live?"), 1);
    assert_eq!(team.said("alice", "Rise."), 0);
    assert_eq!(team.inbox(&recipient("alice")).len(), 0);
    team.end();
}

#[test]
fn a_namesake_spawned_many_times_at_once_gives_one_process() {
    let team = Team::new();
    team.server.always("alice", say("Here."));
    let children: Vec<_> = (0..6)
        .map(|_| team.spawn_command("alice", &[]).spawn().unwrap())
        .collect();
    let codes: Vec<_> = children
        .into_iter()
        .map(|mut child| child.wait().unwrap().code())
        .collect();
    assert!(codes.contains(&Some(0)), "{codes:?}");
    assert_eq!(team.incarnation("alice"), 1);
    let members = team.processes();
    let members = members.iter().filter(|(_, line)| line.contains("teammate"));
    assert_eq!(members.count(), 1);
    assert_eq!(team.state("alice"), "idle");
    team.end();
}

#[test]
fn killed_before_the_prompt_was_said_and_spawned_with_another() {
    let team = Team::new();
    let gate = Gate::new();
    team.script("alice", [say("Too late.").gate_head(&gate)]);
    team.spawn("alice", &["--prompt", "Do the first thing."]);
    gate.wait_until_reached(LIMIT);
    team.kill9("alice");
    // As a kill a moment earlier leaves it: before the record that says so.
    let path = team.team.layout().transcript(&recipient("alice"));
    let journal = fs::read_to_string(&path).unwrap();
    let before = journal.lines().filter(|line| !line.contains("prompt:"));
    let before: String = before.map(|line| format!("{line}\n")).collect();
    assert_ne!(journal, before);
    fs::write(&path, before).unwrap();
    team.script("alice", [say("Both are done.")]);
    team.spawn("alice", &["--prompt", "Do the second thing."]);
    assert_eq!(team.wait_reports("alice", 1), ["Both are done."]);
    team.kill9("alice");
    team.script("alice", [say("Done.")]);
    team.spawn("alice", &["--prompt", "Do the third thing."]);
    assert_eq!(team.wait_reports("alice", 2)[1], "Done.");
    for thing in ["first thing", "second thing", "third thing"] {
        assert_eq!(team.said("alice", thing), 1, "{thing}");
    }
    team.end();
}
