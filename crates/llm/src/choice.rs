//! Parses which model is meant, and builds it.
//!
//! Nothing here reads the environment: the variables are passed in.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::anthropic::{Anthropic, AnthropicAuth, AnthropicConfig};
use crate::http::{ClientError, ClientOptions};
use crate::model::Model;
use crate::openai::{OpenAi, OpenAiConfig};
use crate::script::{ScriptError, ScriptModel};
use crate::secret::Secret;

mod dotenv;
mod variables;

pub use dotenv::{Dotenv, parse_dotenv};
pub use variables::Variables;

/// The variables that name a model, the stronger one first.
pub const MODEL_VARIABLES: [&str; 2] = ["TEAM_MODEL", "MODEL_ID"];

const ANTHROPIC_KEYS: [&str; 2] = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"];
const ANTHROPIC_ADDRESS: &str = "ANTHROPIC_BASE_URL";
const OPENAI_KEY: &str = "OPENAI_API_KEY";
const OPENAI_ADDRESS: &str = "OPENAI_BASE_URL";

/// A model that was chosen. It prints in the form in which it is chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelChoice {
    /// A model of this name behind the Messages API.
    Anthropic(String),
    /// A model of this name behind Chat Completions.
    OpenAi(String),
    /// The built-in model that needs no server.
    Offline,
    /// Recorded turns from this file.
    Script(PathBuf),
}

impl fmt::Display for ModelChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Anthropic(name) => write!(f, "anthropic:{name}"),
            Self::OpenAi(name) => write!(f, "openai:{name}"),
            Self::Offline => f.write_str("offline"),
            Self::Script(path) => write!(f, "script:{}", path.display()),
        }
    }
}

/// A choice, and where it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    pub choice: ModelChoice,
    pub by: ChosenBy,
}

/// Where a choice came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChosenBy {
    /// The caller's own value, as from a command line.
    Caller,
    /// This variable.
    Variable(&'static str),
    /// Nothing was set.
    Default,
}

/// Why a value chooses no model. The text says which values there are.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{value:?} is not a model: {reason}; {VALUES}")]
pub struct ChoiceError {
    pub value: String,
    pub reason: String,
}

/// The valid values, for the text of errors.
const VALUES: &str = "choose anthropic:NAME, openai:NAME (any OpenAI-compatible server), offline, \
    script:FILE, or a bare NAME if ANTHROPIC_API_KEY or OPENAI_API_KEY is set";

/// Why a chosen model cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// There is no key.
    #[error("{choice} needs a key: set {variables}")]
    NoKey {
        choice: ModelChoice,
        /// The variables that may have it.
        variables: &'static str,
    },
    /// The client cannot be made.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The script cannot be used.
    #[error(transparent)]
    Script(#[from] ScriptError),
}

/// Chooses a model: by the caller's value, else by the variables, else
/// [`ModelChoice::Offline`].
pub fn choose(value: Option<&str>, variables: &Variables) -> Result<Chosen, ChoiceError> {
    let named = MODEL_VARIABLES
        .iter()
        .find_map(|name| Some((ChosenBy::Variable(name), variables.get(name)?)));
    let (by, value) = match (value, named) {
        (Some(value), _) => (ChosenBy::Caller, value),
        (None, Some(named)) => named,
        (None, None) => {
            return Ok(Chosen {
                choice: ModelChoice::Offline,
                by: ChosenBy::Default,
            });
        }
    };
    let choice = ModelChoice::parse(value, variables)?;
    Ok(Chosen { choice, by })
}

impl ModelChoice {
    /// Reads a value. The variables decide whose model a bare name is.
    pub fn parse(value: &str, variables: &Variables) -> Result<Self, ChoiceError> {
        let value = value.trim();
        let wrong = |reason: &str| ChoiceError {
            value: value.to_owned(),
            reason: reason.to_owned(),
        };
        match value.split_once(':') {
            None if value.is_empty() => Err(wrong("it is empty")),
            None if value == "offline" => Ok(Self::Offline),
            None if matches!(value, "anthropic" | "openai" | "script") => {
                Err(wrong("something has to follow after a colon"))
            }
            None => of_bare_name(value, variables).map_err(|reason| wrong(&reason)),
            Some(("anthropic" | "openai" | "script", rest)) if rest.trim().is_empty() => {
                Err(wrong("nothing follows the colon"))
            }
            Some(("anthropic", name)) => Ok(Self::Anthropic(name.trim().to_owned())),
            Some(("openai", name)) => Ok(Self::OpenAi(name.trim().to_owned())),
            Some(("script", file)) => Ok(Self::Script(PathBuf::from(file))),
            Some((other, _)) => Err(wrong(&format!(
                "there is no provider {other:?} (a name with a colon needs its provider, as in openai:{value})"
            ))),
        }
    }

