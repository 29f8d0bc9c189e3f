//! The servers of a member: started when they are needed, and again when they have ended.

use crate::accepted::{AcceptedTools, Change, StoreError};
use crate::connect::{ConnectError, Connection, connect};
use crate::described::DescribedTool;
use crate::spec::ServerSpec;
use rmcp::RoleClient;
use rmcp::service::Peer;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Mutex as AsyncMutex;
use tools::{Confinement, OutputFolder};
use tracing::{info, warn};

/// How long a server that could not be started is left alone, so that a model cannot start it in a loop.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// Shows how far a call is.
pub type ProgressSink = Arc<dyn Fn(&str) + Send + Sync>;

/// Where the programs of servers run.
#[derive(Clone)]
pub struct ServerContext {
    pub folder: PathBuf,
    /// How they are confined; without it they run as this process does, without its variables.
    pub confinement: Option<Arc<Confinement>>,
    /// The mark in their environment.
    pub mark: String,
    /// Where what they write to standard error is kept.
    pub output: OutputFolder,
    pub progress: Option<ProgressSink>,
}

/// The servers that a member may use. Clones share them; when the last is dropped, the programs end.
#[derive(Clone)]
pub struct Servers(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    servers: Vec<Server>,
    accepted: AcceptedTools,
    context: ServerContext,
}

struct Server {
    spec: ServerSpec,
    /// The accepted tools, as far as they are known.
    known: Mutex<Option<Arc<Vec<DescribedTool>>>>,
    state: AsyncMutex<State>,
}

#[derive(Default)]
struct State {
    connection: Option<Connection>,
    failed: Option<(Instant, Arc<ConnectError>)>,
}

/// Why a server cannot be used.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ToolsError {
    #[error("there is no MCP server {name}; there are: {}", known.join(", "))]
    NoServer { name: String, known: Vec<String> },
    #[error("the MCP server {name} is not there: {cause}")]
    Connect {
        name: String,
        cause: Arc<ConnectError>,
    },
    #[error(
        "the tools of the MCP server {name} are not those that were accepted ({change}), so none of them runs. A \
         person can look at them and accept them: team-lead mcp check {name} --accept"
    )]
    Changed { name: String, change: Change },
}

/// What a server has now.
#[derive(Debug)]
pub struct Checked {
    pub version: String,
    pub tools: Vec<DescribedTool>,
    /// Tools that cannot be used, with the reason.
    pub left_out: Vec<String>,
    /// How the tools differ from the accepted ones.
    pub change: Option<Change>,
}

impl Servers {
    /// Starts none of them.
    pub fn new(specs: Vec<ServerSpec>, accepted: AcceptedTools, context: ServerContext) -> Self {
        let servers = specs.into_iter().map(|spec| Server {
            known: Mutex::new(accepted.of(&spec).map(Arc::new)),
            spec,
            state: AsyncMutex::default(),
        });
        Self(Arc::new(Inner {
            servers: servers.collect(),
            accepted,
            context,
        }))
    }

    pub fn is_empty(&self) -> bool {
        self.0.servers.is_empty()
    }

    pub(crate) fn specs(&self) -> impl Iterator<Item = &ServerSpec> {
        self.0.servers.iter().map(|server| &server.spec)
    }

    /// The accepted tools of a server, without starting it.
    pub(crate) fn known(&self, name: &str) -> Option<Arc<Vec<DescribedTool>>> {
        let server = self
            .0
            .servers
            .iter()
            .find(|server| server.spec.name == name)?;
        server.known()
    }

    fn find(&self, name: &str) -> Result<&Server, ToolsError> {
        let found = self
            .0
            .servers
            .iter()
            .find(|server| server.spec.name == name);
        found.ok_or_else(|| ToolsError::NoServer {
            name: name.to_owned(),
            known: self.specs().map(|spec| spec.name.clone()).collect(),
        })
    }

    /// The accepted tools of a server. The first time it is started, and what it has is accepted.
    pub(crate) async fn tools(&self, name: &str) -> Result<Arc<Vec<DescribedTool>>, ToolsError> {
        if let Some(known) = self.known(name) {
            return Ok(known);
        }
        self.peer(name).await?;
        Ok(self.known(name).unwrap_or_default())
    }

