//! The settings with their origins, for display.

mod context;
mod hooks;
mod tree;
use crate::config::{Config, Origin, Setting};
use crate::file::Role;
use crate::rule_tables::CLAUDE_SETTINGS;
use catalogue::ModelEntry;
use llm::choice::{ADDRESS_VARIABLES, DIALECT_VARIABLE, KEY_VARIABLES};
use llm::{VariableOrigin, Variables};
use permissions::Rule;
use protocol::{NetworkSetting, RestartPolicy, SandboxMode, TeamLimits, Tuning};
use std::collections::BTreeSet;
use std::path::Path;
use trust::{RiskySetting, RiskySettings};

const NONE: &str = "no limit";

/// A setting as `config show` displays it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownSetting {
    /// As in `budget.max_tokens`.
    pub key: String,
    pub value: String,
    pub origin: Origin,
    pub trust: ShownTrust,
}

/// Whether the user's trust is needed for a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShownTrust {
    NotNeeded,
    Trusted,
    Untrusted,
}

impl ShownTrust {
    /// The name for people and programs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotNeeded => "not needed",
            Self::Trusted => "trusted",
            Self::Untrusted => "untrusted",
        }
    }
}

impl Config {
    /// All settings: those with one value first, then models, roles and members, then variables.
    /// `untrusted` are the settings that the user has not trusted.
    pub fn shown(&self, variables: &Variables, untrusted: &[RiskySetting]) -> Vec<ShownSetting> {
        let risky = self.risky_settings(variables);
        let mut all = self.shown_values();
        all.extend(self.shown_permissions());
        all.extend(self.shown_hooks());
        all.extend(self.shown_tables());
        all.extend(shown_variables(variables));
        for setting in &mut all {
            setting.trust = setting.trust_among(&risky, untrusted);
        }
        all.extend(self.other_risky_settings(&all, &risky, untrusted));
        all
    }

    fn shown_values(&self) -> Vec<ShownSetting> {
        let mut all = vec![
            shown("model", self.model(), "offline"),
            shown(
                "max_output",
                self.max_output().map(|tokens| tokens.to_string()),
                "the model's",
            ),
            shown(
                "effort",
                self.effort().map(|effort| effort.to_string()),
                "the model's",
            ),
            shown(
                "thinking",
                self.thinking().map(|thinking| thinking.to_string()),
                "the model's",
            ),
            shown(
                "temperature",
                self.temperature().map(|value| value.to_string()),
                "the model's",
            ),
            shown("explore_model", self.explore_model(), "the member's"),
            shown("web", self.web().map(|web| web.to_string()), "false"),
            shown(
                "restart",
                self.restart().map(|policy| policy.as_str().to_owned()),
                RestartPolicy::default().as_str(),
            ),
            shown(
                "sandbox",
                self.sandbox().map(|mode| mode.to_string()),
                &SandboxMode::default().to_string(),
            ),
            shown(
                "network",
                self.network().map(|access| access.to_string()),
                &NetworkSetting::default().to_string(),
            ),
        ];
        all.extend(self.shown_asking());
        all.extend(self.shown_budget());
        all.extend(self.shown_tree());
        all.extend(self.shown_context());
        all.extend(self.shown_limits());
        all.extend(self.shown_retention());
        all
    }

    fn shown_budget(&self) -> [ShownSetting; 4] {
        let number = |n: u64| n.to_string();
        let cost = self.max_cost().map(|max| max.to_string());
        [
            shown("budget.max_tokens", self.max_tokens().map(number), NONE),
            shown("budget.max_cost", cost, NONE),
            shown("budget.max_turns", self.max_turns().map(number), NONE),
            shown("budget.max_minutes", self.max_minutes().map(number), NONE),
        ]
    }

    fn shown_limits(&self) -> Vec<ShownSetting> {
        let default = TeamLimits::default();
        let number = |n: u64| n.to_string();
        let limits = [
            ("members", self.limit(|l| l.members), default.max_members()),
            (
                "messages_per_minute",
                self.limit(|l| l.messages_per_minute),
                default.max_messages_per_minute(),
            ),
            (
                "message_bytes",
                self.limit(|l| l.message_bytes),
                default.max_message_bytes(),
            ),
            (
                "inbox_bytes",
                self.limit(|l| l.inbox_bytes),
                default.max_inbox_bytes(),
            ),
        ];
        let working = self.limit(|limits| limits.working).map(number);
        let mut all = vec![shown("limits.working", working, NONE)];
        for (key, setting, default) in limits {
            let key = format!("limits.{key}");
            all.push(shown(&key, setting.map(number), &default.to_string()));
        }
        all
    }

