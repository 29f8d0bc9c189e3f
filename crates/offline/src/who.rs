//! Who the model is asked to be, and what it can do.

use serde_json::Value;

use llm::{Request, ToolSpec};

/// The agent that a request speaks for.
#[derive(Clone, Debug)]
pub(super) struct Me<'a> {
    pub(super) name: String,
    role: Option<String>,
    tools: &'a [ToolSpec],
}

impl<'a> Me<'a> {
    /// Reads `You are 'alice', role: coder` from the system text.
    pub(super) fn of(request: &'a Request) -> Self {
        let after = request
            .system
            .split_once("You are '")
            .map_or("", |(_, after)| after);
        let (name, rest) = after.split_once('\'').unwrap_or(("", ""));
        let role = rest.strip_prefix(", role: ").map(|rest| {
            let end = rest.find(['\n', '.', ',', ';']).unwrap_or(rest.len());
            rest.get(..end).unwrap_or_default().trim().to_owned()
        });
        let hires = request
            .tools
            .iter()
            .any(|tool| tool.name == "spawn_teammate");
        let name = match name {
            "" if hires => "lead",
            "" => "the agent",
            name => name,
        };
        Self {
            name: name.to_owned(),
            role: role.filter(|role| !role.is_empty()),
            tools: &request.tools,
        }
    }

    pub(super) fn is_lead(&self) -> bool {
        self.name == "lead"
    }

    /// The name, with the role if there is one.
    pub(super) fn introduction(&self) -> String {
        match &self.role {
            Some(role) => format!("{} ({role})", self.name),
            None => self.name.clone(),
        }
    }

    pub(super) fn has(&self, tool: &str) -> bool {
        self.tools.iter().any(|spec| spec.name == tool)
    }

    /// Whether a tool has an argument of this name.
    pub(super) fn takes(&self, tool: &str, argument: &str) -> bool {
        let spec = self.tools.iter().find(|spec| spec.name == tool);
        let properties = spec.and_then(|spec| spec.input_schema.get("properties"));
        properties
            .and_then(Value::as_object)
            .is_some_and(|all| all.contains_key(argument))
    }
}
