//! The tools with which a model takes part in a team.
//!
//! # Theory of operation
//!
//! Each tool parses the model's arguments, calls `team` or `processes`, and returns the result as text. No
//! tool decides anything: `rules` decides who may ask for a shutdown, which answer counts and who may claim
//! a task. A tool reaches the process it runs in through an [`AgentHandle`].
//!
//! **Invariant:** no tool lets a model send an arbitrary control message; `send_message` sends plain
//! messages only.

mod agent_handle;
mod answer;
mod context;
mod effects;
mod lead;
mod leading;
mod mail;
mod notes;
mod outside;
mod submit;
mod tasks;
mod teammate;
mod todo;
mod wait;

pub use agent_handle::{AgentHandle, TeammateHandle};
pub use answer::AnswerRequest;
pub use context::TeamContext;
pub use effects::{lead_effect, teammate_effect};
pub use lead::{
    ListTeammates, PlanDecision, ShutdownLookup, ShutdownRequest, SpawnTeammate, TeammateDefaults,
    member_line,
};
pub use leading::leading_tools;
pub use mail::{Broadcast, ReadInbox, SendMessage};
pub use notes::{ReadNotes, WriteNote};
pub use outside::{QuestionSettings, outside_member_tools};
pub use submit::{Submit, SubmittedWork, Submitter};
pub use tasks::{ClaimTask, TaskCreate, TaskGet, TaskList, TaskUpdate, add_task_tools};
pub use teammate::{Idle, PlanSubmission, ShutdownAnswer};
pub use todo::WriteTodo;

use processes::Programs;
use protocol::MemberSpec;
use std::sync::Arc;
use teamdir::TeamDir;
use tools::{
    AskUser, Background, BackgroundRun, Bash, CheckBackground, Compact, DuplicateTool, EditFile,
    Glob, Grep, ListDir, ReadFile, Registry, ToolError, WriteFile,
};

/// The tools that every agent of a team has. They come first and in one order, so that the requests of all
/// agents begin with the same bytes, for which a provider that keeps them charges once.
fn common_tools(
    context: &TeamContext,
    handle: Arc<dyn AgentHandle>,
    background: &Background,
) -> Result<Registry, DuplicateTool> {
    let mut registry = Registry::default();
    registry.add(Bash)?;
    registry.add(ReadFile)?;
    registry.add(WriteFile)?;
    registry.add(EditFile)?;
    registry.add(Grep)?;
    registry.add(Glob)?;
    registry.add(ListDir)?;
    registry.add(BackgroundRun::new(background.clone()))?;
    registry.add(CheckBackground::new(background.clone()))?;
    registry.add(AskUser)?;
    registry.add(Compact)?;
    registry.add(WriteTodo::new(context.clone()))?;
    registry.add(SendMessage::new(context.clone()))?;
    registry.add(ReadInbox::new(handle))?;
    registry.add(ClaimTask::new(context.clone()))?;
    add_task_tools(&mut registry, context)?;
    registry.add(WriteNote::new(context.clone()))?;
    registry.add(ReadNotes::new(context.clone()))?;
    registry.share();
    Ok(registry)
}

/// All tools of a teammate.
pub fn teammate_tools(
    context: &TeamContext,
    handle: &Arc<dyn TeammateHandle>,
    background: &Background,
) -> Result<Registry, DuplicateTool> {
    let agent = Arc::clone(handle) as Arc<dyn AgentHandle>;
    let mut registry = common_tools(context, agent, background)?;
    registry.add(ShutdownAnswer::new(Arc::clone(handle)))?;
    registry.add(PlanSubmission::new(Arc::clone(handle)))?;
    registry.add(Idle)?;
    if let Some(submitter) = &context.submitter {
        registry.add(Submit::new(context.clone(), Arc::clone(submitter)))?;
    }
    Ok(registry)
}

/// How a lead starts teammates.
pub trait Starter: std::fmt::Debug + Send + Sync {
    /// The program for a member that the lead's model wants to be like this, if one may be started.
    fn programs_for(&self, team: &TeamDir, spec: &MemberSpec) -> Result<Programs, ToolError>;
}

/// All tools of the lead.
pub fn lead_tools(
    context: &TeamContext,
    handle: &Arc<dyn AgentHandle>,
    background: &Background,
    starter: &Arc<dyn Starter>,
    defaults: TeammateDefaults,
) -> Result<Registry, DuplicateTool> {
    let mut registry = common_tools(context, Arc::clone(handle), background)?;
    let spawn = SpawnTeammate::new(context.clone(), Arc::clone(starter), defaults);
    registry.add(spawn)?;
    registry.add(ListTeammates::new(context.clone()))?;
    registry.add(Broadcast::new(context.clone()))?;
    registry.add(ShutdownRequest::new(context.clone()))?;
    registry.add(ShutdownLookup::new(context.clone()))?;
    registry.add(PlanDecision::new(context.clone()))?;
    Ok(registry)
}

#[cfg(test)]
mod tests;
