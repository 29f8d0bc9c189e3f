//! When a command is run.

use crate::event::HookEvent;
use regex::Regex;
use std::time::Duration;

/// How long a hook may run where nobody says it.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// A command, and when it is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hook {
    pub event: HookEvent,
    pub matcher: Matcher,
    /// Run by a shell.
    pub command: String,
    pub timeout: Duration,
    pub origin: HookOrigin,
}

/// Who wrote a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookOrigin {
    /// The user, in a file of their own. The command runs as the user.
    User,
    /// Whoever wrote the workspace, which the user has trusted. The command runs in the member's sandbox.
    Workspace,
}

/// Which of the things that an event can be about a hook is run for. An event that is about nothing, such as
/// `Stop`, is matched by all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Matcher(String);

/// A matcher is no regular expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the matcher {0:?} is no regular expression")]
pub struct MatcherError(String);

impl Matcher {
    /// Everything if it is empty or `*`; names between `|`; otherwise a regular expression.
    pub fn parse(text: &str) -> Result<Self, MatcherError> {
        let matcher = Self(text.trim().to_owned());
        match matcher.is_everything() || matcher.is_list() || Regex::new(&matcher.0).is_ok() {
            true => Ok(matcher),
            false => Err(MatcherError(text.to_owned())),
        }
    }

    pub fn text(&self) -> &str {
        &self.0
    }

    fn is_everything(&self) -> bool {
        matches!(self.0.as_str(), "" | "*")
    }

    fn is_list(&self) -> bool {
        let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '|');
        self.0.chars().all(is_plain)
    }

    /// Whether one of the names is meant. They are names of the same thing.
    pub fn matches(&self, names: &[&str]) -> bool {
        if names.is_empty() || self.is_everything() {
            return true;
        }
        if self.is_list() {
            return self.0.split('|').any(|listed| names.contains(&listed));
        }
        let expression = Regex::new(&self.0);
        expression.is_ok_and(|expression| names.iter().any(|name| expression.is_match(name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lists_and_expressions_are_matched_as_claude_code_does() {
        let matches = |text: &str, name: &str| Matcher::parse(text).unwrap().matches(&[name]);
        for (text, name, expected) in [
            ("", "Bash", true),
            ("*", "Bash", true),
            ("Bash", "Bash", true),
            ("Bash", "BashOutput", false),
            ("Edit|Write", "Write", true),
            ("Edit|Write", "MultiEdit", false),
            ("mcp__.*__write", "mcp__files__write", true),
            ("Notebook.*", "Read", false),
        ] {
            assert_eq!(matches(text, name), expected, "{text} {name}");
        }
        assert!(Matcher::parse("Bash").unwrap().matches(&["Bash", "bash"]));
        assert!(Matcher::parse("Bash").unwrap().matches(&[]));
        assert!(Matcher::parse("(").is_err());
    }
}
