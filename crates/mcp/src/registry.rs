//! The tools of servers in the registry of a model.

use crate::call::failed;
use crate::described::DescribedTool;
use crate::server::Servers;
use rmcp::model::JsonObject;
use serde::Deserialize;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::fmt::Write;
use tools::{
    Call, Definition, DuplicateTool, DynamicTool, Effect, Registry, Schema, ToolContext, ToolError,
    ToolOutput,
};

/// The tool that finds others.
pub const SEARCH_TOOL: &str = "tool_search";
/// The tool that calls one that was found.
pub const CALL_TOOL: &str = "mcp_call";
/// Searching changes nothing.
pub const SEARCH_EFFECT: Effect = Effect::Read;
/// A call may change whatever the called tool may, unless that is known to change nothing.
pub const CALL_EFFECT: Effect = Effect::Mutate;
/// How many tools a search returns with their schemas.
const MOST_FOUND: usize = 5;
/// How many names of tools a model is told in advance.
const MOST_NAMES: usize = 200;

/// Adds the tools of servers. If the schemas of all are known and have at most `budget` tokens together, each is a
/// tool of its own, otherwise there is one that finds them and one that calls them. Starts no server.
pub fn add_tools(
    registry: &mut Registry,
    servers: &Servers,
    budget: usize,
) -> Result<(), DuplicateTool> {
    if servers.is_empty() {
        return Ok(());
    }
    let Some(known) = all_known(servers) else {
        return add_search(registry, servers);
    };
    let tokens = known.iter().map(|(server, tool)| tool.tokens(server));
    if tokens.sum::<usize>() > budget {
        return add_search(registry, servers);
    }
    for (server, tool) in known {
        let definition = Definition {
            name: Cow::Owned(tool.full_name(&server)),
            description: Cow::Owned(tool.description.clone()),
            schema: Schema::foreign(&tool.schema),
            effect: tool.effect(),
            keeps_results: false,
        };
        let tool = OwnTool {
            servers: servers.clone(),
            server,
            tool: tool.name,
        };
        registry.add_dynamic(definition, tool)?;
    }
    Ok(())
}

/// The tools of all servers, if all are known.
fn all_known(servers: &Servers) -> Option<Vec<(String, DescribedTool)>> {
    let mut all = Vec::new();
    for spec in servers.specs() {
        let tools = servers.known(&spec.name)?;
        all.extend(tools.iter().map(|tool| (spec.name.clone(), tool.clone())));
    }
    Some(all)
}

fn add_search(registry: &mut Registry, servers: &Servers) -> Result<(), DuplicateTool> {
    let search = Definition {
        name: Cow::Borrowed(SEARCH_TOOL),
        description: Cow::Owned(format!(
            "Find tools of MCP servers. Returns descriptions and schemas of up to {MOST_FOUND} tools, which you then \
             call with {CALL_TOOL}. There are:{}",
            names(servers)
        )),
        schema: Schema::foreign(&json!({"type": "object", "properties": {
            "query": {"type": "string", "description": "Words about what the tool should do, or its name."},
            "server": {"type": "string", "description": "Only tools of this server."},
        }, "required": ["query"], "additionalProperties": false})),
        effect: SEARCH_EFFECT,
        keeps_results: true,
    };
    registry.add_dynamic(search, Search(servers.clone()))?;
    let call = Definition {
        name: Cow::Borrowed(CALL_TOOL),
        description: Cow::Owned(format!(
            "Call a tool of an MCP server whose schema {SEARCH_TOOL} has returned."
        )),
        schema: Schema::foreign(&json!({"type": "object", "properties": {
            "tool": {"type": "string", "description": "The name, as in mcp__server__tool."},
            "arguments": {"type": "object", "description": "Its arguments, by its schema."},
        }, "required": ["tool", "arguments"], "additionalProperties": false})),
        effect: CALL_EFFECT,
        keeps_results: false,
    };
    registry.add_dynamic(call, CallFound(servers.clone()))
}

/// The names of the tools, and the servers whose tools are not known yet.
fn names(servers: &Servers) -> String {
    let mut text = String::new();
    let mut room = MOST_NAMES;
    for spec in servers.specs() {
        let server = &spec.name;
        let _ = match servers.known(server) {
            None => write!(text, "\n{server}: not known yet, search to see"),
            Some(tools) => {
                let shown: Vec<&str> = tools
                    .iter()
                    .take(room)
                    .map(|tool| tool.name.as_str())
                    .collect();
                room -= shown.len();
                let more = tools.len() - shown.len();
                let more = (more > 0).then(|| format!(" and {more} more"));
                write!(
                    text,
                    "\n{server}: {}{}",
                    shown.join(", "),
                    more.unwrap_or_default()
                )
            }
        };
    }
    text
}

