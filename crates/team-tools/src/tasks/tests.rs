//! The tools as a model calls them: by name, with JSON.

use super::*;
use protocol::{AgentName, Incarnation, TaskStatus};
use serde_json::json;
use team::Actor;
use teamdir::Options;
use test_support::TempTeam;
use tools::{OutputFolder, ToolContext, Workspace};

struct Agent {
    _team: std::sync::Arc<TempTeam>,
    registry: Registry,
    context: ToolContext,
}

impl Agent {
    fn call(&self, name: &str, arguments: Value) -> (String, bool) {
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.build().unwrap();
        let arguments = arguments.to_string();
        let call = self.registry.call(name, &arguments, &self.context);
        let output = runtime.block_on(call);
        (output.text, output.is_error)
    }

    fn ok(&self, name: &str, arguments: Value) -> String {
        let (text, is_error) = self.call(name, arguments);
        assert!(!is_error, "{text}");
        text
    }

    fn refused(&self, name: &str, arguments: Value) -> String {
        let (text, is_error) = self.call(name, arguments);
        assert!(is_error, "{text}");
        text
    }

    fn json(&self, name: &str, arguments: Value) -> Value {
        serde_json::from_str(&self.ok(name, arguments)).unwrap()
    }
}

fn agents(names: &[&str]) -> Vec<Agent> {
    let team = std::sync::Arc::new(TempTeam::new(names, Options::default()));
    let runtime = |name: &&str| {
        let name = AgentName::new(name).unwrap();
        let context = TeamContext {
            team: team.team().clone(),
            me: Actor::member(name, Incarnation(1)),
            role: "coder".to_owned(),
            submitter: None,
        };
        let mut registry = Registry::new();
        add_task_tools(&mut registry, &context).unwrap();
        registry.add(ClaimTask::new(context)).unwrap();
        let workspace = Workspace::open(team.workspace(), []).unwrap();
        let output = OutputFolder::new(team.workspace().join("outputs"));
        Agent {
            _team: std::sync::Arc::clone(&team),
            registry,
            context: ToolContext::new(workspace, output, "test"),
        }
    };
    names.iter().map(runtime).collect()
}

#[test]
fn a_chain_of_tasks_from_creation_to_the_last_result() {
    let agents = agents(&["alice", "bob"]);
    let (alice, bob) = (&agents[0], &agents[1]);
    assert_eq!(alice.ok("task_list", json!({})), "No tasks.");
    let setup = alice.json("task_create", json!({"subject": "Setup"}));
    assert_eq!(setup, json!({"id": 1}));
    let setup = alice.json("task_get", json!({"task_id": 1}));
    assert_eq!((&setup["id"], &setup["owner"]), (&json!(1), &json!("")));
    let code = json!({"subject": "Write code", "description": "All of it.", "priority": 7});
    alice.json("task_create", code);
    let chained = json!({"task_id": 2, "addBlockedBy": [1]});
    assert_eq!(alice.ok("task_update", chained), "pending; blocked by #1");
    assert_eq!(
        bob.ok("task_list", json!({})),
        "[ ] #1: Setup\n[ ] #2: Write code (blocked by: [1])"
    );
    assert_eq!(
        bob.refused("claim_task", json!({"task_id": 2})),
        "Error: task 2 is blocked by [1]: these must be completed first"
    );
    let claimed = alice.ok("claim_task", json!({}));
    assert_eq!(claimed, "Claimed task #1 for alice\nSetup");
    let done = json!({"task_id": 1, "status": "completed", "result": "It works."});
    assert_eq!(alice.ok("task_update", done), "completed; unblocked #2");
    let claimed = bob.ok("claim_task", json!({"task_id": "#2"}));
    assert_eq!(claimed, "Claimed task #2 for bob\nWrite code\nAll of it.");
    assert_eq!(
        bob.ok("task_list", json!({})),
        "[x] #1: Setup @alice\n[>] #2: Write code @bob"
    );
    let open = bob.ok("task_list", json!({"status": "in_progress"}));
    assert_eq!(open, "[>] #2: Write code @bob");
    let shown = bob.json("task_get", json!({"task_id": 1}));
    assert_eq!(shown["result"], json!("It works."));
    assert_eq!(shown["history"][1]["action"], json!("claimed"));
    assert_eq!(shown["status"], json!(TaskStatus::Completed));
}

