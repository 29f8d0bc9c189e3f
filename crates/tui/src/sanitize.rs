//! Removes control characters, so that text of a file can never control the terminal.

/// Whether a character controls the terminal or the direction of the text after it.
fn is_control(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// The text on one line, without control characters.
pub fn sanitize(text: &str) -> String {
    let sanitized = text.chars().map(|c| match c {
        '\n' | '\t' | '\r' => ' ',
        c if is_control(c) => char::REPLACEMENT_CHARACTER,
        c => c,
    });
    sanitized.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_control_character_is_left() {
        let text = sanitize("a\x1b[2J\tb\r\n\u{9b}31m\u{202e}c\u{7f}");
        assert_eq!(text, "a\u{fffd}[2J b  \u{fffd}31m\u{fffd}c\u{fffd}");
        assert_eq!(sanitize("Žofie → 愛"), "Žofie → 愛");
    }
}
