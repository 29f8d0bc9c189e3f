//! The lead's model, and the choice that its teammates are started with.

use llm::Model;
use member::{ModelError, WorkspaceSettings, choose_model};
use std::sync::Arc;

/// The notice when nobody chose a model.
const NONE_CHOSEN: &str = "No model is chosen, so `offline` is used, a small follower of plain \
    instructions that is no LLM. Choose with --model or TEAM_MODEL: anthropic:NAME, openai:NAME, \
    script:FILE.";

pub(crate) struct LeadModel {
    pub(crate) model: Arc<dyn Model>,
    /// The model that teammates are started with, if the person chose one for this run. Otherwise
    /// they read the same files and variables.
    pub(crate) for_teammates: Option<String>,
    /// A notice for the person, if nothing was chosen.
    pub(crate) remark: Option<&'static str>,
}

/// Chooses and builds the lead's model.
pub(crate) fn choose(
    value: Option<&str>,
    settings: &WorkspaceSettings,
) -> Result<LeadModel, ModelError> {
    let chosen = choose_model(value, "lead", settings)?;
    Ok(LeadModel {
        model: chosen.model,
        for_teammates: value.map(|_| chosen.choice.to_string()),
        remark: chosen.is_default.then_some(NONE_CHOSEN),
    })
}
