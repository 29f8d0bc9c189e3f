//! Dead letters: `dead_letters.jsonl`, mail that could not be delivered, with the reason.

use crate::{Recipient, Timestamp};
use serde_json::Value;

record! {
    /// A line that reached no conversation.
    pub struct DeadLetter {
        /// Tells one dead letter from another: a crash may write the same one twice.
        req id: String => "id",
        /// When it was put here.
        req time: Timestamp => "time",
        /// Whose inbox it was meant for.
        req inbox: Recipient => "inbox",
        /// Why it could not be delivered.
        req reason: String => "reason",
        /// The line as a JSON value, where it is one.
        opt line: Value => "line",
        /// The line as text, where it is not JSON.
        opt raw: String => "raw",
        /// The line's bytes in hex, where they are not UTF-8.
        opt raw_hex: String => "raw_hex",
    }
}

impl DeadLetter {
    /// The line that goes into the file.
    pub fn to_line(&self) -> crate::JsonLine {
        crate::JsonLine::encode(self)
            .expect("a dead letter is an object of text and finite numbers")
    }
}
