//! One file of the configuration.

use crate::nearest::nearest;
use crate::reader::{ConfigError, Source, Table};
use budget::Price;
use protocol::{AgentName, Caps, Extra, RestartPolicy, TeamLimits};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use toml::de::DeTable;

/// The tools that a role may be without. The others are how a member takes part in its team.
const TOOLS: [&str; 6] = [
    "bash",
    "read_file",
    "write_file",
    "edit_file",
    "background_run",
    "check_background",
];

/// What a file says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FileConfig {
    /// The file.
    pub path: PathBuf,
    /// The model that members think with, if nothing else is said.
    pub model: Option<String>,
    /// What happens when a member's process dies.
    pub restart: Option<RestartPolicy>,
    /// What the team may spend.
    pub budget: Caps,
    /// What holds whatever a model asks.
    pub limits: TeamLimits,
    /// What tokens cost, by model.
    pub prices: BTreeMap<String, Price>,
    /// What members of a role have in common.
    pub roles: BTreeMap<String, Role>,
    /// Who is to be started.
    pub members: Vec<MemberPlan>,
}

/// What members of a role have in common.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Role {
    /// What is added to the rules in the prompt of their models.
    pub prompt: Option<String>,
    /// Which tools for files and commands they have; all of them if nothing is said.
    pub tools: Option<Vec<String>>,
    /// The model they think with.
    pub model: Option<String>,
    /// Whether they need an approved plan before they may change anything.
    pub require_plan: Option<bool>,
    /// What happens when their process dies.
    pub restart: Option<RestartPolicy>,
}

/// A member that is to be started.
#[derive(Debug, Clone, PartialEq)]
pub struct MemberPlan {
    /// Its name.
    pub name: AgentName,
    /// What it is for, in words.
    pub role: String,
    /// What it is to do first.
    pub prompt: Option<String>,
    /// The model it thinks with.
    pub model: Option<String>,
    /// The program that takes part in its place.
    pub exec: Option<String>,
    /// Whether it needs an approved plan before it may change anything.
    pub require_plan: Option<bool>,
    /// What happens when its process dies.
    pub restart: Option<RestartPolicy>,
    /// Whether it takes no task from the board by itself.
    pub no_claim: Option<bool>,
    /// After how many seconds of idleness it ends by itself.
    pub idle_timeout: Option<u64>,
    /// What it may spend.
    pub budget: Caps,
}

impl FileConfig {
    /// Reads a file. One that is not there says nothing.
    pub(crate) fn read(path: &Path) -> Result<Option<Self>, ConfigError> {
        match std::fs::read_to_string(path) {
            Ok(text) => Self::parse(path, &text).map(Some),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(ConfigError::Unreadable {
                path: path.to_path_buf(),
                cause: error.to_string(),
            }),
        }
    }

    /// Reads the text of a file.
    pub(crate) fn parse(path: &Path, text: &str) -> Result<Self, ConfigError> {
        let source = Source { path, text };
        let parsed = DeTable::parse(text);
        let document = parsed.map_err(|error| {
            let at = error.span().unwrap_or(0..0);
            source.wrong(at, error.message().to_owned())
        })?;
        let root = Table::new(source, "", document.span(), document.get_ref());
        let config = Self {
            path: path.to_path_buf(),
            model: root.text("model")?,
            restart: policy(&root)?,
            budget: root.table("budget")?.map_or(Ok(Caps::default()), budget)?,
            limits: match root.table("limits")? {
                Some(table) => limits(&table)?,
                None => TeamLimits::default(),
            },
            prices: named(&root, "prices", price)?,
            roles: named(&root, "roles", role)?,
            members: root
                .tables("members")?
                .iter()
                .map(member)
                .collect::<Result<_, _>>()?,
        };
        root.finish()?;
        for (at, plan) in config.members.iter().enumerate() {
            let mut earlier = config.members.iter().take(at);
            if earlier.any(|other| other.name.same_as(&plan.name)) {
                let twice = format!("two [[members]] are called {}", plan.name);
                return Err(root.wrong("members", &twice));
            }
        }
        Ok(config)
    }
}

