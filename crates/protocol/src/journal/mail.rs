//! The records about mail.

use crate::{Incarnation, Line, MessageId, Recipient, Timestamp, decode_line};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A process opened the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OpenRecord {
    pub member: Recipient,
    pub incarnation: Incarnation,
    pub time: Timestamp,
}

/// Mail that was taken from the inbox, and how far the inbox has been read with it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MailRecord {
    pub incarnation: Incarnation,
    pub time: Timestamp,
    /// How far the file has been read.
    pub position: SegmentPosition,
    /// The messages, in the order of the file.
    pub mail: Vec<MailEntry>,
    /// Lines that could not be delivered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bad: Vec<Quarantined>,
    /// Oddities that a person should see.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// How far one inbox file has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentPosition {
    /// The number under which the file is, or will be, set aside.
    pub segment: u64,
    /// Everything before this byte has been read.
    pub end: u64,
    /// The file's inode number.
    pub inode: u64,
    /// When the file was created, in microseconds since 1970; 0 where the system does not say.
    pub born: i64,
    /// A hash of the last bytes before `end`: shows whether the file is still the same.
    pub check: u64,
}

/// One message as it was taken from the inbox.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MailEntry {
    /// The message's own identifier, or one made from its place in the inbox.
    pub id: MessageId,
    /// The JSON object as its sender wrote it, or a JSON string for a line of plain text.
    pub line: Box<RawValue>,
}

/// A line of an inbox that could not be delivered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quarantined {
    /// The same identifier as that of its dead letter.
    pub id: String,
    /// Why it could not be delivered.
    pub reason: String,
    /// The line; bytes that are not UTF-8 are replaced here and kept in `raw_hex`.
    pub raw: String,
    /// The line's bytes in hex, where they are not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_hex: Option<String>,
}

/// An inbox file was set aside: the next one has the next number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealRecord {
    /// The number of the file that was set aside.
    pub segment: u64,
}

/// All that a restart needs to know of the records before it, so that its cost does not grow
/// with the length of the journal.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// The highest number under which a file was set aside.
    pub sealed: u64,
    /// How far each file that may still exist has been read.
    pub positions: Vec<SegmentPosition>,
    /// The messages last seen of each sender.
    pub seen: Vec<SenderWindow>,
}

/// The messages last seen of one sender.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SenderWindow {
    /// The sender; absent for lines without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Hash of the identifier and hash of the text, oldest first.
    pub seen: Vec<(u64, u64)>,
}

impl MailEntry {
    /// What the line says.
    pub fn decode(&self) -> Line {
        let raw = self.line.get();
        match serde_json::from_str::<String>(raw) {
            Ok(text) => Line::Text(text),
            Err(_) => decode_line(raw.as_bytes()),
        }
    }
}
