//! Serves a set of tools to a client of the Model Context Protocol, over standard input and output.
//!
//! # Theory of operation
//!
//! A [`ToolServer`] is a [`Registry`] with a name. The registry has the schemas, checks the arguments and turns
//! every outcome into text, for a client as for a model of ours; nothing is decided here. Both eras of the
//! protocol are understood: `initialize` (2025-11-25 and older) and `server/discover` (2026-07-28).
//!
//! A client that cancels a call cancels it in the registry. When the client closes standard input, what runs
//! is cancelled and [`serve_stdio`] returns.
//!
//! **Invariant:** nothing but messages of the protocol is written to standard output.

mod handler;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use rmcp::ServiceExt;
use rmcp::service::{QuitReason, ServerInitializeError};
use serde_json::Value;
use tools::{Registry, ToolContext, ToolError};

/// How long calls may take to end when the client is gone.
const LAST_CALLS: Duration = Duration::from_secs(1);

/// The tools that a client is offered.
pub struct ToolServer {
    pub name: String,
    pub version: String,
    /// What a model should know before it uses the tools.
    pub instructions: String,
    pub registry: Registry,
    pub context: ToolContext,
    /// Whether calls are still served; asked before each of them, and again after what comes before it.
    pub admission: Arc<dyn Admission>,
}

/// Decides whether calls are served.
pub trait Admission: Send + Sync + 'static {
    /// Refuses with the text that the client's model reads.
    fn admit(&self) -> Result<(), ToolError>;

    /// Refuses a call that is about to run, or does what comes before it.
    fn before<'a>(
        &'a self,
        tool: &'a str,
        arguments: &'a Value,
        context: &'a ToolContext,
    ) -> Before<'a>;
}

/// The outcome of what comes before a call.
pub type Before<'a> = Pin<Box<dyn Future<Output = Result<(), ToolError>> + Send + 'a>>;

/// Why a server ended before its client did.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("cannot start the server: {0}")]
    System(#[from] std::io::Error),
    #[error("the client did not begin as the Model Context Protocol asks: {0}")]
    Begin(#[from] Box<ServerInitializeError>),
    #[error("the server failed: {0}")]
    Failed(#[from] tokio::task::JoinError),
}

/// Serves the client at standard input and output until it leaves.
pub fn serve_stdio(server: ToolServer) -> Result<(), ServeError> {
    let executor = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let served = executor.block_on(serve(server));
    executor.shutdown_timeout(LAST_CALLS);
    served
}

async fn serve(server: ToolServer) -> Result<(), ServeError> {
    let handler = handler::Handler::new(server);
    let running = match handler.serve(rmcp::transport::stdio()).await {
        Ok(running) => running,
        // A client that leaves without a word has had nothing to ask.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(Box::new(error).into()),
    };
    match running.waiting().await? {
        QuitReason::JoinError(error) => Err(error.into()),
        _ => Ok(()),
    }
}
