//! The combined configuration and the precedence of its sources.

use crate::error::ConfigError;
use crate::file::{FileConfig, MemberEntry, Role};
use crate::mcp::McpFile;
use crate::read::{DOTENV_FILE, read_user_file, read_workspace_file, user_file};
use crate::rule_tables::ClaudeSettings;
use catalogue::Catalogue;
use llm::Variables;
use protocol::{
    Caps, Effort, Extra, Money, NetworkSetting, SandboxMode, TeamLimits, Temperature, Thinking,
    Tuning,
};
use std::fmt;
use std::path::{Path, PathBuf};
use trust::Owners;
use variables::{
    EFFORT, MAX_COST, MAX_MINUTES, MAX_OUTPUT, MAX_TOKENS, MAX_TURNS, TEMPERATURE, THINKING,
    VariableSettings,
};
pub(crate) use variables::{EXPLORE_MODEL, MODEL_VARIABLES, NETWORK, SANDBOX, WEB};

mod variables;

/// The project's file, in the workspace.
pub const PROJECT_FILE: &str = "team.toml";
/// Where a value comes from, in order of precedence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// This variable of the process.
    Variable(&'static str),
    User(PathBuf),
    /// This variable in the workspace's `.env`.
    Dotenv(&'static str, PathBuf),
    Project(PathBuf),
    /// The settings of Claude Code in the workspace.
    Claude(PathBuf),
    Default,
}

/// Who has set a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The user, for this process.
    Environment,
    /// The user, in a file of their own.
    User,
    /// Whoever wrote the files of the workspace.
    Workspace,
    /// Nobody.
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
    environment: VariableSettings,
    user: Option<FileConfig>,
    dotenv: VariableSettings,
    dotenv_path: PathBuf,
    project: Option<FileConfig>,
    claude: Option<ClaudeSettings>,
    mcp: Option<McpFile>,
}

/// Reads the configuration of a workspace.
pub fn load(
    workspace: &Path,
    variables: &Variables,
    owners: &Owners,
) -> Result<Config, ConfigError> {
    let user = user_file(variables).map(|path| read_user_file(&path));
    let project = workspace.join(PROJECT_FILE);
    let project = match read_workspace_file(&project, owners)? {
        Some(text) => Some(FileConfig::parse(&project, &text)?),
        None => None,
    };
    Ok(Config {
        environment: VariableSettings::read(|name| variables.environment(name))?,
        user: user.transpose()?.flatten(),
        dotenv: VariableSettings::read(|name| variables.in_file(name))?,
        dotenv_path: workspace.join(DOTENV_FILE),
        project,
        claude: ClaudeSettings::read(workspace, owners)?,
        mcp: McpFile::read(workspace, owners)?,
    })
}

impl Config {
    /// The model of members for which no flag, member entry or role names one.
    pub fn model(&self) -> Setting<String> {
        self.pick(
            |variables| variables.model.clone(),
            |file| file.model.clone(),
        )
    }

    /// The model of the helpers that members let search; the member's own if nobody names one.
    pub fn explore_model(&self) -> Setting<String> {
        self.pick(
            |variables| Some((EXPLORE_MODEL, variables.explore_model.clone()?)),
            |file| file.explore_model.clone(),
        )
    }

    /// The most tokens of a reply, where no flag, member entry, role or model names another number.
    pub fn max_output(&self) -> Setting<u32> {
        self.pick(
            |variables| Some((MAX_OUTPUT, variables.tuning.max_output?)),
            |file| file.max_output,
        )
    }

    pub fn effort(&self) -> Setting<Effort> {
        self.pick(
            |variables| Some((EFFORT, variables.tuning.effort.clone()?)),
            |file| file.effort.clone(),
        )
    }

    pub fn thinking(&self) -> Setting<Thinking> {
        self.pick(
            |variables| Some((THINKING, variables.tuning.thinking.clone()?)),
            |file| file.thinking.clone(),
        )
    }

    pub fn temperature(&self) -> Setting<Temperature> {
        self.pick(
            |variables| Some((TEMPERATURE, variables.tuning.temperature?)),
            |file| file.temperature,
        )
    }

    /// How models are asked for which no flag, member entry, role or model says it.
    pub fn tuning(&self) -> Tuning {
        Tuning {
            max_output: self.max_output().value,
            effort: self.effort().value,
            thinking: self.thinking().value,
            temperature: self.temperature().value,
        }
    }

    /// Whether the models of members for which no flag, member entry or role says it use the web.
    pub fn web(&self) -> Setting<bool> {
        self.pick(|variables| Some((WEB, variables.web?)), |file| file.web)
    }

