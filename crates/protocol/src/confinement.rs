//! How the commands of a member are confined: what people choose, and what is in force.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Whether a member's commands run in a sandbox.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum SandboxMode {
    /// In the best one that the machine has.
    #[default]
    Auto,
    /// In one of level `full`, or the member does not start.
    Required,
    /// In none.
    Off,
    /// A word of another program. Who does not know it takes it for `required`.
    Other(String),
}

/// What a member's sandbox promises: see the specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxLevel {
    None,
    Landlock,
    Full,
}

/// The words that a person may write for a [`SandboxMode`].
pub const SANDBOX_WORDS: [&str; 3] = ["auto", "required", "off"];

/// A text is no [`SandboxMode`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is none of auto, required and off")]
pub struct UnknownSandboxMode(String);

impl SandboxMode {
    /// The word as stored.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Auto => "auto",
            Self::Required => "required",
            Self::Off => "off",
            Self::Other(word) => word,
        }
    }
}

impl From<String> for SandboxMode {
    fn from(word: String) -> Self {
        match word.as_str() {
            "auto" => Self::Auto,
            "required" => Self::Required,
            "off" => Self::Off,
            _ => Self::Other(word),
        }
    }
}

impl From<SandboxMode> for String {
    fn from(mode: SandboxMode) -> Self {
        mode.as_str().to_owned()
    }
}

impl FromStr for SandboxMode {
    type Err = UnknownSandboxMode;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match Self::from(text.to_owned()) {
            Self::Other(word) => Err(UnknownSandboxMode(word)),
            known => Ok(known),
        }
    }
}

impl fmt::Display for SandboxMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl SandboxLevel {
    /// The word as stored.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Landlock => "landlock",
            Self::Full => "full",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistyped_words_are_errors_and_words_of_other_programs_are_kept() {
        for mode in [SandboxMode::Auto, SandboxMode::Required, SandboxMode::Off] {
            assert_eq!(mode.as_str().parse::<SandboxMode>().unwrap(), mode);
        }
        "on".parse::<SandboxMode>().unwrap_err();
        let other: SandboxMode = serde_json::from_str("\"gvisor\"").unwrap();
        assert_eq!(serde_json::to_string(&other).unwrap(), "\"gvisor\"");
    }
}
