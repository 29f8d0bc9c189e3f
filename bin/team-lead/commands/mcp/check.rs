//! `mcp list` and `mcp check`: the servers that members use.

use crate::cli::Args;
use crate::failure::{Failure, Kind};
use crate::output::{print, print_json};
use crate::trusted_workspace::{TrustArgs, UncheckedWorkspace};
use config::McpServer;
use mcp::{Checked, DescribedTool, StoreError, ToolsError};
use member::{SandboxSettings, checked_servers, confinement, server_spec};
use serde_json::{Value, json};
use terminal_text::clean;

/// List the MCP servers that are set here, without starting them.
#[derive(clap::Args)]
#[command(after_help = "\
They come from [mcp_servers.NAME] in the user's file and team.toml, and from .mcp.json.

With --json: {\"servers\": [{\"name\", \"server\", \"problem\"}]}, each as its file says it.")]
pub(super) struct List {}

/// Start MCP servers as members would, and show their tools and what has changed.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  team-lead mcp check
  team-lead mcp check files --accept

The tools of a server are accepted as they are the first time that somebody uses it. When they are different
later, none of them runs until you accept the change: with --accept, or by approving the request of the member that
uses them (team-lead requests).

Exit codes: 0 all servers answer with accepted tools; 5 one does not. With --json: {\"servers\": [{\"name\",
\"version\", \"tools\", \"left_out\", \"change\", \"problem\"}]}.")]
pub(super) struct Check {
    /// Only this server.
    #[arg(value_name = "SERVER")]
    name: Option<String>,
    /// Accept its tools as they are now.
    #[arg(long, requires = "name")]
    accept: bool,
    #[command(flatten)]
    trust: TrustArgs,
}

pub(super) fn list(args: &Args, _: &List) -> Result<(), Failure> {
    let workspace = UncheckedWorkspace::find(args)?;
    let settings = &workspace.settings;
    let servers = settings.config.mcp_servers();
    let problem = |name: &str, server: &McpServer| {
        let spec = server_spec(name, server, &settings.variables);
        spec.err().map(|error| error.to_string())
    };
    if args.json {
        let servers = servers.into_iter().map(|(name, server)| {
            let shown: Value = serde_json::from_str(&server.text()).unwrap_or_default();
            json!({"name": name, "server": shown, "problem": problem(name, server)})
        });
        return print_json(&json!({"servers": servers.collect::<Vec<_>>()}));
    }
    if servers.is_empty() {
        args.note("no MCP servers; see docs/mcp.md");
    }
    for (name, server) in servers {
        let problem = problem(name, server);
        let problem = problem.map(|problem| format!("\n  cannot be used: {problem}"));
        let line = format!("{name}  {}{}", server.text(), problem.unwrap_or_default());
        print(&clean(&line))?;
    }
    Ok(())
}

pub(super) fn check(args: &Args, command: &Check) -> Result<(), Failure> {
    let found = UncheckedWorkspace::find(args)?;
    let workspace = found.workspace.clone();
    let trusted = found.into_trusted(args, &command.trust)?;
    let config = &trusted.settings.config;
    let wanted = |name: &str| command.name.as_deref().is_none_or(|wanted| wanted == name);
    let mut specs = Vec::new();
    for (name, server) in config.mcp_servers() {
        if wanted(name) {
            let spec = server_spec(name, server, &trusted.settings.variables);
            specs.push(spec.map_err(|error| Failure::failed(format!("{name}: {error}")))?);
        }
    }
    if let (Some(name), true) = (&command.name, specs.is_empty()) {
        let message = format!("there is no MCP server called {name}");
        return Err(Failure::new(Kind::Refused, message).hint("team-lead mcp list"));
    }
    let sandbox = SandboxSettings {
        mode: config.sandbox().value.unwrap_or_default(),
        network: config.network().value.unwrap_or_default(),
    };
    let names: Vec<String> = specs.iter().map(|spec| spec.name.clone()).collect();
    let confinement = confinement(&workspace, &sandbox, String::new());
    let servers = checked_servers(&trusted.team, specs, confinement);
    let mut executor = tokio::runtime::Builder::new_current_thread();
    let executor = executor.enable_all().build();
    let executor = executor.map_err(|error| Failure::failed(error.to_string()))?;
    let mut results = Vec::new();
    for name in names {
        let result = executor.block_on(servers.check(&name));
        if let (Ok(checked), true) = (&result, command.accept) {
            servers.accept(&name, &checked.tools)?;
        }
        results.push((name, result));
    }
    // The programs end before anything is printed.
    drop(servers);
    show(args, &results, command.accept)
}

fn show(
    args: &Args,
    results: &[(String, Result<Checked, ToolsError>)],
    is_accepted: bool,
) -> Result<(), Failure> {
    if args.json {
        let servers = results.iter().map(|(name, result)| as_json(name, result));
        print_json(&json!({"servers": servers.collect::<Vec<_>>()}))?;
    } else {
        for (name, result) in results {
            print(&clean(&as_text(name, result)))?;
        }
    }
    let is_bad = |result: &Result<Checked, ToolsError>| match result {
        Ok(checked) => checked.change.is_some() && !is_accepted,
        Err(_) => true,
    };
    let bad: Vec<&str> = results
        .iter()
        .filter(|(_, result)| is_bad(result))
        .map(|(name, _)| name.as_str())
        .collect();
    match bad.is_empty() {
        true => Ok(()),
        false => Err(Failure::new(
            Kind::TeamFailed,
            format!("these MCP servers cannot be used: {}", bad.join(", ")),
        )),
    }
}

fn as_json(name: &str, result: &Result<Checked, ToolsError>) -> Value {
    match result {
        Err(problem) => json!({"name": name, "problem": problem.to_string()}),
        Ok(checked) => json!({
            "name": name, "version": checked.version, "tools": checked.tools,
            "left_out": checked.left_out,
            "change": checked.change.as_ref().map(ToString::to_string),
        }),
    }
}

fn as_text(name: &str, result: &Result<Checked, ToolsError>) -> String {
    let checked = match result {
        Ok(checked) => checked,
        Err(problem) => return problem.to_string(),
    };
    let mut text = format!(
        "{name}  {} tools, protocol {}",
        checked.tools.len(),
        checked.version
    );
    for tool in &checked.tools {
        text.push_str(&format!("\n  {}", tool_line(tool)));
    }
    for tool in &checked.left_out {
        text.push_str(&format!("\n  left out: {tool}"));
    }
    if let Some(change) = &checked.change {
        text.push_str(&format!("\n  changed since they were accepted: {change}"));
    }
    text
}

fn tool_line(tool: &DescribedTool) -> String {
    let effect = match tool.reads_only {
        true => " (reads)",
        false => "",
    };
    let description = tool.description.lines().next().unwrap_or_default();
    format!("{}{effect}  {description}", tool.name)
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::failed(error.to_string())
    }
}
