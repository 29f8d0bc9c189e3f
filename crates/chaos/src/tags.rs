//! The tags of checked work: each message and each task has an id, in square brackets so that a torn line
//! cannot be mistaken for another.
//!
//! | tag | meaning |
//! |---|---|
//! | `[order A-000123 m07]` | the reader must send `[note A-000123]` to m07 |
//! | `[note A-000123]` | nothing has to be done |
//! | `[plan P-000012]` | the reader must submit a plan with that tag |
//! | `[task T-000042]` | the subject of a task |

use serde::{Deserialize, Serialize};
use std::fmt;

/// What a tag is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verb {
    Order,
    Note,
    Plan,
    Task,
}

impl Verb {
    const ALL: [Self; 4] = [Self::Order, Self::Note, Self::Plan, Self::Task];

    const fn name(self) -> &'static str {
        match self {
            Self::Order => "order",
            Self::Note => "note",
            Self::Plan => "plan",
            Self::Task => "task",
        }
    }
}

/// The identity of a message or a task.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Mark {
    pub verb: Verb,
    pub id: String,
}

/// A mark, and for an order the recipient of the note.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag {
    pub mark: Mark,
    pub to: Option<String>,
}

impl Mark {
    pub fn new(verb: Verb, id: &str) -> Self {
        let id = id.to_owned();
        Self { verb, id }
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{} {}]", self.verb.name(), self.id)
    }
}

impl Tag {
    /// An order to send the note with this id.
    pub fn order(id: &str, to: &str) -> Self {
        let mark = Mark::new(Verb::Order, id);
        let to = Some(to.to_owned());
        Self { mark, to }
    }

    /// Any other tag.
    pub fn plain(verb: Verb, id: &str) -> Self {
        let mark = Mark::new(verb, id);
        Self { mark, to: None }
    }

    /// All tags in a text, in order.
    pub fn all(text: &str) -> Vec<Self> {
        let parts = text.split('[').skip(1);
        let insides = parts.filter_map(|part| part.split_once(']'));
        insides.filter_map(|(inside, _)| parse(inside)).collect()
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.to {
            Some(to) => write!(f, "[{} {} {to}]", self.mark.verb.name(), self.mark.id),
            None => self.mark.fmt(f),
        }
    }
}

fn parse(inside: &str) -> Option<Tag> {
    let mut parts = inside.split(' ');
    let name = parts.next()?;
    let verb = Verb::ALL.into_iter().find(|verb| verb.name() == name)?;
    let id = parts.next().filter(|id| is_id(id))?;
    let to = parts.next().map(str::to_owned);
    let fits = to.is_some() == (verb == Verb::Order) && parts.next().is_none();
    let mark = Mark::new(verb, id);
    fits.then_some(Tag { mark, to })
}

/// A capital letter, a dash and six digits.
fn is_id(id: &str) -> bool {
    let bytes = id.as_bytes();
    let digits = bytes.get(2..).unwrap_or_default();
    bytes.len() == 8
        && bytes[0].is_ascii_uppercase()
        && bytes[1] == b'-'
        && digits.iter().all(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_parsed_as_they_are_written() {
        let tags = [
            Tag::order("A-000123", "m07"),
            Tag::plain(Verb::Note, "A-000123"),
            Tag::plain(Verb::Plan, "P-000001"),
            Tag::plain(Verb::Task, "T-000042"),
        ];
        let text: Vec<String> = tags.iter().map(Tag::to_string).collect();
        assert_eq!(Tag::all(&format!("so {} and", text.join(" x "))), tags);
    }

    #[test]
    fn torn_text_is_no_tag() {
        for text in [
            "[note A-0001",
            "[note A-0001]",
            "[note]",
            "[order A-000123]",
            "[sing A-000123]",
        ] {
            assert_eq!(Tag::all(text), [], "{text}");
        }
        let glued = Tag::all("[note A-00[note A-000002]");
        assert_eq!(glued, [Tag::plain(Verb::Note, "A-000002")]);
    }
}
