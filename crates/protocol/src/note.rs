//! Shared notes: `notes.jsonl`, what members and people want the whole team to know.

use crate::{Sender, TaskId, Timestamp};

/// The most characters of a note.
pub const MAX_NOTE_CHARS: usize = 2_000;
/// The most tags of a note.
pub const MAX_NOTE_TAGS: usize = 8;
/// The most characters of a tag.
pub const MAX_NOTE_TAG_CHARS: usize = 40;

record! {
    /// One note. Notes are appended and never rewritten. A line that a person wrote may have nothing but
    /// its text.
    pub struct Note {
        opt id: String => "id",
        opt from: Sender => "from",
        req text: String => "text",
        opt timestamp: Timestamp => "timestamp",
        /// The task that it is about.
        opt task: TaskId => "task",
        def tags: Vec<String> => "tags",
    }
}

impl Note {
    /// A note with nothing but a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            id: None,
            from: None,
            text: text.into(),
            timestamp: None,
            task: None,
            tags: Vec::new(),
            extra: crate::Extra::new(),
        }
    }

    /// The line that goes into the file.
    pub fn to_line(&self) -> crate::JsonLine {
        crate::JsonLine::encode(self).expect("a note is an object of text and finite numbers")
    }
}
