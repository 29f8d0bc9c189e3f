//! What only files say.

use crate::config::{Config, Setting};
use protocol::{RestartPolicy, TreeMode};

impl Config {
    /// Where members for which no flag, member entry or role says it work.
    pub fn tree_mode(&self) -> Setting<TreeMode> {
        self.of_files(|file| file.tree.mode.clone())
    }

    /// What new trees get a copy of.
    pub fn tree_copy(&self) -> Setting<Vec<String>> {
        self.of_files(|file| file.tree.copy.clone())
    }

    /// What new trees get a link to.
    pub fn tree_link(&self) -> Setting<Vec<String>> {
        self.of_files(|file| file.tree.link.clone())
    }

    /// The command that is run in new trees.
    pub fn tree_setup(&self) -> Setting<String> {
        self.of_files(|file| file.tree.setup.clone())
    }

    pub fn tree_setup_seconds(&self) -> Setting<u64> {
        self.of_files(|file| file.tree.setup_seconds)
    }

    /// The command that must succeed before work is merged.
    pub fn tree_check(&self) -> Setting<String> {
        self.of_files(|file| file.tree.check.clone())
    }

    pub fn tree_check_seconds(&self) -> Setting<u64> {
        self.of_files(|file| file.tree.check_seconds)
    }

    /// The restart policy of members for which no flag, member entry or role names one.
    pub fn restart(&self) -> Setting<RestartPolicy> {
        self.of_files(|file| file.restart.clone())
    }

    /// How many of the newest tool results are never cleared.
    pub fn keep_results(&self) -> Setting<u64> {
        self.of_files(|file| file.context.keep_results)
    }

    /// How many tokens the schemas of MCP servers may have before they are left to `tool_search`.
    pub fn schema_tokens(&self) -> Setting<u64> {
        self.of_files(|file| file.mcp.schema_tokens)
    }

    /// The share of the model's window from which on old tool results are cleared, in percent.
    pub fn clear_at(&self) -> Setting<u64> {
        self.of_files(|file| file.context.clear_at)
    }
}
