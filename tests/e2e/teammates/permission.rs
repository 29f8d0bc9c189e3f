//! Tool calls and questions that wait for a person.

use crate::harness::{LIMIT, Run, Workspace, call, recipient, say, script_bash};
use protocol::{Phase, Request, RequestKind, RequestStatus, WaitingFor, exit};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::process::Stdio;
use test_support::llm_server::ServerReply;
use test_support::wait_until;

/// A command that leaves a line each time it runs. Whatever the sandbox is, the network asks.
fn guarded(file: &str) -> ServerReply {
    let command = format!("touch reached && echo ran >> {file}");
    call("bash", json!({"command": command, "needs_network": true}))
}

/// How often it has run.
fn times(workspace: &Workspace, file: &str) -> usize {
    let text = fs::read_to_string(workspace.path().join(file));
    text.unwrap_or_default().lines().count()
}

/// A member that waits for permission to run a command.
fn waiting(workspace: &Workspace) -> Request {
    workspace.script("alice", [guarded("ledger"), say("Done.")]);
    workspace.spawn("alice", &["--prompt", "Run it."]);
    wait_for_permission(workspace)
}

fn wait_for_permission(workspace: &Workspace) -> Request {
    let request = workspace.pending(RequestKind::Permission);
    wait_until("alice to wait", LIMIT, || {
        let live = workspace.live("alice").unwrap();
        live.phase == Phase::Waiting
            && live.waiting_for == Some(WaitingFor::Permission)
            && workspace.request(&request).from_incarnation == Some(live.incarnation)
    });
    request
}

/// What alice's model was told last.
fn last_text(workspace: &Workspace) -> String {
    workspace.server.last_request("alice").last_text()
}

#[test]
fn a_call_waits_for_a_person_and_runs_once() {
    let workspace = Workspace::new();
    let request = waiting(&workspace);
    let id = request.id.as_str();
    assert_eq!(times(&workspace, "ledger"), 0);
    assert_eq!(workspace.shown("alice")["waiting_for"], "permission");
    let listed = workspace.ok(&["requests", "--waiting"]);
    for part in [
        "bash: touch reached && echo ran >> ledger",
        "needs_network",
        "--team",
        id,
    ] {
        assert!(listed.contains(part), "{part}: {listed}");
    }
    let listed = workspace.json(&["requests", "--waiting"]);
    assert_eq!(listed["requests"][0]["tool"], "bash", "{listed}");

    let done = workspace.json(&["approve", id, "--feedback", "Only this time."]);
    let expected = json!({"request_id": id, "to": "alice", "status": "approved", "scope": "once"});
    assert_eq!(done, expected);
    assert_eq!(workspace.wait_reports("alice", 1), ["Done."]);
    assert_eq!(times(&workspace, "ledger"), 1);
    let told = last_text(&workspace);
    assert!(told.contains("[allowed by "), "{told}");
    assert!(told.contains("Only this time."), "{told}");
    let notices = workspace.notices();
    let heard = notices
        .iter()
        .filter(|(_, text)| text.contains("Only this time."));
    let ids: BTreeSet<&String> = heard.map(|(id, _)| id).collect();
    assert_eq!(
        ids.len(),
        1,
        "the lead takes what has the same id for one: {notices:?}"
    );
    assert_eq!(
        workspace.ok(&["requests", "--waiting"]),
        "Nothing waits for you.\n"
    );
    // The next call asks again.
    workspace.script("alice", [guarded("ledger"), say("I may not.")]);
    workspace.ok(&["send", "alice", "Once more."]);
    let next = wait_for_permission(&workspace);
    assert_ne!(next.id, request.id);
    workspace.ok(&["reject", "alice", "--feedback", "Use the copy."]);
    assert_eq!(workspace.wait_reports("alice", 2)[1], "I may not.");
    let told = last_text(&workspace);
    assert!(told.contains("bash was not run: refused by"), "{told}");
    assert!(told.contains("Use the copy."), "{told}");
    assert_eq!(times(&workspace, "ledger"), 1);
    workspace.end();
}

#[test]
fn a_granted_rule_asks_no_more_until_it_is_revoked() {
    let workspace = Workspace::new();
    let request = waiting(&workspace);
    let allowed = workspace.ok(&["approve", request.id.as_str(), "--member"]);
    assert!(
        allowed.starts_with("Allowed 'alice' from now on: "),
        "{allowed}"
    );
    workspace.wait_reports("alice", 1);
    workspace.script("alice", [guarded("ledger"), say("Again.")]);
    workspace.ok(&["send", "alice", "Once more."]);
    assert_eq!(workspace.wait_reports("alice", 2)[1], "Again.");
    assert_eq!(times(&workspace, "ledger"), 2);
    assert_eq!(workspace.requests().len(), 1);

    let revoked = workspace
        .team()
        .update_grants(|grants| grants.revoke(&request.id, teamdir::now()));
    assert!(revoked.unwrap());
    workspace.script("alice", [guarded("ledger"), say("Now I ask.")]);
    workspace.ok(&["send", "alice", "And again."]);
    wait_for_permission(&workspace);
    assert_eq!(times(&workspace, "ledger"), 2);
    workspace.end();
}

