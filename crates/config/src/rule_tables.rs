//! Permission rules: the tables of the files, the settings of Claude Code, and all of them together.

use crate::config::{Config, Origin};
use crate::error::ConfigError;
use crate::hook_tables::{HookTables, of_claude};
use crate::read::read_workspace_file;
use permissions::{ListKind, Rule, RuleError, RuleList};
use protocol::MemberRules;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use trust::Owners;

/// The settings of Claude Code, in the workspace.
pub const CLAUDE_SETTINGS: &str = ".claude/settings.json";

/// Tools of Claude Code that have no counterpart here, so that rules about them decide nothing.
const ONLY_CLAUDE: [&str; 11] = [
    "BashOutput",
    "EnterPlanMode",
    "ExitPlanMode",
    "KillBash",
    "KillShell",
    "LSP",
    "NotebookEdit",
    "NotebookRead",
    "SlashCommand",
    "TaskOutput",
    "ToolSearch",
];

/// The table `[permissions]`: which calls of tools are denied, ask, and are allowed.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a table [permissions]")]
pub struct PermissionsTable {
    #[serde(deserialize_with = "deny_rules")]
    pub deny: Vec<Rule>,
    #[serde(deserialize_with = "ask_rules")]
    pub ask: Vec<Rule>,
    #[serde(deserialize_with = "allow_rules")]
    pub allow: Vec<Rule>,
}

/// What counts of the settings of Claude Code.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ClaudeSettings {
    pub(crate) path: PathBuf,
    pub(crate) rules: PermissionsTable,
    pub(crate) hooks: HookTables,
}

/// A rule, or a table with a rule and its examples.
struct Entry {
    rule: String,
    matching: Vec<String>,
    not_matching: Vec<String>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields, expecting = "a rule, or a table with a rule")]
struct RuleTable {
    rule: String,
    #[serde(default)]
    r#match: Vec<String>,
    #[serde(default)]
    not_match: Vec<String>,
}

/// What is read of the settings of Claude Code. Other fields are of no meaning here.
#[derive(serde::Deserialize)]
struct ClaudeFile {
    #[serde(default, deserialize_with = "only_a_table")]
    permissions: ClaudePermissions,
    #[serde(default, deserialize_with = "of_claude")]
    hooks: HookTables,
}

/// Reads a table. For a structure serde would take a list too.
fn only_a_table<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ClaudePermissions, D::Error> {
    let table = serde_json::Map::deserialize(deserializer)?;
    ClaudePermissions::deserialize(serde_json::Value::Object(table)).map_err(D::Error::custom)
}

#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct ClaudePermissions {
    deny: Vec<String>,
    ask: Vec<String>,
    allow: Vec<String>,
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntryVisitor;
        impl<'de> Visitor<'de> for EntryVisitor {
            type Value = Entry;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a rule, or a table with a rule")
            }

            fn visit_str<E: serde::de::Error>(self, rule: &str) -> Result<Entry, E> {
                Ok(Entry {
                    rule: rule.to_owned(),
                    matching: Vec::new(),
                    not_matching: Vec::new(),
                })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Entry, A::Error> {
                let table = RuleTable::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Entry {
                    rule: table.rule,
                    matching: table.r#match,
                    not_matching: table.not_match,
                })
            }
        }
        deserializer.deserialize_any(EntryVisitor)
    }
}

fn deny_rules<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Rule>, D::Error> {
    checked_rules(deserializer, ListKind::Deny)
}

fn ask_rules<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Rule>, D::Error> {
    checked_rules(deserializer, ListKind::Ask)
}

fn allow_rules<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Rule>, D::Error> {
    checked_rules(deserializer, ListKind::Allow)
}

fn checked_rules<'de, D: Deserializer<'de>>(
    deserializer: D,
    kind: ListKind,
) -> Result<Vec<Rule>, D::Error> {
    let entries = Vec::<Entry>::deserialize(deserializer)?;
    let rules = entries.into_iter().map(|entry| {
        let rule = Rule::parse(&entry.rule)?;
        rule.check_examples(kind, &entry.matching, &entry.not_matching)?;
        Ok(rule)
    });
    rules
        .collect::<Result<_, RuleError>>()
        .map_err(D::Error::custom)
}

