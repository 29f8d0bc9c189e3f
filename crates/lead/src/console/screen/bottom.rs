//! The lines at the bottom, which change.

use super::super::PROMPT;
use super::line_editor::LineEditor;
use super::width::{self, Span, fit, paint};
use super::{Screen, completion, spinner, status};
use std::time::Instant;

/// What stands in the place of the prompt while the lead leaves.
const LEAVING: &str = "leaving; Ctrl-C hurries";

/// The lines at the bottom.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bottom {
    pub(crate) lines: Vec<String>,
    /// The row and the column of the cursor.
    pub(crate) cursor: (usize, usize),
}

impl Screen {
    /// The bottom as it is now.
    pub(crate) fn bottom(&self, now: Instant) -> Bottom {
        if self.is_over {
            return Bottom::default();
        }
        let width = self.width - 1;
        let mut lines = self.stream.partial(width, (self.height / 2).max(2));
        for text in &self.queued {
            let text = format!("queued: {}", terminal_text::one_line(text));
            lines.push(self.colour.dim(&fit(&text, width)));
        }
        let working = self
            .members_since
            .map(|since| (self.status.working.as_slice(), since));
        if let Some(spans) = spinner::line(self.turn.as_ref(), working, now) {
            lines.push(self.fitting(spans, width));
        }
        let editor = self.editor.as_ref().filter(|_| self.has_prompt());
        if self.editor.is_some() && self.is_leaving {
            lines.push(self.colour.dim(&fit(LEAVING, width)));
        }
        let mut bottom = match editor {
            Some(editor) => self.typing(editor, width),
            None => Bottom::default(),
        };
        // Only the last lines fit, and the cursor is among them.
        let room = self.height.saturating_sub(1);
        if bottom.lines.len() > room {
            let above = bottom.cursor.0.saturating_sub(room - 1);
            bottom.lines.drain(..above);
            bottom.lines.truncate(room);
            bottom.cursor.0 -= above;
        }
        let left_out = (lines.len() + bottom.lines.len()).saturating_sub(room);
        lines.drain(..left_out.min(lines.len()));
        match editor {
            Some(_) => bottom.cursor.0 += lines.len(),
            None => bottom.cursor = (lines.len().saturating_sub(1), 0),
        }
        lines.append(&mut bottom.lines);
        bottom.lines = lines;
        bottom
    }

    /// What can be completed, the status, and the line that is being typed.
    fn typing(&self, editor: &LineEditor, width: usize) -> Bottom {
        let mut lines = Vec::new();
        for hint in self.hints(editor) {
            lines.push(self.colour.dim(&fit(&format!("  {hint}"), width)));
        }
        let status = status::line(&self.work, &self.status, self.context, width);
        lines.push(paint(&status, self.colour));
        let prompt = self.answering.as_ref().and_then(|pressed| pressed.key.text);
        let rows = editor.rows(prompt.unwrap_or(PROMPT), width);
        let cursor = (lines.len() + rows.cursor.0, rows.cursor.1);
        lines.extend(rows.rows);
        Bottom { lines, cursor }
    }

    /// What can be chosen from: what the last completion left open, else the commands that begin like this.
    fn hints(&self, editor: &LineEditor) -> Vec<String> {
        if let Some(pressed) = self.chosen_by(editor.text()) {
            return vec![format!("Enter answers request {}", pressed.id)];
        }
        let most = completion::MOST.min(self.height / 3);
        let mut hints = match completion::wanted(editor.text()) {
            _ if !self.choices.is_empty() => self.choices.clone(),
            Some(completion::Wanted::Command(start)) if self.answering.is_none() => {
                completion::hints(&start)
            }
            Some(_) | None => Vec::new(),
        };
        let more = hints.len().saturating_sub(most);
        if more > 0 {
            hints.truncate(most);
            hints.push(format!("and {more} more"));
        }
        hints
    }

    /// Spans on one line of at most this many columns.
    fn fitting(&self, spans: Vec<Span>, width: usize) -> String {
        let mut room = width;
        let fitted = spans.into_iter().map(|span| {
            let text = match room {
                0 => String::new(),
                room => fit(&span.text, room),
            };
            room = room.saturating_sub(width::columns(&text));
            Span::new(span.style, text)
        });
        let fitted: Vec<Span> = fitted.collect();
        paint(&fitted, self.colour)
    }
}
