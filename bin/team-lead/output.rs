//! Printing to standard output and standard error.

use crate::cli::Args;
use crate::failure::{Failure, Kind};
use anyhow::Context;
use serde_json::Value;
use std::io::{ErrorKind, Write};

/// Prints data to standard output. If its reader has closed the pipe, the command ends silently with
/// exit code 0.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    let printed = writeln!(out, "{text}").and_then(|()| out.flush());
    match printed {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {
            Err(Failure::new(Kind::OutputClosed, "the output was closed"))
        }
        result => Ok(result.context("cannot print")?),
    }
}

impl Args {
    /// Prints the result of a command that changes something: text for people, which `--quiet`
    /// suppresses, or an object for programs.
    pub(crate) fn confirm(&self, object: &Value, text: &str) -> Result<(), Failure> {
        if self.json {
            return print(&object.to_string());
        }
        if self.quiet {
            return Ok(());
        }
        print(text)
    }

    /// Prints a note, which is neither data nor an error, to standard error.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            print_stderr(text);
        }
    }

    /// Prints a note if `--verbose` was given.
    pub(crate) fn detail(&self, text: &str) {
        if self.log.verbose > 0 {
            print_stderr(text);
        }
    }
}

/// Prints a line to standard error. A failure cannot be reported anywhere and is ignored.
pub(crate) fn print_stderr(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Text of others without the control characters that could manipulate a terminal.
pub(crate) fn sanitize(text: &str) -> String {
    let replaced = |c: char| match c {
        '\n' | '\t' => c,
        _ if c.is_control() => char::REPLACEMENT_CHARACTER,
        _ => c,
    };
    text.chars().map(replaced).collect()
}

/// Sanitized text with every line indented.
pub(crate) fn indented(text: &str) -> String {
    let lines = sanitize(text.trim_end());
    let lines: Vec<String> = lines.lines().map(|line| format!("    {line}")).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_cannot_manipulate_the_terminal() {
        assert_eq!(sanitize("a\x1b[2J\tb\r\n"), "a\u{fffd}[2J\tb\u{fffd}\n");
        assert_eq!(
            indented("1. Look.\n2. Leap.\n"),
            "    1. Look.\n    2. Leap."
        );
    }
}
