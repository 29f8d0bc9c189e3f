//! Text and the columns it takes on a terminal.

use super::super::colour::{Colour, Style};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The columns that a text takes.
pub(crate) fn columns(text: &str) -> usize {
    text.width()
}

/// The start of a line that fits into this many columns, with a mark if something was left out.
pub(crate) fn fit(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    let mut taken = 0;
    let mut start = String::new();
    for char in text.chars() {
        taken += char.width().unwrap_or(0);
        if taken + 1 > width {
            break;
        }
        start.push(char);
    }
    start.push('…');
    start
}

/// A part of a line that looks the same throughout. Its text is clean and has no line ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) style: Style,
    pub(crate) text: String,
}

impl Span {
    pub(crate) fn new(style: Style, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { style, text }
    }

    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self::new(Style::Plain, text)
    }
}

/// Spans as one coloured line.
pub(crate) fn paint(spans: &[Span], colour: Colour) -> String {
    let painted = spans
        .iter()
        .map(|span| colour.paint(span.style, &span.text));
    painted.collect()
}

/// Breaks spans into lines of at most this many columns, at spaces where there are some.
pub(crate) fn wrap(spans: &[Span], width: usize) -> Vec<Vec<Span>> {
    let mut lines: Vec<Vec<Span>> = vec![Vec::new()];
    let mut taken = 0;
    for (style, word) in words(spans) {
        let is_space = word.trim().is_empty();
        if taken + columns(&word) > width && taken > 0 {
            lines.push(Vec::new());
            taken = 0;
            if is_space {
                continue;
            }
        }
        for part in parts(&word, width) {
            if taken > 0 && taken + columns(&part) > width {
                lines.push(Vec::new());
                taken = 0;
            }
            taken += columns(&part);
            push(lines.last_mut(), style, &part);
        }
    }
    lines
}

fn push(line: Option<&mut Vec<Span>>, style: Style, text: &str) {
    let Some(line) = line else { return };
    match line.last_mut().filter(|last| last.style == style) {
        Some(last) => last.text.push_str(text),
        None => line.push(Span::new(style, text)),
    }
}

/// Words and the spaces between them. A word that changes its style is two.
fn words(spans: &[Span]) -> Vec<(Style, String)> {
    let mut words: Vec<(Style, String)> = Vec::new();
    for span in spans {
        let mut word = String::new();
        for char in span.text.chars() {
            let ends = char == ' ' || word.ends_with(' ');
            if ends && !word.is_empty() {
                words.push((span.style, std::mem::take(&mut word)));
            }
            word.push(char);
        }
        if !word.is_empty() {
            words.push((span.style, word));
        }
    }
    words
}

/// A word in parts that fit into a line each.
fn parts(word: &str, width: usize) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut taken = 0;
    for char in word.chars() {
        let wide = char.width().unwrap_or(0);
        if taken + wide > width && taken > 0 {
            parts.push(String::new());
            taken = 0;
        }
        taken += wide;
        if let Some(part) = parts.last_mut() {
            part.push(char);
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_by_columns_and_not_by_characters() {
        assert_eq!(fit("abc", 3), "abc");
        assert_eq!(fit("abcd", 3), "ab…");
        assert_eq!(fit("愛愛愛", 5), "愛愛…");
    }

    #[test]
    fn spans_are_broken_at_spaces_and_keep_their_styles() {
        let spans = [Span::plain("one two "), Span::new(Style::Bold, "three")];
        let lines = wrap(&spans, 9);
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert_eq!(paint(&lines[1], Colour::On), "\u{1b}[1mthree\u{1b}[0m");
        let lines = wrap(&[Span::plain("abcdefgh")], 3);
        let lines: Vec<String> = lines.iter().map(|line| paint(line, Colour::Off)).collect();
        assert_eq!(lines, ["abc", "def", "gh"]);
    }
}
