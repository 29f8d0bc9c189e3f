//! Rules, such as `Bash(npm run *)`.

mod parse;
mod web_scope;

use std::path::Path;

use globset::GlobMatcher;
use serde_json::{Value, json};

use crate::call::Call;
use crate::defaults::writes_arguments;
use crate::needs::{Access, FilePart, Needs, Part};
use crate::path_pattern::{Folders, PathPattern, PathPatternError};
use crate::pattern::{Pattern, PatternError};
use crate::shell::SimpleCommand;
use crate::web::{FETCH, is_within};
use protocol::Effect;

pub(crate) use web_scope::WebScope;

/// A rule of one of the three lists.
#[derive(Clone, Debug)]
pub struct Rule {
    text: String,
    matcher: Matcher,
}

impl PartialEq for Rule {
    /// Rules that are written in the same way mean the same.
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Rule {}

/// The list in which a rule stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ListKind {
    Deny,
    Ask,
    Allow,
}

/// A rule that cannot match anything, or not what its examples say.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    #[error("`{rule}` is not a rule: write a tool, or TOOL(WHAT)")]
    Form { rule: String },
    #[error("`{rule}` names no tool{}", suggestion(.near))]
    Tool {
        rule: String,
        near: Option<&'static str>,
    },
    #[error("`{rule}` names no MCP server: write mcp__SERVER or mcp__SERVER__TOOL")]
    Server { rule: String },
    #[error("`{rule}` can match nothing: {tool} has nothing in parentheses")]
    Argument { rule: String, tool: &'static str },
    #[error("`{rule}` can match no command: {source}")]
    Command { rule: String, source: PatternError },
    #[error("`{rule}` can match no path: {source}")]
    Path {
        rule: String,
        source: PathPatternError,
    },
    #[error(
        "`{rule}` can match no host: write WebFetch(domain:HOST), with HOST in ASCII and without a scheme or a path"
    )]
    Domain { rule: String },
    #[error(
        "`{rule}` cannot be kept: providers know no patterns of hosts; write WebFetch(domain:example.org), \
         which stands for the hosts below it too"
    )]
    HostPattern { rule: String },
    #[error("`{rule}` can match no role: {source}")]
    Role {
        rule: String,
        source: globset::Error,
    },
    #[error("`{rule}` does not match its example `{example}`")]
    NotMatched { rule: String, example: String },
    #[error("`{rule}` matches `{example}`, which its examples say it must not")]
    Matched { rule: String, example: String },
}

fn suggestion(near: &Option<&'static str>) -> String {
    near.map(|name| format!(": is {name} meant?"))
        .unwrap_or_default()
}

#[derive(Clone, Debug)]
enum Matcher {
    /// Every call of these tools.
    Tools(&'static [&'static str]),
    /// Commands, or commands with the network.
    Command {
        tools: &'static [&'static str],
        pattern: Option<Pattern>,
        network: bool,
    },
    /// A whole script, character by character.
    Exact {
        tools: &'static [&'static str],
        text: String,
        network: bool,
    },
    Path {
        tools: &'static [&'static str],
        /// The redirections that it matches too.
        redirected: Option<Access>,
        pattern: PathPattern,
    },
    /// A host and all below it.
    Domain(String),
    Role(GlobMatcher),
    /// The tools of an MCP server whose names start so, or have this name.
    Server {
        name: String,
        is_prefix: bool,
    },
}

/// Whether a rule concerns a part of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Touch {
    Surely,
    /// It depends on values that are known only later.
    Perhaps,
    No,
}

