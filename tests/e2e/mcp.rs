//! Members with the tools of MCP servers, and the team as such a server.

mod hostile;
mod real;
mod serve;

use crate::harness::{LIMIT, Workspace, call, say};
use serde_json::{Value, json};
use std::path::PathBuf;
use test_support::llm_server::{CapturedRequest, ServerReply};
use test_support::{report_skip, wait_until};

/// Where `scripts/install-test-tools` puts the programs of others that are no packages of the system.
fn test_tool(path: &str, test: &str) -> Option<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(std::env::home_dir()?.join(".cache")))?;
    let found = cache.join("team-lead-test-tools").join(path);
    if found.exists() {
        return Some(found);
    }
    let path = found.display();
    report_skip(
        test,
        format_args!("{path} is missing: scripts/install-test-tools"),
    );
    None
}

/// A reply that calls a tool of a server through `mcp_call`.
fn call_found(tool: &str, arguments: Value) -> ServerReply {
    call("mcp_call", json!({"tool": tool, "arguments": arguments}))
}

/// A reply that looks for tools.
fn search(query: &str) -> ServerReply {
    call("tool_search", json!({"query": query}))
}

impl Workspace {
    /// Lets a member work through these replies of its model, and returns its requests.
    #[track_caller]
    fn work(&self, name: &str, replies: Vec<ServerReply>) -> Vec<CapturedRequest> {
        let count = replies.len() + 1;
        self.script(name, replies);
        self.script(name, [say("Done.")]);
        self.spawn(name, &["--trust", "--prompt", "Go."]);
        wait_until("all requests", LIMIT, || {
            self.server.requests(name).len() >= count
        });
        self.wait_reports(name, 1);
        self.server.requests(name)
    }
}