#[test]
fn mail_is_taken_while_a_call_waits_and_is_read_after_it() {
    let workspace = Workspace::new();
    let request = waiting(&workspace);
    workspace.ok(&["send", "alice", "By the way."]);
    wait_until("the mail to be taken", LIMIT, || {
        workspace.inbox(&recipient("alice")).is_empty()
    });
    assert_eq!(workspace.request(&request).status(), RequestStatus::Pending);
    workspace.ok(&["approve", request.id.as_str()]);
    workspace.wait_reports("alice", 1);
    assert_eq!(workspace.count_in_last_request("alice", "By the way."), 1);
    workspace.end();
}

#[test]
fn a_waiting_member_can_be_shut_down_and_its_question_ends() {
    let workspace = Workspace::new();
    let request = waiting(&workspace);
    let run = workspace.run(&["shutdown", "alice", "--wait", "--timeout", "60"]);
    run.has_code(exit::DONE);
    assert_eq!(workspace.request(&request).status(), RequestStatus::Expired);
    let late = workspace.run(&["approve", request.id.as_str()]);
    late.complains(
        exit::ALREADY_ANSWERED,
        "already expired",
        "team-lead requests",
    );
    assert_eq!(times(&workspace, "ledger"), 0);
    workspace.check_gone();
}

#[test]
fn a_terminated_member_keeps_its_question() {
    let workspace = Workspace::with_members(&["alice"]);
    workspace.script("alice", [guarded("ledger"), say("Done.")]);
    let mut alice = workspace.start_teammate("alice");
    workspace.ok(&["send", "alice", "Run it."]);
    let request = wait_for_permission(&workspace);
    alice.terminate();
    assert_eq!(alice.wait(LIMIT).code(), Some(0));
    assert_eq!(workspace.request(&request).status(), RequestStatus::Pending);
    let _alice = workspace.start_teammate("alice");
    assert_eq!(wait_for_permission(&workspace).id, request.id);
    workspace.ok(&["approve", request.id.as_str()]);
    workspace.wait_reports("alice", 1);
    assert_eq!(times(&workspace, "ledger"), 1);
    workspace.end();
}

#[test]
fn a_killed_member_keeps_its_question_and_finds_the_answer() {
    let workspace = Workspace::new();
    let request = waiting(&workspace);
    for _ in 0..2 {
        workspace.kill9("alice");
        workspace.restart("alice");
        assert_eq!(wait_for_permission(&workspace).id, request.id);
    }
    workspace.kill9("alice");
    // Nobody has to run for an answer to count.
    workspace.ok(&["approve", request.id.as_str(), "--team"]);
    workspace.restart("alice");
    assert_eq!(workspace.wait_reports("alice", 1), ["Done."]);
    assert_eq!(times(&workspace, "ledger"), 1);
    assert_eq!(workspace.requests().len(), 1, "asked once");
    assert_eq!(workspace.team().grants().unwrap().rules.len(), 1);
    assert!(!workspace.journal("alice").contains("outcome unknown"));
    workspace.end();
}

#[test]
fn of_two_people_who_answer_at_once_one_is_told_who_was_first() {
    let workspace = Workspace::new();
    let request = waiting(&workspace);
    for round in 0..4 {
        let request = match round {
            0 => request.clone(),
            _ => {
                workspace.script("alice", [guarded("ledger"), say("Done.")]);
                workspace.ok(&["send", "alice", "Again."]);
                wait_for_permission(&workspace)
            }
        };
        let before = times(&workspace, "ledger");
        let id = request.id.as_str();
        let start = |words: &[&str]| {
            let mut command = workspace.command(words);
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            command.spawn().unwrap()
        };
        let people = [
            start(&["approve", id]),
            start(&["reject", id, "--feedback", "no"]),
            start(&["approve", id]),
        ];
        let runs = people.map(|run| Run::ended(run.wait_with_output().unwrap()));
        let first = runs.iter().filter(|run| run.code == 0).count();
        assert_eq!(first, 1, "{runs:?}");
        for late in runs.iter().filter(|run| run.code != 0) {
            late.has_code(exit::ALREADY_ANSWERED);
            assert!(late.err.contains("already "), "{late:?}");
            assert!(late.err.contains("(user)"), "{late:?}");
        }
        workspace.wait_reports("alice", round + 1);
        let approved = workspace.request(&request).status() == RequestStatus::Approved;
        assert_eq!(times(&workspace, "ledger"), before + usize::from(approved));
    }
    workspace.end();
}