impl Rule {
    /// The rule as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Checks that the rule matches some calls and does not match others. An example is what stands in the
    /// parentheses of a rule: a command, a path, a host, a role; else the name of a tool.
    pub fn check_examples(
        &self,
        kind: ListKind,
        matching: &[String],
        not_matching: &[String],
    ) -> Result<(), RuleError> {
        let rule = || self.text.clone();
        for example in matching {
            if !self.matches_example(kind, example) {
                let example = example.clone();
                return Err(RuleError::NotMatched {
                    rule: rule(),
                    example,
                });
            }
        }
        for example in not_matching {
            if self.matches_example(kind, example) {
                let example = example.clone();
                return Err(RuleError::Matched {
                    rule: rule(),
                    example,
                });
            }
        }
        Ok(())
    }

    /// An allow rule matches a script if it covers all of it, another if it concerns a part.
    fn matches_example(&self, kind: ListKind, example: &str) -> bool {
        let workspace = Path::new("/workspace");
        let (tool, arguments) = self.example_call(example);
        let call = Call {
            tool: &tool,
            arguments: &arguments,
            effect: Effect::Execute,
            workspace,
        };
        let folders = Folders {
            workspace,
            home: Some(Path::new("/home/user")),
        };
        let needs = Needs::of(&call, folders);
        let mut parts = needs.parts.iter();
        match kind {
            ListKind::Allow => parts.all(|part| is_wrapper(part) || self.covers(part, &needs)),
            ListKind::Deny | ListKind::Ask => {
                parts.any(|part| self.touches(part, &needs) == Touch::Surely)
            }
        }
    }

    fn example_call(&self, example: &str) -> (String, Value) {
        let first = |tools: &[&str]| tools.first().copied().unwrap_or_default().to_owned();
        match &self.matcher {
            Matcher::Command { tools, network, .. } | Matcher::Exact { tools, network, .. } => (
                first(tools),
                json!({"command": example, "needs_network": network}),
            ),
            Matcher::Path { tools, .. } => (first(tools), json!({"path": example})),
            Matcher::Domain(_) => (
                FETCH.to_owned(),
                json!({"url": format!("https://{example}/")}),
            ),
            Matcher::Role(_) => ("spawn_teammate".to_owned(), json!({"role": example})),
            Matcher::Tools(_) | Matcher::Server { .. } => (example.to_owned(), json!({})),
        }
    }

    /// Whether the rule allows a part of a call, whatever the unknown values in it become.
    pub(crate) fn covers(&self, part: &Part, needs: &Needs<'_>) -> bool {
        let tool = needs.call.tool;
        match (&self.matcher, part) {
            // To call a tool is not to give it the network.
            (Matcher::Tools(tools), Part::Command(_) | Part::File(_) | Part::Tool) => {
                tools.contains(&tool)
            }
            (
                Matcher::Command {
                    tools,
                    pattern,
                    network,
                },
                Part::Command(command),
            ) => {
                let _ = network;
                let words = command.words_to_cover();
                tools.contains(&tool)
                    && pattern
                        .as_ref()
                        .is_none_or(|pattern| pattern.covers(&words))
            }
            (
                Matcher::Command {
                    tools,
                    pattern,
                    network: true,
                },
                Part::Network(command),
            ) => {
                let words = command.words_to_cover();
                tools.contains(&tool)
                    && pattern
                        .as_ref()
                        .is_none_or(|pattern| pattern.covers(&words))
            }
            (
                Matcher::Exact {
                    tools,
                    text,
                    network,
                },
                part,
            ) => {
                let is_enough = *network || !matches!(part, Part::Network(_));
                let is_same = needs
                    .call
                    .command()
                    .is_some_and(|command| command.trim() == text);
                is_enough && is_same && tools.contains(&tool)
            }
            (Matcher::Path { .. }, Part::File(file)) => {
                self.touches_file(file, needs) == Touch::Surely
            }
            (Matcher::Domain(_) | Matcher::Role(_) | Matcher::Server { .. }, Part::Tool) => {
                self.touches(part, needs) == Touch::Surely
            }
            (_, _) => false,
        }
    }

    /// Whether it can match one file and not another.
    pub(crate) const fn is_about_files(&self) -> bool {
        matches!(self.matcher, Matcher::Path { .. })
    }

