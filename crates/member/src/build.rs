//! Builds what the agents of lead and teammate have in common: models, budget, tools and input.

use crate::changes::TeamChanges;
use crate::explore::Explore;
use crate::inner::AskedModels;
use crate::model_settings::settings_of;
use crate::runtime::MemberRuntime;
use crate::server_memory::{RememberedModel, ServerMemory};
use crate::web_choice::WebChoice;
use crate::workspace::{WorkspaceSettings, owners, state_folder};
use agent::{Agent, Conversation, Limits, Settings};
use budget::{BudgetedModel, MemberBudget, PriceSource};
use catalogue::Catalogue;
use config::{Config, price_source};
use llm::choice::{BuildError, ChoiceError};
use llm::{
    ClientOptions, FallbackModel, Model, ModelChoice, ModelSettings, RetryPolicy, TunedModel,
    Variables, parse_models,
};
use permissions::RuleError;
use protocol::{MemberRules, Tuning};
use std::sync::Arc;
use std::time::SystemTime;
use tools::{
    Background, Definition, DuplicateTool, OpenWorkspaceError, OutputFolder, Registry, SeenFiles,
    ToolContext, Workspace,
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
    /// A rule of the command line is none.
    #[error(transparent)]
    Rule(#[from] RuleError),
}

/// What is chosen about a member's models besides what the configuration says of all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelOptions {
    /// The models, between commas; those of the configuration if absent.
    pub models: Option<String>,
    /// How they are asked, by the member's entry and its role.
    pub tuning: Tuning,
    /// Whether they use the web with the tools of their providers, by the member's entry and its role.
    pub web: Option<bool>,
    /// The member's role, whose rules hold for the tools of the provider too; the lead has none.
    pub role: Option<String>,
    /// The rules of the command line.
    pub permissions: Option<MemberRules>,
    /// The size of the window, whatever is known about the models.
    pub window: Option<u64>,
}

/// A member's models, the first of which answers if it can.
pub struct ChosenModels {
    models: Vec<Arc<dyn Model>>,
    /// The models in the form in which they are chosen.
    pub names: String,
    /// Whether nobody chose them.
    pub is_default: bool,
    /// How long a conversation may grow, by the smallest window of them.
    limits: Limits,
    /// The most tokens of a reply of the first one.
    pub max_output: u32,
    /// What people should know: what had to be assumed about models that nobody knows, and which tools for
    /// the web are left out.
    pub remarks: Vec<String>,
    /// Those of the member's helpers, if they are others.
    explore: Option<Box<Self>>,
}

/// Models that are asked within the team's budget.
pub struct BudgetedModels {
    pub model: Arc<dyn Model>,
    pub settings: Settings,
    /// The same for the member's helpers.
    pub(crate) explore: (Arc<dyn Model>, Settings),
}

/// The notice when nobody chose a model.
pub const NO_MODEL_CHOSEN: &str = "No model is chosen, so `offline` is used, a small follower of plain \
    instructions that is no LLM. Choose with --model or TEAM_MODEL: anthropic:NAME, openai:NAME, \
    script:FILE.";

/// Chooses the models of the member `owner`: those of `options`, else what the configuration says, else
/// the offline model. Those of its helpers are the configuration's, if it names some.
pub fn choose_models(
    options: &ModelOptions,
    owner: &str,
    settings: &WorkspaceSettings,
) -> Result<ChosenModels, ModelError> {
    let mut chosen = choose_list(options, owner, settings)?;
    if let Some(models) = settings.config.explore_model().value {
        let options = ModelOptions {
            models: Some(models),
            tuning: Tuning::default(),
            window: None,
            ..options.clone()
        };
        let explore = choose_list(&options, owner, settings)?;
        for remark in &explore.remarks {
            if !chosen.remarks.contains(remark) {
                chosen.remarks.push(remark.clone());
            }
        }
        chosen.explore = Some(Box::new(explore));
    }
    Ok(chosen)
}

/// Chooses one list of models.
fn choose_list(
    options: &ModelOptions,
    owner: &str,
    settings: &WorkspaceSettings,
) -> Result<ChosenModels, ModelError> {
    let WorkspaceSettings { variables, config } = settings;
    let configured = config.model().value;
    let value = options.models.as_deref().or(configured.as_deref());
    let choices = match value {
        None => vec![ModelChoice::Offline],
        Some(value) => parse_models(value, variables)?,
    };
    let choices: Vec<ModelChoice> = choices.into_iter().map(in_any_folder).collect();
    let names: Vec<String> = choices.iter().map(ToString::to_string).collect();
    let catalogue = config.catalogue();
    let windows = names.iter().map(|name| catalogue.facts(name).window);
    let window = options.window.or_else(|| windows.min());
    let web = WebChoice::of(options, config)?;
    let of_all = (config.tuning(), web.tools());
    let tuned = |name: &str| settings_of(name, options, &catalogue, &of_all);
    let mut models = Vec::new();
    for (at, choice) in choices.iter().enumerate() {
        let retry = match at + 1 < choices.len() {
            true => RetryPolicy::with_alternative(),
            false => RetryPolicy::default(),
        };
        let client = ClientOptions {
            retry,
            ..ClientOptions::default()
        };
        let tuned = tuned(&choice.to_string());
        models.push(build_model(choice, tuned, (variables, owner), client)?);
    }
    let first = names.first().map(|name| tuned(name));
    Ok(ChosenModels {
        models,
        is_default: value.is_none(),
        limits: limits(config, window.unwrap_or(catalogue::UNKNOWN_WINDOW)),
        max_output: first.and_then(|first| first.max_output).unwrap_or(1),
        remarks: assumptions(&names, options, &catalogue)
            .into_iter()
            .chain(web.remarks(&choices))
            .collect(),
        names: names.join(","),
        explore: None,
    })
}