#[test]
fn twenty_members_ask_at_once_and_one_answer_for_the_team_is_enough() {
    const MEMBERS: usize = 20;
    let workspace = Workspace::new();
    let name = |number: usize| format!("m{number:02}");
    let mut commands = Vec::new();
    for number in 0..MEMBERS {
        let name = name(number);
        let mut ask = script_bash(&name, "touch reached && echo ran >> ledger");
        ask["calls"][0]["input"]["needs_network"] = json!(true);
        let turns = [ask, json!({"agent": name, "say": "Done."})];
        let model = workspace.script_file(&name, &turns);
        let args = ["--model", model.as_str(), "--prompt", "Go."];
        let mut command = workspace.spawn_command(&name, "coder", &args);
        commands.push(command.spawn().unwrap());
    }
    for mut command in commands {
        assert_eq!(command.wait().unwrap().code(), Some(0));
    }
    wait_until("all to ask", LIMIT, || {
        team::waiting(workspace.team()).unwrap().len() == MEMBERS
    });
    let listed = workspace.json(&["requests", "--waiting"]);
    let listed = listed["requests"].as_array().unwrap();
    let since = |request: &Value| request["created_at"].as_f64().unwrap();
    assert!(listed.is_sorted_by_key(|request| since(request).to_bits()));
    let first = listed[7]["request_id"].as_str().unwrap();
    workspace.ok(&["approve", first, "--team"]);
    wait_until("all to be done", LIMIT, || {
        (0..MEMBERS).all(|number| workspace.phase(&name(number)) == Some(Phase::Idle))
    });
    assert_eq!(times(&workspace, "ledger"), MEMBERS);
    assert_eq!(workspace.requests().len(), MEMBERS, "each asked once");
    assert!(team::waiting(workspace.team()).unwrap().is_empty());
    workspace.end();
}

#[test]
fn a_question_is_answered_by_a_person() {
    let workspace = Workspace::new();
    let question = json!({"question": "Which port?", "choices": ["8080", "3000"]});
    workspace.script("alice", [call("ask_user", question), say("So be it.")]);
    workspace.spawn("alice", &["--prompt", "Start the server."]);
    let request = workspace.pending(RequestKind::Question);
    let id = request.id.as_str();
    let listed = workspace.ok(&["requests", "--waiting"]);
    assert!(listed.contains("1. 8080") && listed.contains(&format!("team-lead answer {id}")));
    let wrong = workspace.run(&["approve", id]);
    wrong.complains(exit::USAGE, "needs an answer", "team-lead answer");
    let answered = workspace.ok(&["answer", id, "2"]);
    assert_eq!(answered, "Answered 'alice': 3000\n");
    let late = workspace.run(&["answer", id, "1"]);
    late.complains(
        exit::ALREADY_ANSWERED,
        "already approved by",
        "team-lead requests",
    );
    assert_eq!(workspace.wait_reports("alice", 1), ["So be it."]);
    let told = last_text(&workspace);
    assert!(told.contains("answers: 3000"), "{told}");
    workspace.end();
}

#[test]
fn the_user_is_told_of_each_thing_that_begins_to_wait_once() {
    let workspace = Workspace::new();
    workspace.write_home(
        ".config/team-lead/config.toml",
        "notify = 'cat >> told.jsonl'\n",
    );
    let request = waiting(&workspace);
    let told = || {
        let text = fs::read_to_string(workspace.path().join("told.jsonl")).unwrap_or_default();
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
        lines.collect::<Vec<Value>>()
    };
    wait_until("the user to be told", LIMIT, || told().len() == 1);
    // A member that is killed before it has recorded this tells the user once more.
    wait_until("the record of it", LIMIT, || {
        workspace.request(&request).notified_at.is_some()
    });
    workspace.kill9("alice");
    workspace.restart("alice");
    wait_for_permission(&workspace);
    workspace.ok(&["approve", request.id.as_str()]);
    workspace.wait_reports("alice", 1);
    let all = told();
    assert_eq!(all.len(), 1, "{all:?}");
    assert_eq!(all[0]["request_id"], request.id.as_str());
    assert_eq!(all[0]["kind"], "permission");
    assert!(all[0]["text"].as_str().unwrap().contains("echo ran"));
    workspace.end();
}

