//! How calls of tools are shown: commands as commands, changes of files as changes.

use super::super::colour::Style;
use super::width::{Span, fit};
use serde_json::Value;
use similar::{ChangeTag, TextDiff};
use std::time::Duration;
use terminal_text::{clean, one_line};

/// How many lines of a command's output are shown. A key shows all of them.
const LAST_LINES: usize = 5;
/// How many lines of a change are shown, and of a command.
const MOST_CHANGED: usize = 30;
const MOST_COMMAND: usize = 6;
/// How many characters of an argument are shown.
const ARGUMENT_LIMIT: usize = 200;
/// A call that took longer says how long.
const WORTH_SAYING: Duration = Duration::from_secs(2);

/// A call of a tool, as the model wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Command(String),
    /// Replacements in a file: the old and the new text of each.
    Edit {
        path: String,
        changes: Vec<(String, String)>,
    },
    Write {
        path: String,
        content: String,
    },
    Other {
        name: String,
        argument: String,
    },
}

/// The end of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallEnd {
    pub(crate) output: String,
    pub(crate) is_error: bool,
    pub(crate) took: Duration,
}

impl CallEnd {
    pub(crate) fn new(output: &str, is_error: bool, took: Duration) -> Self {
        let output = output.to_owned();
        Self {
            output,
            is_error,
            took,
        }
    }
}

impl Call {
    /// Reads the arguments of a call. They may be anything.
    pub(crate) fn new(name: &str, arguments: &str) -> Self {
        let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
        let text = |key: &str| Some(clean(arguments.get(key)?.as_str()?).into_owned());
        let kind = match name {
            "bash" => text("command").map(Kind::Command),
            "edit_file" => text("path").map(|path| Kind::Edit {
                path,
                changes: changes(&arguments),
            }),
            "write_file" => text("path").map(|path| Kind::Write {
                path,
                content: text("content").unwrap_or_default(),
            }),
            _ => None,
        };
        let other = || Kind::Other {
            name: one_line(name).chars().take(64).collect(),
            argument: argument(&arguments),
        };
        Self {
            kind: kind.unwrap_or_else(other),
        }
    }

    /// The call on one line.
    pub(crate) fn title(&self) -> String {
        match &self.kind {
            Kind::Command(command) => format!("$ {}", one_line(command.trim())),
            Kind::Edit { path, .. } => format!("edit {}", one_line(path)),
            Kind::Write { path, .. } => format!("write {}", one_line(path)),
            Kind::Other { name, argument } if argument.is_empty() => name.clone(),
            Kind::Other { name, argument } => format!("{name} {argument}"),
        }
    }

    /// The call and what came of it, in lines. `whole` leaves nothing out.
    pub(crate) fn lines(&self, end: &CallEnd, width: usize, whole: bool) -> Vec<Vec<Span>> {
        let mut lines = self.head(end, width, whole);
        let limit = |most: usize| if whole { usize::MAX } else { most };
        match &self.kind {
            Kind::Edit { changes, .. } if !end.is_error => {
                lines.extend(first(diff(changes), limit(MOST_CHANGED)));
            }
            Kind::Write { content, .. } if !end.is_error => {
                let added = content.lines().map(|line| change('+', line));
                lines.extend(first(added.collect(), limit(MOST_CHANGED)));
            }
            Kind::Command(_) | Kind::Edit { .. } | Kind::Write { .. } => {
                lines.extend(last(&end.output, end.is_error, limit(LAST_LINES)));
            }
            Kind::Other { .. } if whole => {
                lines.extend(last(&end.output, end.is_error, usize::MAX));
            }
            Kind::Other { .. } => {
                let text = one_line(end.output.trim());
                let style = output_style(end.is_error);
                let line = format!("  {}", fit(&text, width.saturating_sub(3)));
                lines.extend((!text.is_empty()).then(|| vec![Span::new(style, line)]));
            }
        }
        lines
    }

    fn head(&self, end: &CallEnd, width: usize, whole: bool) -> Vec<Vec<Span>> {
        let mark = match end.is_error {
            true => Span::new(Style::Removed, "✗ "),
            false => Span::new(Style::Added, "● "),
        };
        let mut lines: Vec<String> = match &self.kind {
            Kind::Command(command) => {
                let command = format!("$ {}", command.trim());
                command.lines().map(str::to_owned).collect()
            }
            Kind::Edit { .. } | Kind::Write { .. } | Kind::Other { .. } => {
                vec![fit(&self.title(), width.saturating_sub(3))]
            }
        };
        let more = lines.len().saturating_sub(MOST_COMMAND);
        if more > 0 && !whole {
            lines.truncate(MOST_COMMAND);
            lines.push(format!("… {more} more lines"));
        }
        if let (Some(first), true) = (lines.first_mut(), end.took >= WORTH_SAYING) {
            first.push_str(&format!("  ({})", super::spinner::elapsed(end.took)));
        }
        let marks = [mark]
            .into_iter()
            .chain(std::iter::repeat(Span::plain("  ")));
        let lines = marks.zip(lines);
        lines
            .map(|(mark, line)| vec![mark, Span::new(Style::Bold, line)])
            .collect()
    }
}

