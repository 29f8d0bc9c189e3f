//! Wraps and pads text by its width on a terminal.

use ratatui::text::Span;

/// The width of a text in cells.
fn width(text: &str) -> usize {
    Span::raw(text).width()
}

/// Wraps a text. A word that fits on a line is not split.
pub(super) fn wrap(text: &str, limit: usize) -> Vec<String> {
    if width(text) <= limit {
        return vec![text.to_owned()];
    }
    let mut lines = vec![String::new()];
    for word in text.split_inclusive(' ') {
        let fits = |line: &String| width(line) + width(word.trim_end()) <= limit;
        if lines
            .last()
            .is_some_and(|line| !line.is_empty() && !fits(line))
        {
            lines.push(String::new());
        }
        for c in word.chars() {
            let mut buffer = [0; 4];
            let cells = width(c.encode_utf8(&mut buffer));
            if lines.last().is_some_and(|line| width(line) + cells > limit) {
                lines.push(String::new());
                if c == ' ' {
                    continue;
                }
            }
            if let Some(line) = lines.last_mut() {
                line.push(c);
            }
        }
    }
    lines
}

/// Pads or truncates a text to a width. A truncated text ends in `…`.
pub(super) fn fit(text: &str, cells: usize) -> String {
    let mut fitted = String::new();
    if width(text) <= cells {
        fitted.push_str(text);
    } else {
        for c in text.chars() {
            let mut buffer = [0; 4];
            if width(&fitted) + width(c.encode_utf8(&mut buffer)) + 1 > cells {
                break;
            }
            fitted.push(c);
        }
        fitted.push('…');
    }
    while width(&fitted) < cells {
        fitted.push(' ');
    }
    fitted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_fit_are_not_split() {
        assert_eq!(wrap("one two three", 8), ["one two ", "three"]);
        assert_eq!(wrap("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(wrap("", 4), [""]);
        assert_eq!(wrap("愛愛愛", 4), ["愛愛", "愛"]);
    }

    #[test]
    fn texts_are_padded_or_truncated() {
        assert_eq!(fit("al", 4), "al  ");
        assert_eq!(fit("alice", 4), "ali…");
        assert_eq!(width(&fit("愛愛愛", 4)), 4);
    }
}