    /// Whether the commands of members for which no flag, member entry or role says it run in a sandbox.
    pub fn sandbox(&self) -> Setting<SandboxMode> {
        self.pick(
            |variables| Some((SANDBOX, variables.sandbox.clone()?)),
            |file| file.sandbox.clone(),
        )
    }

    /// What the commands of members for which no flag, member entry or role says it reach.
    pub fn network(&self) -> Setting<NetworkSetting> {
        self.pick(
            |variables| Some((NETWORK, variables.network.clone()?)),
            |file| file.network.clone(),
        )
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
        self.pick(|_| None, |file| get(&file.limits))
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

    /// What is known about models.
    pub fn catalogue(&self) -> Catalogue {
        let of = |file: &Option<FileConfig>| {
            let file = file.as_ref();
            file.map(|file| file.models.clone()).unwrap_or_default()
        };
        Catalogue::new(of(&self.user), of(&self.project))
    }

    /// A role by its name. A role of the user replaces one of the project.
    pub fn role(&self, name: &str) -> Option<&Role> {
        let mut files = self.files();
        files.find_map(|(_, file)| file.roles.get(name))
    }

    /// The members to start. The user's list replaces the project's.
    pub fn members(&self) -> &[MemberEntry] {
        let mut files = self.files();
        let with_members = files.find(|(_, file)| !file.members.is_empty());
        with_members.map_or(&[], |(_, file)| &file.members)
    }

    /// The files that exist, in order of precedence.
    pub fn files(&self) -> impl Iterator<Item = (Origin, &FileConfig)> {
        let user = self.user.iter();
        let user = user.map(|file| (Origin::User(file.path.clone()), file));
        let project = self.project.iter();
        user.chain(project.map(|file| (Origin::Project(file.path.clone()), file)))
    }

    pub(crate) const fn project(&self) -> Option<&FileConfig> {
        self.project.as_ref()
    }

    pub(crate) const fn user(&self) -> Option<&FileConfig> {
        self.user.as_ref()
    }

    pub(crate) const fn mcp_file(&self) -> Option<&McpFile> {
        self.mcp.as_ref()
    }

    pub(crate) const fn claude(&self) -> Option<&ClaudeSettings> {
        self.claude.as_ref()
    }

    fn cap<T>(&self, name: &'static str, get: impl Fn(&Caps) -> Option<T>) -> Setting<T> {
        self.pick(
            |variables| Some((name, get(&variables.budget)?)),
            |file| get(&file.budget),
        )
    }

    /// A setting that only files have.
    pub(crate) fn of_files<T>(&self, of_file: impl Fn(&FileConfig) -> Option<T>) -> Setting<T> {
        self.pick(|_| None, of_file)
    }

    /// The value of the first source that has one.
    pub(crate) fn pick<T>(
        &self,
        variable: impl Fn(&VariableSettings) -> Option<(&'static str, T)>,
        get: impl Fn(&FileConfig) -> Option<T>,
    ) -> Setting<T> {
        let environment =
            || variable(&self.environment).map(|(name, value)| (Origin::Variable(name), value));
        let of_file = |file: &Option<FileConfig>, origin: fn(PathBuf) -> Origin| {
            let file = file.as_ref()?;
            Some((origin(file.path.clone()), get(file)?))
        };
        let dotenv = || {
            let (name, value) = variable(&self.dotenv)?;
            Some((Origin::Dotenv(name, self.dotenv_path.clone()), value))
        };
        let found = environment()
            .or_else(|| of_file(&self.user, Origin::User))
            .or_else(dotenv)
            .or_else(|| of_file(&self.project, Origin::Project));
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

impl Origin {
    pub const fn source(&self) -> Source {
        match self {
            Self::Variable(_) => Source::Environment,
            Self::User(_) => Source::User,
            Self::Dotenv(..) | Self::Project(_) | Self::Claude(_) => Source::Workspace,
            Self::Default => Source::Default,
        }
    }
}

impl Source {
    /// The word for programs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Environment => "environment",
            Self::User => "user",
            Self::Workspace => "workspace",
            Self::Default => "default",
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "variable {name}"),
            Self::Dotenv(name, path) => write!(f, "{name} in {}", path.display()),
            Self::Project(path) | Self::User(path) | Self::Claude(path) => {
                write!(f, "{}", path.display())
            }
            Self::Default => f.write_str("default"),
        }
    }
}

#[cfg(test)]
mod tests;
