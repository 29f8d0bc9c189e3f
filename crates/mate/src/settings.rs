//! What the configuration says about this member.

use crate::orders::{MateError, Orders};
use config::{Config, Origin, Role};
use desk::Desk;
use llm::{ClientOptions, Model};
use protocol::Member;
use purse::{PriceSource, Purse, PursedModel};
use std::sync::{Arc, Mutex, PoisonError};
use teamdir::{RosterError, TeamDir};
use tools::Registry;

/// The tools that a role can be without.
const OPTIONAL: [&str; 6] = [
    "bash",
    "read_file",
    "write_file",
    "edit_file",
    "background_run",
    "check_background",
];

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
    orders: &Orders,
    member: &Member,
    desk: &Desk,
) -> Result<Arc<dyn Model>, MateError> {
    let config = &orders.config;
    let own = member.model.clone();
    let own = own.or_else(|| role(config, member)?.model.clone());
    let team = config.model();
    // What a variable says is found by whoever chooses.
    let team = team
        .value
        .filter(|_| !matches!(team.origin, Origin::Variable(_)));
    let chosen = match (own, team) {
        (Some(own), _) => llm::choose(Some(&own), &orders.variables)?,
        (None, team) => llm::choose(team.as_deref(), &orders.variables)?,
    };
    let options = ClientOptions::default();
    let built = chosen
        .choice
        .build(&orders.variables, member.name.as_str(), options)?;
    let built = built.unwrap_or_else(|| Arc::new(llm::OfflineModel));
    let purse = Purse::new(&orders.team, desk.owner(), desk.life(), prices(orders));
    Ok(Arc::new(PursedModel::new(built, purse)))
}

/// The prices of now: a person may add one while a member waits for it. Where the files cannot be
/// read, the last ones that could.
fn prices(orders: &Orders) -> PriceSource {
    let (workspace, variables) = (orders.team.workspace().to_owned(), orders.variables.clone());
    let last = Mutex::new(orders.config.prices());
    Arc::new(move || {
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Ok(config) = config::load(&workspace, |name| variables.get(name)) {
            *last = config.prices();
        }
        last.clone()
    })
}

/// Takes away the tools that the member's role does not have.
pub(crate) fn restrict(registry: &mut Registry, config: &Config, member: &Member) {
    let tools = role(config, member).and_then(|role| role.tools.as_ref());
    if let Some(tools) = tools {
        registry.retain(|name| !OPTIONAL.contains(&name) || tools.iter().any(|tool| tool == name));
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
