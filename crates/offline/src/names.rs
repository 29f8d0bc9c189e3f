//! Names of teammates, and the words that stand for them.

use super::tokens::{Kind, Token, is_verb};

/// Words that are never a name.
const NO_NAMES: &[&str] = &[
    "a",
    "about",
    "an",
    "all",
    "and",
    "any",
    "as",
    "at",
    "by",
    "each",
    "every",
    "everybody",
    "everyone",
    "file",
    "files",
    "for",
    "from",
    "i",
    "in",
    "inbox",
    "into",
    "is",
    "it",
    "me",
    "message",
    "messages",
    "my",
    "new",
    "no",
    "now",
    "of",
    "on",
    "or",
    "other",
    "our",
    "plan",
    "please",
    "saying",
    "shutdown",
    "some",
    "task",
    "tasks",
    "team",
    "teammate",
    "teammates",
    "that",
    "the",
    "then",
    "these",
    "this",
    "to",
    "up",
    "us",
    "we",
    "with",
    "work",
    "you",
    "your",
    "down",
    "background",
    "further",
    "instructions",
];

/// Words that stand for the one who was named last.
const ONE: &[&str] = &["her", "him", "she", "he", "his", "hers", "its"];

/// Words that stand for all who were named last.
const MANY: &[&str] = &["them", "they", "their", "both"];

/// Someone who is spoken of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Spoken {
    Name(String),
    /// The one who was named last.
    One,
    /// Those who were named last.
    Many,
    /// The one who speaks.
    Me,
}

/// Whether a word can name a teammate.
pub(super) fn is_name(token: &Token) -> bool {
    let allowed = |char: char| char.is_alphanumeric() || char == '_' || char == '-';
    let fits = !token.text.is_empty()
        && token.text.chars().count() <= 64
        && token.text.chars().all(allowed);
    let word = token.kind == Kind::Word && !token.is_any(NO_NAMES) && !is_verb(token);
    fits && (word || token.kind == Kind::Quoted)
}

/// Someone, as in `alice`, `her`, `the frontend teammate`.
pub(super) fn name(tokens: &[Token]) -> Option<Spoken> {
    match tokens {
        [one] if one.is_any(ONE) => Some(Spoken::One),
        [one] if one.is_any(MANY) => Some(Spoken::Many),
        [one, both] if one.is_any(MANY) && both.is_word("both") => Some(Spoken::Many),
        [one] if one.is_any(&["me", "us"]) => Some(Spoken::Me),
        [one] if is_name(one) => Some(Spoken::Name(one.text.clone())),
        [the, one] if the.is_word("the") && is_name(one) => Some(Spoken::Name(one.text.clone())),
        [the, one, kind] if the.is_word("the") && kind.is_any(&["teammate", "agent", "member"]) => {
            is_name(one).then(|| Spoken::Name(one.text.clone()))
        }
        [kind, one] if kind.is_any(&["teammate", "agent"]) && is_name(one) => {
            Some(Spoken::Name(one.text.clone()))
        }
        _ => None,
    }
}

/// Several, as in `alice, bob and the frontend teammate`.
pub(super) fn list(tokens: &[Token]) -> Option<Vec<Spoken>> {
    let apart = |token: &Token| token.is_mark(",") || token.is_word("and");
    if tokens.first().is_some_and(apart) || tokens.last().is_some_and(apart) {
        return None;
    }
    let parts = tokens.split(apart).filter(|part| !part.is_empty());
    parts.map(name).collect()
}

/// Whose, as in `her`, `bob's`, `the`; the last one is nobody named.
pub(super) fn possessor(tokens: &[Token]) -> Option<Spoken> {
    match tokens {
        [one] if one.is_any(&["the", "this"]) => Some(Spoken::One),
        [one] if one.is_any(ONE) => Some(Spoken::One),
        [one] if one.is_any(MANY) => Some(Spoken::Many),
        [one] => {
            let owner = ["'s", "\u{2019}s", "'", "\u{2019}"]
                .iter()
                .find_map(|end| one.text.strip_suffix(end))?;
            (!owner.is_empty()).then(|| Spoken::Name(owner.to_owned()))
        }
        _ => None,
    }
}

/// Who was named so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    last: Vec<String>,
    all: Vec<String>,
    /// Who speaks, if it can be written to.
    pub(super) speaker: Option<String>,
}

impl Known {
    /// Remembers those who are named together.
    pub(super) fn mention(&mut self, names: &[String]) {
        if names.is_empty() {
            return;
        }
        for name in names {
            if !self.all.contains(name) {
                self.all.push(name.clone());
            }
        }
        self.last = names.to_vec();
    }

    /// The names of those spoken of; none if a word stands for nobody.
    pub(super) fn resolve(&self, spoken: &[Spoken]) -> Option<Vec<String>> {
        let mut names = Vec::new();
        for one in spoken {
            match one {
                Spoken::Name(name) => names.push(self.as_written(name)),
                Spoken::One => names.push(self.last.last()?.clone()),
                Spoken::Me => names.push(self.speaker.clone()?),
                Spoken::Many if self.last.len() > 1 => names.extend(self.last.iter().cloned()),
                Spoken::Many => names.extend(self.all.iter().cloned()),
            }
        }
        (!names.is_empty()).then_some(names)
    }

    /// The name as it was first written: names differ not by case.
    fn as_written(&self, name: &str) -> String {
        let known = self
            .all
            .iter()
            .find(|known| known.to_lowercase() == name.to_lowercase());
        known.cloned().unwrap_or_else(|| name.to_owned())
    }
}
