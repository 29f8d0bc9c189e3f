//! Programs of others that `scripts/install-bench-tools` installs below the user's cache.

use std::path::PathBuf;

/// A program.
#[derive(Debug, Clone, Copy)]
pub(in crate::measure) struct Tool {
    /// Its place below the cache.
    place: &'static str,
    missing: &'static str,
}

pub(in crate::measure) const NATS: Tool = Tool {
    place: "nats/bin/nats-server",
    missing: "nats-server not found (scripts/install-test-tools)",
};
/// The Python that ClawTeam is installed for.
pub(in crate::measure) const CLAWTEAM: Tool = Tool {
    place: "clawteam/bin/python",
    missing: "clawteam not found (scripts/install-bench-tools)",
};
/// The Python that MCP Agent Mail is installed for.
pub(in crate::measure) const AGENT_MAIL: Tool = Tool {
    place: "agent-mail/bin/python",
    missing: "mcp-agent-mail not found (scripts/install-bench-tools)",
};

impl Tool {
    pub(in crate::measure) fn path(self) -> Option<PathBuf> {
        let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        let cache = cache.or_else(|| Some(std::env::home_dir()?.join(".cache")))?;
        let path = cache.join("team-lead-test-tools").join(self.place);
        path.exists().then_some(path)
    }

    /// What has to be done to have it, if it is not there.
    pub(in crate::measure) fn missing(self) -> Option<&'static str> {
        self.path().is_none().then_some(self.missing)
    }
}
