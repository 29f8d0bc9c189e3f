//! What a member's agent is made of.

use crate::farewell::Farewell;
use crate::orders::{MateError, Orders};
use crate::seat::MateChair;
use crate::settings;
use agent::{Agent, Conversation, Message};
use crew::mark_of;
use desk::{Desk, Memory};
use protocol::Member;
use std::sync::Arc;
use teamtools::{MateSeat, TeamContext, mate_tools};
use tools::{Background, OutputFolder, ToolContext, Workspace};

/// The agent of a member, and what is to be said to it first.
pub(crate) fn equip(
    orders: &Orders,
    member: &Member,
    desk: &Desk,
    memory: Memory,
    shared: (&Arc<Farewell>, &Background),
) -> Result<(Agent, Vec<Message>), MateError> {
    let (farewell, background) = shared;
    let seat: Arc<dyn MateSeat> = Arc::new(MateChair {
        desk: desk.clone(),
        farewell: Arc::clone(farewell),
    });
    let team = TeamContext {
        team: orders.team.clone(),
        me: desk.me(),
        role: member.role.clone(),
    };
    let mut registry = mate_tools(&team, &seat, background)?;
    settings::restrict(&mut registry, &orders.config, member);
    let layout = orders.team.layout();
    let folder = orders.team.workspace();
    let protected = layout.root().strip_prefix(folder).unwrap_or(layout.root());
    let workspace = Workspace::open(folder, [protected.to_path_buf()])?;
    let output = OutputFolder::new(layout.member_outputs(desk.owner()));
    let mut context = ToolContext::new(workspace, output, &mark_of(&orders.team, desk.owner()));
    context.policy = Arc::new(orders.policy.clone());
    let model = settings::model(orders, member, desk)?;
    let first = first_words(desk, member, &memory);
    let agent = Agent::new(
        model,
        Arc::new(registry),
        context,
        orders.settings.clone(),
        memory.conversation,
    );
    Ok((agent.with_background(background.clone()), first))
}

/// The prompt, if it was not said yet, and word of background commands that died with their process.
fn first_words(desk: &Desk, member: &Member, memory: &Memory) -> Vec<Message> {
    let mut first = Vec::new();
    let lost: Vec<String> = memory
        .lost_commands
        .iter()
        .map(|id| format!("[bg:{id}] stopped: it ended with the process that ran it"))
        .collect();
    if !lost.is_empty() {
        let words = lost.join("\n");
        first.push(Message::new(format!(
            "<background-results>\n{words}\n</background-results>"
        )));
    }
    first.extend(unsaid_prompt(member, &memory.conversation));
    if !memory.conversation.turns().is_empty() {
        desk.note(&format!(
            "goes on with {} turns",
            memory.conversation.turns().len()
        ));
    }
    first
}

fn unsaid_prompt(member: &Member, conversation: &Conversation) -> Option<Message> {
    let (prompt, id) = (member.prompt.as_ref()?, member.prompt_id.as_ref()?);
    let key = format!("prompt:{id}");
    (!conversation.has_seen(&key)).then(|| Message::with_id(key, prompt.clone()))
}
