//! Identifiers: of messages, requests, tasks and incarnations.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// Why a text is not an identifier of its kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a {kind}: expected {expected}")]
pub struct IdError {
    kind: &'static str,
    expected: &'static str,
    text: String,
}

/// Defines a checked text identifier with its text and JSON form.
macro_rules! id_type {
    ($(#[$meta:meta])* $name:ident, $kind:literal, $expected:literal, $valid:expr) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// Checks `text` against the rules for this kind of identifier.
            pub fn new(text: &str) -> Result<Self, IdError> {
                let valid: fn(&str) -> bool = $valid;
                if valid(text) {
                    return Ok(Self(text.to_owned()));
                }
                Err(IdError {
                    kind: $kind,
                    expected: $expected,
                    text: text.chars().take(80).collect(),
                })
            }

            /// The identifier as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                Self::new(text)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                Self::new(&text).map_err(serde::de::Error::custom)
            }
        }
    };
}

id_type! {
    /// The identifier of a message, chosen by its sender and unique among that sender's messages.
    ///
    /// A sender that is not sure whether its message arrived sends it again with the same
    /// identifier; the reader shows it once.
    MessageId, "message id", "1 to 256 bytes without control characters",
    |text| (1..=256).contains(&text.len()) && !text.chars().any(char::is_control)
}

id_type! {
    /// The identifier of a request, and the stem of its file's name. Our own are 8 hex digits.
    RequestId, "request id", "1 to 64 letters, digits, _ or - (ours are 8 hex digits)",
    |text| (1..=64).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
}

id_type! {
    /// The identifier of a session, and the stem of its file's name. Our own are 8 hex digits.
    SessionId, "session id", "1 to 64 letters, digits, _ or - (ours are 8 hex digits)",
    |text| (1..=64).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
}

id_type! {
    /// The name of an object of git, of a commit unless it is said otherwise.
    CommitId, "commit", "40 or 64 hexadecimal digits",
    |text| matches!(text.len(), 40 | 64)
        && text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'a'..=b'f'))
}

id_type! {
    /// The name of a host that has a team folder. It can be a folder's name and a part of a subject.
    HostId, "name of a host", "1 to 64 of the characters a-z, A-Z, 0-9, _ and -",
    |text| (1..=64).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
}

id_type! {
    /// Tells streams of frames from one host to another apart; random.
    StreamEpoch, "epoch of a stream", "8 to 64 of the characters a-z, A-Z, 0-9, _ and -",
    |text| (8..=64).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
}

id_type! {
    /// Tells frames of the same number apart; random.
    FrameId, "id of a frame", "8 to 64 of the characters a-z, A-Z, 0-9, _ and -",
    |text| (8..=64).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
}

id_type! {
    /// The SHA-256 of a bundle of commits. It is a part of the name of a file.
    BundleDigest, "digest of a bundle", "64 of the characters 0-9 and a-f",
    |text| text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

impl CommitId {
    /// The beginning, which is enough for people.
    pub fn short(&self) -> &str {
        self.0.get(..10).unwrap_or(&self.0)
    }
}

/// The number of a submission, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SubmissionId(pub u64);

/// The number of a task on the board, from 1.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct TaskId(pub u64);

/// Which incarnation of a member: 1 for the first process, one more for each that follows.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Incarnation(pub u64);

impl Incarnation {
    /// The incarnation after this one. There is none after the last number, see [`Self::is_last`].
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// Whether there is no number after this one. Nobody restarts so often: somebody wrote it.
    pub const fn is_last(self) -> bool {
        self.0 == u64::MAX
    }
}

impl fmt::Display for SubmissionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Display for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_id_is_a_safe_file_name() {
        assert!(RequestId::new("1a2b3c4d").is_ok());
        for bad in ["", "..", "a/b", "a.json", "é", &"a".repeat(65)] {
            assert!(RequestId::new(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn errors_name_the_kind_and_what_was_expected() {
        let error = MessageId::new("a\nb").unwrap_err().to_string();
        assert!(
            error.contains("message id") && error.contains("control"),
            "{error}"
        );
    }
}
