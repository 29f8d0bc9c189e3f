//! One line of a `.jsonl` file.

use serde::Serialize;
use serde::de::IgnoredAny;
use std::ops::Deref;

/// One JSON object on one line, its newline included.
///
/// This is the only thing that is ever appended to a `.jsonl` file. Raw JSON from a model, a server or
/// another member may be spread over several lines; its line breaks are white space between tokens
/// and become spaces here. **Invariant:** the only CR or LF is the last byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonLine(Vec<u8>);

/// A value that cannot be a line of a `.jsonl` file.
#[derive(Debug, thiserror::Error)]
pub enum JsonLineError {
    #[error("it cannot be encoded as JSON: {0}")]
    Json(#[from] serde_json::Error),
    #[error("it is not a JSON object")]
    NotAnObject,
    #[error("a JSON string in it has a raw line break")]
    BreakInString,
}

impl JsonLine {
    /// The line that a value is stored as.
    pub fn encode(value: &impl Serialize) -> Result<Self, JsonLineError> {
        Self::from_json(serde_json::to_vec(value)?)
    }

    /// The line that a text is stored as, which must be one JSON object.
    pub fn from_raw(bytes: &[u8]) -> Result<Self, JsonLineError> {
        serde_json::from_slice::<IgnoredAny>(bytes)?;
        Self::from_json(bytes.trim_ascii().to_vec())
    }

    /// Takes a text that is known to be JSON.
    fn from_json(mut bytes: Vec<u8>) -> Result<Self, JsonLineError> {
        if bytes.first() != Some(&b'{') {
            return Err(JsonLineError::NotAnObject);
        }
        // Searching for a byte is much quicker than following the strings.
        if bytes.contains(&b'\n') || bytes.contains(&b'\r') {
            join_lines(&mut bytes)?;
        }
        bytes.push(b'\n');
        Ok(Self(bytes))
    }
}

impl Deref for JsonLine {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

/// Replaces line breaks between tokens by spaces.
fn join_lines(bytes: &mut [u8]) -> Result<(), JsonLineError> {
    let (mut in_string, mut is_escaped) = (false, false);
    for byte in bytes {
        match *byte {
            b'\n' | b'\r' if in_string => return Err(JsonLineError::BreakInString),
            b'\n' | b'\r' => *byte = b' ',
            b'"' if !is_escaped => in_string = !in_string,
            _ => {}
        }
        is_escaped = in_string && !is_escaped && *byte == b'\\';
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::value::RawValue;

    fn text(line: &JsonLine) -> &str {
        std::str::from_utf8(line).unwrap()
    }

    #[test]
    fn line_breaks_between_tokens_become_spaces() {
        let raw = "{\r\n  \"a\": \"x\\n\\\\\",\n  \"b\": {\n\"kind\":\"user\"\r}\n}";
        let value: Box<RawValue> = serde_json::from_str(raw).unwrap();
        let record = serde_json::json!({ "n": 1 });
        for line in [
            JsonLine::from_raw(raw.as_bytes()).unwrap(),
            JsonLine::encode(&value).unwrap(),
        ] {
            let expected = "{    \"a\": \"x\\n\\\\\",   \"b\": { \"kind\":\"user\" } }\n";
            assert_eq!(text(&line), expected);
        }
        assert_eq!(text(&JsonLine::encode(&record).unwrap()), "{\"n\":1}\n");
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for raw in ["", "[1]", "\"a\"", "{", "{} {}", "{\"a\":\"\n\"}", "{}x"] {
            assert!(JsonLine::from_raw(raw.as_bytes()).is_err(), "{raw:?}");
        }
        assert!(matches!(
            JsonLine::encode(&"text"),
            Err(JsonLineError::NotAnObject)
        ));
    }

    #[test]
    fn a_raw_line_break_in_a_string_is_refused() {
        let mut bytes = b"{\"a\\\"\":\"b\nc\"}".to_vec();
        let joined = join_lines(&mut bytes);
        assert!(matches!(joined, Err(JsonLineError::BreakInString)));
    }
}
