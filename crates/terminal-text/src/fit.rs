//! Wraps, pads and shortens text by its width on a terminal. The text is clean.

use unicode_width::UnicodeWidthStr;

/// A line is not wrapped to fewer cells than this beside its indentation.
const MIN_WRAPPED: usize = 12;

/// The width of a text in cells.
pub fn width(text: &str) -> usize {
    text.width()
}

fn char_width(c: char) -> usize {
    width(c.encode_utf8(&mut [0; 4]))
}

/// Wraps a text. A word that fits on a line is not split, and the indentation of the text is that of all
/// its lines.
pub fn wrap(text: &str, limit: usize) -> Vec<String> {
    if width(text) <= limit {
        return vec![text.to_owned()];
    }
    let words = text.trim_start_matches(' ');
    let indent = text.len() - words.len();
    if indent == 0 || limit < indent + MIN_WRAPPED {
        return wrap_words(words, limit);
    }
    let lines = wrap_words(words, limit - indent);
    let spaces = " ".repeat(indent);
    lines.iter().map(|line| format!("{spaces}{line}")).collect()
}

/// A label and a text beside it. The lines after the first stand under the text, not under the label.
pub fn wrap_beside(label: &str, text: &str, limit: usize) -> Vec<String> {
    let indent = width(label);
    if limit < indent + MIN_WRAPPED {
        return wrap(&format!("{label}{text}"), limit);
    }
    let lines = wrap(text, limit - indent).into_iter().enumerate();
    let spaces = " ".repeat(indent);
    let line = |(at, line): (usize, String)| match at {
        0 => format!("{label}{}", line.trim_end()),
        _ => format!("{spaces}{}", line.trim_end()),
    };
    lines.map(line).collect()
}

fn wrap_words(text: &str, limit: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let (mut line, mut cells) = (String::new(), 0);
    for word in text.split_inclusive(' ') {
        if cells > 0 && cells + width(word.trim_end()) > limit {
            lines.push(std::mem::take(&mut line));
            cells = 0;
        }
        for c in word.chars() {
            let wide = char_width(c);
            if cells > 0 && cells + wide > limit {
                lines.push(std::mem::take(&mut line));
                cells = 0;
                if c == ' ' {
                    continue;
                }
            }
            line.push(c);
            cells += wide;
        }
    }
    lines.push(line);
    lines
}

/// Pads a text to a width, or shortens it at its end, which then is `…`.
pub fn fit(text: &str, cells: usize) -> String {
    let mut fitted = text.to_owned();
    if width(text) > cells {
        fitted = start(text, cells.saturating_sub(1));
        if cells > 0 {
            fitted.push('…');
        }
    }
    pad(fitted, cells)
}

/// Pads a name to a width, or shortens it in its middle: names often differ at their ends.
pub fn fit_name(text: &str, cells: usize) -> String {
    if width(text) <= cells || cells < 5 {
        return fit(text, cells);
    }
    let tail = (cells - 1) / 2;
    let mut shortened = start(text, cells - 1 - tail);
    shortened.push('…');
    let reversed: String = text.chars().rev().collect();
    let end = start(&reversed, tail);
    shortened.extend(end.chars().rev());
    pad(shortened, cells)
}

/// Puts a text at the right end of a width.
pub fn fit_right(text: &str, cells: usize) -> String {
    let spaces = cells.saturating_sub(width(text));
    format!("{}{}", " ".repeat(spaces), fit(text, cells - spaces))
}

/// The first characters of a text that fit.
fn start(text: &str, cells: usize) -> String {
    let mut left = cells;
    let fits = |c: &char| {
        let wide = char_width(*c);
        let fits = wide <= left;
        left = left.saturating_sub(wide);
        fits
    };
    text.chars().take_while(fits).collect()
}

fn pad(mut text: String, cells: usize) -> String {
    let missing = cells.saturating_sub(width(&text));
    text.extend(std::iter::repeat_n(' ', missing));
    text
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
        let wrapped = wrap("  one two three four five", 16);
        assert_eq!(wrapped, ["  one two three ", "  four five"]);
    }

    #[test]
    fn a_text_beside_a_label_is_wrapped_under_itself() {
        let lines = wrap_beside("12:00 ", "one two three four", 18);
        assert_eq!(lines, ["12:00 one two", "      three four"]);
        assert_eq!(wrap_beside("12:00 ", "one", 18), ["12:00 one"]);
        let lines = wrap_beside("12:00 ", "  * one two three", 18);
        assert_eq!(lines, ["12:00 * one two", "      three"]);
        assert_eq!(wrap_beside("12345678 ", "abc", 10), ["12345678 ", "abc"]);
    }

    #[test]
    fn texts_are_padded_or_truncated() {
        assert_eq!(fit("al", 4), "al  ");
        assert_eq!(fit("alice", 4), "ali…");
        assert_eq!(fit("alice", 0), "");
        assert_eq!(width(&fit("愛愛愛", 4)), 4);
        assert_eq!(fit_right("12", 4), "  12");
        assert_eq!(fit_right("12345", 4), "123…");
    }

    #[test]
    fn names_are_shortened_in_their_middle() {
        assert_eq!(fit_name("alice", 7), "alice  ");
        assert_eq!(fit_name("backend-reviewer-2", 9), "back…er-2");
        assert_eq!(fit_name("backend-reviewer-2", 8), "back…r-2");
        assert_eq!(width(&fit_name("愛愛愛愛愛", 6)), 6);
    }
}