/// The old and the new text of each replacement.
fn changes(arguments: &Value) -> Vec<(String, String)> {
    let one = |edit: &Value| {
        let text = |key: &str| edit.get(key).and_then(Value::as_str).unwrap_or_default();
        let (old, new) = (text("old_text"), text("new_text"));
        let is_change = !old.is_empty() || !new.is_empty();
        is_change.then(|| (clean(old).into_owned(), clean(new).into_owned()))
    };
    let listed = arguments.get("edits").and_then(Value::as_array);
    let listed = listed.into_iter().flatten().filter_map(one);
    one(arguments).into_iter().chain(listed).collect()
}

/// The argument that says most about a call.
fn argument(arguments: &Value) -> String {
    const TELLING: [&str; 10] = [
        "path", "name", "to", "pattern", "query", "task_id", "subject", "title", "id", "question",
    ];
    let mut values = TELLING.iter().filter_map(|key| arguments.get(key));
    let value = values.find_map(|value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    });
    fit(&one_line(&value.unwrap_or_default()), ARGUMENT_LIMIT)
}

fn diff(changes: &[(String, String)]) -> Vec<Vec<Span>> {
    let mut lines = Vec::new();
    for (old, new) in changes {
        let diff = TextDiff::from_lines(old, new);
        lines.extend(diff.iter_all_changes().map(|found| {
            let mark = match found.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            };
            change(mark, found.value().trim_end_matches('\n'))
        }));
    }
    lines
}

fn change(mark: char, line: &str) -> Vec<Span> {
    let style = match mark {
        '+' => Style::Added,
        '-' => Style::Removed,
        _ => Style::Dim,
    };
    vec![Span::new(style, format!("  {mark} {line}"))]
}

fn first(mut lines: Vec<Vec<Span>>, most: usize) -> Vec<Vec<Span>> {
    let more = lines.len().saturating_sub(most);
    if more > 0 {
        lines.truncate(most);
        lines.push(vec![Span::new(Style::Dim, hidden(more, "more"))]);
    }
    lines
}

fn last(output: &str, is_error: bool, most: usize) -> Vec<Vec<Span>> {
    let output = clean(output.trim_end());
    let all: Vec<&str> = output.lines().collect();
    let more = all.len().saturating_sub(most);
    let mut lines = Vec::new();
    if more > 0 {
        lines.push(vec![Span::new(Style::Dim, hidden(more, "earlier"))]);
    }
    let shown = all.into_iter().skip(more);
    let style = output_style(is_error);
    lines.extend(shown.map(|line| vec![Span::new(style, format!("  {line}"))]));
    lines
}

const fn output_style(is_error: bool) -> Style {
    match is_error {
        true => Style::Removed,
        false => Style::Dim,
    }
}

fn hidden(count: usize, which: &str) -> String {
    let lines = if count == 1 { "line" } else { "lines" };
    format!("  … {count} {which} {lines} (Ctrl-O shows all)")
}

#[cfg(test)]
mod tests {
    use super::super::super::colour::Colour;
    use super::super::width::paint;
    use super::*;

    /// The lines of a call with this output; an output in front of which stands a `!` is an error.
    fn shown(call: &Call, output: &str, whole: bool) -> Vec<String> {
        let is_error = output.starts_with('!');
        let output = output.trim_start_matches('!');
        let end = CallEnd::new(output, is_error, Duration::ZERO);
        let lines = call.lines(&end, 40, whole);
        lines.iter().map(|line| paint(line, Colour::Off)).collect()
    }

    #[test]
    fn a_command_has_its_last_lines_and_a_key_shows_all() {
        let call = Call::new("bash", r#"{"command":"cargo test\n"}"#);
        assert_eq!(call.title(), "$ cargo test");
        let output = "1\n2\n3\n4\n5\n6\n7\n";
        let lines = shown(&call, output, false);
        assert_eq!(lines[0], "● $ cargo test");
        assert_eq!(lines[1], "  … 2 earlier lines (Ctrl-O shows all)");
        assert_eq!(&lines[2..], ["  3", "  4", "  5", "  6", "  7"]);
        assert_eq!(shown(&call, output, true).len(), 8);
        assert_eq!(shown(&call, "!no", false), ["✗ $ cargo test", "  no"]);
    }

    #[test]
    fn edits_are_changes_of_lines() {
        let arguments = r#"{"path":"a.rs","old_text":"a\nb\n","new_text":"a\nc\n"}"#;
        let lines = shown(&Call::new("edit_file", arguments), "Changed", false);
        assert_eq!(lines, ["● edit a.rs", "    a", "  - b", "  + c"]);
        let arguments = r#"{"path":"a.txt","content":"hello"}"#;
        let lines = shown(&Call::new("write_file", arguments), "Wrote", false);
        assert_eq!(lines, ["● write a.txt", "  + hello"]);
        let lines = shown(&Call::new("write_file", arguments), "!is a folder", false);
        assert_eq!(lines, ["✗ write a.txt", "  is a folder"]);
    }

    #[test]
    fn whatever_a_model_writes_is_shown_without_what_a_terminal_acts_on() {
        let call = Call::new("bash", r#"{"command":"a\u001b[2J"}"#);
        assert_eq!(call.title(), "$ a\u{fffd}[2J");
        let lines = shown(&call, "x\u{1b}]0;evil\u{7}", false);
        assert_eq!(lines[1], "  x\u{fffd}]0;evil\u{fffd}");
        for arguments in ["", "[1]", r#"{"command":7}"#] {
            assert_eq!(Call::new("bash", arguments).title(), "bash");
        }
        let spawn = Call::new("spawn_teammate", r#"{"role":"coder","name":"alice"}"#);
        assert_eq!(spawn.title(), "spawn_teammate alice");
    }
}
