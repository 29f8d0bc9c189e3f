//! What a compaction keeps word for word.

use serde::{Deserialize, Serialize};

/// The messages that compactions keep word for word.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct KeptMessages {
    /// Oldest first.
    pub messages: Vec<KeptMessage>,
    /// How many were left out behind the first one, because there was no room for all.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out: u64,
}

impl KeptMessages {
    pub const fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }
}

/// A message that compactions keep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptMessage {
    pub text: String,
    /// What was cut out of a message that is too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<MessageCut>,
}

/// A part that was cut out of the middle of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageCut {
    /// Where in the remaining text it was, in bytes.
    pub at: usize,
    /// How long it was, in bytes.
    pub bytes: usize,
}

const fn is_zero(number: &u64) -> bool {
    *number == 0
}
