//! A member whose model is the agent of another program.

use crate::settings;
use crate::start_options::StartOptions;
use agent::Conversation;
use member::{BudgetedModels, EngineError, EngineOptions, MemberRuntime};
use prompts::Reader;
use protocol::Member;
use std::sync::Arc;
use tokio::sync::Notify;

/// The engine of a member, if it has one, within the team's budget.
pub(crate) fn engine(
    options: &StartOptions,
    member: &Member,
    runtime: &MemberRuntime,
    conversation: &Conversation,
    turn_waits: &Arc<Notify>,
) -> Result<Option<BudgetedModels>, EngineError> {
    let config = &options.workspace.config;
    let Some(engine) = settings::engine(config, member) else {
        return Ok(None);
    };
    let wanted = EngineOptions {
        engine,
        introduction: introduction(&settings::reader(config, member)),
        was_interrupted: conversation.is_waiting(),
        is_new: conversation.turns().is_empty(),
        turn_waits: Arc::clone(turn_waits),
    };
    let variables = options.workspace.variables.clone();
    let models = runtime.engine_within_budget(wanted, variables, options.max_rounds)?;
    Ok(Some(models))
}

/// What an agent is told first.
fn introduction(reader: &Reader) -> String {
    let Reader::Teammate {
        name,
        role,
        about_role,
    } = reader
    else {
        return String::new();
    };
    let about = match about_role {
        Some(about) => format!(" {about}"),
        None => String::new(),
    };
    format!(
        "<team-member>You are {name} in a team of agents, with the role: {role}.{about}\n\
         Messages of others reach you as prompts, in blocks <mail>; others do not see what you write here. The \
         tools of the server \"team\" are how you take part: send_message writes to \"lead\" or to another \
         member, task_update says what became of a task that you hold (status completed with a result, or \
         pending with a note), plan_approval submits a plan where you need one. The text with which you end a \
         turn goes to the lead as your report, so end with what came of your work.</team-member>"
    )
}
