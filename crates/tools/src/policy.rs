//! Which commands are refused.
//!
//! A command is taken apart the way a shell does it: into words, simple commands, what is inside
//! substitutions, and what programs such as `env`, `xargs` or `bash -c` run. The rules
//! see programs with their arguments, never the text. So a word in a message or a pattern is
//! harmless, and another order of options makes no difference.
//!
//! This guards against accidents. It is not a sandbox: variables are not followed, scripts in files
//! are not read, and any program can do what the rules forbid to the usual ones.

mod changes;
mod lexer;
mod rules;
mod script;
mod unwrap;

pub use changes::PolicyError;

use std::fmt;
use std::sync::Arc;

/// A program with its arguments, as a shell would start it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Invocation {
    /// The last part of the program's path.
    pub program: String,
    /// The words after it, without quotes. A variable stands as `$NAME`, a substitution as `$()`.
    pub arguments: Vec<String>,
    /// The files that it writes.
    pub redirects: Vec<Redirect>,
}

/// A file to which the output of a program goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// Its path.
    pub path: String,
}

/// A reason to refuse a command.
#[derive(Clone)]
pub struct Rule {
    name: String,
    check: Arc<Check>,
}

type Check = dyn Fn(&Invocation) -> Option<String> + Send + Sync;

impl Rule {
    /// A rule with a name by which it can be switched off. The function returns why an invocation
    /// is refused, or nothing.
    pub fn new(
        name: impl Into<String>,
        check: impl Fn(&Invocation) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            check: Arc::new(check),
        }
    }

    /// A rule, named after the program, that refuses a program whatever its arguments.
    pub fn deny_program(program: &str, why: &str) -> Self {
        let (denied, why) = (program.to_owned(), why.to_owned());
        Self::new(program, move |invocation| {
            (invocation.program == denied).then(|| why.clone())
        })
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Rule").field(&self.name).finish()
    }
}

/// The rules that commands have to pass.
#[derive(Clone, Debug)]
pub struct Policy {
    rules: Vec<Rule>,
}

impl Default for Policy {
    /// The usual rules: `remove-root`, `other-user`, `power`, `format`, `raw-device`, `kill-all`,
    /// `fork-bomb` and `unreadable`.
    fn default() -> Self {
        Self {
            rules: rules::usual(),
        }
    }
}

impl Policy {
    /// No rules at all.
    pub fn allow_all() -> Self {
        Self { rules: Vec::new() }
    }

    /// The same policy with one more rule.
    #[must_use]
    pub fn with(mut self, rule: Rule) -> Self {
        self.rules.push(rule);
        self
    }

    /// The same policy without the rules of this name.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.rules.retain(|rule| rule.name != name);
        self
    }

    /// The names of the rules.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.rules.iter().map(|rule| rule.name.as_str())
    }

    /// Whether a command may run, or why not.
    pub fn check(&self, command: &str) -> Result<(), String> {
        if self.rules.is_empty() {
            return Ok(());
        }
        for invocation in script::invocations(command) {
            let mut reasons = self.rules.iter().map(|rule| (rule.check)(&invocation));
            if let Some(why) = reasons.find_map(|why| why) {
                return Err(why);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
