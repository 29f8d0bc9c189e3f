//! The tools of the MCP servers that people have set for a member.

use crate::explore::Explore;
use crate::runtime::MemberRuntime;
use crate::workspace::{WorkspaceSettings, state_folder};
use config::{Config, DEFAULT_CALL_SECONDS, DEFAULT_SCHEMA_TOKENS, McpServer, McpServerError};
use llm::Variables;
use mcp::{AcceptedTools, ServerContext, ServerSpec, Servers, Transport, WeakServers};
use prompts::SkillTool;
use protocol::{Effect, Recipient};
use std::collections::HashSet;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use teamdir::TeamDir;
use tools::{Confinement, DuplicateTool, OutputFolder, Registry, Tool};
use tracing::warn;

/// A server with the values of its variables.
pub fn server_spec(
    name: &str,
    server: &McpServer,
    variables: &Variables,
) -> Result<ServerSpec, McpServerError> {
    let transport = match server.transport(variables)? {
        config::McpTransport::Stdio {
            command,
            args,
            env,
            network,
            readable,
        } => Transport::Stdio {
            command,
            args,
            env,
            network,
            readable,
        },
        config::McpTransport::Http { url, headers } => Transport::Http { url, headers },
    };
    let seconds = server.call_seconds.unwrap_or(DEFAULT_CALL_SECONDS);
    Ok(ServerSpec {
        name: name.to_owned(),
        transport,
        call_limit: Duration::from_secs(seconds.max(1)),
    })
}

/// What a call of a tool may change that every member can have besides those of its registry: a skill, a helper,
/// or a tool of an MCP server. Absent if there is no such tool.
pub fn shared_tool_effect(
    workspace: &Path,
    settings: &WorkspaceSettings,
    tool: &str,
) -> Option<Effect> {
    let own = [
        (SkillTool::NAME, SkillTool::EFFECT),
        (Explore::NAME, Explore::EFFECT),
        (mcp::SEARCH_TOOL, mcp::SEARCH_EFFECT),
        (mcp::CALL_TOOL, mcp::CALL_EFFECT),
    ];
    if let Some((_, effect)) = own.into_iter().find(|(name, _)| *name == tool) {
        return Some(effect);
    }
    let servers = settings.config.mcp_servers().into_iter();
    let specs =
        servers.filter_map(|(name, server)| server_spec(name, server, &settings.variables).ok());
    let specs: Vec<ServerSpec> = specs.collect();
    AcceptedTools::new(state_folder(), workspace).effect(&specs, tool)
}

/// Servers that a person looks at, confined as those of members are.
pub fn checked_servers(
    team: &TeamDir,
    specs: Vec<ServerSpec>,
    confinement: Confinement,
) -> Servers {
    let workspace = team.workspace();
    let context = ServerContext {
        folder: workspace.to_path_buf(),
        confinement: Some(Arc::new(confinement)),
        mark: format!("mcp-check-{}", std::process::id()),
        output: OutputFolder::new(team.layout().member_outputs(&Recipient::Lead)),
        progress: None,
    };
    Servers::new(
        specs,
        AcceptedTools::new(state_folder(), workspace),
        context,
    )
}

impl MemberRuntime {
    /// Adds the tools of the MCP servers that are set for this member. Starts none of the servers.
    pub fn add_mcp_tools(
        &self,
        registry: &mut Registry,
        settings: &WorkspaceSettings,
        role: Option<&str>,
    ) -> Result<(), DuplicateTool> {
        let specs = self.mcp_specs(settings, role);
        if specs.is_empty() {
            return Ok(());
        }
        let (team, owner) = (self.team(), self.owner());
        let runtime = self.clone();
        let context = ServerContext {
            folder: self.folder(),
            confinement: self.confinement(),
            mark: processes::mark_of(team, owner),
            output: OutputFolder::new(team.layout().member_outputs(owner)),
            progress: Some(Arc::new(move |text| runtime.show_call_progress(text))),
        };
        let accepted = AcceptedTools::new(state_folder(), team.workspace());
        let servers = Servers::new(specs, accepted, context);
        self.mcp.lock_shared().servers = servers.downgrade();
        mcp::add_tools(registry, &servers, schema_budget(&settings.config))
    }

    fn mcp_specs(&self, settings: &WorkspaceSettings, role: Option<&str>) -> Vec<ServerSpec> {
        let member = match self.owner() {
            Recipient::Member(name) => Some(name.as_str()),
            Recipient::Lead => None,
        };
        let servers = settings.config.mcp_servers().into_iter();
        let own = servers.filter(|(_, server)| server.is_for(role, member));
        let specs =
            own.filter_map(
                |(name, server)| match server_spec(name, server, &settings.variables) {
                    Ok(spec) => Some(spec),
                    Err(error) => {
                        warn!("the MCP server {name} is left out: {error}");
                        None
                    }
                },
            );
        specs.collect()
    }

    /// Shows how far the running call is.
    fn show_call_progress(&self, text: &str) {
        let mut inner = self.lock();
        if inner.live.show_call_progress(text) {
            inner.write_state();
        }
    }
}

/// What the runtime knows of the MCP servers of its member.
#[derive(Default)]
pub(crate) struct McpState(Mutex<McpShared>);

#[derive(Default)]
struct McpShared {
    servers: WeakServers,
    /// The hashes of changed tools that a person has refused.
    refused: HashSet<String>,
}

impl McpState {
    fn lock_shared(&self) -> MutexGuard<'_, McpShared> {
        // Nothing under this lock can be half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MemberRuntime {
    /// The servers of this member, while its tools are there.
    pub(crate) fn mcp_servers(&self) -> Option<Servers> {
        self.mcp.lock_shared().servers.upgrade()
    }

    pub(crate) fn are_tools_refused(&self, hash: &str) -> bool {
        self.mcp.lock_shared().refused.contains(hash)
    }

    pub(crate) fn refuse_tools(&self, hash: String) {
        self.mcp.lock_shared().refused.insert(hash);
    }
}

fn schema_budget(config: &Config) -> usize {
    let tokens = config
        .schema_tokens()
        .value
        .unwrap_or(DEFAULT_SCHEMA_TOKENS);
    usize::try_from(tokens).unwrap_or(usize::MAX)
}
