//! What one line of an inbox is: a known message, an unknown object, plain text, or corrupt.

use crate::{Message, MessageId, Sender};
use serde_json::{Map, Value};

/// How many places inside a broken line are tried as the start of a whole object.
const SALVAGE_TRIES: usize = 256;

/// One decoded line. Every complete line of an inbox becomes exactly one of these.
#[derive(Debug, Clone, PartialEq)]
pub enum Line {
    /// A message of a type this version knows.
    Message(Message),
    /// A JSON object this version cannot read as a message. It is passed on as text.
    Unknown(Unknown),
    /// A line that is no JSON object: text that was typed by hand. Unsigned.
    Text(String),
    /// A line that began as an object and is broken. It is kept with its reason.
    Corrupt {
        /// What is wrong with it.
        reason: String,
    },
    /// White space only.
    Blank,
}

/// A JSON object of an unknown type, or with a field this version cannot read.
#[derive(Debug, Clone, PartialEq)]
pub struct Unknown {
    /// Why it is not a message.
    pub reason: String,
    /// The whole object.
    pub object: Map<String, Value>,
}

impl Unknown {
    /// Who says they sent it, if it says so in the usual place.
    pub fn from(&self) -> Option<Sender> {
        self.object.get("from")?.as_str().map(Sender::new)
    }

    /// Its identifier, if it has one in the usual place.
    pub fn id(&self) -> Option<MessageId> {
        MessageId::new(self.object.get("id")?.as_str()?).ok()
    }
}

/// Decodes one line, given without its newline.
pub fn decode_line(bytes: &[u8]) -> Line {
    let trimmed = bytes.trim_ascii();
    if trimmed.is_empty() {
        return Line::Blank;
    }
    if trimmed.first() != Some(&b'{') {
        return Line::Text(String::from_utf8_lossy(trimmed).into_owned());
    }
    let reason = match serde_json::from_slice(trimmed) {
        Ok(message) => return Line::Message(message),
        Err(error) => error.to_string(),
    };
    match serde_json::from_slice::<Map<String, Value>>(trimmed) {
        Ok(object) => Line::Unknown(Unknown { reason, object }),
        Err(error) => Line::Corrupt {
            reason: error.to_string(),
        },
    }
}

/// Finds the whole object at the end of a corrupt line, if there is one.
///
/// A writer killed in the middle leaves a fragment without a newline, and a program that knows
/// nothing of that appends its own line behind it. The fragment itself can never be a whole
/// object, so the leftmost place from which the rest parses is where the second line starts.
pub fn salvage(bytes: &[u8]) -> Option<usize> {
    let starts = bytes.iter().enumerate().skip(1);
    starts
        .filter(|(at, byte)| **byte == b'{' && starts_an_object(bytes, *at))
        .map(|(at, _)| at)
        .take(SALVAGE_TRIES)
        .find(|at| {
            let rest = bytes.get(*at..).unwrap_or_default();
            serde_json::from_slice::<Map<String, Value>>(rest).is_ok()
        })
}

