//! Errors that name the file, the line, the key, and what is expected there.

use std::path::{Path, PathBuf};
use trust::OWNERS_VARIABLE;

/// Terms of serde, and what they mean to a person who writes a file.
const PLAIN_TERMS: [(&str, &str); 4] = [
    ("unknown field", "unknown key"),
    ("unknown variant", "unknown value"),
    (
        "expected u64",
        "expected a whole number that is not negative",
    ),
    ("expected f64", "expected an amount in dollars"),
];

/// Why the configuration cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    #[error("cannot read {}: {cause}", path.display())]
    Unreadable { path: PathBuf, cause: String },
    #[error(
        "{} belongs to the user with the number {owner}, and not to you: what it says is not obeyed; \
         if it is yours, take it with `sudo chown \"$(id -u)\" FILE`, or export {OWNERS_VARIABLE}={owner}",
        path.display()
    )]
    ForeignOwner { path: PathBuf, owner: u32 },
    #[error("{}:{line}: {message}", path.display())]
    Invalid {
        path: PathBuf,
        line: usize,
        message: String,
    },
    #[error("the variable {name} is {value:?}: {message}")]
    Variable {
        name: &'static str,
        value: String,
        message: String,
    },
}

impl ConfigError {
    pub(crate) fn from_toml(path: &Path, text: &str, mut error: toml::de::Error) -> Self {
        let start = error.span().map_or(0, |span| span.start);
        let before = text.get(..start).unwrap_or(text);
        // Without the input, the error displays its message and then the key, as in "in `budget`".
        error.set_input(None);
        let shown = error.to_string();
        let key = shown.strip_prefix(error.message()).unwrap_or_default();
        let message = explain(error.message());
        Self::Invalid {
            path: path.to_path_buf(),
            line: before.matches('\n').count() + 1,
            message: match key.trim().strip_prefix("in ") {
                Some(key) => format!("{key}: {message}"),
                None => message,
            },
        }
    }
}

/// The message of serde in plain words, with the name that was probably meant.
fn explain(message: &str) -> String {
    let message = PLAIN_TERMS
        .iter()
        .fold(message.to_owned(), |message, (term, plain)| {
            message.replace(term, plain)
        });
    if !message.starts_with("unknown ") {
        return message;
    }
    // The unknown name, and then the known ones, all of them in backquotes.
    let mut parts = message.split('`');
    let what = parts.next().unwrap_or_default();
    let mut names = parts.step_by(2);
    let unknown = names.next().unwrap_or_default();
    match nearest(unknown, names) {
        Some(near) => format!("{what}`{unknown}`; did you mean `{near}`?"),
        None => message,
    }
}

/// The known name that is nearest to a mistyped one, if at most a third of its characters differ.
fn nearest<'a>(typed: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let measured = known.map(|name| (strsim::levenshtein(typed, name), name));
    let (distance, name) = measured.min_by_key(|(distance, _)| *distance)?;
    let length = name.chars().count().max(typed.chars().count());
    (distance <= length.div_ceil(3)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_error_is_recognized_and_a_different_name_is_not() {
        let known = ["model", "max_tokens", "max_turns", "members"];
        let nearest = |typed| nearest(typed, known.into_iter());
        assert_eq!(nearest("modle"), Some("model"));
        assert_eq!(nearest("max-tokens"), Some("max_tokens"));
        assert_eq!(nearest("maxtokens"), Some("max_tokens"));
        assert_eq!(nearest("colour"), None);
    }
}