    /// A running server whose tools are the accepted ones.
    pub(crate) async fn peer(
        &self,
        name: &str,
    ) -> Result<(Peer<RoleClient>, Duration), ToolsError> {
        let server = self.find(name)?;
        let mut state = server.state.lock().await;
        let connection = self.connected(server, &mut state).await?;
        let found = &connection.listed.tools;
        let known = server.known();
        match known.as_deref() {
            Some(known) => {
                if let Some(change) = Change::between(known, found) {
                    // A person may have accepted them since.
                    let accepted = self.0.accepted.of(&server.spec);
                    if accepted.as_ref() != Some(found) {
                        let name = name.to_owned();
                        return Err(ToolsError::Changed { name, change });
                    }
                    server.set_known(found.clone());
                }
            }
            None => self.accept_first(server, found, &connection.listed.left_out),
        }
        Ok((connection.service.peer().clone(), server.spec.call_limit))
    }

    fn accept_first(&self, server: &Server, found: &[DescribedTool], left_out: &[String]) {
        let name = &server.spec.name;
        if let Err(error) = self.0.accepted.accept(&server.spec, found) {
            warn!("{error}");
        }
        for tool in left_out {
            warn!("a tool of the MCP server {name} is left out: {tool}");
        }
        server.set_known(found.to_vec());
    }

    /// Starts the server if it does not run.
    async fn connected<'a>(
        &self,
        server: &Server,
        state: &'a mut State,
    ) -> Result<&'a Connection, ToolsError> {
        let failed = |cause: Arc<ConnectError>| ToolsError::Connect {
            name: server.spec.name.clone(),
            cause,
        };
        if let Some((at, cause)) = &state.failed
            && at.elapsed() < RETRY_AFTER
        {
            return Err(failed(Arc::clone(cause)));
        }
        let usable = state.connection.take().filter(|running| !running.is_over());
        let begun = match usable {
            Some(mut running) => match running.take_changed() {
                true => running.list(&server.spec.name).await.map(|()| running),
                false => Ok(running),
            },
            None => {
                info!("starts the MCP server {}", server.spec.name);
                connect(&server.spec, &self.0.context).await
            }
        };
        match begun {
            Ok(connection) => {
                state.failed = None;
                Ok(state.connection.insert(connection))
            }
            Err(cause) => {
                let cause = Arc::new(cause);
                state.failed = Some((Instant::now(), Arc::clone(&cause)));
                Err(failed(cause))
            }
        }
    }

    pub(crate) async fn is_running(&self, name: &str) -> bool {
        let Ok(server) = self.find(name) else {
            return false;
        };
        let state = server.state.lock().await;
        let connection = state.connection.as_ref();
        connection.is_some_and(|connection| !connection.is_over())
    }

    /// What a server has now, whether it is accepted or not. Accepts nothing.
    pub async fn check(&self, name: &str) -> Result<Checked, ToolsError> {
        let server = self.find(name)?;
        let mut state = server.state.lock().await;
        let connection = self.connected(server, &mut state).await?;
        let tools = connection.listed.tools.clone();
        let known = server.known();
        Ok(Checked {
            version: connection.version(),
            change: known.and_then(|known| Change::between(&known, &tools)),
            left_out: connection.listed.left_out.clone(),
            tools,
        })
    }

    /// The tools that are accepted now, by whomever.
    pub(crate) fn accepted_now(&self, name: &str) -> Option<Vec<DescribedTool>> {
        let server = self.find(name).ok()?;
        self.0.accepted.of(&server.spec)
    }

    /// Accepts what a person has looked at.
    pub fn accept(&self, name: &str, tools: &[DescribedTool]) -> Result<(), StoreError> {
        match self.find(name) {
            Ok(server) => self.0.accepted.accept(&server.spec, tools),
            Err(_) => Ok(()),
        }
    }
}

impl Server {
    fn known(&self) -> Option<Arc<Vec<DescribedTool>>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.clone()
    }

    fn set_known(&self, tools: Vec<DescribedTool>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        *known = Some(Arc::new(tools));
    }
}
