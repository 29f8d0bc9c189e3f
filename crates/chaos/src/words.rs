//! The words of checked work: each message and each task bears an id, in square brackets so that a
//! line that was torn cannot pass for another.
//!
//! | words | meaning |
//! |---|---|
//! | `[order A-000123 m07]` | whoever reads this is to send `[letter A-000123]` to m07 |
//! | `[letter A-000123]` | nothing is to be done |
//! | `[plan P-000012]` | whoever reads this is to submit a plan of that name |
//! | `[task T-000042]` | the subject of a task |

use serde::{Deserialize, Serialize};
use std::fmt;

/// What a word is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verb {
    /// Send a letter.
    Order,
    /// A letter.
    MailItem,
    /// Submit a plan.
    Plan,
    /// A task.
    Task,
}

impl Verb {
    const ALL: [Self; 4] = [Self::Order, Self::MailItem, Self::Plan, Self::Task];

    const fn name(self) -> &'static str {
        match self {
            Self::Order => "order",
            Self::MailItem => "letter",
            Self::Plan => "plan",
            Self::Task => "task",
        }
    }
}

/// What can be told apart: a message, or a task.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Mark {
    /// What it is.
    pub verb: Verb,
    /// Which one.
    pub id: String,
}

/// A mark, and for an order to whom the letter is to go.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Word {
    /// What it is.
    pub mark: Mark,
    /// For whom an order wants its letter.
    pub to: Option<String>,
}

impl Mark {
    /// The mark of this kind and id.
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

impl Word {
    /// An order to send the letter of this id.
    pub fn order(id: &str, to: &str) -> Self {
        let mark = Mark::new(Verb::Order, id);
        let to = Some(to.to_owned());
        Self { mark, to }
    }

    /// Any other word.
    pub fn plain(verb: Verb, id: &str) -> Self {
        let mark = Mark::new(verb, id);
        Self { mark, to: None }
    }

    /// All words in a text, in order.
    pub fn all(text: &str) -> Vec<Self> {
        let parts = text.split('[').skip(1);
        let insides = parts.filter_map(|part| part.split_once(']'));
        insides.filter_map(|(inside, _)| parse(inside)).collect()
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.to {
            Some(to) => write!(f, "[{} {} {to}]", self.mark.verb.name(), self.mark.id),
            None => self.mark.fmt(f),
        }
    }
}

fn parse(inside: &str) -> Option<Word> {
    let mut parts = inside.split(' ');
    let name = parts.next()?;
    let verb = Verb::ALL.into_iter().find(|verb| verb.name() == name)?;
    let id = parts.next().filter(|id| is_id(id))?;
    let to = parts.next().map(str::to_owned);
    let fits = to.is_some() == (verb == Verb::Order) && parts.next().is_none();
    let mark = Mark::new(verb, id);
    fits.then_some(Word { mark, to })
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
    fn words_are_read_as_they_are_written() {
        let words = [
            Word::order("A-000123", "m07"),
            Word::plain(Verb::MailItem, "A-000123"),
            Word::plain(Verb::Plan, "P-000001"),
            Word::plain(Verb::Task, "T-000042"),
        ];
        let text: Vec<String> = words.iter().map(Word::to_string).collect();
        assert_eq!(Word::all(&format!("so {} and", text.join(" x "))), words);
    }

    #[test]
    fn what_was_torn_is_no_word() {
        for text in [
            "[letter A-0001",
            "[letter A-0001]",
            "[letter]",
            "[order A-000123]",
            "[sing A-000123]",
        ] {
            assert_eq!(Word::all(text), [], "{text}");
        }
        let glued = Word::all("[letter A-00[letter A-000002]");
        assert_eq!(glued, [Word::plain(Verb::MailItem, "A-000002")]);
    }
}
