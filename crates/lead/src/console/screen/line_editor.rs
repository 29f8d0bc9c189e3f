//! The line that is being typed. It may have several lines.

use super::width::columns;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tui_input::{Input, InputRequest};
use unicode_width::UnicodeWidthChar;

/// What a key did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Edited {
    /// The key means nothing to the editor.
    Ignored,
    Changed,
    /// The text is complete.
    Submitted(String),
}

/// The text with its cursor, and what was typed before.
#[derive(Debug, Default)]
pub(crate) struct LineEditor {
    input: Input,
    history: Vec<String>,
    /// The entry of the history that is shown, and what was typed before it was.
    browsed: Option<(usize, String)>,
}

/// The text as rows of a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rows {
    pub(crate) rows: Vec<String>,
    /// The row and the column of the cursor.
    pub(crate) cursor: (usize, usize),
}

impl LineEditor {
    pub(crate) fn new(history: Vec<String>) -> Self {
        Self {
            history,
            ..Self::default()
        }
    }

    pub(crate) fn text(&self) -> &str {
        self.input.value()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text().is_empty()
    }

    /// The text up to the cursor.
    pub(crate) fn before_cursor(&self) -> String {
        self.text().chars().take(self.input.cursor()).collect()
    }

    pub(crate) fn clear(&mut self) {
        self.input.reset();
        self.browsed = None;
    }

    /// Inserts text at the cursor, such as what was pasted. Tabs and line ends of other systems become
    /// what can be edited.
    pub(crate) fn insert(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        for char in text.replace('\t', "    ").chars() {
            if char == '\n' || !terminal_text::is_hostile(char) {
                self.input.handle(InputRequest::InsertChar(char));
            }
        }
    }

    /// Replaces the last characters before the cursor.
    pub(crate) fn replace_before(&mut self, count: usize, text: &str) {
        let before = self.before_cursor();
        let kept: String = {
            let all = before.chars().count();
            before.chars().take(all.saturating_sub(count)).collect()
        };
        let after: String = self.text().chars().skip(self.input.cursor()).collect();
        let cursor = kept.chars().count() + text.chars().count();
        let whole = format!("{kept}{text}{after}");
        self.input = std::mem::take(&mut self.input)
            .with_value(whole)
            .with_cursor(cursor);
    }

    /// Keeps a line for later.
    pub(crate) fn remember(&mut self, line: &str) {
        if !line.trim().is_empty() && self.history.last().map(String::as_str) != Some(line) {
            self.history.push(line.to_owned());
        }
    }

    pub(crate) fn key(&mut self, key: KeyEvent) -> Edited {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        let shift = key.modifiers.contains(KeyModifiers::SHIFT);
        match key.code {
            KeyCode::Enter if alt || shift => self.edit(InputRequest::InsertChar('\n')),
            KeyCode::Enter => self.enter(),
            KeyCode::Up => self.up(),
            KeyCode::Down => self.down(),
            KeyCode::Char('p') if control => self.up(),
            KeyCode::Char('n') if control => self.down(),
            KeyCode::Home => self.go_to_line_start(),
            KeyCode::End => self.go_to_line_end(),
            KeyCode::Char('a') if control => self.go_to_line_start(),
            KeyCode::Char('e') if control => self.go_to_line_end(),
            _ => match request(key) {
                Some(request) => self.edit(request),
                None => Edited::Ignored,
            },
        }
    }

    fn edit(&mut self, request: InputRequest) -> Edited {
        self.input.handle(request);
        Edited::Changed
    }

    /// A backslash in front of Enter begins a new line.
    fn enter(&mut self) -> Edited {
        if self.before_cursor().ends_with('\\') {
            self.replace_before(1, "\n");
            return Edited::Changed;
        }
        let text = self.text().to_owned();
        self.clear();
        Edited::Submitted(text)
    }

    /// The start and the end of the line that the cursor is in, and the cursor, in characters.
    fn line(&self) -> (usize, usize, usize) {
        let cursor = self.input.cursor();
        let chars: Vec<char> = self.text().chars().collect();
        let before = chars.iter().take(cursor);
        let start = before.rev().take_while(|char| **char != '\n').count();
        let after = chars.iter().skip(cursor);
        let end = after.take_while(|char| **char != '\n').count();
        (cursor - start, cursor + end, cursor)
    }

    fn go_to_line_start(&mut self) -> Edited {
        let (start, _, _) = self.line();
        self.edit(InputRequest::SetCursor(start))
    }

    fn go_to_line_end(&mut self) -> Edited {
        let (_, end, _) = self.line();
        self.edit(InputRequest::SetCursor(end))
    }

    /// Goes to the line above, or from the first one to what was typed before.
    fn up(&mut self) -> Edited {
        let (start, _, cursor) = self.line();
        if start > 0 {
            self.edit(InputRequest::SetCursor(start - 1));
            let (above, end, _) = self.line();
            return self.edit(InputRequest::SetCursor((above + cursor - start).min(end)));
        }
        let at = match &self.browsed {
            None => self.history.len(),
            Some((at, _)) => *at,
        };
        if at > 0 {
            let draft = self.text().to_owned();
            let (_, draft) = self.browsed.take().unwrap_or((at, draft));
            self.show_entry(at - 1, draft);
        }
        Edited::Changed
    }

    fn down(&mut self) -> Edited {
        let (start, end, cursor) = self.line();
        if end < self.text().chars().count() {
            self.edit(InputRequest::SetCursor(end + 1));
            let (below, end, _) = self.line();
            return self.edit(InputRequest::SetCursor((below + cursor - start).min(end)));
        }
        match self.browsed.take() {
            Some((at, draft)) if at + 1 < self.history.len() => self.show_entry(at + 1, draft),
            Some((_, draft)) => self.input = Input::new(draft),
            None => {}
        }
        Edited::Changed
    }

