//! The offline model as a teammate.

use serde_json::{Value, json};

use crate::harness::{Agent, call, message};

fn replied(calls: &[(String, Value)]) -> Vec<&str> {
    let sent = calls.iter().filter(|(tool, _)| tool == "send_message");
    sent.map(|(_, input)| input["to"].as_str().expect("a text"))
        .collect()
}

#[test]
fn it_reports_that_it_is_ready_and_follows_the_mail_of_the_lead() {
    let mut alice = Agent::teammate("alice", "coder");
    alice.user_says("Wait for instructions.");
    let (calls, text) = alice.turn();
    assert!(calls.is_empty());
    assert_eq!(
        text,
        "Ready. I am alice (coder), and I wait for instructions."
    );
    alice.mail(json!([message("message", "lead", "Send bob a message.")]));
    let (calls, text) = alice.turn();
    assert_eq!(
        calls[0],
        call(
            "send_message",
            json!({"to": "bob", "content": "Hello bob, this is alice (coder)."})
        )
    );
    assert_eq!(replied(&calls), ["bob", "lead"]);
    assert!(
        calls[1].1["content"]
            .as_str()
            .unwrap()
            .starts_with("Re: Sent message to bob")
    );
    assert!(text.contains("Sent message to bob"), "{text}");
}

#[test]
fn work_that_comes_before_it_was_ready_is_not_hidden_by_that() {
    let mut alice = Agent::teammate("alice", "coder");
    alice.user_says("Wait for instructions.");
    alice.mail(json!([message("message", "lead", "Run ls.")]));
    let (_, text) = alice.turn();
    assert!(!text.starts_with("Ready."), "{text}");
}

#[test]
fn it_makes_pages_and_configurations() {
    for (order, path, holds) in [
        ("Create an index.html.", "index.html", "<!DOCTYPE html>"),
        (
            "Create a server config.",
            "server_config.json",
            "\"port\": 8080",
        ),
        (
            "please write 'good morning' into notes/a.txt",
            "notes/a.txt",
            "good morning",
        ),
    ] {
        let mut agent = Agent::teammate("frontend", "frontend");
        agent.mail(json!([message("message", "lead", order)]));
        let (calls, _) = agent.turn();
        assert_eq!(calls[0].0, "write_file", "{order}");
        assert_eq!(calls[0].1["path"], path);
        assert!(
            calls[0].1["content"].as_str().unwrap().contains(holds),
            "{calls:?}"
        );
        assert_eq!(replied(&calls), ["lead"]);
    }
}

#[test]
fn the_first_prompt_is_an_instruction() {
    let mut agent = Agent::teammate("dora", "coder");
    agent.user_says("Write hello to a.txt, then run `cat a.txt` and message bob: it is done");
    let (calls, _) = agent.turn();
    let tools: Vec<&str> = calls.iter().map(|(tool, _)| tool.as_str()).collect();
    assert_eq!(tools, ["write_file", "bash", "send_message"]);
    assert_eq!(calls[2].1, json!({"to": "bob", "content": "it is done"}));
}

#[test]
fn two_models_never_answer_each_other_for_ever() {
    let mut bob = Agent::teammate("bob", "tester");
    for (kind, from, text, answers) in [
        ("message", "alice", "Hello bob, this is alice (coder).", 0),
        ("message", "alice", "What is your status?", 1),
        ("message", "lead", "How far are you?", 1),
        ("message", "lead", "Prove P = NP.", 1),
        ("message", "lead", "Hello bob", 1),
        ("message", "user", "Who are you?", 1),
        ("message", "lead", "Thanks!", 0),
        ("message", "alice", "Re: I did not understand \"what?\"", 0),
        ("broadcast", "lead", "Is everyone fine?", 0),
        ("notice", "system", "Your mail could not be delivered?", 0),
        ("idle_notification", "alice", "Done?", 0),
    ] {
        bob.mail(json!([message(kind, from, text)]));
        let (calls, said) = bob.turn();
        assert_eq!(calls.len(), answers, "{text}: {calls:?}");
        assert!(!said.is_empty());
        for (_, input) in &calls {
            let to = if from == "user" { "lead" } else { from };
            assert_eq!(input["to"], to);
            // The answer is not answered by a model of the same kind.
            let mut other = Agent::teammate("alice", "coder");
            other.mail(json!([message(
                "message",
                "bob",
                input["content"].as_str().unwrap()
            )]));
            assert!(other.turn().0.is_empty());
        }
    }
}

