//! What a member's agent is made of.

use crate::agent_handle::MateChair;
use crate::settings;
use crate::shutdown::ShutdownRequests;
use crate::start_options::{StartOptions, TeammateError};
use agent::{Agent, Conversation};
use member::{MemberRuntime, Recovered};
use processes::mark_of;
use protocol::{Member, MessageSource, UserMessage};
use std::sync::Arc;
use team_tools::{TeamContext, TeammateHandle, mate_tools};
use tools::{Background, FinishedTask, OutputFolder, ToolContext, Workspace, render_finished};

/// The agent of a member, and what is to be said to it first.
pub(crate) fn build_agent(
    options: &StartOptions,
    member: &Member,
    runtime: &MemberRuntime,
    memory: Recovered,
    shared: (&Arc<ShutdownRequests>, &Background),
) -> Result<(Agent, Vec<UserMessage>), TeammateError> {
    let (shutdown_requests, background) = shared;
    let seat: Arc<dyn TeammateHandle> = Arc::new(MateChair {
        runtime: runtime.clone(),
        shutdown_requests: Arc::clone(shutdown_requests),
    });
    let team = TeamContext {
        team: options.team.clone(),
        me: runtime.me(),
        role: member.role.clone(),
    };
    let mut registry = mate_tools(&team, &seat, background)?;
    settings::restrict(&mut registry, &options.config, member);
    let layout = options.team.layout();
    let folder = options.team.workspace();
    let protected = layout.root().strip_prefix(folder).unwrap_or(layout.root());
    let workspace = Workspace::open(folder, [protected.to_path_buf()])?;
    let output = OutputFolder::new(layout.member_outputs(runtime.owner()));
    let mut context = ToolContext::new(workspace, output, &mark_of(&options.team, runtime.owner()));
    context.policy = Arc::new(options.policy.clone());
    let model = settings::model(options, member, runtime)?;
    let first = first_words(runtime, member, &memory);
    let agent = Agent::new(
        model,
        Arc::new(registry),
        context,
        options.settings.clone(),
        memory.conversation,
    );
    Ok((agent.with_background(background.clone()), first))
}

/// The prompt, if it was not said yet, and word of background commands that died with their process.
fn first_words(runtime: &MemberRuntime, member: &Member, memory: &Recovered) -> Vec<UserMessage> {
    let mut first = Vec::new();
    let lost: Vec<FinishedTask> = memory
        .lost_commands
        .iter()
        .map(FinishedTask::lost)
        .collect();
    if let Some(text) = render_finished(&lost) {
        let source = MessageSource::Commands(memory.lost_commands.clone());
        first.push(UserMessage::with_source(source, text));
    }
    first.extend(unsaid_prompt(member, &memory.conversation));
    if !memory.conversation.turns().is_empty() {
        runtime.note(&format!(
            "goes on with {} turns",
            memory.conversation.turns().len()
        ));
    }
    first
}

fn unsaid_prompt(member: &Member, conversation: &Conversation) -> Option<UserMessage> {
    let (prompt, id) = (member.prompt.as_ref()?, member.prompt_id.as_ref()?);
    let source = MessageSource::Prompt(id.clone());
    (!conversation.was_given(&source)).then(|| UserMessage::with_source(source, prompt.clone()))
}
