//! What the configuration says about this member.

use config::{Config, OPTIONAL_TOOLS, Role};
use member::{AskSettings, ModelOptions, RuleError, SandboxSettings};
use prompts::Reader;
use protocol::{Member, TreeMode};
use std::path::PathBuf;
use teamdir::{RosterError, TeamDir};
use tools::Registry;

/// Completes the member's roster entry from the configuration, where the entry says nothing.
pub(crate) fn adopt(
    team: &TeamDir,
    member: Member,
    config: &Config,
) -> Result<Member, RosterError> {
    let role = role(config, &member);
    let restart = role.and_then(|role| role.restart.clone());
    let restart = restart.or_else(|| config.restart().value);
    let require_plan = role.and_then(|role| role.require_plan);
    let tree = tree(config, &member);
    // Also a member that was started without a word about it keeps its place.
    let is_changed = member.spec.tree.is_none() && tree != TreeMode::Shared
        || member.spec.restart.is_none() && restart.is_some()
        || member.spec.require_plan.is_none() && require_plan.is_some();
    if !is_changed {
        return Ok(member);
    }
    team.update_roster(|roster| {
        let Some(entry) = roster.member_mut(&member.spec.name) else {
            return Ok(member.clone());
        };
        entry.spec.restart = entry.spec.restart.take().or_else(|| restart.clone());
        entry.spec.require_plan = entry.spec.require_plan.or(require_plan);
        entry.spec.tree = entry.spec.tree.take().or_else(|| Some(tree.clone()));
        Ok(entry.clone())
    })
}

/// What the member's entry and its role say about its models.
pub(crate) fn model_options(config: &Config, member: &Member, window: Option<u64>) -> ModelOptions {
    let (spec, role) = (&member.spec, role(config, member));
    let of_role = role.map(Role::tuning).unwrap_or_default();
    let models = spec.model.clone();
    ModelOptions {
        models: models.or_else(|| role?.model.clone()),
        tuning: spec.tuning().or(&of_role),
        web: spec.web.or_else(|| role?.web),
        role: Some(spec.role.clone()),
        permissions: spec.permissions.clone(),
        window,
    }
}

/// The agent of another program that takes the place of the member's model.
pub(crate) fn engine(config: &Config, member: &Member) -> Option<String> {
    let engine = member.spec.engine.clone();
    engine.or_else(|| role(config, member)?.engine.clone())
}

/// Whether anybody chose a model for the member, which is not needed for another program.
pub fn has_model(config: &Config, member: &Member) -> bool {
    let chosen = model_options(config, member, None).models;
    member.spec.exec.is_some()
        || engine(config, member).is_some()
        || chosen.is_some()
        || config.model().value.is_some()
}

/// Whether the tools of its provider for the web are turned on for the member, if rules leave any.
pub fn uses_web(config: &Config, member: &Member) -> bool {
    let chosen = model_options(config, member, None).web;
    chosen.or(config.web().value).unwrap_or(false)
}

/// How the member's commands are confined: as its entry says, else its role, else the configuration.
pub fn sandbox(config: &Config, member: &Member) -> SandboxSettings {
    let (spec, role) = (&member.spec, role(config, member));
    let mode = spec.sandbox.clone();
    let mode = mode.or_else(|| role?.sandbox.clone());
    let network = spec.network.clone();
    let network = network.or_else(|| role?.network.clone());
    SandboxSettings {
        mode: mode.or_else(|| config.sandbox().value).unwrap_or_default(),
        network: network
            .or_else(|| config.network().value)
            .unwrap_or_default(),
    }
}

/// How people are asked about what the member does.
pub(crate) fn asking(config: &Config, member: &Member) -> Result<AskSettings, RuleError> {
    let spec = &member.spec;
    AskSettings::of(config, Some(&spec.role), spec.permissions.as_ref())
}

/// Where the member works: as its entry says, else its role, else the configuration.
pub(crate) fn tree(config: &Config, member: &Member) -> TreeMode {
    let mode = member.spec.tree.clone();
    let mode = mode.or_else(|| role(config, member)?.tree.clone());
    mode.or_else(|| config.tree_mode().value)
        .unwrap_or_default()
}

/// The folder that the member works in: its own tree, or the workspace.
pub fn folder(team: &TeamDir, config: &Config, member: &Member) -> PathBuf {
    match tree(config, member) == TreeMode::Own {
        true => team.layout().tree(&member.spec.name),
        false => team.workspace().to_path_buf(),
    }
}

/// Removes the tools that the member's role does not have.
pub(crate) fn restrict(registry: &mut Registry, config: &Config, member: &Member) {
    let tools = role(config, member).and_then(|role| role.tools.as_ref());
    if let Some(tools) = tools {
        registry.retain(|name| {
            !OPTIONAL_TOOLS.contains(&name) || tools.iter().any(|tool| tool == name)
        });
    }
}

/// The member as the reader of its system prompt.
pub(crate) fn reader(config: &Config, member: &Member) -> Reader {
    Reader::Teammate {
        name: member.spec.name.clone(),
        role: member.spec.role.clone(),
        about_role: role(config, member).and_then(|role| role.prompt.clone()),
    }
}

fn role<'a>(config: &'a Config, member: &Member) -> Option<&'a Role> {
    config.role(&member.spec.role)
}
