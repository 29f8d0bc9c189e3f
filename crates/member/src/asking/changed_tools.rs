//! Asks a person about the tools of an MCP server that are not those that were accepted.

use super::Asker;
use crate::call_rules::CallVerdict;
use crate::runtime::MemberRuntime;
use crate::user_hooks::HookAnswers;
use agent::Answered;
use llm::{CancellationToken, ToolUse};
use mcp::ChangedTools;
use protocol::{Answer, PermissionAsk};
use rules::decider;
use serde_json::{Value, json};
use std::time::Duration;
use tools::{Effect, ToolOutput};
use tracing::warn;

/// How often to look whether the tools were accepted in another way.
pub(super) const LOOK_EVERY: Duration = Duration::from_secs(2);

impl MemberRuntime {
    /// The changed tools of the server that a call is for, unless the call cannot run anyway or a person has
    /// refused them. A call that a person has yet to decide about starts no server.
    pub(crate) async fn changed_tools(
        &self,
        tool_use: &ToolUse,
        said: &HookAnswers,
        cancel: &CancellationToken,
    ) -> Option<ChangedTools> {
        let servers = self.mcp_servers()?;
        let arguments = serde_json::from_str(tool_use.replayed_input().get()).ok()?;
        let (name, inner) = mcp::judged_call(&tool_use.name, arguments);
        let may_start = match self.decide(&name, &inner, Effect::Mutate).verdict {
            CallVerdict::Deny => return None,
            CallVerdict::Allow => said.ask.is_none(),
            CallVerdict::Ask { .. } => false,
        };
        let changed = tokio::select! {
            changed = servers.changed_tools(&name, Value::Null, may_start) => changed?,
            () = cancel.cancelled() => return None,
        };
        (!self.are_tools_refused(&changed.hash)).then_some(changed)
    }

    /// Accepts changed tools for a person. The call is not run: it was made for the tools as they were.
    pub(super) async fn accept_tools(&self, changed: &ChangedTools, answer: &Answer) -> Answered {
        let server = &changed.server;
        let accepted = match self.mcp_servers() {
            Some(servers) => servers.accept_changed(server, &changed.hash).await,
            None => Ok(false),
        };
        Answered::NotRun(match accepted {
            Ok(true) => ToolOutput::ok(accepted_text(changed, &decider(answer))),
            Ok(false) => ToolOutput::error(format!(
                "nothing was run: the tools of the MCP server {server} have changed once more since they were \
                 accepted"
            )),
            Err(error) => {
                warn!("{error}");
                ToolOutput::error(format!("nothing was run: {error}"))
            }
        })
    }

    /// Whether the tools were accepted since they were found to have changed.
    pub(super) fn are_tools_accepted(&self, changed: &ChangedTools) -> bool {
        let servers = self.mcp_servers();
        servers.is_some_and(|servers| servers.is_accepted(&changed.server, &changed.hash))
    }
}

impl Asker<'_> {
    /// What a person is asked about changed tools. Only a person accepts them.
    pub(super) fn ask_about_tools(&self, changed: &ChangedTools) -> PermissionAsk {
        let ChangedTools {
            server,
            change,
            hash,
            tools,
        } = changed;
        PermissionAsk {
            tool: format!("mcp__{server}"),
            arguments: json!({"change": change.to_string(), "tools": tools, "hash": hash}),
            call_hash: String::new(),
            cwd: String::new(),
            why: format!(
                "the tools of the MCP server {server} are not those that were accepted ({change}); approving \
                 accepts them as they are now"
            ),
            grants: None,
            lead_decides: false,
        }
    }
}

/// What a model is told when changed tools were accepted.
pub(super) fn accepted_text(changed: &ChangedTools, who: &str) -> String {
    let ChangedTools { server, change, .. } = changed;
    format!(
        "Nothing was run yet. {who} accepted the changed tools of the MCP server {server} ({change}). Call again if \
         it still fits. What is new:\n\n{}",
        changed.described()
    )
}
