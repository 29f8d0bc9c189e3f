//! The lead's models, and the choice that its teammates are started with.

use crate::run::RunOptions;
use member::{
    BudgetedModels, ChosenModels, MemberRuntime, ModelError, ModelOptions, NO_MODEL_CHOSEN,
    choose_models,
};

pub(crate) struct LeadModel {
    chosen: ChosenModels,
    /// The models that teammates are started with, if the person chose some for this run. Otherwise
    /// they read the same files and variables.
    pub(crate) for_teammates: Option<String>,
}

/// The lead's models, ready to be asked.
pub(crate) struct BuiltModel {
    pub(crate) models: BudgetedModels,
    pub(crate) for_teammates: Option<String>,
    /// A notice for the person, if nothing was chosen or something had to be assumed.
    pub(crate) remark: Option<String>,
}

/// Chooses and builds the lead's models.
pub(crate) fn choose(options: &RunOptions) -> Result<LeadModel, ModelError> {
    let wanted = ModelOptions {
        models: options.model.clone(),
        tuning: options.tuning.clone(),
        web: options.web,
        window: options.window,
    };
    let chosen = choose_models(&wanted, "lead", &options.settings)?;
    Ok(LeadModel {
        for_teammates: options.model.as_ref().map(|_| chosen.names.clone()),
        chosen,
    })
}

impl LeadModel {
    /// The model within the team's budget.
    pub(crate) fn build(self, runtime: &MemberRuntime, options: &RunOptions) -> BuiltModel {
        let variables = options.settings.variables.clone();
        let none_chosen = self.chosen.is_default.then(|| NO_MODEL_CHOSEN.to_owned());
        let remark = none_chosen.or_else(|| self.chosen.remark.clone());
        BuiltModel {
            models: runtime.within_budget(self.chosen, variables, options.max_rounds),
            for_teammates: self.for_teammates,
            remark,
        }
    }
}
