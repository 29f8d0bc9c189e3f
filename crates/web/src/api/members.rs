//! Starting, restarting and ending members.

use super::{Reply, member};
use crate::app::{Acting, Given, blocking};
use crate::error::ApiError;
use ::member::{Clearance, TrustCheck, WorkspaceSettings, load_settings};
use axum::Json;
use processes::{Programs, Spawned};
use protocol::{AgentName, MemberSpec, TreeMode};
use rules::SHUTDOWN_TIMEOUT;
use serde::Deserialize;
use serde_json::json;
use team::{Actor, ShutdownOptions};
use teamdir::TeamDir;

#[derive(Deserialize)]
pub(crate) struct Spawn {
    name: String,
    role: String,
    prompt: Option<String>,
    model: Option<String>,
    #[serde(default)]
    require_plan: bool,
    #[serde(default)]
    own_tree: bool,
}

#[derive(Deserialize)]
pub(crate) struct Which {
    name: String,
}

#[derive(Deserialize)]
pub(crate) struct Shutdown {
    name: String,
    #[serde(default)]
    reason: String,
}

/// The permission to start members here, as the commands need it. Trust is given at a terminal only.
fn clearance(team: &TeamDir) -> Result<Clearance, ApiError> {
    let workspace = team.workspace();
    let settings = load_settings(workspace).map_err(ApiError::refused)?;
    let check = TrustCheck::of_workspace(workspace, &settings, Some(team));
    let check = check.map_err(ApiError::failed)?;
    let trusted = check.require_trust();
    let clearance =
        trusted.map_err(|untrusted| ApiError::refused(untrusted).hint("team-lead trust"))?;
    let WorkspaceSettings {
        config,
        mut variables,
    } = settings;
    variables.trust_file();
    config::apply(team, &config).map_err(ApiError::failed)?;
    Ok(clearance)
}

fn programs(clearance: &Clearance) -> Result<Programs, ApiError> {
    let found = Programs::find().map_err(ApiError::failed)?;
    Ok(Programs {
        variables: clearance.variables(),
        ..found
    })
}

fn filled(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty())
}

pub(crate) async fn spawn(acting: Acting, Given(wish): Given<Spawn>) -> Reply {
    let name = AgentName::new(&wish.name).map_err(ApiError::bad)?;
    let spec = MemberSpec {
        prompt: filled(wish.prompt),
        model: filled(wish.model),
        require_plan: wish.require_plan.then_some(true),
        tree: wish.own_tree.then_some(TreeMode::Own),
        ..MemberSpec::new(name, wish.role.as_str())
    };
    blocking(move || {
        let team = acting.team();
        let mut clearance = clearance(&team)?;
        let allowed = clearance.allow(&team, &spec);
        allowed.map_err(ApiError::failed)?;
        processes::repair(&team);
        let spawned = processes::spawn(&team, &Actor::user(), &spec, &programs(&clearance)?);
        let spawned = match spawned.map_err(ApiError::refused)? {
            Spawned::Started { .. } => "started",
            Spawned::Woken { .. } => "woken",
        };
        Ok(Json(json!({"name": spec.name, "spawned": spawned})))
    })
    .await
}

pub(crate) async fn restart(acting: Acting, Given(which): Given<Which>) -> Reply {
    blocking(move || {
        let team = acting.team();
        let name = member(&team, &which.name)?;
        let programs = programs(&clearance(&team)?)?;
        let restarted = processes::restart(&team, &name, &programs);
        restarted.map_err(ApiError::refused)?;
        Ok(Json(json!({"name": name})))
    })
    .await
}

/// Asks a member to end. It may refuse.
pub(crate) async fn shutdown(acting: Acting, Given(wish): Given<Shutdown>) -> Reply {
    blocking(move || {
        let team = acting.team();
        let name = member(&team, &wish.name)?;
        let view = processes::member_view(&team, &name).map_err(ApiError::failed)?;
        if !view.is_alive() {
            let message = format!("'{name}' is not running: it is {}", view.state);
            return Err(ApiError::refused(message));
        }
        let incarnation = view.holder.as_ref().map(|holder| holder.incarnation);
        let incarnation = incarnation.unwrap_or(view.member.incarnation);
        let options = ShutdownOptions {
            to: name,
            reason: wish.reason,
            timeout: SHUTDOWN_TIMEOUT,
            force: false,
            lead_leaves: false,
        };
        let asked = team::ask_shutdown(&team, &Actor::user(), &options, incarnation);
        let request = asked.map_err(ApiError::refused)?;
        Ok(Json(json!({"request_id": request.id})))
    })
    .await
}
