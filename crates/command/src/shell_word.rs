//! Texts as words of shell commands.

/// Writes a text as one word of a shell command, in quotes if it needs them.
pub fn shell_word(text: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-_./".contains(char);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_takes_a_word_as_it_is() {
        assert_eq!(shell_word("a/b-c_1.rs"), "a/b-c_1.rs");
        assert_eq!(shell_word(""), "''");
        assert_eq!(shell_word("$HOME `x`"), "'$HOME `x`'");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
    }
}
