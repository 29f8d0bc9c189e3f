//! One file of the configuration, as serde reads it.

mod model_list;

use crate::error::ConfigError;
use crate::hook_tables::HookTables;
use crate::mcp::{McpServer, McpTable, check_names};
use crate::retention::RetentionTable;
use crate::rule_tables::PermissionsTable;
use acp::EngineChoice;
use catalogue::ModelEntry;
use model_list::model_list;
use protocol::{
    AgentName, Caps, Effort, Extra, MemberSpec, Money, NetworkSetting, RestartPolicy,
    SANDBOX_WORDS, SandboxMode, TREE_WORDS, TeamLimits, Temperature, Thinking, TreeMode, Tuning,
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
    /// One model, or several between commas, of which the first that can be reached answers.
    #[serde(deserialize_with = "model_list")]
    pub model: Option<String>,
    /// The same for the helpers that members let search.
    #[serde(deserialize_with = "model_list")]
    pub explore_model: Option<String>,
    #[serde(deserialize_with = "at_least_one_token")]
    pub max_output: Option<u32>,
    #[serde(deserialize_with = "Effort::deserialize_known")]
    pub effort: Option<Effort>,
    #[serde(deserialize_with = "Thinking::deserialize_known")]
    pub thinking: Option<Thinking>,
    pub temperature: Option<Temperature>,
    /// Whether models may search and read the web with the tools of their provider.
    pub web: Option<bool>,
    #[serde(deserialize_with = "restart_policy")]
    pub restart: Option<RestartPolicy>,
    #[serde(deserialize_with = "sandbox_mode")]
    pub sandbox: Option<SandboxMode>,
    pub network: Option<NetworkSetting>,
    /// The command that tells the user that something waits for a person.
    pub notify: Option<String>,
    /// Whether the lead's model may answer what its teammates ask a person.
    pub lead_decides: Option<bool>,
    /// How many seconds a question to a person waits; 0 is without limit.
    pub ask_timeout: Option<u64>,
    #[serde(with = "BudgetTable")]
    pub budget: Caps,
    #[serde(with = "LimitsTable")]
    pub limits: TeamLimits,
    pub retention: RetentionTable,
    pub context: ContextTable,
    pub permissions: PermissionsTable,
    /// The commands that are run when something happens to a member, by event.
    pub hooks: HookTables,
    pub tree: TreeTable,
    pub mcp: McpTable,
    /// Programs and addresses with tools for members, by name.
    pub mcp_servers: BTreeMap<String, McpServer>,
    /// What is known about models, by name.
    pub models: BTreeMap<String, ModelEntry>,
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

/// The table `[tree]`: where members work, and how their work is brought back.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a table [tree]")]
pub struct TreeTable {
    #[serde(deserialize_with = "tree_mode")]
    pub mode: Option<TreeMode>,
    /// Files and folders of the workspace that are copied into new trees.
    pub copy: Option<Vec<String>>,
    /// Files and folders of the workspace that new trees have links to.
    pub link: Option<Vec<String>>,
    /// A command that is run in new trees.
    pub setup: Option<String>,
    #[serde(deserialize_with = "at_least_one")]
    pub setup_seconds: Option<u64>,
    /// A command that must succeed before work is merged.
    pub check: Option<String>,
    #[serde(deserialize_with = "at_least_one")]
    pub check_seconds: Option<u64>,
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
    #[serde(deserialize_with = "model_list")]
    pub model: Option<String>,
    /// The agent of another program that takes the place of a model.
    #[serde(deserialize_with = "engine")]
    pub engine: Option<String>,
    #[serde(deserialize_with = "at_least_one_token")]
    pub max_output: Option<u32>,
    #[serde(deserialize_with = "Effort::deserialize_known")]
    pub effort: Option<Effort>,
    #[serde(deserialize_with = "Thinking::deserialize_known")]
    pub thinking: Option<Thinking>,
    pub temperature: Option<Temperature>,
    pub web: Option<bool>,
    /// Whether the members need an approved plan before they may change anything.
    pub require_plan: Option<bool>,
    #[serde(deserialize_with = "restart_policy")]
    pub restart: Option<RestartPolicy>,
    #[serde(deserialize_with = "sandbox_mode")]
    pub sandbox: Option<SandboxMode>,
    pub network: Option<NetworkSetting>,
    /// Narrows what the members may do, see [`permissions::Permissions`].
    pub permissions: PermissionsTable,
    #[serde(deserialize_with = "tree_mode")]
    pub tree: Option<TreeMode>,
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
    #[serde(default, deserialize_with = "model_list")]
    model: Option<String>,
    #[serde(default, deserialize_with = "at_least_one_token")]
    max_output: Option<u32>,
    #[serde(default, deserialize_with = "Effort::deserialize_known")]
    effort: Option<Effort>,
    #[serde(default, deserialize_with = "Thinking::deserialize_known")]
    thinking: Option<Thinking>,
    temperature: Option<Temperature>,
    web: Option<bool>,
    exec: Option<String>,
    #[serde(default, deserialize_with = "engine")]
    engine: Option<String>,
    require_plan: Option<bool>,
    #[serde(default, deserialize_with = "restart_policy")]
    restart: Option<RestartPolicy>,
    no_claim: Option<bool>,
    idle_timeout: Option<u64>,
    #[serde(default, deserialize_with = "sandbox_mode")]
    sandbox: Option<SandboxMode>,
    network: Option<NetworkSetting>,
    #[serde(default, deserialize_with = "tree_mode")]
    tree: Option<TreeMode>,
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
        check_names(&file.mcp_servers, path)?;
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
                max_output: table.max_output,
                effort: table.effort,
                thinking: table.thinking,
                temperature: table.temperature,
                web: table.web,
                exec: table.exec,
                engine: table.engine,
                require_plan: table.require_plan,
                restart: table.restart,
                no_claim: table.no_claim,
                idle_timeout: table.idle_timeout,
                sandbox: table.sandbox,
                network: table.network,
                permissions: None,
                tree: table.tree,
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

impl Role {
    /// How the models of the members are asked.
    pub fn tuning(&self) -> Tuning {
        Tuning {
            max_output: self.max_output,
            effort: self.effort.clone(),
            thinking: self.thinking.clone(),
            temperature: self.temperature,
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

fn engine<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let choice: EngineChoice = text.parse().map_err(D::Error::custom)?;
    Ok(Some(choice.to_string()))
}

fn sandbox_mode<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<SandboxMode>, D::Error> {
    match SandboxMode::deserialize(deserializer)? {
        SandboxMode::Other(word) => Err(D::Error::unknown_variant(&word, &SANDBOX_WORDS)),
        known => Ok(Some(known)),
    }
}

fn tree_mode<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<TreeMode>, D::Error> {
    match TreeMode::deserialize(deserializer)? {
        TreeMode::Other(word) => Err(D::Error::unknown_variant(&word, &TREE_WORDS)),
        known => Ok(Some(known)),
    }
}

fn percent<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    match u64::deserialize(deserializer)? {
        number @ 1..=100 => Ok(Some(number)),
        _ => Err(D::Error::custom("a number from 1 to 100 is needed")),
    }
}

pub(crate) fn at_least_one<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<u64>, D::Error> {
    match u64::deserialize(deserializer)? {
        0 => Err(D::Error::custom("at least 1 is needed")),
        number => Ok(Some(number)),
    }
}

fn at_least_one_token<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    match u32::deserialize(deserializer)? {
        0 => Err(D::Error::custom("at least 1 is needed")),
        number => Ok(Some(number)),
    }
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