    /// The rules of each file, all of which hold.
    fn shown_permissions(&self) -> Vec<ShownSetting> {
        let files = self
            .files()
            .map(|(origin, file)| (origin, &file.permissions));
        let claude = self.claude().into_iter();
        let claude = claude.map(|claude| (Origin::Claude(claude.path.clone()), &claude.rules));
        let mut all = Vec::new();
        for (origin, table) in files.chain(claude) {
            for (name, rules) in table.named() {
                let rules: Vec<&str> = rules.iter().map(Rule::text).collect();
                if !rules.is_empty() {
                    let key = format!("permissions.{name}");
                    all.push(ShownSetting::new(key, rules.join(" "), origin.clone()));
                }
            }
        }
        all
    }

    /// Settings of the project's file that need trust and that no other line shows, as in `members.carol.exec`.
    fn other_risky_settings(
        &self,
        shown: &[ShownSetting],
        risky: &RiskySettings,
        untrusted: &[RiskySetting],
    ) -> Vec<ShownSetting> {
        let Some(project) = self.project() else {
            return Vec::new();
        };
        let origin = Origin::Project(project.path.clone());
        let is_shown = |key: &str| {
            shown
                .iter()
                .any(|shown| shown.key_in_workspace() == Some(key))
        };
        let others = risky
            .iter()
            .filter(|risky| project.path.ends_with(&risky.origin) && !is_shown(&risky.key));
        let others = others.map(|risky| ShownSetting {
            key: risky.key.clone(),
            value: risky.value.clone(),
            origin: origin.clone(),
            trust: trust_of(risky, untrusted),
        });
        others.collect()
    }

    fn shown_tables(&self) -> Vec<ShownSetting> {
        let mut all: Vec<ShownSetting> = Vec::new();
        let mut known = BTreeSet::new();
        for (origin, file) in self.files() {
            let models = file.models.iter();
            let models = models.map(|(name, entry)| (format!("models.{name}"), shown_model(entry)));
            let models = models.map(|(key, value)| (key.clone(), vec![(key, value)]));
            let roles = file.roles.iter().map(|(name, role)| {
                let key = format!("roles.{name}");
                let lines = shown_role(&key, role);
                (key, lines)
            });
            for (table, lines) in models.chain(roles) {
                // A file of higher precedence may have set it.
                if known.insert(table) {
                    let shown = lines.into_iter();
                    let shown =
                        shown.map(|(key, value)| ShownSetting::new(key, value, origin.clone()));
                    all.extend(shown);
                }
            }
        }
        let with_members = self.files().find(|(_, file)| !file.members.is_empty());
        if let Some((origin, file)) = with_members {
            let members = file.members.iter().flat_map(|member| {
                let spec = &member.spec;
                let key = format!("members.{}", spec.name);
                let model = spec.model.as_deref();
                let asked = shown_asking(&key, model, &spec.tuning(), spec.web);
                [(key, spec.role.clone())].into_iter().chain(asked)
            });
            let members = members.map(|(key, value)| ShownSetting::new(key, value, origin.clone()));
            all.extend(members);
        }
        all
    }
}

impl<T> Setting<T> {
    pub(crate) fn map<U>(self, change: impl FnOnce(T) -> U) -> Setting<U> {
        Setting {
            value: self.value.map(change),
            origin: self.origin,
        }
    }
}

impl ShownSetting {
    const fn new(key: String, value: String, origin: Origin) -> Self {
        Self {
            key,
            value,
            origin,
            trust: ShownTrust::NotNeeded,
        }
    }

    /// The key in the file of the workspace, if the value is the workspace's.
    fn key_in_workspace(&self) -> Option<&str> {
        match &self.origin {
            Origin::Dotenv(name, _) => Some(name),
            Origin::Project(_) | Origin::Claude(_) => Some(&self.key),
            Origin::Variable(_) | Origin::User(_) | Origin::Default => None,
        }
    }