/// A call as the rules for tools know it: one through [`CALL_TOOL`] counts as one of the tool that it calls.
pub fn judged_call(tool: &str, arguments: Value) -> (String, Value) {
    if tool != CALL_TOOL {
        return (tool.to_owned(), arguments);
    }
    match serde_json::from_value::<CallArgs>(arguments.clone()) {
        Ok(call) => (call.tool, Value::Object(call.arguments)),
        Err(_) => (tool.to_owned(), arguments),
    }
}

/// A tool of a server.
struct OwnTool {
    servers: Servers,
    server: String,
    tool: String,
}

impl DynamicTool for OwnTool {
    fn call<'a>(
        &'a self,
        arguments: &'a str,
        context: &'a ToolContext,
        definition: &'a Definition,
    ) -> Call<'a> {
        Box::pin(async move {
            let arguments: JsonObject = definition.parse(arguments)?;
            let Self {
                servers,
                server,
                tool,
            } = self;
            servers.call(server, tool, arguments, context).await
        })
    }
}

/// Finds tools.
struct Search(Servers);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SearchArgs {
    query: String,
    server: Option<String>,
}

impl DynamicTool for Search {
    fn call<'a>(
        &'a self,
        arguments: &'a str,
        _: &'a ToolContext,
        definition: &'a Definition,
    ) -> Call<'a> {
        Box::pin(async move {
            let args: SearchArgs = definition.parse(arguments)?;
            self.search(&args).await
        })
    }
}

impl Search {
    async fn search(&self, args: &SearchArgs) -> Result<ToolOutput, ToolError> {
        let mut found: Vec<(usize, String, DescribedTool)> = Vec::new();
        let mut problems = Vec::new();
        let names: Vec<String> = self.0.specs().map(|spec| spec.name.clone()).collect();
        for server in names {
            if args.server.as_ref().is_some_and(|wanted| *wanted != server) {
                continue;
            }
            match self.0.tools(&server).await {
                Ok(tools) => found.extend(tools.iter().filter_map(|tool| {
                    let score = score(&server, tool, &args.query);
                    (score > 0).then(|| (score, server.clone(), tool.clone()))
                })),
                Err(error) => problems.push(failed(error).to_string()),
            }
        }
        // The best first, and those of the same score in the order of the servers.
        found.sort_by_key(|(score, ..)| std::cmp::Reverse(*score));
        let more = found.len().saturating_sub(MOST_FOUND);
        let mut texts: Vec<String> = found
            .iter()
            .take(MOST_FOUND)
            .map(|(_, server, tool)| shown(server, tool))
            .collect();
        if texts.is_empty() {
            texts.push("No tool was found.".to_owned());
        }
        if more > 0 {
            texts.push(format!("({more} more; use other words to see them)"));
        }
        texts.extend(problems);
        Ok(ToolOutput::ok(texts.join("\n\n")))
    }
}

pub(crate) fn shown(server: &str, tool: &DescribedTool) -> String {
    let DescribedTool {
        description,
        schema,
        ..
    } = tool;
    format!("{}\n{description}\n{schema}", tool.full_name(server))
}

/// How well a tool fits: its name counts more than its description, and an exact name most.
fn score(server: &str, tool: &DescribedTool, query: &str) -> usize {
    let query = query.to_lowercase();
    let (name, full) = (
        tool.name.to_lowercase(),
        tool.full_name(server).to_lowercase(),
    );
    let description = tool.description.to_lowercase();
    let is_exact = query.trim() == name || query.trim() == full;
    let words = query.split(|c: char| !c.is_alphanumeric());
    let words = words
        .filter(|word| word.len() > 1)
        .map(|word| usize::from(full.contains(word)) * 3 + usize::from(description.contains(word)));
    words.sum::<usize>() + usize::from(is_exact) * 100
}

/// Calls a tool that was found.
struct CallFound(Servers);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallArgs {
    tool: String,
    #[serde(default)]
    arguments: JsonObject,
}

impl CallFound {
    /// The accepted tool of this name.
    fn find(&self, name: &str) -> Option<(String, DescribedTool)> {
        self.0.specs().find_map(|spec| {
            let tools = self.0.known(&spec.name)?;
            let tool = tools
                .iter()
                .find(|tool| tool.full_name(&spec.name) == name)?;
            Some((spec.name.clone(), tool.clone()))
        })
    }
}

impl DynamicTool for CallFound {
    fn call<'a>(
        &'a self,
        arguments: &'a str,
        context: &'a ToolContext,
        definition: &'a Definition,
    ) -> Call<'a> {
        Box::pin(async move {
            let args: CallArgs = definition.parse(arguments)?;
            let Some((server, tool)) = self.find(&args.tool) else {
                return Err(ToolError::new(format!(
                    "there is no tool {}: search it with {SEARCH_TOOL} first",
                    args.tool
                )));
            };
            self.0
                .call(&server, &tool.name, args.arguments, context)
                .await
        })
    }

    fn effect_of(&self, arguments: &str) -> Option<Effect> {
        let args: CallArgs = serde_json::from_str(arguments).ok()?;
        self.find(&args.tool).map(|(_, tool)| tool.effect())
    }
}
