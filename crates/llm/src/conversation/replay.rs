//! What a turn of one wire format becomes in another one.
//!
//! A conversation may go on with another server than it began with. Texts, tool uses and results go to
//! any of them; ids and names must then keep to the rules of the strictest.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde::Deserialize;

use crate::json::RawJson;

/// The longest id of a tool use, and the longest name of a tool, that every provider takes.
const LONGEST: usize = 64;

/// The part of an opaque block that shows what it is.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
    text: Option<String>,
    content: Option<Vec<Part>>,
}

/// A part of a message of the Responses API.
#[derive(Deserialize)]
struct Part {
    text: Option<String>,
    refusal: Option<String>,
}

/// The text of an opaque block for a reader: of a block with a `text`, or of all parts of a message.
pub(super) fn readable_text(json: &RawJson) -> Option<String> {
    let head: Head<'_> = json.read().ok()?;
    if let Some(text) = head.text {
        return Some(text);
    }
    if head.kind != "message" {
        return None;
    }
    let parts = head.content?.into_iter();
    let texts = parts.filter_map(|part| part.text.or(part.refusal));
    Some(texts.collect())
}

/// Whether an item of the Responses API is a thought.
pub(super) fn is_reasoning(json: &RawJson) -> bool {
    json.read::<Head<'_>>()
        .is_ok_and(|head| head.kind == "reasoning")
}

/// The id of a tool use as every provider takes it. One that some provider refuses is replaced, always
/// by the same one, so that the result still names its use.
pub(crate) fn call_id(id: &str) -> Cow<'_, str> {
    if is_plain(id) {
        return Cow::Borrowed(id);
    }
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    Cow::Owned(format!("call_{:016x}", hasher.finish()))
}

/// The name of a tool as every provider takes it. Models call tools that do not exist, by names that
/// could not, and providers refuse the whole conversation for it.
pub(crate) fn plain_name(name: &str) -> Cow<'_, str> {
    if is_plain(name) {
        return Cow::Borrowed(name);
    }
    let plain = |char: char| match char.is_ascii_alphanumeric() || "_-".contains(char) {
        true => char,
        false => '_',
    };
    let name: String = name.chars().take(LONGEST).map(plain).collect();
    Cow::Owned(match name.is_empty() {
        true => "unnamed".to_owned(),
        false => name,
    })
}

/// Whether a name has 1 to 64 letters, digits, `_` and `-`.
fn is_plain(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    (1..=LONGEST).contains(&name.len()) && name.bytes().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_names_are_kept_where_they_can_be() {
        assert_eq!(call_id("toolu_01-a"), "toolu_01-a");
        assert_eq!(plain_name("read_file"), "read_file");
        assert_eq!(plain_name("functions.bash ö"), "functions_bash__");
        assert_eq!(plain_name(""), "unnamed");
        assert_eq!(plain_name(&"x".repeat(65)).len(), 64);
        for odd in ["functions.bash:0", "", &"x".repeat(65)] {
            let id = call_id(odd).into_owned();
            assert!(is_plain(&id), "{odd}");
            assert_eq!(call_id(odd), id, "the result gets the same");
        }
        assert_ne!(call_id("a:1"), call_id("a:2"));
    }

    #[test]
    fn a_message_is_read_and_a_thought_is_known() {
        let raw = |text: &str| RawJson::parse(text).unwrap();
        let message = raw(
            r#"{"type":"message","id":"m","content":[{"type":"output_text","text":"a","annotations":[]},{"type":"refusal","refusal":"b"}]}"#,
        );
        assert_eq!(readable_text(&message).as_deref(), Some("ab"));
        assert!(!is_reasoning(&message));
        let thought = raw(r#"{"type":"reasoning","summary":[],"content":[{"text":"hm"}]}"#);
        assert_eq!(readable_text(&thought), None);
        assert!(is_reasoning(&thought));
    }
}
