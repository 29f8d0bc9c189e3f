//! The grammar of rules.

use globset::Glob;

use super::{Matcher, Rule, RuleError};
use crate::needs::Access;
use crate::path_pattern::PathPattern;
use crate::pattern::{Pattern, PatternError};
use crate::tool_names::{Argument, ToolName, find, nearest};

impl Rule {
    /// Reads a rule. One that can never match is an error.
    pub fn parse(text: &str) -> Result<Self, RuleError> {
        let rule = || text.to_owned();
        let (name, argument) = match text.split_once('(') {
            Some((name, rest)) => {
                let inner = rest
                    .strip_suffix(')')
                    .ok_or_else(|| RuleError::Form { rule: rule() })?;
                (name.trim(), Some(inner))
            }
            None => (text.trim(), None),
        };
        let matcher = if name.starts_with("mcp__") {
            server_rule(name, argument, text)?
        } else {
            let is_name = |sign: char| sign.is_ascii_alphanumeric() || sign == '_';
            if name.is_empty() || !name.chars().all(is_name) {
                return Err(RuleError::Form { rule: rule() });
            }
            let known = find(name).ok_or_else(|| RuleError::Tool {
                rule: rule(),
                near: nearest(name),
            })?;
            tool_rule(known, argument, text)?
        };
        Ok(Self {
            text: text.to_owned(),
            matcher,
        })
    }
}

fn tool_rule(known: &ToolName, argument: Option<&str>, text: &str) -> Result<Matcher, RuleError> {
    let tools = known.tools;
    let Some(argument) = argument else {
        return Ok(match known.argument {
            Argument::Network => Matcher::Command {
                tools,
                pattern: None,
                network: true,
            },
            Argument::Command
            | Argument::Path
            | Argument::Domain
            | Argument::Role
            | Argument::None => Matcher::Tools(tools),
        });
    };
    let rule = || text.to_owned();
    match known.argument {
        Argument::Command => command_rule(tools, argument, false, text),
        Argument::Network => command_rule(tools, argument, true, text),
        Argument::Path => path_rule(known, argument, text),
        Argument::Domain => domain_rule(tools, argument, text),
        Argument::Role => {
            let glob = Glob::new(argument.trim()).map_err(|source| RuleError::Role {
                rule: rule(),
                source,
            })?;
            Ok(Matcher::Role(glob.compile_matcher()))
        }
        Argument::None => Err(RuleError::Argument {
            rule: rule(),
            tool: known.name,
        }),
    }
}

fn command_rule(
    tools: &'static [&'static str],
    argument: &str,
    network: bool,
    text: &str,
) -> Result<Matcher, RuleError> {
    let wrong = |source| RuleError::Command {
        rule: text.to_owned(),
        source,
    };
    if let Some(exact) = argument.strip_prefix('=') {
        let text = exact.trim().to_owned();
        if text.is_empty() {
            return Err(wrong(PatternError::Empty));
        }
        return Ok(Matcher::Exact {
            tools,
            text,
            network,
        });
    }
    if argument.trim() == "*" && !network {
        return Ok(Matcher::Tools(tools));
    }
    Ok(Matcher::Command {
        tools,
        pattern: Some(Pattern::parse(argument).map_err(wrong)?),
        network,
    })
}

fn path_rule(known: &ToolName, argument: &str, text: &str) -> Result<Matcher, RuleError> {
    let pattern = PathPattern::parse(argument).map_err(|source| RuleError::Path {
        rule: text.to_owned(),
        source,
    })?;
    let redirected = match known.name {
        "Read" => Some(Access::Read),
        "Edit" => Some(Access::Edit),
        "Write" => Some(Access::Write),
        _ => None,
    };
    Ok(Matcher::Path {
        tools: known.tools,
        redirected,
        pattern,
    })
}

/// A host, which stands for all below it too, with or without `*.` before it: that is what providers can be
/// told.
fn domain_rule(
    tools: &'static [&'static str],
    argument: &str,
    text: &str,
) -> Result<Matcher, RuleError> {
    let rule = || text.to_owned();
    let host = argument.strip_prefix("domain:").map(str::trim);
    let host = host.ok_or_else(|| RuleError::Domain { rule: rule() })?;
    if host == "*" {
        return Ok(Matcher::Tools(tools));
    }
    let host = host.strip_prefix("*.").unwrap_or(host);
    let host = host.strip_suffix('.').unwrap_or(host).to_lowercase();
    if host.contains(['*', '?', '[', '{']) {
        return Err(RuleError::HostPattern { rule: rule() });
    }
    let is_allowed = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '-' | '_');
    let is_label = |label: &str| !label.is_empty() && label.chars().all(is_allowed);
    match host.split('.').all(is_label) {
        true => Ok(Matcher::Domain(host)),
        false => Err(RuleError::Domain { rule: rule() }),
    }
}

fn server_rule(name: &str, argument: Option<&str>, text: &str) -> Result<Matcher, RuleError> {
    let wrong = || RuleError::Server {
        rule: text.to_owned(),
    };
    let (name, is_prefix) = match name.strip_suffix("__*") {
        Some(server) => (server, true),
        None => (name, name.matches("__").count() == 1),
    };
    let server = name.strip_prefix("mcp__").unwrap_or_default();
    let is_name = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '_' | '-' | '.');
    if argument.is_some() || server.is_empty() || !server.chars().all(is_name) {
        return Err(wrong());
    }
    Ok(Matcher::Server {
        name: name.to_owned(),
        is_prefix,
    })
}
