//! The lead's models, and the choice that its teammates are started with.

use crate::run::RunOptions;
use crate::session::Resume;
use agent::Conversation;
use member::{
    BudgetedModels, ChosenModels, MemberRuntime, ModelError, ModelOptions, NO_MODEL_CHOSEN,
    WorkspaceSettings, choose_models,
};

/// How models that are named by `script:` begin. They say which tools are called, so they are taken from a
/// person only.
const SCRIPT: &str = "script:";

pub(crate) struct LeadModel {
    chosen: ChosenModels,
    /// The models that teammates are started with, if the person chose some for this run. Otherwise
    /// they read the same files and variables.
    pub(crate) for_teammates: Option<String>,
    /// What the person is told about a model that could not be taken over.
    not_taken: Option<String>,
}

/// The lead's models, ready to be asked.
pub(crate) struct BuiltModel {
    pub(crate) models: BudgetedModels,
    /// The models in the form in which they are chosen.
    pub(crate) names: String,
    pub(crate) for_teammates: Option<String>,
    /// Notices for the person, if nothing was chosen, something had to be assumed, or tools are left out.
    pub(crate) remarks: Vec<String>,
}

/// Chooses other models while the lead runs.
pub(crate) struct ModelSwitch {
    settings: WorkspaceSettings,
    options: ModelOptions,
    max_rounds: u32,
}

/// Chooses and builds the lead's models.
pub(crate) fn choose(options: &RunOptions) -> Result<LeadModel, ModelError> {
    let chosen = choose_models(&wanted(options), "lead", &options.settings)?;
    Ok(LeadModel {
        for_teammates: options.model.as_ref().map(|_| chosen.names.clone()),
        chosen,
        not_taken: None,
    })
}

fn wanted(options: &RunOptions) -> ModelOptions {
    ModelOptions {
        models: options.model.clone(),
        tuning: options.tuning.clone(),
        web: options.web,
        role: None,
        permissions: options.permissions.clone(),
        window: options.window,
    }
}

impl LeadModel {
    /// The model of the session that goes on, unless the person has named another one.
    pub(crate) fn or_that_of(self, conversation: &Conversation, options: &RunOptions) -> Self {
        let session = conversation.session().and_then(|session| session.model());
        let Some(before) = session.filter(|before| *before != self.chosen.names) else {
            return self;
        };
        if options.model.is_some() || options.resume == Resume::No {
            return self;
        }
        let using = &self.chosen.names;
        if before.contains(SCRIPT) {
            let text = format!("The session used {before}; this run uses {using}. See --model.");
            return Self {
                not_taken: Some(text),
                ..self
            };
        }
        let wanted = ModelOptions {
            models: Some(before.to_owned()),
            ..wanted(options)
        };
        match choose_models(&wanted, "lead", &options.settings) {
            Ok(chosen) => Self { chosen, ..self },
            Err(error) => Self {
                not_taken: Some(format!(
                    "The model of the session, {before}, cannot be used, so this run uses {using}: {error}"
                )),
                ..self
            },
        }
    }

    /// The model within the team's budget.
    pub(crate) fn build(self, runtime: &MemberRuntime, options: &RunOptions) -> BuiltModel {
        let variables = options.settings.variables.clone();
        let none_chosen = self.chosen.is_default.then(|| NO_MODEL_CHOSEN.to_owned());
        let remarks = none_chosen.into_iter().chain(self.chosen.remarks.clone());
        BuiltModel {
            names: self.chosen.names.clone(),
            models: runtime.within_budget(self.chosen, variables, options.max_rounds),
            for_teammates: self.for_teammates,
            remarks: self.not_taken.into_iter().chain(remarks).collect(),
        }
    }
}

impl ModelSwitch {
    pub(crate) fn new(options: &RunOptions) -> Self {
        Self {
            settings: options.settings.clone(),
            options: wanted(options),
            max_rounds: options.max_rounds,
        }
    }

    /// Chooses and builds the models of this name.
    pub(crate) fn choose(
        &self,
        name: &str,
        runtime: &MemberRuntime,
    ) -> Result<BuiltModel, ModelError> {
        let wanted = ModelOptions {
            models: Some(name.to_owned()),
            ..self.options.clone()
        };
        let chosen = choose_models(&wanted, "lead", &self.settings)?;
        let remarks = chosen.remarks.clone();
        let variables = self.settings.variables.clone();
        Ok(BuiltModel {
            names: chosen.names.clone(),
            models: runtime.within_budget(chosen, variables, self.max_rounds),
            for_teammates: None,
            remarks,
        })
    }
}
