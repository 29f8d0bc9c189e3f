//! What `docs/models.md` says the model does, done.

use serde_json::json;

use crate::harness::{Agent, LEAD, message};

/// The tools that an instruction calls, also after the plans it may wait for have come.
fn tools(example: &str) -> String {
    let mut lead = Agent::new("You are 'lead'.", &[LEAD, &["claim_task"]].concat());
    // The tasks that are to depend on each other are those of the same instruction.
    let tasks = example.starts_with("Make them depend");
    lead.user_says(&match tasks {
        true => format!("Create 2 tasks: \"Build\", \"Test\". {example}"),
        false => example.to_owned(),
    });
    let files = |tool: &str, input: &serde_json::Value| {
        let lists = tool == "bash" && input["command"].as_str()?.starts_with("find ");
        lists.then(|| Ok("crates/a.rs\ncrates/b.rs".to_owned()))
    };
    let (mut calls, _) = lead.turn_with(files);
    for from in ["bob", "charlie"] {
        let mut plan = message("plan_approval_request", from, "");
        plan["request_id"] = json!("feed0001");
        plan["plan"] = json!("Rewrite everything");
        lead.mail(json!([plan]));
    }
    calls.extend(lead.turn_with(files).0);
    let mut tools: Vec<String> = calls.into_iter().map(|(tool, _)| tool).collect();
    tools.retain(|tool| !tasks || tool != "task_create");
    tools.dedup();
    tools.join(", ")
}

#[test]
fn each_example_of_the_documentation_calls_the_tools_beside_it() {
    let document = include_str!("../../../../docs/models.md");
    // The tables before this heading are about models.
    let (_, section) = document
        .split_once("## What `offline` understands")
        .unwrap();
    let rows = section
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.strip_suffix(" |"));
    let mut count = 0;
    for (example, claim) in rows.filter_map(|row| row.split_once("` | ")) {
        let claim = claim.replace('`', "").replace("only waits", "");
        assert_eq!(tools(example), claim, "{example}");
        count += 1;
    }
    assert!(count > 40, "{count}");
}
