//! The settings in variables, of the process or of the workspace's `.env`.

use crate::error::ConfigError;
use protocol::{Caps, Extra, Money, NetworkSetting, SandboxMode, Tuning};
use std::fmt;
use std::num::NonZeroU32;

/// The variables that name a model, in order of precedence.
pub(crate) const MODEL_VARIABLES: [&str; 2] = ["TEAM_MODEL", "MODEL_ID"];
pub(crate) const EXPLORE_MODEL: &str = "TEAM_EXPLORE_MODEL";
pub(super) const MAX_OUTPUT: &str = "TEAM_MAX_OUTPUT";
pub(super) const EFFORT: &str = "TEAM_EFFORT";
pub(super) const THINKING: &str = "TEAM_THINKING";
pub(super) const TEMPERATURE: &str = "TEAM_TEMPERATURE";
pub(crate) const WEB: &str = "TEAM_WEB";
pub(super) const MAX_TOKENS: &str = "TEAM_MAX_TOKENS";
pub(super) const MAX_COST: &str = "TEAM_MAX_COST";
pub(super) const MAX_TURNS: &str = "TEAM_MAX_TURNS";
pub(super) const MAX_MINUTES: &str = "TEAM_MAX_MINUTES";
pub(crate) const SANDBOX: &str = "TEAM_SANDBOX";
pub(crate) const NETWORK: &str = "TEAM_NETWORK";

/// The settings in the variables of one source.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct VariableSettings {
    pub(super) model: Option<(&'static str, String)>,
    pub(super) explore_model: Option<String>,
    pub(super) tuning: Tuning,
    pub(super) web: Option<bool>,
    pub(super) budget: Caps,
    pub(super) sandbox: Option<SandboxMode>,
    pub(super) network: Option<NetworkSetting>,
}

impl VariableSettings {
    pub(super) fn read<'a>(
        variable: impl Fn(&str) -> Option<&'a str>,
    ) -> Result<Self, ConfigError> {
        let model = MODEL_VARIABLES
            .iter()
            .find_map(|name| Some((*name, variable(name)?.to_owned())));
        Ok(Self {
            model,
            explore_model: variable(EXPLORE_MODEL).map(str::to_owned),
            tuning: Tuning {
                max_output: parsed::<NonZeroU32>(&variable, MAX_OUTPUT)?.map(NonZeroU32::get),
                effort: parsed(&variable, EFFORT)?,
                thinking: parsed(&variable, THINKING)?,
                temperature: parsed(&variable, TEMPERATURE)?,
            },
            web: parsed(&variable, WEB)?,
            budget: Caps {
                max_tokens: parsed(&variable, MAX_TOKENS)?,
                max_cost: parsed::<Money>(&variable, MAX_COST)?,
                max_turns: parsed(&variable, MAX_TURNS)?,
                max_minutes: parsed(&variable, MAX_MINUTES)?,
                extra: Extra::new(),
            },
            sandbox: parsed(&variable, SANDBOX)?,
            network: parsed(&variable, NETWORK)?,
        })
    }
}

fn parsed<'a, T: std::str::FromStr<Err: fmt::Display>>(
    variable: &impl Fn(&str) -> Option<&'a str>,
    name: &'static str,
) -> Result<Option<T>, ConfigError> {
    let Some(value) = variable(name) else {
        return Ok(None);
    };
    let parsed = value.trim().parse();
    parsed
        .map(Some)
        .map_err(|error: T::Err| ConfigError::Variable {
            name,
            value: value.to_owned(),
            message: error.to_string(),
        })
}
