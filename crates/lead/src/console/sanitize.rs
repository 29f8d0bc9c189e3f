//! Removes what a terminal would act on from text of models and files.

use std::borrow::Cow;

/// The text without anything that a terminal would act on: control characters but for line ends
/// and tabs, and the marks that turn the direction of writing, with which a line can be made to
/// read as another.
pub(crate) fn sanitize(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_safe) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().filter(|char| is_safe(*char)).collect())
}

/// The start of a text, sanitized and on one line.
pub(crate) fn one_line(text: &str, limit: usize) -> String {
    let clean = sanitize(text);
    let words: Vec<&str> = clean.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(limit) {
        None => line,
        Some((end, _)) => {
            let start = line.get(..end).unwrap_or_default();
            format!("{start}…")
        }
    }
}

fn is_safe(char: char) -> bool {
    match char {
        '\n' | '\t' => true,
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => false,
        char => !char.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_removed() {
        let text = "\u{1b}]0;title\u{7}\u{1b}[2Jred\u{9b}31m\r\n\ttab\u{202e}txt.exe\u{7f}";
        assert_eq!(sanitize(text), "]0;title[2Jred31m\n\ttabtxt.exe");
    }

    #[test]
    fn plain_text_is_not_copied() {
        assert!(matches!(sanitize("žluťoučký kůň\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        assert_eq!(one_line("a\n  b\u{1b}c", 200), "a bc");
        assert_eq!(one_line("čšžýá", 3), "čšž…");
        assert_eq!(one_line("abc", 3), "abc");
    }
}
