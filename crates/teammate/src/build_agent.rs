//! Builds the teammate's agent.

use crate::agent_handle::ToolHandle;
use crate::engine::engine;
use crate::settings;
use crate::shutdown::ShutdownRequests;
use crate::start_options::{StartOptions, TeammateError};
use crate::trees::OwnWork;
use agent::{Agent, Conversation};
use config::Config;
use member::{AgentTools, MemberRuntime, Recovered, choose_models};
use prompts::PromptSpec;
use protocol::{Member, MessageSource, UserMessage};
use std::sync::Arc;
use team_tools::{Submitter, TeamContext, TeammateHandle, teammate_tools};
use tokio::sync::Notify;
use tools::{Background, DuplicateTool, FinishedTask, Registry, render_finished};
use tracing::{info, warn};

/// The agent of a member, and the input of its first turn.
pub(crate) fn build_agent(
    options: &StartOptions,
    member: &Member,
    place: (&MemberRuntime, &PromptSpec),
    recovered: Recovered,
    shared: (
        &Arc<ShutdownRequests>,
        &Background,
        Option<&OwnWork>,
        &Arc<Notify>,
    ),
) -> Result<(Agent, Vec<UserMessage>), TeammateError> {
    let (runtime, spec) = place;
    let (shutdown_requests, background, own_work, turn_waits) = shared;
    let conversation = &recovered.conversation;
    if let Some(models) = engine(options, member, runtime, conversation, turn_waits)? {
        let input = first_input(member, &recovered);
        // The agent has tools of its own, and the team's through a server beside it.
        let tools = AgentTools {
            registry: Registry::default(),
            background: background.clone(),
        };
        let (model, settings) = (models.model, models.settings);
        let agent = runtime.build_agent(model, tools, settings, recovered.conversation)?;
        return Ok((agent, input));
    }
    let handle: Arc<dyn TeammateHandle> = Arc::new(ToolHandle {
        runtime: runtime.clone(),
        shutdown_requests: Arc::clone(shutdown_requests),
    });
    let team = TeamContext {
        team: options.team.clone(),
        me: runtime.me(),
        role: member.spec.role.clone(),
        submitter: own_work.map(|own_work| Arc::new(own_work.clone()) as Arc<dyn Submitter>),
    };
    let config = &options.workspace.config;
    let mut registry = registry((&team, &handle, background), spec, config, member)?;
    let wanted = settings::model_options(&options.workspace.config, member, options.window);
    let models = choose_models(&wanted, member.spec.name.as_str(), &options.workspace)?;
    for remark in &models.remarks {
        warn!("{remark}");
    }
    let variables = options.workspace.variables.clone();
    let models = runtime.within_budget(models, variables, options.max_rounds);
    let input = first_input(member, &recovered);
    runtime.add_explore(&mut registry, &models)?;
    let role = Some(member.spec.role.as_str());
    runtime.add_mcp_tools(&mut registry, &options.workspace, role)?;
    let tools = AgentTools {
        registry,
        background: background.clone(),
    };
    let (model, settings) = (models.model, models.settings);
    let agent = runtime.build_agent(model, tools, settings, recovered.conversation)?;
    Ok((agent, input))
}

/// The tools of a member.
pub(crate) fn registry(
    parts: (&TeamContext, &Arc<dyn TeammateHandle>, &Background),
    spec: &PromptSpec,
    config: &Config,
    member: &Member,
) -> Result<Registry, DuplicateTool> {
    let (team, handle, background) = parts;
    let mut registry = teammate_tools(team, handle, background)?;
    if let Some(skills) = spec.skill_tool() {
        registry.add(skills)?;
    }
    settings::restrict(&mut registry, config, member);
    Ok(registry)
}

/// Background commands that ended with their process, and the prompt if the model has not seen it.
fn first_input(member: &Member, recovered: &Recovered) -> Vec<UserMessage> {
    let conversation = &recovered.conversation;
    if !conversation.turns().is_empty() {
        info!(
            "continues a conversation of {} turns",
            conversation.turns().len()
        );
    }
    let ids = &recovered.lost_commands;
    let lost: Vec<FinishedTask> = ids.iter().map(FinishedTask::lost).collect();
    let lost = render_finished(&lost).map(|text| {
        let source = MessageSource::Commands(ids.clone());
        UserMessage::with_source(source, text)
    });
    let prompt = unseen_prompt(member, conversation);
    lost.into_iter().chain(prompt).collect()
}

fn unseen_prompt(member: &Member, conversation: &Conversation) -> Option<UserMessage> {
    let (prompt, id) = (member.spec.prompt.as_ref()?, member.prompt_id.as_ref()?);
    let source = MessageSource::Prompt(id.clone());
    (!conversation.was_given(&source)).then(|| UserMessage::with_source(source, prompt.clone()))
}