/// Whether the brace at `at` can begin an object: a name or the end follows. The braces inside a
/// text, of which source code has many, are not followed by a bare quotation mark.
fn starts_an_object(bytes: &[u8], at: usize) -> bool {
    let rest = bytes.get(at + 1..).unwrap_or_default().trim_ascii_start();
    matches!(rest.first(), Some(b'"' | b'}'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Body, Party};

    fn message(text: &str) -> Message {
        match decode_line(text.as_bytes()) {
            Line::Message(message) => message,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_line_written_by_hand_is_a_message() {
        let found = message(r#"{"type":"message","from":"bob","content":"hi"}"#);
        assert_eq!(found.from, Some(Sender::new("bob")));
        assert_eq!(found.body.text(), "hi");
        assert_eq!(message(r#"{"content":"no type"}"#).body.kind(), "message");
    }

    #[test]
    fn a_plan_under_the_name_of_the_response_is_a_submission() {
        let found = message(
            r#"{"type":"plan_approval_response","from":"bob","request_id":"ab","plan":"do","content":""}"#,
        );
        assert!(matches!(found.body, Body::PlanApprovalRequest { ref plan, .. } if plan == "do"));
        let verdict = message(
            r#"{"type":"plan_approval_response","request_id":"ab","approve":true,"plan":"do"}"#,
        );
        assert!(matches!(
            verdict.body,
            Body::PlanApprovalResponse { approve: true, .. }
        ));
        assert_eq!(verdict.extra.get("plan"), Some(&Value::from("do")));
    }

    #[test]
    fn an_answer_may_have_its_text_in_content() {
        for (kind, own) in [
            ("shutdown_response", "reason"),
            ("plan_approval_response", "feedback"),
        ] {
            let start = format!(r#"{{"type":"{kind}","request_id":"ab","approve":false"#);
            let old = message(&format!(r#"{start},"{own}":null,"content":"no"}}"#));
            assert_eq!(old.body.text(), "no");
            assert!(old.extra.is_empty());
            let both = message(&format!(r#"{start},"{own}":"late","content":"no"}}"#));
            assert_eq!(both.body.text(), "late");
            assert_eq!(both.extra.get("content"), Some(&Value::from("no")));
            assert_eq!(message(&format!("{start}}}")).body.text(), "");
        }
    }

    #[test]
    fn null_is_the_same_as_absent() {
        let found = message(r#"{"type":null,"content":"hi","id":null,"to":null}"#);
        assert_eq!(found, message(r#"{"content":"hi"}"#));
    }

    #[test]
    fn the_reason_names_the_type_and_the_field() {
        for (text, why) in [
            (r#"{"type":"notice"}"#, "a notice needs the field `content`"),
            (r#"{"type":"poke"}"#, r#"unknown message type "poke""#),
            (
                r#"{"content":5}"#,
                "field `content`: invalid type: integer `5`, expected a string",
            ),
        ] {
            match decode_line(text.as_bytes()) {
                Line::Unknown(unknown) => assert_eq!(unknown.reason, why),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn objects_we_cannot_read_are_unknown_and_whole() {
        for (text, why) in [
            (r#"{"type":"poke","from":"bob","id":"7","x":1}"#, "poke"),
            (r#"{"type":"message","from":"bob","id":"7"}"#, "content"),
            (
                r#"{"type":"message","from":"bob","id":"7","content":5}"#,
                "content",
            ),
            (
                r#"{"type":"shutdown_response","from":"bob","id":"7","request_id":"a"}"#,
                "approve",
            ),
            (
                r#"{"type":"shutdown_request","from":"bob","id":"7","request_id":"../x"}"#,
                "request_id",
            ),
            (
                r#"{"type":"message","from":"bob","id":"7","content":"x","to":"a/b"}"#,
                "to",
            ),
        ] {
            match decode_line(text.as_bytes()) {
                Line::Unknown(unknown) => {
                    assert!(unknown.reason.contains(why), "{}", unknown.reason);
                    assert_eq!(
                        unknown.from(),
                        Some(Sender::Party(Party::Member("bob".parse().unwrap())))
                    );
                    assert_eq!(unknown.id().unwrap().as_str(), "7");
                    assert_eq!(
                        Value::from(unknown.object),
                        serde_json::from_str::<Value>(text).unwrap()
                    );
                }
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn other_lines_are_text_and_broken_objects_are_corrupt() {
        assert_eq!(
            decode_line(b"hello there\r"),
            Line::Text("hello there".into())
        );
        assert_eq!(decode_line(b"[1,2]"), Line::Text("[1,2]".into()));
        assert_eq!(decode_line(b" \t "), Line::Blank);
        assert!(matches!(
            decode_line(br#"{"type":"mess"#),
            Line::Corrupt { .. }
        ));
        assert!(matches!(
            decode_line(b"{\"content\":\"\xff\"}"),
            Line::Corrupt { .. }
        ));
    }

    #[test]
    fn a_whole_object_behind_a_fragment_is_found() {
        let glued = br#"{"type":"message","content":"a {b} {"type":"message","content":"{}"}"#;
        let at = salvage(glued).unwrap();
        assert_eq!(
            glued.get(at..).unwrap(),
            br#"{"type":"message","content":"{}"}"#
        );
        let code = ["{\"content\":\"", &"fn f() { x } ".repeat(1_000)].concat();
        let glued = [code.as_bytes(), br#"{"content":"b"}"#].concat();
        assert_eq!(salvage(&glued), Some(code.len()));
        assert_eq!(salvage(br#"{"type":"message","content":"a"#), None);
        assert_eq!(salvage(&b"{".repeat(100_000)), None);
    }
}
