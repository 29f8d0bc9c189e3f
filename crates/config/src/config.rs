//! The combined configuration and the precedence of its sources.

use crate::error::ConfigError;
use crate::file::{FileConfig, MemberEntry, Role};
use budget::{PriceSource, Prices};
use protocol::{Caps, Extra, Money, RestartPolicy, TeamLimits};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The project's file, in the workspace.
pub const PROJECT_FILE: &str = "team.toml";
/// The user's file, below the user's configuration folder.
const USER_FILE: &str = "team-lead/config.toml";
/// The variables that name a model, in order of precedence.
const MODEL: [&str; 2] = ["TEAM_MODEL", "MODEL_ID"];
const MAX_TOKENS: &str = "TEAM_MAX_TOKENS";
const MAX_COST: &str = "TEAM_MAX_COST";
const MAX_TURNS: &str = "TEAM_MAX_TURNS";
const MAX_MINUTES: &str = "TEAM_MAX_MINUTES";

/// Where a value comes from, in order of precedence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    Variable(&'static str),
    Project(PathBuf),
    User(PathBuf),
    Default,
}

/// A value and its origin. The value is absent if the default applies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting<T> {
    pub value: Option<T>,
    pub origin: Origin,
}

/// Both files and the variables.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Config {
    variables: Variables,
    project: Option<FileConfig>,
    user: Option<FileConfig>,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct Variables {
    model: Option<(&'static str, String)>,
    budget: Caps,
}

/// Reads the configuration of a workspace. `variable` returns the value of an environment variable.
pub fn load<'a>(
    workspace: &Path,
    variable: impl Fn(&str) -> Option<&'a str>,
) -> Result<Config, ConfigError> {
    let user = user_file(&variable);
    Ok(Config {
        variables: Variables::read(&variable)?,
        project: FileConfig::read(&workspace.join(PROJECT_FILE))?,
        user: user.map_or(Ok(None), |path| FileConfig::read(&path))?,
    })
}

/// The current prices of a workspace, read again on each call, because a person may add a price
/// while an agent waits for it. While a file cannot be read, the last prices apply. `get` returns the
/// value of an environment variable.
pub fn price_source<V: Send + Sync + 'static>(
    workspace: &Path,
    variables: V,
    get: for<'a> fn(&'a V, &str) -> Option<&'a str>,
) -> PriceSource {
    let workspace = workspace.to_path_buf();
    let last = Mutex::new(Prices::default());
    Arc::new(move || {
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Ok(config) = load(&workspace, |name| get(&variables, name)) {
            *last = config.prices();
        }
        last.clone()
    })
}

/// `~/.config/team-lead/config.toml`, or the same below `XDG_CONFIG_HOME`.
fn user_file<'a>(variable: &impl Fn(&str) -> Option<&'a str>) -> Option<PathBuf> {
    let folder = match variable("XDG_CONFIG_HOME") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(variable("HOME")?).join(".config"),
    };
    Some(folder.join(USER_FILE))
}

