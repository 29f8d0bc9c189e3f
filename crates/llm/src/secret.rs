//! Keys that are never printed.

use std::fmt;

/// The text that replaces a key.
const PLACEHOLDER: &str = "[secret]";
/// A shorter key is not a secret: a server of the user's own accepts any word, such as `x` or `test`, and
/// removing that word would only make texts unreadable.
const SHORTEST_SECRET: usize = 8;
/// A shorter key may be part of a longer word by chance, so it is removed only where it stands alone.
const SHORTEST_UNIQUE: usize = 16;

/// A key. It is printed nowhere: [`Debug`](fmt::Debug) shows a placeholder, and
/// there is no `Display` and no serialisation.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a key. Spaces and line ends around it, as files and copied texts
    /// often have them, are dropped.
    pub fn new(key: impl AsRef<str>) -> Self {
        Self(key.as_ref().trim().to_owned())
    }

    /// The key itself, for the one place that sends it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether the key is long enough to be a secret, so that it is taken out of texts.
    pub(crate) fn is_secret(&self) -> bool {
        self.0.len() >= SHORTEST_SECRET
    }

    /// The text with every occurrence of the key replaced. Servers and gateways often repeat a key that
    /// they refuse.
    pub fn scrub(&self, text: &str) -> String {
        let key = self.0.as_str();
        if !self.is_secret() {
            return text.to_owned();
        }
        let mut clean = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once(key) {
            clean.push_str(before);
            let is_part_of_word = ends_in_word(&clean) || starts_with_word(after);
            match key.len() < SHORTEST_UNIQUE && is_part_of_word {
                true => clean.push_str(key),
                false => clean.push_str(PLACEHOLDER),
            }
            rest = after;
        }
        clean.push_str(rest);
        clean
    }
}

fn ends_in_word(text: &str) -> bool {
    text.chars().next_back().is_some_and(char::is_alphanumeric)
}

fn starts_with_word(text: &str) -> bool {
    text.chars().next().is_some_and(char::is_alphanumeric)
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PLACEHOLDER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_shows_nothing_and_cleans_texts() {
        let secret = Secret::new(" sk-12345\n");
        assert_eq!(format!("{secret:?}"), "[secret]");
        assert_eq!(secret.expose(), "sk-12345");
        assert_eq!(secret.scrub("bad key sk-12345!"), "bad key [secret]!");
        assert_eq!(secret.scrub("sk-12345 sk-12345"), "[secret] [secret]");
        assert_eq!(Secret::new("").scrub("text"), "text");
    }

    #[test]
    fn a_dummy_key_leaves_innocent_words_alone() {
        let text = "the next test of task-mail failed: unknown task-mailbox";
        for dummy in ["x", "test", "task", "ollama"] {
            assert_eq!(Secret::new(dummy).scrub(text), text, "{dummy}");
        }
        let short = Secret::new("task-mail");
        let expected = "the next test of [secret] failed: unknown task-mailbox";
        assert_eq!(short.scrub(text), expected);
        let long = Secret::new("0123456789abcdef");
        assert_eq!(long.scrub("x0123456789abcdefx"), "x[secret]x");
    }
}
