//! Builds what the agents of lead and teammate have in common: model, budget, tools and input.

use crate::explore::Explore;
use crate::runtime::MemberRuntime;
use crate::workspace::{WorkspaceSettings, owners};
use agent::{Agent, Conversation, Limits, Settings};
use budget::{BudgetedModel, MemberBudget};
use config::{Config, price_source};
use llm::choice::{BuildError, ChoiceError};
use llm::{ClientOptions, Model, ModelChoice, Variables};
use std::sync::Arc;
use tools::{
    Background, Definition, DuplicateTool, OpenWorkspaceError, OutputFolder, Registry, ToolContext,
    Workspace,
};

/// Why there is no model.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The value names no model.
    #[error(transparent)]
    Choice(#[from] ChoiceError),
    /// The chosen model cannot be used.
    #[error(transparent)]
    Build(#[from] BuildError),
}

/// A member's model.
pub struct ChosenModel {
    pub model: Arc<dyn Model>,
    pub choice: ModelChoice,
    /// Whether nobody chose it.
    pub is_default: bool,
}

/// Chooses the model of the member `owner`: `value`, else what the configuration says, else the offline
/// model.
pub fn choose_model(
    value: Option<&str>,
    owner: &str,
    settings: &WorkspaceSettings,
) -> Result<ChosenModel, ModelError> {
    let WorkspaceSettings { variables, config } = settings;
    let configured = config.model().value;
    let value = value.or(configured.as_deref());
    let choice = match value {
        None => ModelChoice::Offline,
        Some(value) => match ModelChoice::parse(value, variables)? {
            // Members run in other folders than the program that chooses for them.
            ModelChoice::Script(path) => {
                ModelChoice::Script(std::path::absolute(&path).unwrap_or(path))
            }
            choice => choice,
        },
    };
    let built = choice.build(variables, owner, ClientOptions::default())?;
    Ok(ChosenModel {
        model: built.unwrap_or_else(|| Arc::new(offline::OfflineModel)),
        choice,
        is_default: value.is_none(),
    })
}

/// How long a conversation may grow in a window of this size, with what is set about it.
pub fn limits(config: &Config, window: u64) -> Limits {
    let (keep_results, clear_at) = (config.keep_results(), config.clear_at());
    Limits::for_window(window).clearing(keep_results.value, clear_at.value)
}

/// The tools of a member with this registry, as its model is told them: the registry's own, and the one
/// that [`MemberRuntime::add_explore`] adds.
pub fn all_definitions(registry: &Registry) -> Vec<Definition> {
    let has_explore = !Explore::tools_of(registry).is_empty();
    let explore = has_explore.then(Definition::of::<Explore>);
    registry.definitions().cloned().chain(explore).collect()
}

impl MemberRuntime {
    /// The same model, within the team's budget. The events of its calls say what they cost.
    pub fn within_budget(&self, model: Arc<dyn Model>, variables: Variables) -> Arc<dyn Model> {
        let prices = price_source(self.team().workspace(), variables, owners());
        let (name, source) = (model.name().to_owned(), Arc::clone(&prices));
        self.set_price(Box::new(move |usage| {
            source().of(&name).map(|price| price.cost(usage))
        }));
        let budget = MemberBudget::new(self.team(), self.owner(), self.incarnation(), prices);
        Arc::new(BudgetedModel::new(model, budget))
    }

    /// Adds the tool with which the member lets a helper search, if it has tools for that itself.
    pub fn add_explore(
        &self,
        registry: &mut Registry,
        model: &Arc<dyn Model>,
        settings: &Settings,
    ) -> Result<(), DuplicateTool> {
        let tools = Explore::tools_of(registry);
        if tools.is_empty() {
            return Ok(());
        }
        registry.add(Explore {
            runtime: self.clone(),
            model: Arc::clone(model),
            settings: settings.clone(),
            tools,
        })
    }

    /// The workspace, in which the team folder is out of reach.
    pub(crate) fn open_workspace(&self) -> Result<Workspace, OpenWorkspaceError> {
        let (layout, folder) = (self.team().layout(), self.team().workspace());
        let protected = layout.root().strip_prefix(folder).unwrap_or(layout.root());
        let protected = [protected.to_path_buf(), config::PROJECT_FILE.into()];
        Workspace::open(folder, protected)
    }

    /// The member's agent. Its tools work in the team's workspace, and not in the team folder.
    pub fn build_agent(
        &self,
        model: Arc<dyn Model>,
        tools: AgentTools,
        settings: Settings,
        conversation: Conversation,
    ) -> Result<Agent, OpenWorkspaceError> {
        let (team, owner) = (self.team(), self.owner());
        let workspace = self.open_workspace()?;
        let output = OutputFolder::new(team.layout().member_outputs(owner));
        let mut context = ToolContext::new(workspace, output, &processes::mark_of(team, owner));
        context.confinement = self.confinement();
        let registry = Arc::new(tools.registry);
        let agent = Agent::new(model, registry, context, settings, conversation);
        Ok(agent.with_background(tools.background))
    }
}

/// What the tools of an agent need.
pub struct AgentTools {
    pub registry: Registry,
    pub background: Background,
}
