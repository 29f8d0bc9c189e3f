//! The settings with their origins, for display.

use crate::config::{Config, Origin, Setting};
use protocol::TeamLimits;

/// A setting as `config show` displays it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownSetting {
    /// As in `budget.max_tokens`.
    pub key: String,
    pub value: String,
    pub origin: Origin,
}

impl Config {
    /// All settings: those with one value first, then prices, roles and members.
    pub fn shown(&self) -> Vec<ShownSetting> {
        let default = TeamLimits::default();
        let none = || "no limit".to_owned();
        let number = |n: u64| n.to_string();
        let mut all = vec![
            shown("model", self.model(), "offline"),
            shown(
                "restart",
                self.restart().map(|policy| policy.as_str().to_owned()),
                "never",
            ),
            shown("budget.max_tokens", self.max_tokens().map(number), &none()),
            shown(
                "budget.max_cost",
                self.max_cost().map(|max| max.to_string()),
                &none(),
            ),
            shown("budget.max_turns", self.max_turns().map(number), &none()),
            shown(
                "budget.max_minutes",
                self.max_minutes().map(number),
                &none(),
            ),
        ];
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
        all.push(shown("limits.working", working, &none()));
        for (key, setting, default) in limits {
            let key = format!("limits.{key}");
            all.push(shown(&key, setting.map(number), &default.to_string()));
        }
        all.extend(self.shown_tables());
        all
    }

    fn shown_tables(&self) -> Vec<ShownSetting> {
        let mut all: Vec<ShownSetting> = Vec::new();
        for (origin, file) in self.files() {
            let prices = file.prices.iter().map(|(model, price)| {
                let value = format!("{} in, {} out", price.input, price.output);
                (format!("prices.{model}"), value)
            });
            let roles = file.roles.iter().map(|(name, role)| {
                let tools = match &role.tools {
                    Some(tools) => tools.join(" "),
                    None => "all tools".to_owned(),
                };
                (format!("roles.{name}"), tools)
            });
            for (key, value) in prices.chain(roles) {
                // A file of higher precedence may have set it.
                if all.iter().all(|known| known.key != key) {
                    let origin = origin.clone();
                    all.push(ShownSetting { key, value, origin });
                }
            }
        }
        let with_members = self.files().find(|(_, file)| !file.members.is_empty());
        if let Some((origin, file)) = with_members {
            all.extend(file.members.iter().map(|member| ShownSetting {
                key: format!("members.{}", member.spec.name),
                value: member.spec.role.clone(),
                origin: origin.clone(),
            }));
        }
        all
    }
}

impl<T> Setting<T> {
    fn map<U>(self, change: impl FnOnce(T) -> U) -> Setting<U> {
        Setting {
            value: self.value.map(change),
            origin: self.origin,
        }
    }
}

fn shown(key: &str, setting: Setting<String>, default: &str) -> ShownSetting {
    ShownSetting {
        key: key.to_owned(),
        value: setting.value.unwrap_or_else(|| default.to_owned()),
        origin: setting.origin,
    }
}
