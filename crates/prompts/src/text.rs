//! Texts that people wrote, as a model may see them.

/// The text of a file. What is no UTF-8 is replaced, and what cannot be seen is left out.
pub(crate) fn readable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.chars().filter(|c| !is_hidden(*c)).collect()
}

/// A text of others on one line, so that it cannot pass for a line of the program.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a character cannot be seen: whoever reads a file before trusting it would not find what is
/// written with these, and a model would.
const fn is_hidden(c: char) -> bool {
    matches!(c,
        '\0'..='\u{8}'
        | '\u{e}'..='\u{1f}'
        | '\u{200b}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{e0000}'..='\u{e007f}')
}
