//! Every value with its origin, for people.

use crate::config::{Config, Origin, Setting};
use protocol::TeamLimits;

/// A value as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// Its key, as in `budget.max_tokens`.
    pub key: String,
    /// The value in words.
    pub value: String,
    /// Where it came from.
    pub origin: Origin,
}

impl Config {
    /// All values, in the order of the files.
    pub fn shown(&self) -> Vec<Shown> {
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
        all.extend(self.named());
        all
    }

    /// The prices, roles and members.
    fn named(&self) -> Vec<Shown> {
        let mut all: Vec<Shown> = Vec::new();
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
                // A stronger file has said it already.
                if all.iter().all(|known| known.key != key) {
                    let origin = origin.clone();
                    all.push(Shown { key, value, origin });
                }
            }
        }
        let lister = self.files().find(|(_, file)| !file.members.is_empty());
        if let Some((origin, file)) = lister {
            all.extend(file.members.iter().map(|plan| Shown {
                key: format!("members.{}", plan.name),
                value: plan.role.clone(),
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

fn shown(key: &str, setting: Setting<String>, default: &str) -> Shown {
    Shown {
        key: key.to_owned(),
        value: setting.value.unwrap_or_else(|| default.to_owned()),
        origin: setting.origin,
    }
}
