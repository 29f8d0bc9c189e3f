//! Parses which model is meant, and builds it.
//!
//! Nothing here reads the environment: the variables are passed in.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::anthropic::{Anthropic, AnthropicAuth, AnthropicConfig};
use crate::http::{ClientError, ClientOptions};
use crate::learned_settings::LearnedSettings;
use crate::model::Model;
use crate::openai::{Dialect, OpenAi, OpenAiConfig, OpenAiWire};
use crate::script::{ScriptError, ScriptModel};
use crate::secret::Secret;

mod dotenv;
mod list;
mod variables;

pub use dotenv::{Dotenv, parse_dotenv};
pub use list::parse_models;
pub use variables::{Variable, VariableOrigin, Variables};

/// The variables with the addresses of model servers.
pub const ADDRESS_VARIABLES: [&str; 2] = [ANTHROPIC_ADDRESS, OPENAI_ADDRESS];
/// The variables with keys.
pub const KEY_VARIABLES: [&str; 3] = [ANTHROPIC_KEYS[0], ANTHROPIC_KEYS[1], OPENAI_KEY];

/// The variable with the dialect of Chat Completions.
pub const DIALECT_VARIABLE: &str = "OPENAI_DIALECT";

const SCRIPT: &str = "script";
const CHAT: &str = "openai-chat";
const RESPONSES: &str = "openai-responses";
const ANTHROPIC_KEYS: [&str; 2] = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"];
const ANTHROPIC_ADDRESS: &str = "ANTHROPIC_BASE_URL";
const OPENAI_KEY: &str = "OPENAI_API_KEY";
const OPENAI_ADDRESS: &str = "OPENAI_BASE_URL";

/// A chosen model. It is displayed as the text that chooses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelChoice {
    /// A model of this name behind the Messages API.
    Anthropic(String),
    /// A model of this name of OpenAI or of a server that follows it.
    OpenAi(String),
    /// The same, always asked in one wire format.
    OpenAiBy(OpenAiWire, String),
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
            Self::OpenAiBy(wire, name) => write!(f, "{}:{name}", prefix(*wire)),
            Self::Offline => f.write_str("offline"),
            Self::Script(path) => write!(f, "{SCRIPT}:{}", path.display()),
        }
    }
}

/// Why a value chooses no model. The text says which values there are.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{value:?} is not a model: {reason}; {VALUES}")]
pub struct ChoiceError {
    pub value: String,
    pub reason: NoModel,
}

/// What is wrong with a value that chooses no model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoModel {
    #[error("it is empty")]
    Empty,
    #[error("something has to follow after a colon")]
    NoColon,
    #[error("nothing follows the colon")]
    NothingAfterColon,
    #[error(
        "there is no provider {provider:?} (a name with a colon needs its provider, as in \
         openai:{value})"
    )]
    NoProvider { provider: String, value: String },
    #[error("both providers are set up, and the name does not tell which")]
    TwoProviders,
    #[error("it could be a name, but no key is set")]
    NoKey,
    #[error("a list of models has models of providers only")]
    NotForList,
}

/// The valid values, for the text of errors.
const VALUES: &str = "choose anthropic:NAME, openai:NAME (any OpenAI-compatible server; \
    openai-chat:NAME or openai-responses:NAME to fix its wire format), offline, script:FILE, \
    a bare NAME if ANTHROPIC_API_KEY or OPENAI_API_KEY is set, or a list with commas";

/// Why a chosen model cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    #[error("{choice} needs a key: set {variables}")]
    NoKey {
        choice: ModelChoice,
        /// The variables that may have it.
        variables: &'static str,
    },
    /// The user's key would go to a server that the user has not chosen.
    #[error(
        "{key} comes from {key_origin}, and {address} from {address_origin}, which is not trusted: \
         a key is not sent to an address of lesser origin. If {value} is where it shall go, trust \
         the workspace, or export {address} too"
    )]
    AddressOfLesserOrigin {
        key: &'static str,
        key_origin: String,
        address: &'static str,
        address_origin: String,
        /// The address.
        value: String,
    },
    #[error(
        "{DIALECT_VARIABLE}={value} is not a dialect: set it to openai, compatible or deepseek, or leave it out"
    )]
    Dialect { value: String },
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error(transparent)]
    Script(#[from] ScriptError),
}

/// Whether a value chooses recorded turns.
pub fn is_script(value: &str) -> bool {
    let provider = value.trim().split_once(':');
    provider.is_some_and(|(provider, _)| provider == SCRIPT)
}

fn is_provider(word: &str) -> bool {
    matches!(word, "anthropic" | "openai" | CHAT | RESPONSES | SCRIPT)
}

const fn prefix(wire: OpenAiWire) -> &'static str {
    match wire {
        OpenAiWire::Chat => CHAT,
        OpenAiWire::Responses => RESPONSES,
    }
}