    fn show_entry(&mut self, at: usize, draft: String) {
        let entry = self.history.get(at).cloned().unwrap_or_default();
        self.input = Input::new(entry);
        self.browsed = Some((at, draft));
    }

    /// The text behind a prompt, in rows of this many columns.
    pub(crate) fn rows(&self, prompt: &str, width: usize) -> Rows {
        let indent = columns(prompt).min(width / 2);
        let width = width.max(indent + 2);
        let mut rows = vec![prompt.to_owned()];
        let mut column = columns(prompt);
        let mut cursor = (0, column);
        let end = self.text().chars().count();
        for (place, char) in self.text().chars().chain([' ']).enumerate() {
            let wide = char.width().unwrap_or(0);
            if column + wide > width {
                rows.push(" ".repeat(indent));
                column = indent;
            }
            if place == self.input.cursor() {
                cursor = (rows.len() - 1, column);
            }
            if char == '\n' {
                rows.push(" ".repeat(indent));
                column = indent;
            } else if let (Some(row), true) = (rows.last_mut(), place < end) {
                row.push(char);
                column += wide;
            }
        }
        Rows { rows, cursor }
    }
}

/// What a key asks the text for.
fn request(key: KeyEvent) -> Option<InputRequest> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let alt = key.modifiers.contains(KeyModifiers::ALT);
    Some(match (key.code, control, alt) {
        (KeyCode::Char('b'), true, _) => InputRequest::GoToPrevChar,
        (KeyCode::Char('f'), true, _) => InputRequest::GoToNextChar,
        (KeyCode::Char('d'), true, _) | (KeyCode::Delete, false, false) => {
            InputRequest::DeleteNextChar
        }
        (KeyCode::Char('h'), true, _) => InputRequest::DeletePrevChar,
        (KeyCode::Char('k'), true, _) => InputRequest::DeleteTillEnd,
        (KeyCode::Char('u'), true, _) => InputRequest::DeleteFromStart,
        (KeyCode::Char('w'), true, _) | (KeyCode::Backspace, _, true) => {
            InputRequest::DeletePrevWord
        }
        (KeyCode::Char('y'), true, _) => InputRequest::Yank,
        (KeyCode::Char('b'), _, true) => InputRequest::GoToPrevWord,
        (KeyCode::Char('f'), _, true) => InputRequest::GoToNextWord,
        (KeyCode::Char('d'), _, true) | (KeyCode::Delete, ..) => InputRequest::DeleteNextWord,
        (KeyCode::Char(char), false, false) if !terminal_text::is_hostile(char) => {
            InputRequest::InsertChar(char)
        }
        (KeyCode::Backspace, ..) => InputRequest::DeletePrevChar,
        (KeyCode::Left, false, false) => InputRequest::GoToPrevChar,
        (KeyCode::Right, false, false) => InputRequest::GoToNextChar,
        (KeyCode::Left, ..) => InputRequest::GoToPrevWord,
        (KeyCode::Right, ..) => InputRequest::GoToNextWord,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(code: KeyCode) -> KeyEvent {
        KeyEvent::new(code, KeyModifiers::NONE)
    }

    fn typed(editor: &mut LineEditor, text: &str) {
        for char in text.chars() {
            editor.key(key(KeyCode::Char(char)));
        }
    }

    #[test]
    fn a_backslash_and_alt_enter_begin_a_new_line() {
        let mut editor = LineEditor::default();
        typed(&mut editor, "one\\");
        assert_eq!(editor.key(key(KeyCode::Enter)), Edited::Changed);
        typed(&mut editor, "two");
        editor.key(KeyEvent::new(KeyCode::Enter, KeyModifiers::ALT));
        typed(&mut editor, "three");
        let rows = editor.rows("> ", 20);
        assert_eq!(rows.rows, ["> one", "  two", "  three"]);
        assert_eq!(rows.cursor, (2, 7));
        editor.key(key(KeyCode::Up));
        editor.key(key(KeyCode::Up));
        typed(&mut editor, "!");
        let submitted = editor.key(key(KeyCode::Enter));
        assert_eq!(submitted, Edited::Submitted("one!\ntwo\nthree".to_owned()));
        assert!(editor.is_empty());
    }

    #[test]
    fn what_was_typed_before_comes_back_and_the_draft_is_kept() {
        let mut editor = LineEditor::new(vec!["first".to_owned(), "second".to_owned()]);
        typed(&mut editor, "dra");
        for (code, expected) in [
            (KeyCode::Up, "second"),
            (KeyCode::Up, "first"),
            (KeyCode::Up, "first"),
            (KeyCode::Down, "second"),
            (KeyCode::Down, "dra"),
        ] {
            editor.key(key(code));
            assert_eq!(editor.text(), expected);
        }
    }

    #[test]
    fn long_lines_and_wide_characters_are_broken_into_rows() {
        let mut editor = LineEditor::default();
        editor.insert("愛愛愛\tx\u{1b}[2J\r\ny");
        let rows = editor.rows("> ", 8);
        assert_eq!(rows.rows, ["> 愛愛愛", "      x[", "  2J", "  y"]);
        assert_eq!(rows.cursor, (3, 3));
        let mut editor = LineEditor::default();
        typed(&mut editor, "123456");
        // The cursor needs a place of its own.
        assert_eq!(editor.rows("> ", 8).cursor, (1, 2));
    }
}
