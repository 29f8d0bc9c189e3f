//! Tools that are not those that were accepted: what a person is shown of them, and accepting them.

use crate::accepted::{Change, StoreError};
use crate::described::{DescribedTool, hash};
use crate::registry::{judged_call, shown};
use crate::server::{Inner, Servers};
use serde_json::Value;
use std::sync::{Arc, Weak};

/// The changed tools of a server.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangedTools {
    pub server: String,
    pub change: Change,
    /// The hash of all its tools, which are accepted together.
    pub hash: String,
    /// The tools that are new or described otherwise.
    pub tools: Vec<DescribedTool>,
}

/// Servers that others keep running.
#[derive(Clone, Default)]
pub struct WeakServers(Weak<Inner>);

impl WeakServers {
    /// The servers, as long as somebody else has them.
    pub fn upgrade(&self) -> Option<Servers> {
        self.0.upgrade().map(Servers)
    }
}

impl Servers {
    pub fn downgrade(&self) -> WeakServers {
        WeakServers(Arc::downgrade(&self.0))
    }

    /// How the tools of the server that a call is for differ from the accepted ones. None for another call, and if
    /// the server cannot be reached, which the call itself says. A server that does not run is started only if it
    /// may be; otherwise the call itself says that its tools have changed, and the next call finds it running.
    pub async fn changed_tools(
        &self,
        tool: &str,
        arguments: Value,
        may_start: bool,
    ) -> Option<ChangedTools> {
        let (tool, _) = judged_call(tool, arguments);
        let mut specs = self.specs();
        let spec = specs.find(|spec| tool.starts_with(&format!("mcp__{}__", spec.name)))?;
        let server = spec.name.clone();
        // What nobody has accepted is accepted with the first call.
        self.known(&server)?;
        if !may_start && !self.is_running(&server).await {
            return None;
        }
        let checked = self.check(&server).await.ok()?;
        let change = checked.change?;
        let hash = hash(&checked.tools);
        if self.is_accepted(&server, &hash) {
            return None;
        }
        let is_new = |tool: &DescribedTool| {
            change.added.contains(&tool.name) || change.changed.contains(&tool.name)
        };
        let tools = checked.tools.into_iter().filter(is_new).collect();
        Some(ChangedTools {
            server,
            change,
            hash,
            tools,
        })
    }

    /// Whether the tools with this hash are the accepted ones.
    pub fn is_accepted(&self, server: &str, wanted: &str) -> bool {
        let accepted = self.accepted_now(server);
        accepted.is_some_and(|tools| hash(&tools) == wanted)
    }

    /// Accepts the tools of a server if they are those with this hash.
    pub async fn accept_changed(&self, server: &str, wanted: &str) -> Result<bool, StoreError> {
        match self.check(server).await {
            Ok(checked) if hash(&checked.tools) == wanted => {
                self.accept(server, &checked.tools)?;
                Ok(true)
            }
            Ok(_) | Err(_) => Ok(false),
        }
    }
}

impl ChangedTools {
    /// The tools with their schemas, for a model.
    pub fn described(&self) -> String {
        let tools = self.tools.iter().map(|tool| shown(&self.server, tool));
        tools.collect::<Vec<_>>().join("\n\n")
    }
}
