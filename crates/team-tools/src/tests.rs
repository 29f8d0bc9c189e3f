//! The declared effect of every tool.

use super::*;
use protocol::{Actor, AgentName, Incarnation, RequestId};
use teamdir::Options;
use test_support::TempTeam;
use tools::{Effect, ToolError, ToolOutput};

#[derive(Debug)]
struct NoProcess;

impl Starter for NoProcess {
    fn programs_for(&self, _: &TeamDir, _: &MemberSpec) -> Result<Programs, ToolError> {
        Ok(Programs::new("teammate".into()))
    }
}

impl AgentHandle for NoProcess {
    fn read_inbox(&self) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::ok("[]"))
    }
}

impl TeammateHandle for NoProcess {
    fn answer_shutdown(&self, _: &RequestId, _: bool, _: &str) -> Result<(), ToolError> {
        Ok(())
    }

    fn submit_plan(&self, _: &str) -> Result<RequestId, ToolError> {
        Ok(RequestId::new("1a2b3c4d").unwrap())
    }
}

fn alice(temp: &TempTeam) -> TeamContext {
    TeamContext {
        team: temp.team().clone(),
        me: Actor::member(AgentName::new("alice").unwrap(), Incarnation(1)),
        role: "coder".to_owned(),
        submitter: None,
    }
}

fn effects(registry: &Registry) -> Vec<(&str, Effect)> {
    registry
        .definitions()
        .map(|tool| (&*tool.name, tool.effect))
        .collect()
}

/// The tools that all agents have, in the order in which they are offered.
const COMMON: [(&str, Effect); 21] = [
    ("bash", Effect::Execute),
    ("read_file", Effect::Read),
    ("write_file", Effect::Mutate),
    ("edit_file", Effect::Mutate),
    ("grep", Effect::Read),
    ("glob", Effect::Read),
    ("list_dir", Effect::Read),
    ("background_run", Effect::Mutate),
    ("check_background", Effect::Read),
    ("ask_user", Effect::Ask),
    ("compact", Effect::State),
    ("todo", Effect::State),
    ("send_message", Effect::State),
    ("read_inbox", Effect::State),
    ("claim_task", Effect::State),
    ("task_create", Effect::State),
    ("task_update", Effect::State),
    ("task_list", Effect::Read),
    ("task_get", Effect::Read),
    ("note", Effect::State),
    ("notes", Effect::Read),
];

/// A new tool must be added here with its effect, which decides whether the plan gate stops it.
#[test]
fn every_tool_declares_its_effect() {
    let temp = TempTeam::new(&["alice"], Options::default());
    let background = Background::new();
    let context = alice(&temp);
    let handle: Arc<dyn TeammateHandle> = Arc::new(NoProcess);
    let teammate = [
        ("shutdown_response", Effect::State),
        ("plan_approval", Effect::State),
        ("idle", Effect::State),
    ];
    let registry = teammate_tools(&context, &handle, &background).unwrap();
    assert_eq!(effects(&registry), [&COMMON[..], &teammate].concat());
    for (name, effect) in effects(&registry) {
        assert_eq!(teammate_effect(name), Some(effect), "{name}");
    }
    let offered = |registry: &Registry| -> Vec<String> {
        registry
            .definitions()
            .map(|tool| tool.name.to_string())
            .collect()
    };
    let of_teammate = offered(&registry);
    let shared = registry.shared();
    assert_eq!(
        of_teammate[shared..],
        ["shutdown_response", "plan_approval", "idle"]
    );
    let lead = [
        ("spawn_teammate", Effect::State),
        ("list_teammates", Effect::Read),
        ("broadcast", Effect::State),
        ("shutdown_request", Effect::State),
        ("shutdown_response", Effect::Read),
        ("plan_approval", Effect::State),
    ];
    let handle: Arc<dyn AgentHandle> = Arc::new(NoProcess);
    let starter: Arc<dyn Starter> = Arc::new(NoProcess);
    let defaults = TeammateDefaults::default();
    let registry = lead_tools(&context, &handle, &background, &starter, defaults).unwrap();
    assert_eq!(effects(&registry), [&COMMON[..], &lead].concat());
    for (name, effect) in effects(&registry) {
        assert_eq!(lead_effect(name), Some(effect), "{name}");
    }
    assert_eq!(lead_effect("idle"), None);
    // The requests of all agents begin alike, whatever they have besides.
    assert_eq!(registry.shared(), shared);
    let of_lead = offered(&registry);
    assert_eq!(of_lead[..shared], of_teammate[..shared]);
    assert_eq!(of_lead[shared..], lead.map(|(name, _)| name));
}

