//! The beginning of a text of models and files, on one line.

/// The start of a text on one line, without anything that a terminal acts on.
pub(crate) fn one_line(text: &str, limit: usize) -> String {
    let clean = terminal_text::clean(text);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_between_characters() {
        assert_eq!(one_line("a\n  b\u{1b}c", 200), "a b\u{fffd}c");
        assert_eq!(one_line("čšžýá", 3), "čšž…");
        assert_eq!(one_line("abc", 3), "abc");
    }
}