impl PermissionsTable {
    fn list(&self, origin: permissions::Origin) -> RuleList {
        RuleList {
            origin,
            deny: self.deny.clone(),
            ask: self.ask.clone(),
            allow: self.allow.clone(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The three lists with their names.
    pub(crate) fn named(&self) -> [(&'static str, &[Rule]); 3] {
        [
            ("deny", &self.deny),
            ("ask", &self.ask),
            ("allow", &self.allow),
        ]
    }
}

impl ClaudeSettings {
    /// Reads the settings of a workspace, if it has any. A rule that can match nothing is an error: who
    /// wrote it relies on it.
    pub(crate) fn read(workspace: &Path, owners: &Owners) -> Result<Option<Self>, ConfigError> {
        let path = workspace.join(CLAUDE_SETTINGS);
        let Some(text) = read_workspace_file(&path, owners)? else {
            return Ok(None);
        };
        let file: ClaudeFile =
            serde_json::from_str(&text).map_err(|error| ConfigError::Invalid {
                path: path.clone(),
                line: error.line(),
                message: error.to_string(),
            })?;
        let rules = |texts: &[String]| {
            let ours = texts.iter().filter(|text| !is_only_claude(text));
            let rules = ours.map(|rule| {
                let line = text.lines().position(|line| line.contains(rule.as_str()));
                Rule::parse(rule).map_err(|error| ConfigError::Invalid {
                    path: path.clone(),
                    line: line.map_or(1, |line| line + 1),
                    message: error.to_string(),
                })
            });
            rules.collect::<Result<Vec<Rule>, ConfigError>>()
        };
        let permissions = &file.permissions;
        Ok(Some(Self {
            rules: PermissionsTable {
                deny: rules(&permissions.deny)?,
                ask: rules(&permissions.ask)?,
                allow: rules(&permissions.allow)?,
            },
            hooks: file.hooks,
            path,
        }))
    }
}

fn is_only_claude(rule: &str) -> bool {
    let tool = rule.split('(').next().unwrap_or_default();
    ONLY_CLAUDE.contains(&tool.trim())
}

impl Config {
    /// The rules for a member of a role, but for those that people grant while it runs. `flags` are
    /// those of the command line. The lead has no role.
    pub fn rule_lists(
        &self,
        role: Option<&str>,
        flags: Option<&MemberRules>,
    ) -> Result<Vec<RuleList>, RuleError> {
        let flags = flags.map(flag_list).transpose()?;
        let mut lists: Vec<RuleList> = flags.into_iter().collect();
        for (origin, file) in self.files() {
            let table = &file.permissions;
            if table.is_empty() {
                continue;
            }
            lists.push(table.list(match origin {
                Origin::User(path) => permissions::Origin::UserFile(path),
                Origin::Project(path) => permissions::Origin::Workspace(path),
                // Only the two files have tables.
                Origin::Variable(_) | Origin::Dotenv(..) | Origin::Claude(_) | Origin::Default => {
                    permissions::Origin::Workspace(file.path.clone())
                }
            }));
        }
        if let Some(claude) = self.claude().filter(|claude| !claude.rules.is_empty()) {
            let origin = permissions::Origin::ClaudeSettings(claude.path.clone());
            lists.push(claude.rules.list(origin));
        }
        let role = role.and_then(|name| Some((name, &self.role(name)?.permissions)));
        if let Some((name, table)) = role.filter(|(_, table)| !table.is_empty()) {
            lists.push(table.list(permissions::Origin::Role(name.to_owned())));
        }
        Ok(lists)
    }
}

impl Config {
    /// The rules of all roles.
    pub fn role_lists(&self) -> Vec<RuleList> {
        let mut known = BTreeSet::new();
        let roles = self.files().flat_map(|(_, file)| file.roles.iter());
        // A role of the user replaces one of the project.
        let roles = roles.filter(|(name, _)| known.insert((*name).clone()));
        let tables = roles.map(|(name, role)| (name, &role.permissions));
        let tables = tables.filter(|(_, table)| !table.is_empty());
        let lists = tables.map(|(name, table)| table.list(permissions::Origin::Role(name.clone())));
        lists.collect()
    }
}

/// The rules of the command line.
fn flag_list(rules: &MemberRules) -> Result<RuleList, RuleError> {
    let parsed = |texts: &[String]| {
        let rules = texts.iter().map(|text| Rule::parse(text));
        rules.collect::<Result<Vec<Rule>, RuleError>>()
    };
    Ok(RuleList {
        origin: permissions::Origin::Flag,
        deny: parsed(&rules.deny)?,
        ask: parsed(&rules.ask)?,
        allow: parsed(&rules.allow)?,
    })
}

#[cfg(test)]
mod tests;
