//! A tool call and its result as lines: commands with the end of their output, edits as differences.

use crate::text_line::{LineKind, TextLine};
use rules::{call_line, main_argument};
use serde_json::{Map, Value};

/// The maximum number of lines of a command.
const MAX_COMMAND: usize = 6;
/// The number of lines that are shown of the end of an output.
const MAX_OUTPUT: usize = 6;
/// The maximum number of lines of a written file or of an edit.
const MAX_CHANGED: usize = 16;
/// The maximum number of characters of one line.
const MAX_CHARS: usize = 500;

/// A call whose result has not come yet.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) id: String,
    tool: String,
    input: Value,
}

impl Call {
    pub(super) const fn new(id: String, tool: String, input: Value) -> Self {
        Self { id, tool, input }
    }

    /// The call while it runs.
    pub(super) fn running(&self) -> Vec<TextLine> {
        let mut lines = self.heading();
        if let Some(last) = lines.last_mut() {
            last.text.push_str(" ...");
        }
        lines
    }

    /// The call with its result.
    pub(super) fn finished(&self, content: &str, is_error: bool) -> Vec<TextLine> {
        let mut lines = self.heading();
        let shown = match is_error {
            true => None,
            false => self.change(),
        };
        lines.extend(shown.unwrap_or_else(|| self.output(content, is_error)));
        lines
    }

    /// The command, or the tool and what it acts on.
    fn heading(&self) -> Vec<TextLine> {
        let main = main_argument(&self.input);
        let mut text = call_line(&self.tool, main.as_ref().map(|(_, text)| text.as_str()));
        if !self.is_change() {
            let rest = others(&self.input, main.as_ref().map(|(name, _)| *name));
            text.push_str(&rest);
        }
        let mut lines = Vec::new();
        for (at, line) in first(text.lines(), MAX_COMMAND).enumerate() {
            let indent = if at == 0 { "" } else { "  " };
            lines.push(line_of(LineKind::Call, indent, &line));
        }
        lines
    }

    /// Whether the arguments say all that the call changes or sends.
    fn is_change(&self) -> bool {
        let tool = self.tool.as_str();
        matches!(
            tool,
            "write_file" | "edit_file" | "send_message" | "broadcast"
        )
    }

    /// What a successful call has changed or sent. `None` if its result says that.
    fn change(&self) -> Option<Vec<TextLine>> {
        let text = |name: &str| self.input.get(name).and_then(Value::as_str);
        Some(match self.tool.as_str() {
            "write_file" => prefixed(LineKind::Added, "  + ", text("content")?, MAX_CHANGED),
            "edit_file" => match self.input.get("edits").and_then(Value::as_array) {
                Some(edits) => edits.iter().filter_map(edit).flatten().collect(),
                None => edit(&self.input)?,
            },
            "send_message" | "broadcast" => {
                prefixed(LineKind::Output, "  ", text("content")?, MAX_CHANGED)
            }
            _ => return None,
        })
    }

    fn output(&self, content: &str, is_error: bool) -> Vec<TextLine> {
        let kind = match is_error {
            true => LineKind::Failure,
            false => LineKind::Output,
        };
        let content = readable(content.trim());
        let all: Vec<&str> = content.lines().collect();
        if self.tool == "read_file" && !is_error {
            return vec![line_of(kind, "  ", &count(all.len(), "line"))];
        }
        let mut lines = Vec::new();
        let before = all.len().saturating_sub(MAX_OUTPUT);
        if before > 0 {
            let before = count(before, "line");
            lines.push(line_of(kind, "  ", &format!("... {before} before")));
        }
        let last = all.iter().skip(before);
        lines.extend(last.map(|line| line_of(kind, "  ", line)));
        if let (true, Some(first)) = (is_error, lines.first_mut()) {
            first.text = format!("  failed: {}", first.text.trim_start());
        }
        lines
    }
}

