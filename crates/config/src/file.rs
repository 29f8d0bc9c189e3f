//! One file of the configuration, as serde reads it.

use crate::error::ConfigError;
use budget::Price;
use protocol::{
    AgentName, Caps, Extra, MemberSpec, Money, NetworkSetting, RestartPolicy, SANDBOX_WORDS,
    SandboxMode, TeamLimits,
};
use serde::de::{Deserialize, Deserializer, Error as _};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The tools that a role may exclude. All others are how a member takes part in its team.
pub const OPTIONAL_TOOLS: [&str; 9] = [
    "bash",
    "read_file",
    "write_file",
    "edit_file",
    "grep",
    "glob",
    "list_dir",
    "background_run",
    "check_background",
];

/// The content of a file.
#[derive(Debug, Clone, Default, PartialEq, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FileConfig {
    #[serde(skip)]
    pub path: PathBuf,
    pub model: Option<String>,
    #[serde(deserialize_with = "restart_policy")]
    pub restart: Option<RestartPolicy>,
    #[serde(deserialize_with = "sandbox_mode")]
    pub sandbox: Option<SandboxMode>,
    pub network: Option<NetworkSetting>,
    #[serde(with = "BudgetTable")]
    pub budget: Caps,
    #[serde(with = "LimitsTable")]
    pub limits: TeamLimits,
    pub context: ContextTable,
    /// The prices of tokens, by model.
    #[serde(deserialize_with = "prices")]
    pub prices: BTreeMap<String, Price>,
    pub roles: BTreeMap<String, Role>,
    /// The members that `team-lead up` starts.
    #[serde(deserialize_with = "distinct_members")]
    pub members: Vec<MemberEntry>,
}

/// The table `[context]`: when old tool results are cleared from a conversation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a table [context]")]
pub struct ContextTable {
    /// How many of the newest results are never cleared.
    pub keep_results: Option<u64>,
    /// The share of the model's window from which on they are cleared, in percent.
    #[serde(deserialize_with = "percent")]
    pub clear_at: Option<u64>,
}

/// What all members of a role have in common.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a table [roles.NAME]")]
pub struct Role {
    /// What the role asks for, in the system prompt.
    pub prompt: Option<String>,
    /// Those of [`OPTIONAL_TOOLS`] that the members have; all of them if absent.
    #[serde(deserialize_with = "tool_names")]
    pub tools: Option<Vec<String>>,
    pub model: Option<String>,
    /// Whether the members need an approved plan before they may change anything.
    pub require_plan: Option<bool>,
    #[serde(deserialize_with = "restart_policy")]
    pub restart: Option<RestartPolicy>,
    #[serde(deserialize_with = "sandbox_mode")]
    pub sandbox: Option<SandboxMode>,
    pub network: Option<NetworkSetting>,
}

/// A member that `team-lead up` starts.
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(from = "MemberTable")]
pub struct MemberEntry {
    pub spec: MemberSpec,
    /// What the member may spend.
    pub budget: Caps,
}

/// A table `[[members]]`. One struct, because `flatten` loses the lines of errors.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table [[members]]")]
struct MemberTable {
    name: AgentName,
    role: String,
    prompt: Option<String>,
    model: Option<String>,
    exec: Option<String>,
    require_plan: Option<bool>,
    #[serde(default, deserialize_with = "restart_policy")]
    restart: Option<RestartPolicy>,
    no_claim: Option<bool>,
    idle_timeout: Option<u64>,
    #[serde(default, deserialize_with = "sandbox_mode")]
    sandbox: Option<SandboxMode>,
    network: Option<NetworkSetting>,
    max_tokens: Option<u64>,
    max_cost: Option<Money>,
    max_turns: Option<u64>,
    max_minutes: Option<u64>,
}

/// The table `[budget]`.
#[derive(serde::Deserialize)]
#[serde(remote = "Caps", deny_unknown_fields, expecting = "a table [budget]")]
struct BudgetTable {
    max_tokens: Option<u64>,
    max_cost: Option<Money>,
    max_turns: Option<u64>,
    max_minutes: Option<u64>,
    #[serde(skip)]
    extra: Extra,
}

