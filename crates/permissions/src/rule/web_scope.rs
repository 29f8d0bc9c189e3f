//! What a rule says about the tools for the web.

use super::{Matcher, Rule};
use crate::web::{FETCH, is_within};

/// What a rule says about a tool for the web.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WebScope<'a> {
    All,
    Host(&'a str),
}

impl Rule {
    /// What the rule says about a tool for the web, if it concerns it.
    pub(crate) fn web_scope(&self, tool: &str) -> Option<WebScope<'_>> {
        match &self.matcher {
            Matcher::Tools(tools) => tools.contains(&tool).then_some(WebScope::All),
            Matcher::Domain(domain) => (tool == FETCH).then_some(WebScope::Host(domain)),
            Matcher::Command { .. }
            | Matcher::Exact { .. }
            | Matcher::Path { .. }
            | Matcher::Role(_)
            | Matcher::Server { .. } => None,
        }
    }

    /// Whether it is about a host of the web.
    pub(crate) fn has_web_host(&self, host: &str) -> bool {
        matches!(&self.matcher, Matcher::Domain(domain) if is_within(host, domain))
    }
}
