//! JSON that is kept as it came, and JSON that has to be repaired first.

use std::borrow::Cow;
use std::fmt;

use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// One JSON value as text on one line, otherwise byte for byte as it was received.
///
/// What a model produced must go back to it unchanged, key order and spacing
/// included, or the provider's prompt cache misses. Only a text that is spread
/// over several lines is changed: it loses the white space between its tokens,
/// before it is used or stored for the first time. Two values are equal if their
/// texts are.
///
/// It must be read directly by `serde_json`. Inside an internally tagged,
/// untagged or flattened type serde loses the text, and reading fails.
#[derive(Clone, Serialize)]
#[serde(transparent)]
pub struct RawJson(Box<RawValue>);

impl RawJson {
    /// Takes a text that must be exactly one JSON value.
    pub fn parse(text: impl Into<String>) -> Result<Self, serde_json::Error> {
        RawValue::from_string(text.into()).map(Self::from)
    }

    pub fn get(&self) -> &str {
        self.0.get()
    }

    /// Reads the text as a value of some type.
    pub fn read<'a, T: Deserialize<'a>>(&'a self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.get())
    }

    /// Whether the text is a JSON object.
    pub fn is_object(&self) -> bool {
        self.get().starts_with('{')
    }
}

impl From<Value> for RawJson {
    fn from(value: Value) -> Self {
        Self::parse(value.to_string()).expect("a JSON value prints as JSON")
    }
}

impl From<&RawValue> for RawJson {
    fn from(value: &RawValue) -> Self {
        Self::from(value.to_owned())
    }
}

impl From<Box<RawValue>> for RawJson {
    fn from(value: Box<RawValue>) -> Self {
        if !value.get().contains(['\n', '\r']) {
            return Self(value);
        }
        let text = compact(value.get());
        Self(RawValue::from_string(text).expect("white space between tokens means nothing"))
    }
}

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(Self::from)
    }
}

/// Removes the white space between the tokens of a JSON text.
fn compact(text: &str) -> String {
    let (mut in_string, mut is_escaped) = (false, false);
    let keep = |char: &char| {
        let is_space = !in_string && matches!(char, ' ' | '\t' | '\n' | '\r');
        if *char == '"' && !is_escaped {
            in_string = !in_string;
        }
        is_escaped = in_string && !is_escaped && *char == '\\';
        !is_space
    };
    text.chars().filter(keep).collect()
}

impl PartialEq for RawJson {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Eq for RawJson {}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.get())
    }
}

/// Reads payloads of a stream, and repairs those that `serde_json` refuses only
/// because a server cut its text between the two halves of a character.
#[derive(Debug, Default)]
pub(crate) struct PayloadReader {
    mended: String,
    /// The first half of a character that the last repaired payload ended with.
    half: Option<u16>,
}

impl PayloadReader {
    pub(crate) fn read<'a, T: Deserialize<'a>>(
        &'a mut self,
        payload: &'a [u8],
    ) -> Result<T, serde_json::Error> {
        match serde_json::from_slice(payload) {
            Ok(value) => Ok(value),
            Err(_) => {
                let text = String::from_utf8_lossy(payload);
                self.mended = mend_surrogates(&text, Some(&mut self.half));
                serde_json::from_str(&self.mended)
            }
        }
    }
}

/// Repairs a complete text whose pieces have all been joined.
pub(crate) fn mend_whole(text: String) -> String {
    if text.contains("\\ud") || text.contains("\\uD") {
        mend_surrogates(&text, None)
    } else {
        text
    }
}

