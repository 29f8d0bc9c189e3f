//! The settings of what a model's window is used for, for people.

use super::{ShownSetting, shown};
use crate::config::Config;
use crate::mcp::DEFAULT_SCHEMA_TOKENS;

impl Config {
    pub(super) fn shown_context(&self) -> [ShownSetting; 3] {
        let number = |n: u64| n.to_string();
        let schemas = DEFAULT_SCHEMA_TOKENS.to_string();
        [
            shown("context.keep_results", self.keep_results().map(number), "3"),
            shown("context.clear_at", self.clear_at().map(number), "50"),
            shown(
                "mcp.schema_tokens",
                self.schema_tokens().map(number),
                &schemas,
            ),
        ]
    }
}