/// One model with its settings, and with what earlier processes learned about its server.
fn build_model(
    choice: &ModelChoice,
    settings: ModelSettings,
    (variables, owner): (&Variables, &str),
    client: ClientOptions,
) -> Result<Arc<dyn Model>, BuildError> {
    let memory = memory_of(choice, variables);
    let learned = memory
        .as_ref()
        .map(|memory| memory.recall(SystemTime::now()));
    let learned = learned.unwrap_or_default();
    let settings = ModelSettings {
        known_limit: learned.max_output,
        ..settings
    };
    let built = choice.build(variables, owner, client, learned)?;
    let built = built.unwrap_or_else(|| Arc::new(offline::OfflineModel));
    let inner: Arc<dyn Model> = Arc::new(TunedModel::new(built, settings));
    Ok(match memory {
        Some(memory) => Arc::new(RememberedModel { inner, memory }),
        None => inner,
    })
}

/// Where what was learned about the server of a model is stored, if it has one.
fn memory_of(choice: &ModelChoice, variables: &Variables) -> Option<ServerMemory> {
    let (state, address) = (state_folder()?, choice.address(variables)?);
    Some(ServerMemory::new(&state, address, &choice.to_string()))
}

/// How long a conversation may grow in a window of this size, with what is set about it.
fn limits(config: &Config, window: u64) -> Limits {
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

/// Members run in other folders than the program that chooses for them.
fn in_any_folder(choice: ModelChoice) -> ModelChoice {
    match choice {
        ModelChoice::Script(path) => {
            ModelChoice::Script(std::path::absolute(&path).unwrap_or(path))
        }
        choice => choice,
    }
}

/// What is assumed about models whose window nobody has set.
fn assumptions(names: &[String], options: &ModelOptions, catalogue: &Catalogue) -> Option<String> {
    if options.window.is_some() {
        return None;
    }
    let is_unknown = |name: &&String| !catalogue.facts(name).is_known;
    let unknown: Vec<&str> = names
        .iter()
        .filter(is_unknown)
        .map(String::as_str)
        .collect();
    let name = unknown.first()?;
    let facts = catalogue.facts(name);
    Some(format!(
        "Nothing is known about {}: a window of {} tokens and replies of {} are assumed, and no price. \
         Set them in [models.\"{name}\"] of ~/.config/team-lead/config.toml, or --window.",
        unknown.join(" and "),
        facts.window,
        facts.max_output,
    ))
}

impl ChosenModels {
    /// The settings of an agent with these models.
    fn agent_settings(&self, max_rounds: u32) -> Settings {
        Settings {
            limits: self.limits,
            max_tokens: self.max_output,
            max_rounds,
            ..Settings::default()
        }
    }
}

impl MemberRuntime {
    /// The models as one, each within the team's budget at its own price. The events of their calls say
    /// what they cost.
    pub fn within_budget(
        &self,
        chosen: ChosenModels,
        variables: Variables,
        max_rounds: u32,
    ) -> BudgetedModels {
        let prices = price_source(self.team().workspace(), variables, owners());
        let settings = chosen.agent_settings(max_rounds);
        let model = self.budgeted(chosen.models, &prices);
        let explore = match chosen.explore {
            Some(explore) => {
                let settings = explore.agent_settings(max_rounds);
                (self.budgeted(explore.models, &prices), settings)
            }
            None => (Arc::clone(&model), settings.clone()),
        };
        self.set_models(AskedModels {
            first: model.name().to_owned(),
            current: model.name().to_owned(),
            price: Box::new(move |model, usage| {
                prices().price(model).map(|price| price.cost(usage))
            }),
        });
        BudgetedModels {
            model,
            settings,
            explore,
        }
    }

    /// One model of a list, of which each has its own price.
    pub(crate) fn budgeted(
        &self,
        models: Vec<Arc<dyn Model>>,
        prices: &PriceSource,
    ) -> Arc<dyn Model> {
        let mut models = models.into_iter().map(|model| {
            let (owner, prices) = (self.owner(), Arc::clone(prices));
            let budget = MemberBudget::new(self.team(), owner, self.incarnation(), prices);
            Arc::new(BudgetedModel::new(model, budget)) as Arc<dyn Model>
        });
        let first = models.next();
        let first = first.unwrap_or_else(|| Arc::new(offline::OfflineModel));
        let others: Vec<Arc<dyn Model>> = models.collect();
        match others.is_empty() {
            true => first,
            false => Arc::new(FallbackModel::new(first, others)),
        }
    }

    /// Adds the tool with which the member lets a helper search, if it has tools for that itself.
    pub fn add_explore(
        &self,
        registry: &mut Registry,
        models: &BudgetedModels,
    ) -> Result<(), DuplicateTool> {
        let tools = Explore::tools_of(registry);
        if tools.is_empty() {
            return Ok(());
        }
        self.set_helper(models);
        registry.add(Explore {
            runtime: self.clone(),
            tools,
        })
    }

    /// The workspace, in which the team folder is out of reach.
    pub(crate) fn open_workspace(&self) -> Result<Workspace, OpenWorkspaceError> {
        let folder = self.folder();
        let protected = [teamdir::FOLDER.into(), config::PROJECT_FILE.into()];
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
        // Nobody else changes files in a member's own tree.
        if self.folder() == team.workspace() {
            context.seen = SeenFiles::shared_with(Arc::new(TeamChanges {
                team: team.clone(),
                me: owner.clone(),
                incarnation: self.incarnation(),
            }));
        }
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