#[test]
fn several_tasks_are_created_at_once_and_what_was_created_before_an_error_is_said() {
    let agents = agents(&["alice"]);
    let alice = &agents[0];
    let tasks = json!({"tasks": [{"subject": "One"}, {"subject": "Two", "description": "All."}]});
    assert_eq!(alice.json("task_create", tasks), json!({"ids": [1, 2]}));
    let tasks = json!({"tasks": [{"subject": "Three", "blockedBy": ["#2"]}, {"subject": " "}]});
    let refused = alice.refused("task_create", tasks);
    assert!(refused.contains("subject is empty"), "{refused}");
    assert!(
        refused.contains("the 1 tasks before it were created, up to #3"),
        "{refused}"
    );
    assert_eq!(
        alice.ok("task_list", json!({})),
        "[ ] #1: One\n[ ] #2: Two\n[ ] #3: Three (blocked by: [2])"
    );
    for wrong in [
        json!({}),
        json!({"tasks": []}),
        json!({"subject": "x", "tasks": [{"subject": "y"}]}),
    ] {
        let refused = alice.refused("task_create", wrong);
        assert!(refused.contains("a list of tasks"), "{refused}");
    }
    let one = alice.json("task_create", json!({"tasks": [{"subject": "Four"}]}));
    assert_eq!(one, json!({"ids": [4]}));
}

#[test]
fn a_refusal_gives_the_reason() {
    let agents = agents(&["alice", "bob"]);
    let (alice, bob) = (&agents[0], &agents[1]);
    let refused = |name, arguments| alice.refused(name, arguments);
    assert_eq!(
        refused("task_get", json!({"task_id": 7})),
        "Error: Task 7 not found"
    );
    assert_eq!(
        refused("claim_task", json!({"task_id": 7})),
        "Error: Task 7 not found"
    );
    assert!(refused("claim_task", json!({})).contains("no task is ready"));
    assert!(refused("task_create", json!({"subject": " "})).contains("subject is empty"));
    let high = json!({"subject": "x", "priority": 11});
    assert_eq!(
        refused("task_create", high),
        "Error: a priority is 0 to 10, not 11"
    );
    let waits = json!({"subject": "x", "blockedBy": [3]});
    assert!(refused("task_create", waits).contains("task 3 not found"));
    alice.json("task_create", json!({"subject": "One"}));
    alice.json("task_create", json!({"subject": "Two", "role": "tester"}));
    let update = |arguments| alice.refused("task_update", arguments);
    assert_eq!(
        update(json!({"task_id": 1, "status": "done"})),
        "Error: unknown status \"done\": use pending, in_progress or completed"
    );
    assert!(update(json!({"task_id": 1, "addBlockedBy": [1]})).contains("itself"));
    assert!(update(json!({"task_id": 1})).contains("say what to change"));
    assert!(update(json!({"task_id": 1, "result": "x"})).contains("completed"));
    assert!(update(json!({"task_id": 1, "colour": "red"})).contains("colour"));
    assert!(refused("claim_task", json!({"task_id": 2})).contains("\"tester\""));
    alice.ok(
        "task_update",
        json!({"task_id": 1, "status": "in_progress"}),
    );
    assert!(refused("claim_task", json!({})).contains("task 1 in progress"));
    let steal = json!({"task_id": 1, "status": "completed"});
    assert!(
        bob.refused("task_update", steal)
            .contains("belongs to alice")
    );
    let back = json!({"task_id": 1, "status": "pending", "note": "too hard"});
    assert_eq!(alice.ok("task_update", back), "pending");
}
