//! The engine of a member within the team's budget.

use super::{EngineError, EngineOptions};
use crate::build::BudgetedModels;
use crate::inner::AskedModels;
use crate::runtime::MemberRuntime;
use crate::workspace::owners;
use agent::{Limits, Settings};
use budget::{BudgetedModel, MemberBudget};
use config::price_source;
use llm::{Model, Variables};
use std::sync::Arc;

/// The window of an engine, which nobody knows: so large that it never counts.
const ENGINE_WINDOW: u64 = 1 << 40;

impl MemberRuntime {
    /// The agent of another program within the team's budget. It keeps its conversation by itself, so that
    /// nothing of it is made shorter here.
    pub fn engine_within_budget(
        &self,
        options: EngineOptions,
        variables: Variables,
        max_rounds: u32,
    ) -> Result<BudgetedModels, EngineError> {
        let prices = price_source(self.team().workspace(), variables, owners());
        let engine = self.engine(options)?;
        let settings = Settings {
            limits: Limits::for_window(ENGINE_WINDOW),
            max_rounds,
            ..Settings::default()
        };
        let (owner, incarnation) = (self.owner(), self.incarnation());
        let budget = MemberBudget::new(self.team(), owner, incarnation, Arc::clone(&prices));
        let budget = budget.with_reported_costs();
        let model: Arc<dyn Model> = Arc::new(BudgetedModel::new(engine, budget));
        self.set_models(AskedModels {
            first: model.name().to_owned(),
            current: model.name().to_owned(),
            price: Box::new(move |model, usage| {
                prices().price(model).map(|price| price.cost(usage))
            }),
        });
        let explore = (Arc::clone(&model), settings.clone());
        Ok(BudgetedModels {
            model,
            settings,
            explore,
        })
    }
}
