//! The records of a conversation, as they are kept.
//!
//! Each is a JSON object with its own `kind`. Blocks hold raw JSON, which an internally tagged type
//! loses when it is read; so the kind is read first and then the record.

use llm::{Block, StopReason, ToolResult, Turn, Usage};
use serde::{Deserialize, Serialize};

use crate::host::Message;

/// Something that has happened in a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Record {
    /// The user's side spoke: its users, or whatever was slipped in.
    User(User),
    /// The model replied.
    Assistant(Assistant),
    /// A tool gave its result.
    Result(ResultRecord),
    /// Old results gave way to placeholders.
    Cleared(ResultsCleared),
    /// The conversation was made shorter.
    Compaction(Compaction),
    /// The turn ended though the user's side spoke last.
    Ended(Ended),
}

/// The user's side spoke.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// What it said, with the ids that make sure it is said once.
    pub messages: Vec<Message>,
}

/// The model replied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assistant {
    /// What it said, as it came.
    pub blocks: Vec<Block>,
    /// Why it stopped.
    pub stop: StopReason,
    /// What it cost, if told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// A tool gave its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultRecord {
    /// The result.
    pub result: ToolResult,
    /// How long the tool took, in milliseconds.
    #[serde(default)]
    pub millis: u64,
}

/// Old results gave way to placeholders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultsCleared {
    /// How many results from the start of the conversation were looked at.
    pub results: usize,
}

/// The conversation was made shorter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compaction {
    /// Where the whole conversation can be read.
    pub archive: String,
    /// Whether the model summarised it; if not, only its newest part was kept.
    pub summarised: bool,
    /// The conversation from now on.
    pub turns: Vec<Turn>,
    /// What the summary cost, if told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// The turn ended though the user's side spoke last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// Why, for a reader.
    pub reason: String,
}

/// A line has the kind of a record but is none.
#[derive(Debug, thiserror::Error)]
#[error("a record of kind {kind:?} cannot be read")]
pub struct DecodeError {
    kind: String,
    source: serde_json::Error,
}

#[derive(Deserialize)]
struct KindOnly {
    kind: String,
}

impl Record {
    /// Reads a line of a log. Nothing comes of a line that has another kind, or none.
    pub fn decode(line: &[u8]) -> Result<Option<Self>, DecodeError> {
        let Ok(KindOnly { kind }) = serde_json::from_slice(line) else {
            return Ok(None);
        };
        let record = match kind.as_str() {
            "user" => serde_json::from_slice(line).map(Self::User),
            "assistant" => serde_json::from_slice(line).map(Self::Assistant),
            "result" => serde_json::from_slice(line).map(Self::Result),
            "cleared" => serde_json::from_slice(line).map(Self::Cleared),
            "compaction" => serde_json::from_slice(line).map(Self::Compaction),
            "ended" => serde_json::from_slice(line).map(Self::Ended),
            _ => return Ok(None),
        };
        match record {
            Ok(record) => Ok(Some(record)),
            Err(source) => Err(DecodeError { kind, source }),
        }
    }
}

#[cfg(test)]
mod tests {
    use llm::ToolUse;

    use super::*;

    #[test]
    fn every_record_is_one_line_that_reads_back_as_it_was() {
        // Spacing inside the arguments must survive.
        let tool_use = ToolUse::new("u1", "bash", r#"{"command":  "ls\n" }"#);
        let records = [
            Record::User(User {
                messages: vec![Message::new("hi\nthere"), Message::with_id("m1", "mail")],
            }),
            Record::Assistant(Assistant {
                blocks: vec![Block::text("so"), Block::ToolUse(tool_use)],
                stop: StopReason::ToolUse,
                usage: Some(Usage::default()),
            }),
            Record::Result(ResultRecord {
                result: ToolResult::error("u1", "no"),
                millis: 3,
            }),
            Record::Cleared(ResultsCleared { results: 7 }),
            Record::Compaction(Compaction {
                archive: "a/1".into(),
                summarised: true,
                turns: vec![Turn::user("summary")],
                usage: None,
            }),
            Record::Ended(Ended {
                reason: "round limit".into(),
            }),
        ];
        for record in records {
            let line = serde_json::to_vec(&record).unwrap();
            assert!(!line.contains(&b'\n'));
            assert_eq!(Record::decode(&line).unwrap(), Some(record));
        }
    }

    #[test]
    fn lines_of_others_are_left_alone_and_broken_ones_are_named() {
        for line in [r#"{"kind":"mail","mail":[]}"#, "", "{}", "nonsense"] {
            assert_eq!(Record::decode(line.as_bytes()).unwrap(), None);
        }
        let error = Record::decode(br#"{"kind":"user"}"#).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a record of kind \"user\" cannot be read"
        );
    }
}
