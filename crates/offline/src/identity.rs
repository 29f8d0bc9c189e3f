//! Who the model is asked to be, and which tools it has.

use llm::{Request, ToolSpec};

/// The agent that a request speaks for.
pub(crate) struct Identity<'a> {
    pub(crate) is_lead: bool,
    /// The name, with the role if there is one.
    pub(crate) introduction: String,
    tools: &'a [ToolSpec],
}

impl<'a> Identity<'a> {
    /// Reads `You are 'alice', role: coder` from the system text.
    pub(crate) fn of(request: &'a Request) -> Self {
        let after = request.system.split_once("You are '");
        let words = after.and_then(|(_, after)| after.split_once('\''));
        let (name, rest) = words.unwrap_or(("the agent", ""));
        let role = rest.strip_prefix(", role: ").unwrap_or_default();
        let role = role.split(['\n', '.', ',', ';']).next().unwrap_or_default();
        Self {
            is_lead: name == "lead",
            introduction: match role.trim() {
                "" => name.to_owned(),
                role => format!("{name} ({role})"),
            },
            tools: &request.tools,
        }
    }

    pub(crate) fn has(&self, tool: &str) -> bool {
        self.tools.iter().any(|spec| spec.name == tool)
    }
}
