//! Who the model is asked to be, and which tools it has.

use llm::{Request, ToolSpec};

/// The agent that a request speaks for.
#[derive(Clone, Debug)]
pub(crate) struct Identity<'a> {
    name: &'a str,
    role: Option<&'a str>,
    tools: &'a [ToolSpec],
}

impl<'a> Identity<'a> {
    /// Reads `You are 'alice', role: coder` from the system text.
    pub(crate) fn of(request: &'a Request) -> Self {
        let after = request.system.split_once("You are '");
        let (name, rest) = after
            .and_then(|(_, after)| after.split_once('\''))
            .unwrap_or(("the agent", ""));
        let role = rest.strip_prefix(", role: ");
        let role = role.and_then(|rest| rest.split(['\n', '.', ',', ';']).next());
        Self {
            name,
            role: role.map(str::trim).filter(|role| !role.is_empty()),
            tools: &request.tools,
        }
    }

    pub(crate) fn is_lead(&self) -> bool {
        self.name == "lead"
    }

    /// The name, with the role if there is one.
    pub(crate) fn introduction(&self) -> String {
        match self.role {
            Some(role) => format!("{} ({role})", self.name),
            None => self.name.to_owned(),
        }
    }

    pub(crate) fn has(&self, tool: &str) -> bool {
        self.tools.iter().any(|spec| spec.name == tool)
    }

    /// Whether a tool has an argument of this name.
    pub(crate) fn takes(&self, tool: &str, argument: &str) -> bool {
        let pointer = format!("/properties/{argument}");
        let mut tools = self.tools.iter().filter(|spec| spec.name == tool);
        tools.any(|spec| spec.input_schema.pointer(&pointer).is_some())
    }
}
