//! The settings of members' trees, for people.

use super::{NONE, ShownSetting, shown};
use crate::config::Config;

impl Config {
    pub(super) fn shown_tree(&self) -> [ShownSetting; 7] {
        let list = |names: Vec<String>| names.join(", ");
        let number = |n: u64| n.to_string();
        let mode = self.tree_mode().map(|mode| mode.to_string());
        [
            shown("tree.mode", mode, "shared"),
            shown("tree.copy", self.tree_copy().map(list), NONE),
            shown("tree.link", self.tree_link().map(list), NONE),
            shown("tree.setup", self.tree_setup(), NONE),
            shown(
                "tree.setup_seconds",
                self.tree_setup_seconds().map(number),
                "600",
            ),
            shown("tree.check", self.tree_check(), NONE),
            shown(
                "tree.check_seconds",
                self.tree_check_seconds().map(number),
                "600",
            ),
        ]
    }
}