fn named<T>(
    root: &Table<'_>,
    key: &'static str,
    read: impl Fn(&Table<'_>) -> Result<T, ConfigError>,
) -> Result<BTreeMap<String, T>, ConfigError> {
    let tables = root.named_tables(key)?;
    let read = tables
        .iter()
        .map(|(name, table)| Ok((name.clone(), read(table)?)));
    read.collect()
}

/// The limits of spending that a table has. It may have other keys.
fn caps(table: &Table<'_>) -> Result<Caps, ConfigError> {
    Ok(Caps {
        max_tokens: table.number("max_tokens")?,
        max_cost: table.money("max_cost")?,
        max_turns: table.number("max_turns")?,
        max_minutes: table.number("max_minutes")?,
        extra: Extra::new(),
    })
}

fn budget(table: Table<'_>) -> Result<Caps, ConfigError> {
    let caps = caps(&table)?;
    table.finish()?;
    Ok(caps)
}

fn limits(table: &Table<'_>) -> Result<TeamLimits, ConfigError> {
    let limits = TeamLimits {
        members: table.number("members")?,
        working: table.number("working")?,
        messages_per_minute: table.number("messages_per_minute")?,
        message_bytes: table.number("message_bytes")?,
        inbox_bytes: table.number("inbox_bytes")?,
        extra: Extra::new(),
    };
    table.finish()?;
    if limits.working == Some(0) {
        return Err(table.wrong("working", "at least 1 is needed, or nobody could ever work"));
    }
    Ok(limits)
}

fn price(table: &Table<'_>) -> Result<Price, ConfigError> {
    let input = table.money("input")?;
    let output = table.money("output")?;
    let cache_read = table.money("cache_read")?;
    let cache_write = table.money("cache_write")?;
    table.finish()?;
    let (Some(input), Some(output)) = (input, output) else {
        let missing = if input.is_none() { "input" } else { "output" };
        return Err(table.wrong(
            missing,
            "it is missing; prices are dollars per million tokens",
        ));
    };
    // Where nothing else is said, a cache makes nothing cheaper.
    Ok(Price {
        input,
        output,
        cache_read: cache_read.unwrap_or(input),
        cache_write: cache_write.unwrap_or(input),
    })
}

fn role(table: &Table<'_>) -> Result<Role, ConfigError> {
    let role = Role {
        prompt: table.text("prompt")?,
        tools: table.texts("tools")?,
        model: table.text("model")?,
        require_plan: table.flag("require_plan")?,
        restart: policy(table)?,
    };
    table.finish()?;
    let mut tools = role.tools.iter().flatten();
    if let Some(unknown) = tools.find(|tool| !TOOLS.contains(&tool.as_str())) {
        let advice = match nearest(unknown, &TOOLS) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are {}", TOOLS.join(", ")),
        };
        return Err(table.wrong("tools", &format!("there is no tool `{unknown}`; {advice}")));
    }
    Ok(role)
}

fn member(table: &Table<'_>) -> Result<MemberPlan, ConfigError> {
    let name = AgentName::new(&table.needed_text("name")?);
    let plan = MemberPlan {
        name: name.map_err(|error| table.wrong("name", &error.to_string()))?,
        role: table.needed_text("role")?,
        prompt: table.text("prompt")?,
        model: table.text("model")?,
        exec: table.text("exec")?,
        require_plan: table.flag("require_plan")?,
        restart: policy(table)?,
        no_claim: table.flag("no_claim")?,
        idle_timeout: table.number("idle_timeout")?,
        budget: caps(table)?,
    };
    table.finish()?;
    Ok(plan)
}

fn policy(table: &Table<'_>) -> Result<Option<RestartPolicy>, ConfigError> {
    match table.text("restart")?.as_deref() {
        None => Ok(None),
        Some("never") => Ok(Some(RestartPolicy::Never)),
        Some("on-failure") => Ok(Some(RestartPolicy::OnFailure)),
        Some(other) => {
            let message = format!("{other:?} is no policy; use \"never\" or \"on-failure\"");
            Err(table.wrong("restart", &message))
        }
    }
}

#[cfg(test)]
mod tests;
