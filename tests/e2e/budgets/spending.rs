//! Budgets that members in processes of their own keep to.

use super::{done, work};
use crate::harness::{LIMIT, Workspace};
use protocol::{Phase, exit};
use serde_json::json;
use test_support::llm_server::Gate;
use test_support::wait_until;

const NAMES: [&str; 3] = ["alice", "bob", "carol"];

/// Waits until the budget is spent and nothing is on its way.
#[track_caller]
fn wait_until_spent(workspace: &Workspace, tokens: u64) {
    wait_until("the budget to be spent", LIMIT, || {
        let sum = workspace.spent();
        sum.tokens >= tokens && sum.in_flight == 0
    });
}

fn requests(workspace: &Workspace) -> u64 {
    let counts = NAMES.map(|name| workspace.server.requests(name).len() as u64);
    counts.iter().sum()
}

#[test]
fn members_share_a_budget_wait_when_it_is_spent_and_go_on_after_a_raise() {
    let workspace = Workspace::with_config("[budget]\nmax_tokens = 1000\n");
    for name in NAMES {
        workspace.server.always(name, work());
        workspace.spawn(name, &["--prompt", "Work."]);
    }
    wait_until_spent(&workspace, 1000);
    for name in NAMES {
        workspace.wait_for_budget(name);
    }
    let sum = workspace.spent();
    assert!((10..=12).contains(&sum.calls), "{sum:?}");
    assert_eq!(
        (sum.tokens, requests(&workspace)),
        (sum.calls * 100, sum.calls)
    );
    assert_eq!(workspace.lead_mail_ids(), ["budget//1"]);
    let shown = workspace.json(&["budget"]);
    assert_eq!(shown["team"]["is_spent"], true, "{shown}");
    assert_eq!(shown["team"]["limits"]["max_tokens"], 1000, "{shown}");

    let said = workspace.ok(&["budget", "raise", "--max-tokens", "2k"]);
    assert_eq!(said, "Budget of the team: max_tokens 2000\n");
    wait_until_spent(&workspace, 2000);
    let sum = workspace.spent();
    assert!((20..=22).contains(&sum.calls), "{sum:?}");
    assert_eq!(requests(&workspace), sum.calls);
}

#[test]
fn a_restart_gives_nothing_back() {
    let workspace = Workspace::with_config("");
    workspace.server.always("alice", work());
    workspace.spawn("alice", &["--prompt", "Work.", "--max-turns", "3"]);
    workspace.wait_for_budget("alice");
    assert_eq!(workspace.server.requests("alice").len(), 3);
    processes::kill(workspace.team(), &"alice".parse().unwrap()).unwrap();
    workspace.restart("alice");
    workspace.wait_for_budget("alice");
    assert_eq!(workspace.server.requests("alice").len(), 3);
    workspace.ok(&["budget", "raise", "--member", "alice", "--max-turns", "4"]);
    workspace.server.wait_for_requests("alice", 4, LIMIT);
    let sum = workspace.spent_by("alice");
    assert!(sum.calls + sum.in_flight <= 4, "{sum:?}");
}

#[test]
fn the_turn_of_a_killed_member_is_free_for_others() {
    let workspace = Workspace::with_config("[budget]\nmax_turns = 1\n");
    let gate = Gate::new();
    workspace.server.always("alice", done().gate_head(&gate));
    workspace.server.always("bob", done());
    workspace.spawn("alice", &["--prompt", "Work."]);
    gate.wait_until_reached(LIMIT);
    workspace.spawn("bob", &["--prompt", "Work."]);
    workspace.wait_for_budget("bob");
    assert!(workspace.server.requests("bob").is_empty());
    processes::kill(workspace.team(), &"alice".parse().unwrap()).unwrap();
    workspace.server.wait_for_requests("bob", 1, LIMIT);
    workspace.wait_phase("bob", Phase::Idle);
    let sum = workspace.spent();
    assert_eq!((sum.calls, sum.in_flight), (1, 0), "{sum:?}");
    gate.open();
}