    fn trust_among(&self, risky: &RiskySettings, untrusted: &[RiskySetting]) -> ShownTrust {
        let key = self.key_in_workspace();
        // Two files of the workspace may have rules.
        let is_claude = matches!(self.origin, Origin::Claude(_));
        let found = risky.iter().find(|risky| {
            let is_of_claude = risky.origin == Path::new(CLAUDE_SETTINGS);
            Some(risky.key.as_str()) == key && is_of_claude == is_claude
        });
        found.map_or(ShownTrust::NotNeeded, |risky| trust_of(risky, untrusted))
    }
}

fn trust_of(setting: &RiskySetting, untrusted: &[RiskySetting]) -> ShownTrust {
    match untrusted.contains(setting) {
        true => ShownTrust::Untrusted,
        false => ShownTrust::Trusted,
    }
}

/// What a file says about a role: its tools, and each setting of how its models are asked.
fn shown_role(key: &str, role: &Role) -> Vec<(String, String)> {
    let tools = match &role.tools {
        Some(tools) => tools.join(" "),
        None => "all tools".to_owned(),
    };
    let asked = shown_asking(key, role.model.as_deref(), &role.tuning(), role.web);
    [(key.to_owned(), tools)].into_iter().chain(asked).collect()
}

/// What a role or a member says about its models, where it says something.
fn shown_asking(
    table: &str,
    model: Option<&str>,
    tuning: &Tuning,
    web: Option<bool>,
) -> Vec<(String, String)> {
    let Tuning {
        max_output,
        effort,
        thinking,
        temperature,
    } = tuning;
    let values = [
        ("model", model.map(str::to_owned)),
        ("max_output", max_output.map(|tokens| tokens.to_string())),
        ("effort", effort.as_ref().map(ToString::to_string)),
        ("thinking", thinking.as_ref().map(ToString::to_string)),
        ("temperature", temperature.map(|value| value.to_string())),
        ("web", web.map(|web| web.to_string())),
    ];
    let set = values.into_iter();
    let set = set.filter_map(|(key, value)| Some((format!("{table}.{key}"), value?)));
    set.collect()
}

/// What a file says about a model, in one line.
fn shown_model(entry: &ModelEntry) -> String {
    let Tuning {
        max_output,
        effort,
        thinking,
        temperature,
    } = &entry.tuning;
    let price = entry.price.map(|price| {
        let (input, output, searches) = (price.input, price.output, price.searches);
        format!("{input} in, {output} out, {searches} per 1000 searches")
    });
    let facts = [
        entry.window.map(|tokens| format!("window {tokens}")),
        max_output.map(|tokens| format!("max_output {tokens}")),
        entry.images.map(|images| format!("images {images}")),
        effort.as_ref().map(|effort| format!("effort {effort}")),
        thinking
            .as_ref()
            .map(|thinking| format!("thinking {thinking}")),
        temperature.map(|value| format!("temperature {value}")),
        price,
    ];
    let facts: Vec<String> = facts.into_iter().flatten().collect();
    facts.join(", ")
}

/// Addresses, the dialect and keys, where they are set. The keys themselves are not shown.
fn shown_variables(variables: &Variables) -> Vec<ShownSetting> {
    let origin = |name: &'static str, origin: VariableOrigin<'_>| match origin {
        VariableOrigin::Environment => Origin::Variable(name),
        VariableOrigin::File { path, .. } => Origin::Dotenv(name, path.to_path_buf()),
    };
    let open = ADDRESS_VARIABLES.into_iter().chain([DIALECT_VARIABLE]);
    let open = open.filter_map(|name| {
        let found = variables.find(name)?;
        let value = found.value.to_owned();
        Some(ShownSetting::new(
            name.to_owned(),
            value,
            origin(name, found.origin),
        ))
    });
    let keys = KEY_VARIABLES.into_iter().filter_map(|name| {
        let found = variables.find(name)?;
        let value = "is set".to_owned();
        Some(ShownSetting::new(
            name.to_owned(),
            value,
            origin(name, found.origin),
        ))
    });
    open.chain(keys).collect()
}

pub(crate) fn shown(key: &str, setting: Setting<String>, default: &str) -> ShownSetting {
    let value = setting.value.unwrap_or_else(|| default.to_owned());
    ShownSetting::new(key.to_owned(), value, setting.origin)
}
