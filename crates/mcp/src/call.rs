//! One call of a tool of a server.

use crate::output::output;
use crate::server::{Servers, ToolsError};
use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CancelledNotification, CancelledNotificationParam,
    ClientRequest, JsonObject, RequestId, ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions, ServiceError};
use std::time::Duration;
use tools::{ToolContext, ToolError, ToolOutput};

/// A server that reports progress without end is cancelled after this many of its limits.
const MOST_LIMITS: u32 = 10;
/// How long a server has to take note that a call is cancelled.
const CANCEL_LIMIT: Duration = Duration::from_millis(300);

impl Servers {
    /// Calls a tool. A call that is cancelled is cancelled at the server too.
    pub(crate) async fn call(
        &self,
        server: &str,
        tool: &str,
        arguments: JsonObject,
        context: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let peer = tokio::select! {
            peer = self.peer(server) => peer,
            () = context.cancel.cancelled() => return Err(ToolError::cancelled()),
        };
        let (peer, limit) = peer.map_err(failed)?;
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let options = PeerRequestOptions::with_timeout(limit)
            .reset_timeout_on_progress()
            .with_max_total_timeout(limit * MOST_LIMITS);
        let sent = peer.send_cancellable_request(request, options).await;
        let handle = sent.map_err(|error| refused(server, &error))?;
        let mut open = OpenCall {
            peer,
            id: Some(handle.id.clone()),
        };
        let answered = tokio::select! {
            answered = handle.await_response() => answered,
            () = context.cancel.cancelled() => {
                open.cancel().await;
                return Err(ToolError::new("interrupted: the MCP server was told to stop"));
            }
        };
        open.id = None;
        match answered.map_err(|error| refused(server, &error))? {
            ServerResult::CallToolResult(result) => Ok(output(result)),
            ServerResult::InputRequiredResult(_) => Err(ToolError::new(format!(
                "the MCP server {server} wants to ask the user something in the middle of the call, which is not \
                 supported"
            ))),
            _ => Err(refused(server, &ServiceError::UnexpectedResponse)),
        }
    }
}

pub(crate) fn failed(error: ToolsError) -> ToolError {
    ToolError::new(error.to_string())
}

/// What a model is told of a call without a result.
fn refused(server: &str, error: &ServiceError) -> ToolError {
    ToolError::new(match error {
        ServiceError::McpError(error) => {
            let message: String = error.message.chars().take(2_000).collect();
            format!(
                "the MCP server {server} refused the call: {message} ({})",
                error.code.0
            )
        }
        ServiceError::TransportClosed | ServiceError::TransportSend(_) => format!(
            "the MCP server {server} has ended during the call, which may have had its effect; the next call \
             starts it again"
        ),
        ServiceError::Timeout { timeout } => format!(
            "the MCP server {server} has not answered within {} s, and was told to stop",
            timeout.as_secs()
        ),
        error => format!("the call of the MCP server {server} failed: {error}"),
    })
}

/// A call that the server works on. Dropped before its answer, it is cancelled.
struct OpenCall {
    peer: Peer<RoleClient>,
    id: Option<RequestId>,
}

impl OpenCall {
    async fn cancel(&mut self) {
        if let Some(id) = self.id.take() {
            let told = tell_cancelled(self.peer.clone(), id);
            // A server that does not read is not waited for.
            let _ = tokio::time::timeout(CANCEL_LIMIT, told).await;
        }
    }
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        if let (Some(id), Ok(runtime)) = (self.id.take(), tokio::runtime::Handle::try_current()) {
            runtime.spawn(tell_cancelled(self.peer.clone(), id));
        }
    }
}

async fn tell_cancelled(peer: Peer<RoleClient>, id: RequestId) {
    let reason = Some("the call was interrupted".to_owned());
    let params = CancelledNotificationParam::new(Some(id), reason);
    let notification = CancelledNotification::new(params);
    // A server that is gone needs no notification.
    let _ = peer.send_notification(notification.into()).await;
}
