//! Names of members, and who may stand in `from` and `to`.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// The longest name, in characters.
const MAX_CHARS: usize = 64;
/// The longest name, in bytes: a file name with all its additions must stay under 255 bytes.
const MAX_BYTES: usize = 200;
/// Words that mean something else and so can never name a member.
const RESERVED: [&str; 4] = ["lead", "user", "system", "all"];

/// The name of a teammate: alphabetic characters of any script, digits, `_` and `-`.
///
/// Equality, order and hashing are exact; uniqueness in a team ignores case, which
/// [`AgentName::same_as`] decides. A name can be part of a file name and can never be a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AgentName(String);

/// Why a text is not a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The text is empty.
    #[error("a name cannot be empty")]
    Empty,
    /// The text is too long.
    #[error("the name {0:?} is too long: at most 64 characters and 200 bytes")]
    TooLong(String),
    /// A character is not allowed.
    #[error("the name {name:?} contains {found:?}: use alphabetic characters, digits, _ and -")]
    Character {
        /// The whole text.
        name: String,
        /// The first character that is not allowed.
        found: char,
    },
    /// The word has another meaning.
    #[error("the name {0:?} is reserved: lead, user, system and all have their own meaning")]
    Reserved(String),
}

impl AgentName {
    /// Checks `text` against the rules for names.
    pub fn new(text: &str) -> Result<Self, NameError> {
        if text.is_empty() {
            return Err(NameError::Empty);
        }
        let allowed = |c: &char| c.is_alphanumeric() || matches!(c, '_' | '-');
        if let Some(found) = text.chars().find(|c| !allowed(c)) {
            let name = text.chars().take(MAX_CHARS).collect();
            return Err(NameError::Character { name, found });
        }
        if text.len() > MAX_BYTES || text.chars().count() > MAX_CHARS {
            return Err(NameError::TooLong(text.chars().take(MAX_CHARS).collect()));
        }
        if RESERVED.contains(&text.to_lowercase().as_str()) {
            return Err(NameError::Reserved(text.to_owned()));
        }
        Ok(Self(text.to_owned()))
    }

    /// The name as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether both name the same member: case makes no difference.
    pub fn same_as(&self, other: &Self) -> bool {
        self.0 == other.0 || self.0.to_lowercase() == other.0.to_lowercase()
    }
}

/// Whose inbox it is: the lead's or a teammate's.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Recipient {
    /// The lead agent.
    Lead,
    /// A teammate.
    Member(AgentName),
}

/// Who acts in a team: an agent, the person, or the program itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Party {
    /// The lead agent.
    Lead,
    /// The person at the command line.
    User,
    /// The program itself.
    System,
    /// A teammate.
    Member(AgentName),
}

/// Who a message says it is from. A claim: any program may write an inbox.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sender {
    /// Somebody of the team.
    Party(Party),
    /// A foreign program that uses a text that is not a name.
    Stranger(String),
}

impl Recipient {
    /// The word used in file names and in `to`.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Lead => "lead",
            Self::Member(name) => name.as_str(),
        }
    }
}

impl Party {
    /// The word used in `from`.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Lead => "lead",
            Self::User => "user",
            Self::System => "system",
            Self::Member(name) => name.as_str(),
        }
    }
}

impl Sender {
    /// The word used in `from`.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Party(party) => party.as_str(),
            Self::Stranger(text) => text,
        }
    }

    /// Reads a `from`; whatever is not a name is a stranger's.
    pub fn new(text: &str) -> Self {
        text.parse()
            .map_or_else(|_| Self::Stranger(text.to_owned()), Self::Party)
    }
}

impl From<AgentName> for Recipient {
    fn from(name: AgentName) -> Self {
        Self::Member(name)
    }
}

impl From<AgentName> for Party {
    fn from(name: AgentName) -> Self {
        Self::Member(name)
    }
}

impl From<Recipient> for Party {
    fn from(recipient: Recipient) -> Self {
        match recipient {
            Recipient::Lead => Self::Lead,
            Recipient::Member(name) => Self::Member(name),
        }
    }
}

impl From<Party> for Sender {
    fn from(party: Party) -> Self {
        Self::Party(party)
    }
}

impl FromStr for AgentName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        Self::new(text)
    }
}

impl FromStr for Recipient {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        match text {
            "lead" => Ok(Self::Lead),
            _ => AgentName::new(text).map(Self::Member),
        }
    }
}

impl FromStr for Party {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        match text {
            "lead" => Ok(Self::Lead),
            "user" => Ok(Self::User),
            "system" => Ok(Self::System),
            _ => AgentName::new(text).map(Self::Member),
        }
    }
}

/// Gives a type with `as_str` and a fallible parse its text and JSON form.
macro_rules! text_form {
    ($($name:ty, $parse:expr;)*) => { $(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                $parse(&text).map_err(serde::de::Error::custom)
            }
        }
    )* };
}

text_form! {
    AgentName, AgentName::new;
    Recipient, str::parse::<Recipient>;
    Party, str::parse::<Party>;
    Sender, |text: &str| Ok::<_, NameError>(Sender::new(text));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_any_script_are_taken() {
        for name in ["a", "Alice", "front-end_2", "žofie", "アリス", "علي", "7"] {
            assert_eq!(AgentName::new(name).unwrap().as_str(), name);
        }
    }

    #[test]
    fn nothing_that_could_be_a_path_or_a_hidden_file_is_a_name() {
        for name in [
            "",
            ".",
            "..",
            "a/b",
            "../x",
            "a.b",
            ".a",
            "a b",
            "a\0",
            "a\n",
            "~",
            "a\u{202e}",
            "é\u{301}",
        ] {
            assert!(AgentName::new(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn reserved_words_are_refused_in_any_case() {
        for name in ["lead", "LEAD", "User", "system", "All"] {
            assert_eq!(AgentName::new(name), Err(NameError::Reserved(name.into())));
        }
    }

    #[test]
    fn length_is_limited_in_characters_and_in_bytes() {
        assert!(AgentName::new(&"a".repeat(64)).is_ok());
        assert!(AgentName::new(&"a".repeat(65)).is_err());
        // 64 characters of four bytes would not fit a file name.
        assert!(AgentName::new(&"𐐀".repeat(64)).is_err());
    }

    #[test]
    fn case_does_not_make_another_member() {
        let name = |text| AgentName::new(text).unwrap();
        assert!(name("Ärger").same_as(&name("äRGER")));
        assert!(!name("alice").same_as(&name("alicia")));
    }

    #[test]
    fn a_sender_that_is_no_name_is_a_stranger() {
        assert_eq!(Sender::new("lead"), Sender::Party(Party::Lead));
        assert_eq!(
            Sender::new("build bot"),
            Sender::Stranger("build bot".into())
        );
    }
}