/// The table `[limits]`.
#[derive(serde::Deserialize)]
#[serde(
    remote = "TeamLimits",
    deny_unknown_fields,
    expecting = "a table [limits]"
)]
struct LimitsTable {
    members: Option<u64>,
    #[serde(default, deserialize_with = "at_least_one")]
    working: Option<u64>,
    messages_per_minute: Option<u64>,
    message_bytes: Option<u64>,
    inbox_bytes: Option<u64>,
    #[serde(skip)]
    extra: Extra,
}

/// A table `[prices.MODEL]`, in dollars per million tokens.
#[derive(serde::Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a table [prices.MODEL] with dollars per million tokens"
)]
struct PriceTable {
    input: Money,
    output: Money,
    cache_read: Option<Money>,
    cache_write: Option<Money>,
}

/// The restart policies that can be chosen in a file.
#[derive(serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
enum KnownPolicy {
    Never,
    OnFailure,
}

impl FileConfig {
    pub(crate) fn parse(path: &Path, text: &str) -> Result<Self, ConfigError> {
        let parsed = toml::from_str(text);
        let file: Self = parsed.map_err(|error| ConfigError::from_toml(path, text, error))?;
        Ok(Self {
            path: path.to_path_buf(),
            ..file
        })
    }
}

impl From<MemberTable> for MemberEntry {
    fn from(table: MemberTable) -> Self {
        Self {
            spec: MemberSpec {
                name: table.name,
                role: table.role,
                prompt: table.prompt,
                model: table.model,
                exec: table.exec,
                require_plan: table.require_plan,
                restart: table.restart,
                no_claim: table.no_claim,
                idle_timeout: table.idle_timeout,
                sandbox: table.sandbox,
                network: table.network,
            },
            budget: Caps {
                max_tokens: table.max_tokens,
                max_cost: table.max_cost,
                max_turns: table.max_turns,
                max_minutes: table.max_minutes,
                extra: Extra::new(),
            },
        }
    }
}

impl From<PriceTable> for Price {
    /// Where the prices of a cache are absent, a cache makes nothing cheaper.
    fn from(table: PriceTable) -> Self {
        Self {
            input: table.input,
            output: table.output,
            cache_read: table.cache_read.unwrap_or(table.input),
            cache_write: table.cache_write.unwrap_or(table.input),
        }
    }
}

fn restart_policy<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<RestartPolicy>, D::Error> {
    Ok(Some(match KnownPolicy::deserialize(deserializer)? {
        KnownPolicy::Never => RestartPolicy::Never,
        KnownPolicy::OnFailure => RestartPolicy::OnFailure,
    }))
}

fn sandbox_mode<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<SandboxMode>, D::Error> {
    match SandboxMode::deserialize(deserializer)? {
        SandboxMode::Other(word) => Err(D::Error::unknown_variant(&word, &SANDBOX_WORDS)),
        known => Ok(Some(known)),
    }
}

fn percent<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    match u64::deserialize(deserializer)? {
        number @ 1..=100 => Ok(Some(number)),
        _ => Err(D::Error::custom("a number from 1 to 100 is needed")),
    }
}

fn at_least_one<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    match u64::deserialize(deserializer)? {
        0 => Err(D::Error::custom("at least 1 is needed")),
        number => Ok(Some(number)),
    }
}

fn prices<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, Price>, D::Error> {
    let tables = BTreeMap::<String, PriceTable>::deserialize(deserializer)?;
    let prices = tables
        .into_iter()
        .map(|(model, table)| (model, table.into()));
    Ok(prices.collect())
}

fn tool_names<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<String>>, D::Error> {
    let names = Vec::<String>::deserialize(deserializer)?;
    let unknown = names
        .iter()
        .find(|name| !OPTIONAL_TOOLS.contains(&name.as_str()));
    match unknown {
        Some(unknown) => Err(D::Error::unknown_variant(unknown, &OPTIONAL_TOOLS)),
        None => Ok(Some(names)),
    }
}

fn distinct_members<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<MemberEntry>, D::Error> {
    let members = Vec::<MemberEntry>::deserialize(deserializer)?;
    let mut names = BTreeSet::new();
    for member in &members {
        if !names.insert(member.spec.name.as_str().to_lowercase()) {
            let message = format!("two [[members]] are called {}", member.spec.name);
            return Err(D::Error::custom(message));
        }
    }
    Ok(members)
}

#[cfg(test)]
mod tests;
