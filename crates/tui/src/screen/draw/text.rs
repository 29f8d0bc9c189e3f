//! Cutting and filling text by the width it takes on a terminal.

use ratatui::text::Span;

/// How many cells a text takes.
fn width(text: &str) -> usize {
    Span::raw(text).width()
}

/// A text in as many lines as it needs. A word that fits on a line is not cut.
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

/// A text that takes exactly so many cells: filled with spaces, or cut with a mark.
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
    fn words_are_kept_whole_where_they_fit() {
        assert_eq!(wrap("one two three", 8), ["one two ", "three"]);
        assert_eq!(wrap("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(wrap("", 4), [""]);
        assert_eq!(wrap("愛愛愛", 4), ["愛愛", "愛"]);
    }

    #[test]
    fn texts_fit_their_columns() {
        assert_eq!(fit("al", 4), "al  ");
        assert_eq!(fit("alice", 4), "ali…");
        assert_eq!(width(&fit("愛愛愛", 4)), 4);
    }
}
