//! Which calls of tools are allowed, which ask a person, and which are denied.
//!
//! [`Permissions`] are the rules that hold for one member. [`Permissions::decide`] takes a call apart into
//! what it needs: the commands of a script, the files that it reads and writes, the network. Deny rules
//! come first, then ask rules, then allow rules; which rule is more specific never matters. What no rule
//! mentions is decided by the conditions: inside a sandbox ordinary work is allowed.
//!
//! A compound command passes only if every command in it does. The commands are found by a real parser,
//! tree-sitter with its grammar of bash: it takes linear time and no stack for any input, reports every
//! error, and brings four small packages. The alternative, brush-parser, recurses and backtracks by its
//! grammar and brings about thirty packages, a library for tests among them. Since a grammar made for
//! editors can take a byte for something else than bash does, the module `shell` checks every piece of the
//! tree against the source, and what does not fit cannot be parsed.
//!
//! [`Permissions::web`] says which tools of a model's provider for the web are offered to it.
//!
//! A value that is known only when the command runs, such as `$x`, may be anything: an allow rule must
//! match whatever it is, and a deny rule that could match asks.

mod call;
mod decide;
mod decision;
mod defaults;
mod files;
mod needs;
mod path_pattern;
mod pattern;
mod rule;
mod shell;
mod tool_names;
mod web;

pub use call::Call;
pub use decide::Permissions;
pub use decision::{Conditions, Decision, Origin, Reason, RuleList, Verdict};
pub use rule::{ListKind, Rule, RuleError};
pub use web::{WebAccess, WebHosts, WebTool};