/// The lines of one replacement: what is the same at its start and its end is left out.
fn edit(edit: &Value) -> Option<Vec<TextLine>> {
    let text = |name: &str| edit.get(name).and_then(Value::as_str);
    let old: Vec<&str> = text("old_text")?.lines().collect();
    let new: Vec<&str> = text("new_text")?.lines().collect();
    let same = |pair: &(&&str, &&str)| pair.0 == pair.1;
    let start = old.iter().zip(&new).take_while(same).count();
    let (old, new) = (old.get(start..)?, new.get(start..)?);
    let end = old
        .iter()
        .rev()
        .zip(new.iter().rev())
        .take_while(same)
        .count();
    let changed = |kind, mark, lines: &[&str]| {
        let lines = lines.get(..lines.len() - end).unwrap_or_default();
        let shown = first(lines.iter().copied(), MAX_CHANGED);
        let shown = shown.map(|line| line_of(kind, mark, &line));
        shown.collect::<Vec<_>>()
    };
    let mut lines = changed(LineKind::Removed, "  - ", old);
    lines.extend(changed(LineKind::Added, "  + ", new));
    Some(lines)
}

/// The first lines of a text, each with a mark.
fn prefixed(kind: LineKind, mark: &str, text: &str, limit: usize) -> Vec<TextLine> {
    let lines = first(text.lines(), limit);
    lines.map(|line| line_of(kind, mark, &line)).collect()
}

/// The first lines, and how many more there are.
fn first<'a>(lines: impl Iterator<Item = &'a str>, limit: usize) -> impl Iterator<Item = String> {
    let all: Vec<&str> = lines.collect();
    let more = all.len().saturating_sub(limit);
    let note = (more > 0).then(|| format!("... {}", count(more, "more line")));
    let shown: Vec<String> = all.into_iter().take(limit).map(str::to_owned).collect();
    shown.into_iter().chain(note)
}

fn line_of(kind: LineKind, indent: &str, text: &str) -> TextLine {
    TextLine::new(kind, &format!("{indent}{}", cut(text.trim_end())))
}

/// As in `1 line` or `7 lines`.
fn count(number: usize, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        number => format!("{number} {noun}s"),
    }
}

/// The first characters of a line.
fn cut(text: &str) -> String {
    let mut kept: String = text.chars().take(MAX_CHARS).collect();
    if kept.len() < text.len() {
        kept.push_str("...");
    }
    kept
}

/// The arguments besides the main one, as in ` (status completed, owner bob)`.
fn others(input: &Value, main: Option<&str>) -> String {
    let Value::Object(fields) = input else {
        return String::new();
    };
    let shown = fields
        .iter()
        .filter(|(name, _)| Some(name.as_str()) != main);
    let shown: Vec<String> = shown
        .map(|(name, value)| format!("{} {}", name.replace('_', " "), inline(value)))
        .collect();
    match shown.is_empty() {
        true => String::new(),
        false => format!(" ({})", shown.join(", ")),
    }
}

/// A value on one line, without the signs of JSON.
fn inline(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        Value::Array(values) => {
            let values: Vec<String> = values.iter().map(inline).collect();
            values.join(", ")
        }
        Value::Object(fields) => {
            let fields = fields.iter();
            let fields: Vec<String> = fields
                .map(|(name, value)| format!("{name} {}", inline(value)))
                .collect();
            fields.join(", ")
        }
    }
}

/// A result that is JSON as lines of names and values; any other as it is.
fn readable(content: &str) -> String {
    if !content.starts_with(['{', '[']) {
        return content.to_owned();
    }
    let object = |fields: &Map<String, Value>| {
        let fields = fields.iter();
        let fields: Vec<String> = fields
            .map(|(name, value)| format!("{name}: {}", inline(value)))
            .collect();
        fields.join("\n")
    };
    match serde_json::from_str(content) {
        Ok(Value::Object(fields)) => object(&fields),
        Ok(Value::Array(values)) => {
            let values: Vec<String> = values.iter().map(inline).collect();
            values.join("\n")
        }
        Ok(_) | Err(_) => content.to_owned(),
    }
}
