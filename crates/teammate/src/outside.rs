//! The tools of a member for an agent that is another program, in a process beside the member's.

use crate::settings;
use crate::trees::outside_submitter;
use config::{Config, DEFAULT_ASK_TIMEOUT};
use integration::IntegrationError;
use protocol::Member;
use std::time::Duration;
use team::Actor;
use team_tools::{QuestionSettings, TeamContext, outside_member_tools};
use teamdir::TeamDir;
use tools::{DuplicateTool, Registry};

/// Why a member has no tools for another program.
#[derive(Debug, thiserror::Error)]
pub enum OutsideToolsError {
    #[error(transparent)]
    Tree(#[from] IntegrationError),
    #[error(transparent)]
    Tools(#[from] DuplicateTool),
}

/// The tools with which another program takes part in the team as this incarnation of a member: those that
/// the member's role lets it have, and nothing that is the work of the member's process.
pub fn outside_tools(
    team: &TeamDir,
    config: &Config,
    member: &Member,
) -> Result<Registry, OutsideToolsError> {
    let context = TeamContext {
        team: team.clone(),
        me: Actor::member(member.spec.name.clone(), member.incarnation),
        role: member.spec.role.clone(),
        submitter: outside_submitter(team, config, member)?,
    };
    let seconds = config.ask_timeout().value.unwrap_or(DEFAULT_ASK_TIMEOUT);
    let questions = QuestionSettings {
        lead_decides: config.lead_decides().value.unwrap_or(false),
        timeout: (seconds > 0).then(|| Duration::from_secs(seconds)),
    };
    let mut registry = outside_member_tools(&context, questions)?;
    settings::restrict(&mut registry, config, member);
    Ok(registry)
}
