//! Rules and verdicts, and their words for people.

use std::fmt;
use std::path::PathBuf;

use crate::rule::{ListKind, Rule};

/// Rules from one place.
#[derive(Clone, Debug)]
pub struct RuleList {
    pub origin: Origin,
    pub deny: Vec<Rule>,
    pub ask: Vec<Rule>,
    pub allow: Vec<Rule>,
}

/// Where rules come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    Flag,
    UserFile(PathBuf),
    Workspace(PathBuf),
    Role(String),
    ClaudeSettings(PathBuf),
    /// An answer of a person that holds for more than one call.
    Granted {
        id: String,
        by: String,
    },
}

/// What holds without rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conditions {
    /// Whether commands run in a sandbox.
    pub confined: bool,
    /// Whether the user chose not to be asked about commands that run without one.
    pub yes: bool,
    /// What is read as if it were in the workspace: folders that commands may read anyway.
    pub readable: Vec<PathBuf>,
    /// The user's home folder, for rules that start with `~/`.
    pub home: Option<PathBuf>,
}

/// What happens to a call, from the mildest to the strictest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    Allow,
    Ask,
    Deny,
}

/// What decided about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    Rule {
        rule: String,
        origin: Origin,
        /// The part of a script that it concerns.
        part: Option<String>,
    },
    /// A deny rule would match for some values that are known only when the command runs.
    CouldMatch {
        rule: String,
        origin: Origin,
        part: Option<String>,
    },
    /// The role has allow rules, and none of them covers this.
    NotInRole {
        role: String,
        part: Option<String>,
    },
    /// A rule asks about what the provider of the model runs by itself.
    NobodyToAsk {
        rule: String,
        origin: Origin,
    },
    /// Rules allow other hosts.
    OtherHosts,
    /// Every host that rules allow is refused by others.
    NoHostLeft,
    /// No rule concerns a tool of the provider, which a setting turns on.
    WebSetting,
    NeedsNetwork,
    OutsideWorkspace(PathBuf),
    /// There is no sandbox around this change.
    Unconfined {
        part: Option<String>,
    },
    /// The command cannot be understood.
    Unparsable,
    /// It happens inside of a sandbox.
    Confined,
    ReadsOnly,
    /// A file tool changes a file of the workspace.
    InWorkspace,
    /// It concerns only the team.
    TeamOnly,
    /// The user chose `--yes`.
    Yes,
}

/// A verdict and what it rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    pub verdict: Verdict,
    pub reason: Reason,
}

impl RuleList {
    pub fn new(origin: Origin) -> Self {
        Self {
            origin,
            deny: Vec::new(),
            ask: Vec::new(),
            allow: Vec::new(),
        }
    }

    /// The rules of one kind.
    pub fn rules(&self, kind: ListKind) -> &[Rule] {
        match kind {
            ListKind::Deny => &self.deny,
            ListKind::Ask => &self.ask,
            ListKind::Allow => &self.allow,
        }
    }

    pub(crate) fn is_granted(&self) -> bool {
        matches!(self.origin, Origin::Granted { .. })
    }

    pub(crate) fn role(&self) -> Option<&str> {
        match &self.origin {
            Origin::Role(role) => Some(role),
            Origin::Flag
            | Origin::UserFile(_)
            | Origin::Workspace(_)
            | Origin::ClaudeSettings(_)
            | Origin::Granted { .. } => None,
        }
    }
}

impl Decision {
    pub(crate) fn new(verdict: Verdict, reason: Reason) -> Self {
        Self { verdict, reason }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        })
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag => f.write_str("the command line"),
            Self::UserFile(path) | Self::Workspace(path) | Self::ClaudeSettings(path) => {
                write!(f, "{}", path.display())
            }
            Self::Role(role) => write!(f, "the role {role}"),
            Self::Granted { id, by } => write!(f, "the answer {id} of {by}"),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of_part = |part: &Option<String>| match part {
            Some(part) => format!(", for `{part}`"),
            None => String::new(),
        };
        match self {
            Self::Rule { rule, origin, part } => {
                write!(f, "the rule {rule} of {origin}{}", of_part(part))
            }
            Self::CouldMatch { rule, origin, part } => write!(
                f,
                "the deny rule {rule} of {origin} could match, depending on values that are known only when the \
                 command runs{}",
                of_part(part)
            ),
            Self::NotInRole { role, part } => {
                write!(
                    f,
                    "the allow rules of the role {role} do not have it{}",
                    of_part(part)
                )
            }
            Self::NobodyToAsk { rule, origin } => write!(
                f,
                "the rule {rule} of {origin} asks, and nobody can be asked while the provider of the model runs it; \
                 write a deny rule, or take it out"
            ),
            Self::OtherHosts => f.write_str("rules allow other hosts and not this one"),
            Self::NoHostLeft => f.write_str(
                "no host is left: each that rules allow is refused by others, or has a refused host below it",
            ),
            Self::WebSetting => f.write_str("no rule concerns it, and the setting `web` turns it on"),
            Self::NeedsNetwork => f.write_str("it needs the network"),
            Self::OutsideWorkspace(path) => {
                write!(f, "{} is outside the workspace", path.display())
            }
            Self::Unconfined { part } => {
                write!(f, "there is no sandbox around it{}", of_part(part))
            }
            Self::Unparsable => f.write_str("the command cannot be taken apart into its commands"),
            Self::Confined => f.write_str("it stays inside the sandbox"),
            Self::ReadsOnly => f.write_str("it only reads"),
            Self::InWorkspace => f.write_str("it changes a file of the workspace"),
            Self::TeamOnly => f.write_str("it concerns only the team"),
            Self::Yes => f.write_str("--yes"),
        }
    }
}
