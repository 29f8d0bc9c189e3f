//! What goes to standard output and to standard error.

use crate::cli::Args;
use crate::failure::{Failure, Kind};
use anyhow::Context;
use serde_json::Value;
use std::io::{ErrorKind, Write};

/// Prints data. When whoever read it has gone, the command ends there, in silence and with 0.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    let printed = writeln!(out, "{text}").and_then(|()| out.flush());
    match printed {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {
            Err(Failure::new(Kind::ReaderGone, "the output was closed"))
        }
        result => Ok(result.context("cannot print")?),
    }
}

impl Args {
    /// Prints the result of a command that does something: words for people, which `--quiet`
    /// leaves out, or an object for programs.
    pub(crate) fn confirm(&self, object: &Value, words: &str) -> Result<(), Failure> {
        if self.json {
            return print(&object.to_string());
        }
        if self.quiet {
            return Ok(());
        }
        print(words)
    }

    /// Says something on standard error that is neither data nor an error.
    pub(crate) fn note(&self, words: &str) {
        if !self.quiet {
            say(words);
        }
    }

    /// The same for what only those want to know who asked for more.
    pub(crate) fn detail(&self, words: &str) {
        if self.verbose > 0 {
            say(words);
        }
    }
}

/// Says something on standard error. If nobody listens there, there is nobody to tell that.
pub(crate) fn say(words: &str) {
    let _ = writeln!(std::io::stderr(), "{words}");
}

/// Words of others without the characters that could take a terminal over.
pub(crate) fn plain(text: &str) -> String {
    let harmless = |c: char| match c {
        '\n' | '\t' => c,
        _ if c.is_control() => char::REPLACEMENT_CHARACTER,
        _ => c,
    };
    text.chars().map(harmless).collect()
}

/// The same, with every line set in under its heading.
pub(crate) fn indented(text: &str) -> String {
    let lines = plain(text.trim_end());
    let lines: Vec<String> = lines.lines().map(|line| format!("    {line}")).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_cannot_take_the_terminal_over() {
        assert_eq!(plain("a\x1b[2J\tb\r\n"), "a\u{fffd}[2J\tb\u{fffd}\n");
        assert_eq!(
            indented("1. Look.\n2. Leap.\n"),
            "    1. Look.\n    2. Leap."
        );
    }
}
