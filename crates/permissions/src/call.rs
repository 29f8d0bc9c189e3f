//! What permissions need to know about a tool call.

use std::path::Path;

use protocol::Effect;
use serde_json::Value;

/// A call of a tool.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    pub tool: &'a str,
    pub arguments: &'a Value,
    pub effect: Effect,
    /// The folder in which commands start and relative paths begin.
    pub workspace: &'a Path,
}

impl Call<'_> {
    /// An argument that is a text.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.arguments.get(key).and_then(Value::as_str)
    }

    /// The shell command that the call runs, if it runs one.
    pub(crate) fn command(&self) -> Option<&str> {
        matches!(self.tool, "bash" | "background_run")
            .then(|| self.text("command"))
            .flatten()
    }

    /// Whether the command is to have the network.
    pub(crate) fn needs_network(&self) -> bool {
        let needs = self.arguments.get("needs_network");
        needs.and_then(Value::as_bool).unwrap_or(false)
    }
}
