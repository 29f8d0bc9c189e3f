//! Builds what the agents of lead and teammate have in common: model, budget, tools and input.

use crate::runtime::MemberRuntime;
use agent::{Agent, Conversation, Settings};
use budget::{BudgetedModel, MemberBudget};
use config::{Config, price_source};
use llm::choice::{BuildError, ChoiceError, ChosenBy};
use llm::{ClientOptions, Model, ModelChoice, Variables, choose, parse_dotenv};
use std::path::Path;
use std::sync::Arc;
use tools::{
    Background, OpenWorkspaceError, OutputFolder, Policy, Registry, ToolContext, Workspace,
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

/// A member's model, and how it was chosen.
pub struct ChosenModel {
    pub model: Arc<dyn Model>,
    pub choice: ModelChoice,
    pub by: ChosenBy,
}

/// Chooses the model of the member `owner`: `value`, else what the configuration files say, else what
/// the variables say, else the offline model.
pub fn choose_model(
    value: Option<&str>,
    owner: &str,
    config: &Config,
    variables: &Variables,
) -> Result<ChosenModel, ModelError> {
    let configured = config.model_of_files();
    let chosen = choose(value.or(configured.as_deref()), variables)?;
    let choice = match chosen.choice {
        // Members run in other folders than the program that chooses for them.
        ModelChoice::Script(path) => {
            ModelChoice::Script(std::path::absolute(&path).unwrap_or(path))
        }
        choice => choice,
    };
    let built = choice.build(variables, owner, ClientOptions::default())?;
    Ok(ChosenModel {
        model: built.unwrap_or_else(|| Arc::new(offline::OfflineModel)),
        choice,
        by: chosen.by,
    })
}

impl MemberRuntime {
    /// The same model, within the team's budget. The events of its calls say what they cost.
    pub fn within_budget(&self, model: Arc<dyn Model>, variables: Variables) -> Arc<dyn Model> {
        let prices = price_source(self.team().workspace(), variables, Variables::get);
        let (name, source) = (model.name().to_owned(), Arc::clone(&prices));
        self.set_price(Box::new(move |usage| {
            source().of(&name).map(|price| price.cost(usage))
        }));
        let budget = MemberBudget::new(self.team(), self.owner(), self.incarnation(), prices);
        Arc::new(BudgetedModel::new(model, budget))
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
        let (layout, folder) = (team.layout(), team.workspace());
        let protected = layout.root().strip_prefix(folder).unwrap_or(layout.root());
        let workspace = Workspace::open(folder, [protected.to_path_buf()])?;
        let output = OutputFolder::new(layout.member_outputs(owner));
        let mut context = ToolContext::new(workspace, output, &processes::mark_of(team, owner));
        context.policy = Arc::new(tools.policy);
        let registry = Arc::new(tools.registry);
        let agent = Agent::new(model, registry, context, settings, conversation);
        Ok(agent.with_background(tools.background))
    }
}

/// What the tools of an agent need.
pub struct AgentTools {
    pub registry: Registry,
    pub background: Background,
    pub policy: Policy,
}

/// The variables of the process, completed by the workspace's `.env` file. A variable that is not
/// UTF-8 is left out.
pub fn variables(workspace: &Path) -> Variables {
    let own = std::env::vars_os().filter_map(|(name, value)| {
        let name = name.into_string().ok()?;
        Some((name, value.into_string().ok()?))
    });
    let mut variables: Variables = own.collect();
    if let Ok(text) = std::fs::read_to_string(workspace.join(".env")) {
        variables.fill(parse_dotenv(&text));
    }
    variables
}
