//! The settings of what a model's window is used for, for people.

use super::{ShownSetting, shown};
use crate::config::Config;
use crate::mcp::DEFAULT_SCHEMA_TOKENS;
use protocol::{DEFAULT_CLEAR_AT, DEFAULT_KEPT_RESULTS};

impl Config {
    pub(super) fn shown_context(&self) -> [ShownSetting; 3] {
        let number = |n: u64| n.to_string();
        let kept = DEFAULT_KEPT_RESULTS.to_string();
        let clear_at = DEFAULT_CLEAR_AT.to_string();
        let schemas = DEFAULT_SCHEMA_TOKENS.to_string();
        [
            shown(
                "context.keep_results",
                self.keep_results().map(number),
                &kept,
            ),
            shown("context.clear_at", self.clear_at().map(number), &clear_at),
            shown(
                "mcp.schema_tokens",
                self.schema_tokens().map(number),
                &schemas,
            ),
        ]
    }
}
