//! Words of others, made harmless: what a file says must never reach a terminal as a command.

/// Whether a character can do something to a terminal or to the order of what follows it.
fn is_harmful(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// The text on one line.
pub fn harmless(text: &str) -> String {
    let harmless = text.chars().map(|c| match c {
        '\n' | '\t' | '\r' => ' ',
        c if is_harmful(c) => char::REPLACEMENT_CHARACTER,
        c => c,
    });
    harmless.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_obeys_is_left() {
        let text = harmless("a\x1b[2J\tb\r\n\u{9b}31m\u{202e}c\u{7f}");
        assert_eq!(text, "a\u{fffd}[2J b  \u{fffd}31m\u{fffd}c\u{fffd}");
        assert_eq!(harmless("Žofie → 愛"), "Žofie → 愛");
    }
}