#[test]
fn without_a_terminal_nobody_is_waited_for_and_the_exit_code_says_so() {
    let workspace = Workspace::new();
    workspace.reply(guarded("ledger"));
    workspace.reply(say("I could not."));
    let run = workspace.run_lead(&["Run it."], "");
    run.has_code(exit::TEAM_FAILED);
    assert!(run.out.contains("I could not."), "{run:?}");
    assert!(run.err.contains("--on-ask wait"), "{run:?}");
    assert_eq!(times(&workspace, "ledger"), 0);
    let told = workspace.server.last_request("lead").last_text();
    assert!(told.contains("nobody has refused it"), "{told}");
    assert!(told.contains("nobody could be asked"), "{told}");
}

#[test]
fn a_lead_that_waits_may_be_killed_and_goes_on_with_its_question() {
    let workspace = Workspace::new();
    workspace.reply(guarded("ledger"));
    let mut lead = workspace.start_lead(&["--on-ask", "wait", "Run it."]);
    let request = workspace.pending(RequestKind::Permission);
    wait_until("the lead to wait", LIMIT, || {
        workspace.phase("lead") == Some(Phase::Waiting)
    });
    lead.kill9();
    workspace.reply(say("It ran."));
    let lead = workspace.start_lead(&["--on-ask", "wait", "--resume", "And then?"]);
    wait_until("the next lead to wait", LIMIT, || {
        let live = workspace.live("lead").unwrap();
        live.phase == Phase::Waiting
            && workspace.request(&request).from_incarnation == Some(live.incarnation)
    });
    workspace.ok(&["approve", request.id.as_str()]);
    let run = lead.finish("");
    run.has_code(exit::DONE);
    assert_eq!(times(&workspace, "ledger"), 1);
    assert_eq!(workspace.requests().len(), 1);
    // A new conversation waits for nothing of an old one.
    workspace.reply(guarded("ledger"));
    let mut lead = workspace.start_lead(&["--on-ask", "wait", "Run it."]);
    let old = workspace.pending(RequestKind::Permission);
    lead.kill9();
    workspace.run_lead(&["Hello."], "").has_code(exit::DONE);
    assert_eq!(workspace.request(&old).status(), RequestStatus::Expired);
}

#[test]
fn the_lead_answers_only_where_people_let_it() {
    let workspace = Workspace::new();
    workspace.write_home(".config/team-lead/config.toml", "lead_decides = true\n");
    let request = waiting(&workspace);
    let id = request.id.as_str();
    let input = json!({"request_id": id, "approve": false, "text": "Not today."});
    workspace.reply(call("answer_request", input));
    workspace.reply(say("I said no."));
    let run = workspace.run_lead(&["--keep", "What waits?"], "");
    run.has_code(exit::DONE);
    let seen = workspace.lead_requests().concat();
    assert!(seen.contains(&format!("permission {id}")), "{seen}");
    wait_until("alice to be told", LIMIT, || {
        workspace.server.requests("alice").len() > 1
    });
    let told = last_text(&workspace);
    assert!(told.contains("refused by lead: Not today."), "{told}");
    assert_eq!(times(&workspace, "ledger"), 0);
    assert!(matches!(
        workspace.request(&request).state,
        protocol::RequestState::Rejected(_)
    ));
    workspace.wait_phase("alice", Phase::Idle);
    workspace.end();
}

#[test]
fn a_question_that_nobody_answers_ends_at_its_deadline_and_is_no_refusal() {
    let workspace = Workspace::new();
    workspace.write_home(".config/team-lead/config.toml", "ask_timeout = 1\n");
    let request = waiting_or_over(&workspace);
    workspace.wait_reports("alice", 1);
    let told = last_text(&workspace);
    assert!(
        told.contains("no answer came before the deadline"),
        "{told}"
    );
    assert!(told.contains("nobody has refused it"), "{told}");
    assert_eq!(times(&workspace, "ledger"), 0);
    assert_eq!(workspace.request(&request).status(), RequestStatus::Expired);
    let late = workspace.run(&["approve", request.id.as_str()]);
    late.has_code(exit::ALREADY_ANSWERED);
    workspace.end();
}

/// A member that has asked; whether it still waits hangs on how fast the machine is.
fn waiting_or_over(workspace: &Workspace) -> Request {
    workspace.script("alice", [guarded("ledger"), say("Done.")]);
    workspace.spawn("alice", &["--prompt", "Run it."]);
    wait_until("alice to ask", LIMIT, || !workspace.requests().is_empty());
    workspace.requests().remove(0)
}