#[test]
fn a_shutdown_is_approved_after_the_work_in_hand() {
    let mut bob = Agent::teammate("bob", "tester");
    let mut request = message("shutdown_request", "lead", "Please shut down gracefully.");
    request["request_id"] = json!("1a2b3c4d");
    bob.mail(json!([request, message("message", "lead", "Run ls.")]));
    let (calls, text) = bob.turn();
    let tools: Vec<&str> = calls.iter().map(|(tool, _)| tool.as_str()).collect();
    assert_eq!(tools, ["bash", "send_message", "shutdown_response"]);
    assert_eq!(
        (&calls[2].1["request_id"], &calls[2].1["approve"]),
        (&json!("1a2b3c4d"), &json!(true))
    );
    assert!(text.contains("Shutdown approved"), "{text}");
}

fn decision(approve: bool, feedback: &str) -> Value {
    let mut mail = message("plan_approval_response", "lead", feedback);
    mail["request_id"] = json!("0badcafe");
    mail["approve"] = json!(approve);
    mail["feedback"] = json!(feedback);
    mail
}

#[test]
fn a_plan_is_submitted_revised_and_carried_out() {
    let mut bob = Agent::teammate("bob", "coder");
    bob.user_says(
        "Your task is: risky refactoring. Submit a plan for it before you change anything.",
    );
    let (calls, text) = bob.turn();
    assert_eq!(calls.len(), 1, "{calls:?}");
    assert!(
        calls[0].1["plan"]
            .as_str()
            .unwrap()
            .contains("risky refactoring")
    );
    assert!(
        text.contains("Waiting for the lead's decision about my plan."),
        "{text}"
    );
    bob.mail(json!([decision(false, "Too risky: add tests")]));
    let (calls, _) = bob.turn();
    assert_eq!(calls.len(), 1, "{calls:?}");
    let plan = calls[0].1["plan"].as_str().unwrap();
    assert!(
        plan.contains("Revised") && plan.contains("Too risky: add tests"),
        "{plan}"
    );
    // Mail is answered while the plan is pending.
    bob.mail(json!([message("message", "lead", "Run ls.")]));
    assert_eq!(bob.turn().0[0].0, "bash");
    bob.mail(json!([decision(true, "")]));
    let (calls, text) = bob.turn();
    assert!(
        calls.is_empty() && text.contains("My plan was approved."),
        "{text}"
    );
    assert!(
        text.contains("I did not understand \"risky refactoring\""),
        "{text}"
    );
}

#[test]
fn work_whose_plans_are_all_rejected_is_not_done_but_answered() {
    let mut bob = Agent::teammate("bob", "coder");
    let order = "Submit a plan for the migration. Write hello to a.txt. Send me a message.";
    bob.mail(json!([message("message", "alice", order)]));
    let mut tools = Vec::new();
    for _ in 0..6 {
        tools.extend(bob.turn().0.into_iter().map(|(tool, _)| tool));
        bob.mail(json!([decision(false, "No")]));
    }
    assert_eq!(tools, ["plan_approval"; 4]);
    bob.user_says("<auto-claimed>Task #3: Submit a plan. Write hello to a.txt</auto-claimed>");
    let (mut calls, _) = bob.turn();
    for _ in 0..6 {
        bob.mail(json!([decision(false, "No")]));
        calls.extend(bob.turn().0);
    }
    let tools: Vec<&str> = calls.iter().map(|(tool, _)| tool.as_str()).collect();
    assert_eq!(
        (tools.first(), tools.last()),
        (Some(&"plan_approval"), Some(&"task_update"))
    );
    assert!(!tools.contains(&"write_file"), "{tools:?}");
}

#[test]
fn a_plan_is_submitted_on_request() {
    let mut charlie = Agent::teammate("charlie", "generalist");
    charlie.mail(json!([message("message", "lead", "Submit a plan.")]));
    let (calls, _) = charlie.turn();
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0].0, "plan_approval");
}

