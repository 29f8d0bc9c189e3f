//! What the configuration says about this member.

use crate::start_options::{StartOptions, TeammateError};
use budget::{BudgetedModel, MemberBudget};
use config::{Config, OPTIONAL_TOOLS, Role, price_source};
use llm::{ClientOptions, Model, Variables};
use member::MemberRuntime;
use protocol::Member;
use std::sync::Arc;
use teamdir::{RosterError, TeamDir};
use tools::Registry;

/// Enters in the roster what the configuration says and nobody else did.
pub(crate) fn adopt(
    team: &TeamDir,
    member: Member,
    config: &Config,
) -> Result<Member, RosterError> {
    let role = role(config, &member);
    let restart = role.and_then(|role| role.restart.clone());
    let restart = restart.or_else(|| config.restart().value);
    let require_plan = role.and_then(|role| role.require_plan);
    let is_news = member.restart.is_none() && restart.is_some()
        || member.require_plan.is_none() && require_plan.is_some();
    if !is_news {
        return Ok(member);
    }
    team.update_roster(|roster| {
        let Some(entry) = roster.member_mut(&member.name) else {
            return Ok(member.clone());
        };
        entry.restart = entry.restart.take().or_else(|| restart.clone());
        entry.require_plan = entry.require_plan.or(require_plan);
        Ok(entry.clone())
    })
}

/// The model of this member, which keeps to the budget.
pub(crate) fn model(
    options: &StartOptions,
    member: &Member,
    runtime: &MemberRuntime,
) -> Result<Arc<dyn Model>, TeammateError> {
    let config = &options.config;
    let own = member.model.clone();
    let own = own.or_else(|| role(config, member)?.model.clone());
    let value = own.or_else(|| config.model_of_files());
    let chosen = llm::choose(value.as_deref(), &options.variables)?;
    let client = ClientOptions::default();
    let built = chosen
        .choice
        .build(&options.variables, member.name.as_str(), client)?;
    let built = built.unwrap_or_else(|| Arc::new(offline::OfflineModel));
    let workspace = options.team.workspace();
    let prices = price_source(workspace, options.variables.clone(), Variables::get);
    let (name, source) = (built.name().to_owned(), Arc::clone(&prices));
    runtime.price_with(Box::new(move |usage| {
        source().of(&name).map(|price| price.cost(usage))
    }));
    let budget = MemberBudget::new(
        &options.team,
        runtime.owner(),
        runtime.incarnation(),
        prices,
    );
    Ok(Arc::new(BudgetedModel::new(built, budget)))
}

/// Takes away the tools that the member's role does not have.
pub(crate) fn restrict(registry: &mut Registry, config: &Config, member: &Member) {
    let tools = role(config, member).and_then(|role| role.tools.as_ref());
    if let Some(tools) = tools {
        registry.retain(|name| {
            !OPTIONAL_TOOLS.contains(&name) || tools.iter().any(|tool| tool == name)
        });
    }
}

/// What the role adds to the rules of the member.
pub(crate) fn role_words(config: &Config, member: &Member) -> String {
    let prompt = role(config, member).and_then(|role| role.prompt.as_ref());
    match prompt {
        Some(prompt) => format!("\n\nYour role:\n{}", prompt.trim()),
        None => String::new(),
    }
}

fn role<'a>(config: &'a Config, member: &Member) -> Option<&'a Role> {
    config.role(&member.role)
}
