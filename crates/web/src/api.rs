//! The JSON interface of the page.

pub(crate) mod actions;
pub(crate) mod costs;
pub(crate) mod events;
pub(crate) mod members;
pub(crate) mod queries;
pub(crate) mod session;
pub(crate) mod work;

use crate::error::ApiError;
use axum::Json;
use protocol::{AgentName, Recipient};
use serde_json::Value;
use teamdir::TeamDir;

/// A reply.
pub(crate) type Reply = Result<Json<Value>, ApiError>;

/// The member of this name.
fn member(team: &TeamDir, typed: &str) -> Result<AgentName, ApiError> {
    let name = AgentName::new(typed).map_err(ApiError::bad)?;
    let roster = team.roster().map_err(ApiError::failed)?;
    let member = roster.member(&name);
    let unknown = || ApiError::unknown(format_args!("there is no member called {name}"));
    Ok(member.ok_or_else(unknown)?.spec.name.clone())
}

/// The member or the lead of this name.
fn recipient(team: &TeamDir, typed: &str) -> Result<Recipient, ApiError> {
    let roster = team.roster().map_err(ApiError::failed)?;
    let found = roster.recipient(typed).map_err(ApiError::bad)?;
    found.ok_or_else(|| ApiError::unknown(format_args!("there is no member called {typed}")))
}