#[test]
fn a_member_without_budget_ends_when_it_is_asked_to() {
    let workspace = Workspace::with_config("");
    workspace.server.always("alice", done());
    workspace.spawn("alice", &["--prompt", "Work.", "--max-turns", "1"]);
    workspace.wait_phase("alice", Phase::Idle);
    workspace.ok(&["send", "alice", "More work."]);
    workspace.wait_for_budget("alice");
    workspace.ok(&["shutdown", "alice", "--wait", "--timeout", "100"]);
    assert_eq!(workspace.server.requests("alice").len(), 1);
}

#[test]
fn costs_are_told_by_member_model_and_task_and_unknown_prices_as_unknown() {
    let workspace = Workspace::with_config("");
    workspace.server.always("alice", done());
    workspace.spawn("alice", &["--prompt", "Work."]);
    workspace.wait_phase("alice", Phase::Idle);
    let shown = workspace.ok(&["costs", "--by", "model"]);
    assert!(shown.contains("anthropic:test"), "{shown}");
    assert!(shown.contains("price unknown"), "{shown}");
    let shown = workspace.json(&["costs"]);
    assert_eq!(shown["costs"][0]["member"], "alice", "{shown}");
    assert_eq!(shown["costs"][0]["cost"], json!(null), "{shown}");

    // A price that is added counts from the next call on.
    workspace.write(
        "team.toml",
        "[models.test]\nprice = { input = 1, output = 10 }\n",
    );
    workspace.ok(&["task", "create", "Mend the parser"]);
    wait_until("the task to be paid for", LIMIT, || {
        let shown = workspace.json(&["costs", "--by", "task"]);
        shown["costs"][0]["task"] == 1
    });
    let shown = workspace.json(&["costs", "--by", "task"]);
    // 60 tokens at a dollar a million and 40 at ten, once a call.
    let calls = shown["costs"][0]["calls"].as_f64().unwrap();
    let cost = shown["costs"][0]["cost"].as_f64().unwrap();
    assert!((cost - calls * 0.000_46).abs() < 1e-9, "{shown}");
}

#[test]
fn a_price_of_zero_in_the_workspace_lifts_no_limit_of_the_user() {
    let workspace = Workspace::with_config("[models.test]\nprice = { input = 0, output = 0 }\n");
    workspace.write_home(
        ".config/team-lead/config.toml",
        "[models.test]\nprice = { input = 1, output = 10 }\n",
    );
    workspace.server.always("alice", work());
    workspace.spawn("alice", &["--prompt", "Work.", "--max-cost", "0.001"]);
    workspace.wait_for_budget("alice");
    let shown = workspace.json(&["costs"]);
    // Each call costs 0.00046.
    let cost = shown["costs"][0]["cost"].as_f64().unwrap();
    assert!((0.001..0.002).contains(&cost), "{shown}");
}

#[test]
fn wrong_use_of_a_budget_is_explained() {
    let workspace = Workspace::with_config("");
    workspace.spawn("alice", &[]);
    let run = workspace.run(&["budget", "raise"]);
    assert_eq!(run.code, i32::from(exit::USAGE), "{run:?}");
    assert!(run.err.contains("--max-tokens"), "{run:?}");
    let run = workspace.run(&["budget", "raise", "--member", "zoe", "--max-turns", "1"]);
    assert_eq!(run.code, i32::from(exit::NOT_FOUND), "{run:?}");
    let run = workspace.run(&["spawn", "bob", "coder", "--max-cost", "lots"]);
    assert_eq!(run.code, i32::from(exit::USAGE), "{run:?}");
}

#[test]
fn a_spawn_that_fails_leaves_no_budget_behind() {
    let workspace = Workspace::with_config("");
    let run = workspace.run(&[
        "spawn",
        "bob",
        "coder",
        "--model",
        "nonsense:x",
        "--max-turns",
        "1",
    ]);
    assert_eq!(run.code, i32::from(exit::FAILED), "{run:?}");
    assert!(workspace.team().budget().unwrap().members.is_empty());
}