/// Repairs escapes of lone surrogates, each of which is only half of a character. A first half at the end
/// of a string is put into `half`, if `half` is given, and a second half at the start of a string is joined
/// with it. Every other lone half becomes U+FFFD.
fn mend_surrogates(text: &str, mut half: Option<&mut Option<u16>>) -> String {
    let bytes = text.as_bytes();
    let mut first = half.as_mut().and_then(|half| half.take());
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        if byte != b'\\' {
            out.push(byte);
            at += 1;
            continue;
        }
        let rest = &bytes[at..];
        match escape(rest) {
            Some(high @ 0xd800..=0xdbff) => {
                let low = rest.get(6..).and_then(escape);
                if low.is_some_and(|low| (0xdc00..=0xdfff).contains(&low)) {
                    out.extend_from_slice(&rest[..12]);
                    at += 6;
                } else if let Some(half) = half.as_mut().filter(|_| rest.get(6) == Some(&b'"')) {
                    **half = Some(high);
                } else {
                    out.extend_from_slice(b"\\ufffd");
                }
                at += 6;
            }
            Some(low @ 0xdc00..=0xdfff) => {
                match first.take().filter(|_| out.last() == Some(&b'"')) {
                    Some(high) => {
                        out.extend_from_slice(format!("\\u{high:04x}\\u{low:04x}").as_bytes());
                    }
                    None => out.extend_from_slice(b"\\ufffd"),
                }
                at += 6;
            }
            Some(_) | None => {
                // The escaped byte goes along, so that `\\` is not read as the
                // start of another escape.
                let pair = rest.len().min(2);
                out.extend_from_slice(&rest[..pair]);
                at += pair;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The number of an escape like `\ud83d` at the start of the bytes.
fn escape(bytes: &[u8]) -> Option<u16> {
    let digits = bytes.get(..6)?.strip_prefix(b"\\u")?;
    let digits = std::str::from_utf8(digits).ok()?;
    if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    u16::from_str_radix(digits, 16).ok()
}

/// Reads a text in whatever form a server sends it: as a string, as an object
/// with a `text`, or as a list of these. Everything else is no text.
pub(crate) fn lenient_text<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Cow<'de, str>, D::Error> {
    deserializer.deserialize_any(LenientText)
}

struct LenientText;

impl<'de> Visitor<'de> for LenientText {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(""))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(""))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(""))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(""))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(""))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Self::Value, A::Error> {
        let mut all = String::new();
        while let Some(Part(text)) = parts.next_element()? {
            all.push_str(&text);
        }
        Ok(Cow::Owned(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut text = Cow::Borrowed("");
        while let Some(Part(key)) = map.next_key()? {
            if key == "text" {
                Part(text) = map.next_value()?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(text)
    }
}

/// A text read by [`LenientText`].
struct Part<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Part<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        lenient_text(deserializer).map(Part)
    }
}

/// Reads a count. A fraction is cut off; what is no number is no count.
pub(crate) fn lenient_count<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<u64>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    // The cast saturates, and a negative count becomes zero.
    Ok(value
        .as_u64()
        .or_else(|| value.as_f64().map(|count| count as u64)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(payloads: &[&str]) -> Vec<String> {
        let mut reader = PayloadReader::default();
        payloads
            .iter()
            .map(|payload| reader.read::<String>(payload.as_bytes()).unwrap())
            .collect()
    }

    #[test]
    fn a_character_cut_in_two_payloads_is_joined() {
        assert_eq!(
            read_all(&[r#""a\ud83d""#, r#""\ude00b""#]).concat(),
            "a\u{1f600}b"
        );
    }

    #[test]
    fn halves_without_a_partner_are_replaced() {
        assert_eq!(read_all(&[r#""a\ud83db\ude00c""#]), ["a\u{fffd}b\u{fffd}c"]);
        assert_eq!(read_all(&[r#""\ude00""#]), ["\u{fffd}"]);
    }

    #[test]
    fn whole_characters_and_escaped_backslashes_stay() {
        // The lone half at the end makes the rest go through the repair.
        assert_eq!(
            read_all(&[r#""\ud83d\ude00 \\ud83d \n\ud83d""#]),
            ["\u{1f600} \\ud83d \n"]
        );
    }

    #[test]
    fn bytes_that_are_not_utf8_are_replaced() {
        let mut reader = PayloadReader::default();
        assert_eq!(reader.read::<String>(b"\"a\xffb\"").unwrap(), "a\u{fffd}b");
    }

    #[test]
    fn a_text_may_come_in_many_forms() {
        let read = |text: &str| {
            let mut source = serde_json::Deserializer::from_str(text);
            lenient_text(&mut source).unwrap().into_owned()
        };
        assert_eq!(read(r#""a\nb""#), "a\nb");
        assert_eq!(
            read(r#"[{"type":"text","text":"a"},"b",{"x":[1]},3]"#),
            "ab"
        );
        for none in ["null", "true", "1", "-1", "1.5", "{}", "[]"] {
            assert_eq!(read(none), "", "{none}");
        }
    }

    #[test]
    fn a_count_may_be_odd() {
        let read =
            |text: &str| lenient_count(&mut serde_json::Deserializer::from_str(text)).unwrap();
        assert_eq!(read("7"), Some(7));
        assert_eq!(read("7.9"), Some(7));
        assert_eq!(read("-7"), Some(0));
        assert_eq!(read("null"), None);
        assert_eq!(read(r#""7""#), None);
    }

    #[test]
    fn raw_json_keeps_spacing_and_key_order() {
        let text = r#"{ "b": 1.00, "a": [ ] }"#;
        let raw: RawJson = serde_json::from_str(text).unwrap();
        assert_eq!(raw.get(), text);
        assert_eq!(serde_json::to_string(&raw).unwrap(), text);
    }

    #[test]
    fn raw_json_is_on_one_line_however_it_came() {
        let text = "{\r\n  \"b \\\" \\\\\": 1.00,\n\t\"a\": [ \"x\\n y\" ]\n}";
        let expected = r#"{"b \" \\":1.00,"a":["x\n y"]}"#;
        let read: RawJson = serde_json::from_str(text).unwrap();
        let borrowed: &RawValue = serde_json::from_str(text).unwrap();
        for raw in [read, RawJson::parse(text).unwrap(), RawJson::from(borrowed)] {
            assert_eq!(raw.get(), expected);
        }
    }
}
