//! The hooks of each file, and how people are asked.

use super::{ShownSetting, shown};
use crate::asking::DEFAULT_ASK_TIMEOUT;
use crate::config::Config;
use crate::hook_tables::shown_entries;

impl Config {
    pub(super) fn shown_asking(&self) -> [ShownSetting; 3] {
        let decides = self.lead_decides().map(|decides| decides.to_string());
        let timeout = self.ask_timeout().map(|seconds| seconds.to_string());
        [
            shown("notify", self.notify(), "no command"),
            shown("lead_decides", decides, "false"),
            shown("ask_timeout", timeout, &DEFAULT_ASK_TIMEOUT.to_string()),
        ]
    }

    /// The hooks of each file, all of which are run.
    pub(super) fn shown_hooks(&self) -> Vec<ShownSetting> {
        let tables = self.hook_tables().flat_map(|(origin, tables)| {
            tables.iter().map(move |(event, entries)| {
                let key = format!("hooks.{event}");
                ShownSetting::new(key, shown_entries(entries), origin.clone())
            })
        });
        tables.collect()
    }
}
