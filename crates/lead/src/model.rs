//! Which model the lead thinks with.

use budget::{BudgetedModel, MemberBudget};
use config::{Config, price_source};
use llm::choice::{BuildError, ChoiceError, ChosenBy};
use llm::{ClientOptions, Model, ModelChoice, Variables, choose, parse_dotenv};
use member::MemberRuntime;
use protocol::Recipient;
use std::path::Path;
use std::sync::Arc;

/// What is said when nobody chose a model.
const NONE_CHOSEN: &str = "No model is chosen, so `offline` is used, a small follower of plain \
    instructions that is no LLM. Choose with --model or TEAM_MODEL: anthropic:NAME, openai:NAME, \
    script:FILE.";

/// LeaveReason there is no model.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The value chooses none.
    #[error(transparent)]
    Choice(#[from] ChoiceError),
    /// The chosen one cannot be used.
    #[error(transparent)]
    Build(#[from] BuildError),
}

/// A model, ready to be asked.
pub(crate) struct LeadModel {
    pub(crate) model: Arc<dyn Model>,
    /// What teammates are told to think with: what the person chose for this run.
    pub(crate) for_teammates: Option<String>,
    /// A word to the person, if nothing was chosen.
    pub(crate) remark: Option<&'static str>,
}

/// Chooses and builds the lead's model.
pub(crate) fn build(
    value: Option<&str>,
    config: &Config,
    variables: &Variables,
) -> Result<LeadModel, ModelError> {
    let configured = config.model_of_files();
    let chosen = choose(value.or(configured.as_deref()), variables)?;
    let choice = match chosen.choice {
        // Teammates run in another folder.
        ModelChoice::Script(path) => {
            ModelChoice::Script(std::path::absolute(&path).unwrap_or(path))
        }
        choice => choice,
    };
    let (for_teammates, remark) = match chosen.by {
        ChosenBy::Caller if value.is_some() => (Some(choice.to_string()), None),
        // Teammates read the same files.
        ChosenBy::Caller => (None, None),
        ChosenBy::Variable(_) => (None, None),
        ChosenBy::Default => (None, Some(NONE_CHOSEN)),
    };
    let model = choice.build(variables, "lead", ClientOptions::default())?;
    Ok(LeadModel {
        model: model.unwrap_or_else(|| Arc::new(offline::OfflineModel)),
        for_teammates,
        remark,
    })
}

impl LeadModel {
    /// The same model, which keeps to the team's budget.
    pub(crate) fn within_budget(mut self, runtime: &MemberRuntime, variables: Variables) -> Self {
        let team = runtime.team();
        let prices = price_source(team.workspace(), variables, Variables::get);
        let (name, source) = (self.model.name().to_owned(), Arc::clone(&prices));
        runtime.price_with(Box::new(move |usage| {
            source().of(&name).map(|price| price.cost(usage))
        }));
        let budget = MemberBudget::new(team, &Recipient::Lead, runtime.incarnation(), prices);
        self.model = Arc::new(BudgetedModel::new(self.model, budget));
        self
    }
}

/// The variables of the process, filled up from the workspace's `.env`. A variable that is not text is
/// none of those that are looked at.
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
