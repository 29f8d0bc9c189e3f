//! The tools of a server, as far as they are used.

use crate::spec::digest;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tools::{Effect, Schema};

/// The most tools of one server.
const MOST_TOOLS: usize = 400;
/// The longest description that a model is shown.
const MOST_DESCRIPTION_CHARS: usize = 4_000;
/// The longest schema. Some servers write very long ones, and a hostile one can fill a window.
const MOST_SCHEMA_BYTES: usize = 64 * 1024;
/// What all providers take as the name of a tool.
const MOST_NAME_CHARS: usize = 64;

/// A tool of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DescribedTool {
    pub name: String,
    pub description: String,
    pub schema: Value,
    /// Whether the server says that it changes nothing.
    pub reads_only: bool,
}

/// The usable tools of a server, and why others are not.
#[derive(Debug, Default)]
pub(crate) struct Listed {
    pub(crate) tools: Vec<DescribedTool>,
    pub(crate) left_out: Vec<String>,
}

impl Listed {
    /// What is used of the tools that a server has.
    pub(crate) fn of(server: &str, tools: Vec<rmcp::model::Tool>) -> Self {
        let mut listed = Self::default();
        for tool in tools {
            let described = DescribedTool::of(tool);
            match described.flaw(server, &listed.tools) {
                None => listed.tools.push(described),
                Some(flaw) => {
                    let name: String = described.name.chars().take(MOST_NAME_CHARS).collect();
                    listed.left_out.push(format!("{name:?}: {flaw}"));
                }
            }
        }
        listed.tools.sort_by(|one, other| one.name.cmp(&other.name));
        listed
    }
}

/// What the names of a server's tools begin with.
pub(crate) fn prefix(server: &str) -> String {
    format!("mcp__{server}__")
}

impl DescribedTool {
    fn of(tool: rmcp::model::Tool) -> Self {
        let hints = tool.annotations.as_ref();
        let reads_only = hints.and_then(|hints| hints.read_only_hint);
        let description = tool.description.unwrap_or_default();
        Self {
            name: tool.name.into_owned(),
            description: description.chars().take(MOST_DESCRIPTION_CHARS).collect(),
            schema: Value::Object((*tool.input_schema).clone()),
            reads_only: reads_only.unwrap_or(false),
        }
    }

    /// Why the tool cannot be offered to a model.
    fn flaw(&self, server: &str, others: &[Self]) -> Option<&'static str> {
        let is_usable = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if self.name.is_empty() || !self.name.chars().all(is_usable) {
            return Some("its name has other characters than A-Z, a-z, 0-9, _, - and .");
        }
        if self.full_name(server).len() > MOST_NAME_CHARS {
            return Some("its name is too long");
        }
        if self.schema.to_string().len() > MOST_SCHEMA_BYTES {
            return Some("its schema is too long");
        }
        if others.len() >= MOST_TOOLS {
            return Some("the server has too many tools");
        }
        let is_double = others.iter().any(|other| other.name == self.name);
        is_double.then_some("there are two tools of this name")
    }

    /// The name by which models and rules know it. A dot is no character of such a name.
    pub(crate) fn full_name(&self, server: &str) -> String {
        format!("{}{}", prefix(server), self.name.replace('.', "_"))
    }

    /// What a call may change. What a server does not say, it may do.
    pub(crate) fn effect(&self) -> Effect {
        match self.reads_only {
            true => Effect::Read,
            false => Effect::Mutate,
        }
    }

    /// A quarter of its bytes in a request.
    pub(crate) fn tokens(&self, server: &str) -> usize {
        let schema = Schema::foreign(&self.schema);
        let bytes =
            self.full_name(server).len() + self.description.len() + schema.raw().get().len();
        bytes / 4
    }
}

/// The hash of what a model reads of these tools, and of what they say they do.
pub(crate) fn hash(tools: &[DescribedTool]) -> String {
    digest(&json!(tools).to_string())
}