    /// The model, ready to be asked by an agent of this name. [`Self::Offline`] is `None`: the
    /// caller supplies that model.
    pub fn build(
        &self,
        variables: &Variables,
        agent: &str,
        options: ClientOptions,
    ) -> Result<Option<Arc<dyn Model>>, BuildError> {
        Ok(match self {
            Self::Anthropic(name) => {
                let config = self.anthropic_config(name, variables, options)?;
                Some(Arc::new(Anthropic::new(config)?))
            }
            Self::OpenAi(name) => {
                let config = self.openai_config(name, variables, options)?;
                Some(Arc::new(OpenAi::new(config)?))
            }
            Self::Script(path) => Some(Arc::new(ScriptModel::load(path, agent)?)),
            Self::Offline => None,
        })
    }

    fn anthropic_config(
        &self,
        name: &str,
        variables: &Variables,
        options: ClientOptions,
    ) -> Result<AnthropicConfig, BuildError> {
        let address = variables.get(ANTHROPIC_ADDRESS);
        let [key, token] = ANTHROPIC_KEYS.map(|name| variables.get(name).map(Secret::new));
        let auth = match (key, token) {
            (Some(key), _) => AnthropicAuth::ApiKey(key),
            (None, Some(token)) => AnthropicAuth::Bearer(token),
            // A server of one's own may need no key.
            (None, None) if address.is_some() => AnthropicAuth::None,
            (None, None) => {
                return Err(BuildError::NoKey {
                    choice: self.clone(),
                    variables: "ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN",
                });
            }
        };
        let mut config = AnthropicConfig::new(name, auth);
        if let Some(address) = address {
            config.base_url = address.to_owned();
        }
        config.options = options;
        Ok(config)
    }

    fn openai_config(
        &self,
        name: &str,
        variables: &Variables,
        options: ClientOptions,
    ) -> Result<OpenAiConfig, BuildError> {
        let address = variables.get(OPENAI_ADDRESS);
        let key = variables.get(OPENAI_KEY).map(Secret::new);
        if key.is_none() && address.is_none() {
            return Err(BuildError::NoKey {
                choice: self.clone(),
                variables: "OPENAI_API_KEY (or OPENAI_BASE_URL to a server that needs none)",
            });
        }
        let mut config = OpenAiConfig::new(name, key);
        if let Some(address) = address {
            config.base_url = address.to_owned();
        }
        config.options = options;
        Ok(config)
    }
}

/// Whose model a bare name is: of the provider whose key is set, or, without any
/// key, of the one whose address is.
fn of_bare_name(name: &str, variables: &Variables) -> Result<ModelChoice, String> {
    let is_set = |name: &str| variables.get(name).is_some();
    let keys = (
        ANTHROPIC_KEYS.iter().any(|key| is_set(key)),
        is_set(OPENAI_KEY),
    );
    let set = if keys == (false, false) {
        (is_set(ANTHROPIC_ADDRESS), is_set(OPENAI_ADDRESS))
    } else {
        keys
    };
    let anthropic = || ModelChoice::Anthropic(name.to_owned());
    let openai = || ModelChoice::OpenAi(name.to_owned());
    match set {
        (true, false) => Ok(anthropic()),
        (false, true) => Ok(openai()),
        (true, true) if name.starts_with("claude") => Ok(anthropic()),
        (true, true) if name.starts_with("gpt") => Ok(openai()),
        (true, true) => Err("both providers are set up, and the name does not tell which".into()),
        (false, false) => Err("it could be a name, but no key is set".into()),
    }
}

#[cfg(test)]
mod tests;
