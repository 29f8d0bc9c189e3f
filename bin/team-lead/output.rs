//! Printing to standard output and standard error.

use crate::cli::Args;
use crate::colour::Colour;
use crate::columns::wrapped;
use crate::failure::{Failure, Kind};
use anyhow::Context;
use clap::builder::styling::Style;
use serde_json::Value;
use serde_json::value::RawValue;
use std::io::{ErrorKind, IsTerminal, Write};
use terminal_text::clean;

/// Prints text for people to standard output, without anything that a terminal acts on. If its reader has
/// closed the pipe, the command ends silently with exit code 0.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    print_safe(&clean(text))
}

/// Prints text with colours for a terminal. The caller has cleaned all text of others in it.
pub(crate) fn print_painted(text: &str) -> Result<(), Failure> {
    print_safe(text)
}

/// The columns of the terminal that standard output is, if it is one.
pub(crate) fn terminal_columns() -> Option<usize> {
    let is_terminal = std::io::stdout().is_terminal();
    is_terminal.then(|| lead::terminal_size().0)
}

/// Prints text for people like [`print()`]. On a terminal it is painted, and a line that is too long goes on below
/// its beginning.
pub(crate) fn print_wrapped(text: &str, style: Style) -> Result<(), Failure> {
    match terminal_columns() {
        None => print(text),
        Some(limit) => {
            let text = wrapped("", &clean(text), limit);
            print_painted(&Colour::of_environment().paint(style, &text))
        }
    }
}

/// Prints an object for programs, on one line. What a terminal would act on is escaped in its strings.
pub(crate) fn print_json(object: &Value) -> Result<(), Failure> {
    print_safe(&terminal_text::escape_json(&object.to_string()))
}

/// Prints a line of JSON as it is in a file. A line that is no JSON is printed as text.
pub(crate) fn print_json_line(line: &str) -> Result<(), Failure> {
    match serde_json::from_str::<&RawValue>(line) {
        Ok(_) => print_safe(&terminal_text::escape_json(line)),
        Err(_) => print(line),
    }
}

fn print_safe(text: &str) -> Result<(), Failure> {
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
            return print_json(object);
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

/// Prints a line to standard error, without anything that a terminal acts on. A failure cannot be reported
/// anywhere and is ignored.
pub(crate) fn print_stderr(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}", clean(text));
}

/// Text with every line indented.
pub(crate) fn indented(text: &str) -> String {
    let lines = clean(text.trim_end());
    let lines: Vec<String> = lines.lines().map(|line| format!("    {line}")).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_a_message_is_indented() {
        assert_eq!(
            indented("1. Look.\n2. Leap.\x1b\n"),
            "    1. Look.\n    2. Leap.\u{fffd}"
        );
    }
}
