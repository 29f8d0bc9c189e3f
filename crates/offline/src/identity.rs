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

    /// Whether it has a tool. Some are there without being offered; who can write has them all.
    pub(crate) fn has(&self, tool: &str) -> bool {
        let is_offered = |tool: &str| self.tools.iter().any(|spec| spec.name == tool);
        let is_quiet = match tool {
            "read_inbox" | "claim_task" => true,
            "broadcast" | "list_teammates" => self.is_lead,
            "idle" => !self.is_lead,
            _ => false,
        };
        is_offered(tool) || is_quiet && is_offered("send_message")
    }
}