    /// Whether the rule concerns a part of a call.
    pub(crate) fn touches(&self, part: &Part, needs: &Needs<'_>) -> Touch {
        let tool = needs.call.tool;
        let surely = |matches: bool| if matches { Touch::Surely } else { Touch::No };
        match (&self.matcher, part) {
            (Matcher::Tools(tools), _) => surely(tools.contains(&tool)),
            (
                Matcher::Command {
                    tools,
                    pattern,
                    network: false,
                },
                Part::Command(command),
            )
            | (
                Matcher::Command {
                    tools,
                    pattern,
                    network: true,
                },
                Part::Network(command),
            ) => match pattern {
                _ if !tools.contains(&tool) => Touch::No,
                None => Touch::Surely,
                Some(pattern) => touches_command(pattern, command),
            },
            (Matcher::Exact { network, .. }, _) => {
                let is_meant = !*network || needs.call.needs_network();
                surely(is_meant && self.covers(part, needs))
            }
            (Matcher::Path { .. }, Part::File(file)) => self.touches_file(file, needs),
            (
                Matcher::Path {
                    redirected,
                    pattern,
                    ..
                },
                Part::Command(command),
            ) => {
                let concerns = match redirected {
                    Some(Access::Read) => true,
                    Some(Access::Edit | Access::Write) => writes_arguments(command),
                    None => false,
                };
                let mut paths = command.argument_paths(needs.folders).into_iter();
                surely(concerns && paths.any(|path| pattern.matches(&path, needs.folders)))
            }
            (Matcher::Domain(domain), Part::Tool) if tool == FETCH => {
                let host = needs.call.text("url").and_then(host);
                surely(host.is_some_and(|host| is_within(&host, domain)))
            }
            (Matcher::Role(roles), Part::Tool) if tool == "spawn_teammate" => {
                let role = needs.call.text("role").unwrap_or_default();
                surely(roles.is_match(role.trim()))
            }
            (Matcher::Server { name, is_prefix }, Part::Tool) => {
                surely(tool == name || (*is_prefix && tool.starts_with(&format!("{name}__"))))
            }
            (_, _) => Touch::No,
        }
    }

    fn touches_file(&self, file: &FilePart, needs: &Needs<'_>) -> Touch {
        let Matcher::Path {
            tools,
            redirected,
            pattern,
        } = &self.matcher
        else {
            return Touch::No;
        };
        let is_redirection = needs.call.command().is_some();
        let is_meant = match redirected {
            _ if !is_redirection => tools.contains(&needs.call.tool),
            Some(Access::Read) => file.access == Access::Read,
            Some(Access::Edit | Access::Write) => file.access != Access::Read,
            None => false,
        };
        match &file.path {
            _ if !is_meant => Touch::No,
            None => Touch::Perhaps,
            Some(path) if pattern.matches(path, needs.folders) => Touch::Surely,
            Some(_) => Touch::No,
        }
    }
}

pub(crate) fn is_wrapper(part: &Part) -> bool {
    match part {
        Part::Command(command) | Part::Network(command) => command.is_wrapper,
        Part::File(_) | Part::Tool => false,
    }
}

fn touches_command(pattern: &Pattern, command: &SimpleCommand) -> Touch {
    let with_variables = command.words_to_cover();
    let forms = [command.words.as_slice(), with_variables.as_slice()];
    if forms.iter().any(|words| pattern.surely_matches(words)) {
        Touch::Surely
    } else if forms.iter().any(|words| pattern.may_match(words)) {
        Touch::Perhaps
    } else {
        Touch::No
    }
}

/// The host of an address, in lower case.
pub(crate) fn host(url: &str) -> Option<String> {
    let rest = url.split_once("://").map(|(_, rest)| rest)?;
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    let host = authority.rsplit('@').next()?;
    let host = host.split(':').next()?.trim_end_matches('.');
    (!host.is_empty()).then(|| host.to_lowercase())
}
