//! Keys that do not show themselves.

use std::fmt;

/// What stands in the place of a key that was taken out of a text.
const PLACEHOLDER: &str = "[secret]";

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

    /// The text with every occurrence of the key taken out. Servers and
    /// gateways like to repeat the key that they refuse.
    pub fn scrub(&self, text: &str) -> String {
        if self.0.is_empty() {
            text.to_owned()
        } else {
            text.replace(&self.0, PLACEHOLDER)
        }
    }
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
        let secret = Secret::new(" sk-123\n");
        assert_eq!(format!("{secret:?}"), "[secret]");
        assert_eq!(secret.expose(), "sk-123");
        assert_eq!(secret.scrub("bad key sk-123!"), "bad key [secret]!");
        assert_eq!(Secret::new("").scrub("text"), "text");
    }
}