impl Variables {
    fn read<'a>(variable: &impl Fn(&str) -> Option<&'a str>) -> Result<Self, ConfigError> {
        let model = MODEL
            .iter()
            .find_map(|name| Some((*name, variable(name)?.to_owned())));
        Ok(Self {
            model,
            budget: Caps {
                max_tokens: parsed(variable, MAX_TOKENS)?,
                max_cost: parsed::<Money>(variable, MAX_COST)?,
                max_turns: parsed(variable, MAX_TURNS)?,
                max_minutes: parsed(variable, MAX_MINUTES)?,
                extra: Extra::new(),
            },
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

impl Config {
    /// The model of members for which no flag, member entry or role names one.
    pub fn model(&self) -> Setting<String> {
        let variable = self.variables.model.clone();
        self.pick(variable, |file| file.model.clone())
    }

    /// The model that a file names, unless a variable overrides it. For callers that evaluate the
    /// variables themselves.
    pub fn model_of_files(&self) -> Option<String> {
        let model = self.model();
        match model.origin {
            Origin::Variable(_) => None,
            Origin::Project(_) | Origin::User(_) | Origin::Default => model.value,
        }
    }

    /// The restart policy of members for which no flag, member entry or role names one.
    pub fn restart(&self) -> Setting<RestartPolicy> {
        self.pick(None, |file| file.restart.clone())
    }

    pub fn max_tokens(&self) -> Setting<u64> {
        self.cap(MAX_TOKENS, |caps| caps.max_tokens)
    }

    pub fn max_cost(&self) -> Setting<Money> {
        self.cap(MAX_COST, |caps| caps.max_cost)
    }

    pub fn max_turns(&self) -> Setting<u64> {
        self.cap(MAX_TURNS, |caps| caps.max_turns)
    }

    pub fn max_minutes(&self) -> Setting<u64> {
        self.cap(MAX_MINUTES, |caps| caps.max_minutes)
    }

    /// What the whole team may spend.
    pub fn budget(&self) -> Caps {
        Caps {
            max_tokens: self.max_tokens().value,
            max_cost: self.max_cost().value,
            max_turns: self.max_turns().value,
            max_minutes: self.max_minutes().value,
            extra: Extra::new(),
        }
    }

    /// One of the team's limits.
    pub fn limit(&self, get: impl Fn(&TeamLimits) -> Option<u64>) -> Setting<u64> {
        self.pick(None, |file| get(&file.limits))
    }

    pub fn limits(&self) -> TeamLimits {
        TeamLimits {
            members: self.limit(|limits| limits.members).value,
            working: self.limit(|limits| limits.working).value,
            messages_per_minute: self.limit(|limits| limits.messages_per_minute).value,
            message_bytes: self.limit(|limits| limits.message_bytes).value,
            inbox_bytes: self.limit(|limits| limits.inbox_bytes).value,
            extra: Extra::new(),
        }
    }

    pub fn prices(&self) -> Prices {
        let mut own = BTreeMap::new();
        // The project's file last: its prices replace those of the user.
        for file in [&self.user, &self.project].into_iter().flatten() {
            own.extend(file.prices.clone());
        }
        Prices::new(own)
    }

    /// A role by its name. A role of the project replaces one of the user.
    pub fn role(&self, name: &str) -> Option<&Role> {
        let mut files = self.files();
        files.find_map(|(_, file)| file.roles.get(name))
    }

    /// The members to start. The project's list replaces the user's.
    pub fn members(&self) -> &[MemberEntry] {
        let mut files = self.files();
        let with_members = files.find(|(_, file)| !file.members.is_empty());
        with_members.map_or(&[], |(_, file)| &file.members)
    }

    /// The files that exist, in order of precedence.
    pub fn files(&self) -> impl Iterator<Item = (Origin, &FileConfig)> {
        let project = self.project.iter();
        let project = project.map(|file| (Origin::Project(file.path.clone()), file));
        let user = self.user.iter();
        project.chain(user.map(|file| (Origin::User(file.path.clone()), file)))
    }

    fn cap<T>(&self, variable: &'static str, get: impl Fn(&Caps) -> Option<T>) -> Setting<T> {
        let from_variable = get(&self.variables.budget).map(|value| (variable, value));
        self.pick(from_variable, |file| get(&file.budget))
    }

    fn pick<T>(
        &self,
        variable: Option<(&'static str, T)>,
        get: impl Fn(&FileConfig) -> Option<T>,
    ) -> Setting<T> {
        if let Some((name, value)) = variable {
            return Setting {
                value: Some(value),
                origin: Origin::Variable(name),
            };
        }
        let found = self
            .files()
            .find_map(|(origin, file)| Some((origin, get(file)?)));
        match found {
            Some((origin, value)) => Setting {
                value: Some(value),
                origin,
            },
            None => Setting {
                value: None,
                origin: Origin::Default,
            },
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "variable {name}"),
            Self::Project(path) | Self::User(path) => write!(f, "{}", path.display()),
            Self::Default => f.write_str("default"),
        }
    }
}

#[cfg(test)]
mod tests;
