//! How long things are kept that nobody needs any more.

use crate::config::{Config, Setting};
use crate::show::{ShownSetting, shown};
use std::time::Duration;
use teamdir::Retention;

/// The default.
const KEPT: &str = "for ever";

/// The table `[retention]`: for how many days `team-lead clean` keeps things.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a table [retention]")]
pub struct RetentionTable {
    #[serde(deserialize_with = "crate::file::at_least_one")]
    pub events: Option<u64>,
    #[serde(deserialize_with = "crate::file::at_least_one")]
    pub dead_letters: Option<u64>,
    #[serde(deserialize_with = "crate::file::at_least_one")]
    pub trash: Option<u64>,
    /// Logs, and outputs of tools.
    #[serde(deserialize_with = "crate::file::at_least_one")]
    pub logs: Option<u64>,
    /// Conversations that were left or made shorter.
    #[serde(deserialize_with = "crate::file::at_least_one")]
    pub sessions: Option<u64>,
}

impl Config {
    /// For how many days something is kept.
    pub fn kept_days(&self, get: impl Fn(&RetentionTable) -> Option<u64>) -> Setting<u64> {
        self.pick(|_| None, |file| get(&file.retention))
    }

    /// How long things are kept.
    pub fn retention(&self) -> Retention {
        let keep = |get: fn(&RetentionTable) -> Option<u64>| {
            let days = self.kept_days(get).value?;
            Some(Duration::from_secs(days.saturating_mul(86_400)))
        };
        Retention {
            events: keep(|table| table.events),
            dead_letters: keep(|table| table.dead_letters),
            trash: keep(|table| table.trash),
            logs: keep(|table| table.logs),
            sessions: keep(|table| table.sessions),
        }
    }

    pub(crate) fn shown_retention(&self) -> [ShownSetting; 5] {
        let days = |n: u64| format!("{n} days");
        let kept = |get: fn(&RetentionTable) -> Option<u64>| self.kept_days(get).map(days);
        [
            shown("retention.events", kept(|table| table.events), KEPT),
            shown(
                "retention.dead_letters",
                kept(|table| table.dead_letters),
                KEPT,
            ),
            shown("retention.trash", kept(|table| table.trash), KEPT),
            shown("retention.logs", kept(|table| table.logs), KEPT),
            shown("retention.sessions", kept(|table| table.sessions), KEPT),
        ]
    }
}
