//! What the lead's model is told, without the process that asks it.

use crate::run::{registry, sandbox_settings};
use config::Config;
use member::{all_definitions, confinement, prompt_spec};
use processes::{NoTeammate, Programs};
use prompts::{PromptSpec, Reader};
use protocol::MemberSpec;
use std::path::Path;
use std::sync::Arc;
use team::Actor;
use team_tools::{AgentHandle, Starter, TeamContext, TeammateDefaults};
use teamdir::TeamDir;
use tools::{Background, Definition, DuplicateTool, ToolError, ToolOutput};

/// Why the lead's tools cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum ShowError {
    #[error(transparent)]
    NoTeammate(#[from] NoTeammate),
    #[error(transparent)]
    Tools(#[from] DuplicateTool),
}

/// What the system prompt of a lead is made from that starts in this workspace without options.
#[must_use]
pub fn lead_prompt(workspace: &Path, config: &Config) -> PromptSpec {
    let settings = sandbox_settings((None, None), config);
    let confinement = confinement(workspace, &settings, String::new());
    prompt_spec(workspace, Reader::Lead, &Arc::new(confinement))
}

/// The tools of a lead with this prompt.
pub fn lead_tool_definitions(
    team: &TeamDir,
    prompt: &PromptSpec,
) -> Result<Vec<Definition>, ShowError> {
    let roster = team.roster();
    let incarnation = roster.map(|roster| roster.lead_incarnation);
    let context = TeamContext {
        team: team.clone(),
        me: Actor::lead(incarnation.unwrap_or_default()),
        role: "lead".to_owned(),
        submitter: None,
    };
    let handle: Arc<dyn AgentHandle> = Arc::new(NoProcess);
    let starter: Arc<dyn Starter> = Arc::new(NoStarter(Programs::find()?));
    let tools = (&context, &handle, &Background::new());
    let registry = registry(tools, prompt, &starter, TeammateDefaults::default())?;
    Ok(all_definitions(&registry))
}

/// In the place of the lead's process, for tools that are shown and never called.
struct NoProcess;

impl AgentHandle for NoProcess {
    fn read_inbox(&self) -> Result<ToolOutput, ToolError> {
        Err(ToolError::new("the lead's process does not run here"))
    }
}

/// Starts nobody, because no tool is called.
#[derive(Debug)]
struct NoStarter(Programs);

impl Starter for NoStarter {
    fn programs_for(&self, _: &TeamDir, _: &MemberSpec) -> Result<Programs, ToolError> {
        Ok(self.0.clone())
    }
}