/// Models write arguments in the order of the schema, so it is the order in which a person would.
#[test]
fn arguments_come_in_the_order_in_which_a_person_would_write_them() {
    let temp = TempTeam::new(&["alice"], Options::default());
    let handle: Arc<dyn AgentHandle> = Arc::new(NoProcess);
    let starter: Arc<dyn Starter> = Arc::new(NoProcess);
    let background = Background::new();
    let defaults = TeammateDefaults::default();
    let registry = lead_tools(&alice(&temp), &handle, &background, &starter, defaults).unwrap();
    for (name, wanted) in [
        ("bash", &["command", "timeout"][..]),
        ("read_file", &["path", "offset", "limit"]),
        ("write_file", &["path", "content"]),
        (
            "edit_file",
            &["path", "old_text", "new_text", "replace_all", "edits"],
        ),
        ("grep", &["pattern", "path", "glob"]),
        ("spawn_teammate", &["name", "role", "prompt"]),
        ("send_message", &["to", "content"]),
        (
            "task_create",
            &["tasks", "subject", "description", "priority"],
        ),
        ("task_update", &["task_id", "status"]),
        ("todo", &["items", "text", "status"]),
        ("note", &["text"]),
    ] {
        let mut tools = registry.definitions();
        let schema = &tools.find(|tool| tool.name == name).unwrap().schema;
        let text = schema.raw().get();
        let places: Vec<usize> = wanted
            .iter()
            .map(|argument| text.find(&format!("\"{argument}\":{{")).unwrap())
            .collect();
        assert!(places.is_sorted(), "{name}: {text}");
    }
}

#[tokio::test]
async fn a_to_do_list_is_bounded_and_replaced_whole() {
    let temp = TempTeam::new(&["alice"], Options::default());
    let folder = tempfile::tempdir().unwrap();
    let workspace = tools::Workspace::open(folder.path(), []).unwrap();
    let output = tools::OutputFolder::new(folder.path().join("out"));
    let context = tools::ToolContext::new(workspace, output, "test");
    let mut registry = Registry::default();
    registry.add(WriteTodo::new(alice(&temp))).unwrap();
    let owner = "alice".parse().unwrap();
    std::fs::create_dir_all(temp.team().layout().member_dir(&owner)).unwrap();
    let write = async |items: serde_json::Value| {
        let arguments = serde_json::json!({"items": items}).to_string();
        registry.call("todo", &arguments, &context).await
    };
    let item = |text: &str, status: &str| serde_json::json!({"text": text, "status": status});
    let list = serde_json::json!([item("one\n two", "completed"), item("three", "in_progress")]);
    assert_eq!(write(list).await.text, "To-do list: 1/2: three");
    let stored = || temp.team().todo_list(&owner).unwrap();
    assert_eq!(stored().items[0].text, "one two");
    for (items, reason) in [
        (vec![item("x", "pending"); 51], "51 items, more than 50"),
        (
            vec![item(&"x".repeat(301), "pending")],
            "item 1 has 301 characters",
        ),
        (vec![item(" ", "pending")], "item 1 has 0 characters"),
        (vec![item("x", "soon")], "soon"),
    ] {
        let output = write(serde_json::json!(items)).await;
        assert!(
            output.is_error && output.text.contains(reason),
            "{output:?}"
        );
        assert_eq!(stored().items.len(), 2, "nothing was changed");
    }
    let both = serde_json::json!([item("a", "in_progress"), item("b", "in_progress")]);
    assert!(write(both).await.text.contains("More than one item"));
    assert_eq!(
        write(serde_json::json!([])).await.text,
        "Your to-do list is empty now."
    );
    assert_eq!(stored().items, []);
}
