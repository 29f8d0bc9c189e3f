//! The journal's records of a conversation, in the types of `llm`.

use llm::{Block, StopReason, ToolResult, Turn, Usage};
use protocol::{ConversationRecord, ModelTypes};

/// A record that holds what a model said as `llm` holds it.
pub type Record = ConversationRecord<LlmTypes>;

/// The types of `llm`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LlmTypes;

impl ModelTypes for LlmTypes {
    type Block = Block;
    type Turn = Turn;
    type StopReason = StopReason;
    type ToolResult = ToolResult;
    type Usage = Usage;
}

#[cfg(test)]
mod tests {
    use llm::{Provider, RawJson, ToolUse};
    use protocol::{
        AskedRecord, AssistantRecord, ClearedRecord, ClearedResult, CompactionRecord, EndedRecord,
        JournalLine, JournalRecord, JsonLine, KeptMessage, KeptMessages, MessageCut, MessageSource,
        RequestId, ResultRecord, SessionId, SessionMark, StartedRecord, Tally, Timestamp,
        UserMessage, UserRecord,
    };

    use super::*;

    fn cleared() -> ClearedRecord {
        let result = ClearedResult {
            turn: 2,
            block: 0,
            placeholder: "[Cleared]".into(),
        };
        ClearedRecord {
            results: vec![result],
        }
    }

    fn session() -> SessionMark {
        let id = SessionId::new("1a2b3c4d").unwrap();
        let mut session = SessionMark::new(id, Timestamp::from_secs(7), "offline");
        session.count(&Tally {
            input: 3,
            ..Tally::default()
        });
        session
    }

    fn compaction() -> Record {
        Record::Compaction(CompactionRecord {
            archive: "a/1".into(),
            summarised: true,
            turns: vec![
                Turn::user("summary"),
                Turn::results([ToolResult::ok("u1", "yes")]),
            ],
            usage: None,
            kept: KeptMessages {
                messages: vec![KeptMessage {
                    text: "hi\nthere".into(),
                    cut: Some(MessageCut { at: 2, bytes: 7 }),
                }],
                left_out: 1,
            },
            reminder: Some("all is well".into()),
            session: Some(session()),
        })
    }

    fn records() -> Vec<Record> {
        // Spacing inside the arguments must survive.
        let tool_use = ToolUse::new("u1", "bash", r#"{"command":  "ls\n" }"#);
        let flawed = ToolUse::new("u2", "bash", "{");
        let opaque = Block::Opaque {
            provider: Provider::Anthropic,
            json: RawJson::parse(r#"{"type":"new", "z":[1]}"#).unwrap(),
        };
        let thinking = Block::Thinking {
            text: "hm".into(),
            signature: Some("s".into()),
        };
        let redacted = Block::RedactedThinking { data: "x".into() };
        let usage = Usage {
            input: 1,
            reasoning: Some(2),
            ..Usage::default()
        };
        vec![
            Record::User(UserRecord {
                messages: vec![
                    UserMessage::new("hi\nthere"),
                    UserMessage::with_source(MessageSource::Mail(1), "mail"),
                    UserMessage::from_person("please"),
                    UserMessage::with_source(MessageSource::Reminder, "all is well"),
                ],
            }),
            Record::Assistant(AssistantRecord {
                blocks: vec![
                    Block::text("so"),
                    thinking,
                    redacted,
                    Block::ToolUse(tool_use),
                    Block::ToolUse(flawed),
                    opaque,
                ],
                stop: StopReason::ToolUse,
                usage: Some(usage),
            }),
            Record::Asked(AskedRecord {
                tool_use_id: "u1".into(),
                request_id: RequestId::new("1a2b3c4d").unwrap(),
            }),
            Record::Started(StartedRecord {
                tool_use_id: "u1".into(),
            }),
            Record::Result(ResultRecord {
                millis: 3,
                command: Some("00c0ffee".into()),
                mail: vec![1, 2],
                ..ResultRecord::new(ToolResult::error("u1", "no"))
            }),
            Record::Cleared(cleared()),
            compaction(),
            Record::Ended(EndedRecord {
                reason: "round limit".into(),
            }),
            Record::Session(session()),
        ]
    }

    #[test]
    fn every_record_is_one_line_that_reads_back_as_it_was() {
        for record in records() {
            let line = JsonLine::encode(&record).unwrap();
            match JournalLine::<LlmTypes>::decode_as(&line) {
                JournalLine::Known(JournalRecord::Conversation(read)) => assert_eq!(read, record),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn programs_without_a_model_read_the_same_records() {
        for record in records() {
            let line = JsonLine::encode(&record).unwrap();
            let JournalLine::Known(read) = JournalLine::decode(&line) else {
                panic!("{record:?}");
            };
            let stored: serde_json::Value = serde_json::from_slice(&line).unwrap();
            assert_eq!(serde_json::to_value(read).unwrap(), stored);
        }
    }

    #[test]
    fn other_records_are_left_alone_and_broken_ones_are_named() {
        let read = |line: &str| JournalLine::<LlmTypes>::decode_as(line.as_bytes());
        for line in [r#"{"kind":"dance"}"#, r#"{"kind":"seal","segment":1}"#] {
            let read = read(line);
            let is_left_alone = matches!(
                read,
                JournalLine::Other { .. } | JournalLine::Known(JournalRecord::Seal(_))
            );
            assert!(is_left_alone, "{read:?}");
        }
        for line in ["", "{}", "nonsense", r#"{"kind":"user"}"#] {
            assert!(matches!(read(line), JournalLine::Corrupt { .. }), "{line}");
        }
        let JournalLine::Corrupt { reason } = read(r#"{"kind":"user"}"#) else {
            panic!("read");
        };
        let expected = "a record of kind \"user\" cannot be read";
        assert!(reason.starts_with(expected), "{reason}");
    }
}
