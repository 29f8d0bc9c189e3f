//! The declared effect of every tool.

use super::*;
use protocol::{Actor, AgentName, Incarnation, RequestId};
use teamdir::Options;
use test_support::TempTeam;
use tools::{Effect, ToolError, ToolOutput};

#[derive(Debug)]
struct NoProcess;

impl Starter for NoProcess {
    fn programs_for(&self, _: &TeamDir, _: &MemberSpec) -> Programs {
        Programs::new("teammate".into())
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

fn effects(registry: &Registry) -> Vec<(&'static str, Effect)> {
    registry
        .definitions()
        .map(|tool| (tool.name, tool.effect))
        .collect()
}

/// A new tool must be added here with its effect, which decides whether the plan gate stops it.
#[test]
fn every_tool_declares_its_effect() {
    let temp = TempTeam::new(&["alice"], Options::default());
    let background = Background::new();
    let context = TeamContext {
        team: temp.team().clone(),
        me: Actor::member(AgentName::new("alice").unwrap(), Incarnation(1)),
        role: "coder".to_owned(),
    };
    let handle: Arc<dyn TeammateHandle> = Arc::new(NoProcess);
    let own = [
        ("bash", Effect::Execute),
        ("read_file", Effect::Read),
        ("write_file", Effect::Mutate),
        ("edit_file", Effect::Mutate),
        ("grep", Effect::Read),
        ("glob", Effect::Read),
        ("list_dir", Effect::Read),
        ("background_run", Effect::Mutate),
        ("check_background", Effect::Read),
        ("compact", Effect::State),
    ];
    let tasks = [
        ("claim_task", Effect::State),
        ("task_create", Effect::State),
        ("task_update", Effect::State),
        ("task_list", Effect::Read),
        ("task_get", Effect::Read),
        ("todo", Effect::State),
        ("note", Effect::State),
        ("notes", Effect::Read),
    ];
    let teammate = [
        ("send_message", Effect::State),
        ("read_inbox", Effect::State),
        ("shutdown_response", Effect::State),
        ("plan_approval", Effect::State),
        ("idle", Effect::State),
    ];
    let registry = teammate_tools(&context, &handle, &background).unwrap();
    assert_eq!(effects(&registry), [&own[..], &teammate, &tasks].concat());
    let lead = [
        ("spawn_teammate", Effect::State),
        ("list_teammates", Effect::Read),
        ("send_message", Effect::State),
        ("read_inbox", Effect::State),
        ("broadcast", Effect::State),
        ("shutdown_request", Effect::State),
        ("shutdown_response", Effect::Read),
        ("plan_approval", Effect::State),
    ];
    let handle: Arc<dyn AgentHandle> = Arc::new(NoProcess);
    let starter: Arc<dyn Starter> = Arc::new(NoProcess);
    let defaults = TeammateDefaults::default();
    let registry = lead_tools(&context, &handle, &background, &starter, defaults).unwrap();
    assert_eq!(effects(&registry), [&own[..], &lead, &tasks].concat());
}