#[test]
fn a_refused_tool_leads_to_a_plan_and_then_to_the_work() {
    let mut bob = Agent::teammate("bob", "coder");
    bob.mail(json!([message("message", "lead", "Write hello to a.txt.")]));
    let gate = |tool: &str, _: &Value| {
        (tool == "write_file").then(|| Err("Error: write_file is refused until your plan is approved: submit one with plan_approval".to_owned()))
    };
    let (calls, text) = bob.turn_with(gate);
    let tools: Vec<&str> = calls.iter().map(|(tool, _)| tool.as_str()).collect();
    assert_eq!(tools, ["write_file", "plan_approval"]);
    assert!(
        calls[1].1["plan"]
            .as_str()
            .unwrap()
            .contains("write_file a.txt")
    );
    assert!(text.contains("Waiting for the lead's decision"), "{text}");
    bob.mail(json!([decision(true, "Go")]));
    let (calls, text) = bob.turn();
    assert_eq!(calls[0].0, "write_file");
    assert_eq!(replied(&calls), ["lead"]);
    assert!(text.contains("Wrote 5 bytes"), "{text}");
}

/// Whether a call completes a task with a result that says this.
fn completes(call: &(String, Value), task: i64, says: &str) -> bool {
    let (tool, input) = call;
    let result = input["result"].as_str().unwrap_or_default();
    (tool.as_str(), &input["task_id"], &input["status"])
        == ("task_update", &json!(task), &json!("completed"))
        && result.contains(says)
}

#[test]
fn a_claimed_task_is_completed_also_if_it_was_not_understood() {
    let mut bob = Agent::teammate("bob", "coder");
    bob.user_says("<auto-claimed>Task #3: Write hello to a.txt\n</auto-claimed>");
    let (calls, text) = bob.turn();
    assert_eq!(calls[0].0, "write_file");
    assert!(
        completes(&calls[1], 3, "Wrote 5 bytes to a.txt"),
        "{calls:?}"
    );
    assert!(text.contains("Task #3 is completed."), "{text}");
    bob.user_says("<auto-claimed>Task #4: Setup project\nAll of it.</auto-claimed>");
    let (calls, text) = bob.turn();
    assert_eq!(calls.len(), 1);
    assert!(completes(&calls[0], 4, "I did not understand"), "{calls:?}");
    assert!(
        text.contains("I did not understand \"Setup project"),
        "{text}"
    );
}

#[test]
fn a_reminder_of_work_in_its_tree_does_not_replace_the_report() {
    let mut bob = Agent::teammate("bob", "coder");
    bob.user_says("Write hello to a.txt");
    let (_, report) = bob.turn();
    bob.user_says("<own-tree>Not committed in your tree: a.txt.</own-tree>");
    let (calls, text) = bob.turn();
    assert_eq!((calls, text), (vec![], report));
}

#[test]
fn it_remembers_what_it_was_asked() {
    let mut alice = Agent::teammate("alice", "coder");
    alice.mail(json!([message("message", "lead", "What do you remember?")]));
    let (_, text) = alice.turn();
    assert_eq!(text, "Nobody has asked me to do anything yet.");
    alice.mail(json!([message("message", "lead", "Write hello to a.txt")]));
    alice.turn();
    alice.mail(json!([message("message", "lead", "Run ls.")]));
    alice.turn();
    alice.mail(json!([message("message", "lead", "What do you remember?")]));
    let (calls, text) = alice.turn();
    let words = "I was asked, in this order:\n- Write hello to a.txt\n- Run ls.";
    assert_eq!(text, words);
    assert_eq!(replied(&calls), ["lead"]);
}

#[test]
fn the_answer_to_an_unsigned_line_goes_to_the_lead() {
    for (line, answer) in [
        ("Write bye to b.txt", "Re: Wrote"),
        ("Frobnicate the gizmo", "Re: I did not understand"),
    ] {
        let mut alice = Agent::teammate("alice", "coder");
        alice.mail(json!([message("message", "unsigned", line)]));
        let (calls, _) = alice.turn();
        assert_eq!(replied(&calls), ["lead"], "{line}");
        let text = calls.last().unwrap().1["content"].as_str().unwrap();
        assert!(text.starts_with(answer), "{text}");
    }
}
