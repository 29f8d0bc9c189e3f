//! What a teammate's model is told, without the process that asks it.

use crate::build_agent::registry;
use crate::settings;
use config::Config;
use member::{all_definitions, confinement, prompt_spec};
use prompts::PromptSpec;
use protocol::{Member, RequestId, TaskId, TreeMode};
use std::sync::Arc;
use team::Actor;
use team_tools::{AgentHandle, SubmittedWork, Submitter, TeamContext, TeammateHandle};
use teamdir::TeamDir;
use tools::{Background, Definition, DuplicateTool, ToolError, ToolOutput};

/// What a member is told by its system prompt and its tools.
pub struct Instructions {
    pub prompt: PromptSpec,
    pub tools: Vec<Definition>,
}

/// What the member's process would tell its model if it started now.
pub fn instructions(
    team: &TeamDir,
    config: &Config,
    member: &Member,
) -> Result<Instructions, DuplicateTool> {
    let is_own_tree = settings::tree(config, member) == TreeMode::Own;
    let workspace = settings::folder(team, config, member);
    let sandbox = settings::sandbox(config, member);
    let confinement = confinement(&workspace, &sandbox, String::new());
    let reader = settings::reader(config, member);
    let prompt = PromptSpec {
        is_own_tree,
        ..prompt_spec(&workspace, reader, &Arc::new(confinement))
    };
    let context = TeamContext {
        team: team.clone(),
        me: Actor::member(member.spec.name.clone(), member.incarnation),
        role: member.spec.role.clone(),
        submitter: is_own_tree.then(|| Arc::new(NoProcess) as Arc<dyn Submitter>),
    };
    let handle: Arc<dyn TeammateHandle> = Arc::new(NoProcess);
    let tools = (&context, &handle, &Background::new());
    let registry = registry(tools, &prompt, config, member)?;
    let tools = all_definitions(&registry);
    Ok(Instructions { prompt, tools })
}

/// In the place of a member's process, for tools that are shown and never called.
#[derive(Debug)]
struct NoProcess;

impl Submitter for NoProcess {
    fn submit(&self, _: Option<TaskId>, _: Option<String>) -> Result<SubmittedWork, ToolError> {
        Self::refuse()
    }
}

impl NoProcess {
    fn refuse<T>() -> Result<T, ToolError> {
        Err(ToolError::new("the member's process does not run here"))
    }
}

impl AgentHandle for NoProcess {
    fn read_inbox(&self) -> Result<ToolOutput, ToolError> {
        Self::refuse()
    }
}

impl TeammateHandle for NoProcess {
    fn answer_shutdown(&self, _: &RequestId, _: bool, _: &str) -> Result<(), ToolError> {
        Self::refuse()
    }

    fn submit_plan(&self, _: &str) -> Result<RequestId, ToolError> {
        Self::refuse()
    }
}