impl ModelChoice {
    /// Parses a value. The variables decide to which provider a bare name belongs.
    pub fn parse(value: &str, variables: &Variables) -> Result<Self, ChoiceError> {
        let value = value.trim();
        let wrong = |reason| ChoiceError {
            value: value.to_owned(),
            reason,
        };
        match value.split_once(':') {
            None if value.is_empty() => Err(wrong(NoModel::Empty)),
            None if value == "offline" => Ok(Self::Offline),
            None if is_provider(value) => Err(wrong(NoModel::NoColon)),
            None => of_bare_name(value, variables).map_err(wrong),
            Some((provider, rest)) if is_provider(provider) && rest.trim().is_empty() => {
                Err(wrong(NoModel::NothingAfterColon))
            }
            Some(("anthropic", name)) => Ok(Self::Anthropic(name.trim().to_owned())),
            Some(("openai", name)) => Ok(Self::OpenAi(name.trim().to_owned())),
            Some((CHAT, name)) => Ok(Self::OpenAiBy(OpenAiWire::Chat, name.trim().to_owned())),
            Some((RESPONSES, name)) => Ok(Self::OpenAiBy(
                OpenAiWire::Responses,
                name.trim().to_owned(),
            )),
            Some((SCRIPT, file)) => Ok(Self::Script(PathBuf::from(file))),
            Some((other, _)) => Err(wrong(NoModel::NoProvider {
                provider: other.to_owned(),
                value: value.to_owned(),
            })),
        }
    }

    /// The address of the server that is asked. The models that are a part of this program have none.
    pub fn address<'a>(&self, variables: &'a Variables) -> Option<&'a str> {
        let (variable, usual) = match self {
            Self::Anthropic(_) => (ANTHROPIC_ADDRESS, crate::anthropic::ANTHROPIC_ADDRESS),
            Self::OpenAi(_) | Self::OpenAiBy(..) => (OPENAI_ADDRESS, crate::openai::OPENAI_ADDRESS),
            Self::Offline | Self::Script(_) => return None,
        };
        Some(variables.get(variable).unwrap_or(usual))
    }

    /// Builds the model for an agent of this name, with what is known about its server. `None` for
    /// [`Self::Offline`]: the caller supplies that model.
    pub fn build(
        &self,
        variables: &Variables,
        agent: &str,
        options: ClientOptions,
        learned: LearnedSettings,
    ) -> Result<Option<Arc<dyn Model>>, BuildError> {
        Ok(match self {
            Self::Anthropic(name) => {
                let config = self.anthropic_config(name, variables, options)?;
                Some(Arc::new(Anthropic::new(config)?))
            }
            Self::OpenAi(name) => {
                let mut config = self.openai_config(name, variables, options)?;
                config.learned = learned;
                Some(Arc::new(OpenAi::new(config)?))
            }
            Self::OpenAiBy(wire, name) => {
                let mut config = self.openai_config(name, variables, options)?;
                config.wire = Some(*wire);
                config.learned = learned;
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
        // A key of the workspace must not take the place of a token of the user.
        let is_own = |name: &str| variables.environment(name).is_some();
        let has_own = ANTHROPIC_KEYS.iter().any(|name| is_own(name));
        let [key, token] = ANTHROPIC_KEYS.map(|name| match has_own && !is_own(name) {
            true => Ok(None),
            false => key_for(variables, name, ANTHROPIC_ADDRESS),
        });
        let (key, token) = match key? {
            Some(key) => (Some(key), None),
            None => (None, token?),
        };
        let auth = match (key, token) {
            (Some(key), _) => AnthropicAuth::ApiKey(key),
            (None, Some(token)) => AnthropicAuth::Bearer(token),
            // A server of the user's own may need no key.
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
        let key = key_for(variables, OPENAI_KEY, OPENAI_ADDRESS)?;
        if key.is_none() && address.is_none() {
            return Err(BuildError::NoKey {
                choice: self.clone(),
                variables: "OPENAI_API_KEY (or OPENAI_BASE_URL to a server that needs none)",
            });
        }
        let mut config = OpenAiConfig::new(name, key);
        if let Some(value) = variables.get(DIALECT_VARIABLE) {
            let dialect = Dialect::of_name(value.trim());
            let wrong = || BuildError::Dialect {
                value: value.to_owned(),
            };
            config.dialect = Some(dialect.ok_or_else(wrong)?);
        }
        if let Some(address) = address {
            config.base_url = address.to_owned();
        }
        config.options = options;
        Ok(config)
    }
}

/// A key, if it may be sent to the address that is set.
fn key_for(
    variables: &Variables,
    key: &'static str,
    address: &'static str,
) -> Result<Option<Secret>, BuildError> {
    let Some(found) = variables.find(key) else {
        return Ok(None);
    };
    match variables.find(address) {
        Some(server) if !found.origin.may_send_to(server.origin) => {
            Err(BuildError::AddressOfLesserOrigin {
                key,
                key_origin: found.origin.to_string(),
                address,
                address_origin: server.origin.to_string(),
                value: server.value.to_owned(),
            })
        }
        Some(_) | None => Ok(Some(Secret::new(found.value))),
    }
}

/// The provider of a bare name: the one whose key is set or, without any key, the one whose address is set.
fn of_bare_name(name: &str, variables: &Variables) -> Result<ModelChoice, NoModel> {
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
        (true, true) => Err(NoModel::TwoProviders),
        (false, false) => Err(NoModel::NoKey),
    }
}

#[cfg(test)]
mod tests;
