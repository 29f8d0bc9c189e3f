//! Matches the tokens of a clause against a pattern.
//!
//! A pattern is a line of elements. A small word stands for itself, `a|b` for one
//! of several, `[a]` may be absent, and a word in capitals is a slot:
//!
//! - `NAME`: a teammate, `NAMES`: one or more, `POSS`: whose (`her`, `bob's`);
//! - `FILE`: a path, `DIR`: a path that may be one plain word, `NUM`: a number, `ID`: the id of a request;
//! - `TEXT`: a quoted text or some words, `REST`: all that follows.

use super::names;
use super::tokens::{Kind, Token};

/// The tokens that the slots of a pattern took, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Captures<'a> {
    slots: Vec<(&'static str, &'a [Token])>,
}

impl<'a> Captures<'a> {
    /// The tokens of the `number`th slot of a kind.
    pub(super) fn nth(&self, slot: &str, number: usize) -> Option<&'a [Token]> {
        let mut found = self.slots.iter().filter(|(name, _)| *name == slot);
        found.nth(number).map(|(_, tokens)| *tokens)
    }

    pub(super) fn get(&self, slot: &str) -> Option<&'a [Token]> {
        self.nth(slot, 0)
    }
}

/// Matches all tokens against a pattern.
pub(super) fn matches<'a>(pattern: &'static str, tokens: &'a [Token]) -> Option<Captures<'a>> {
    let elements: Vec<&'static str> = pattern.split(' ').collect();
    let mut captures = Captures::default();
    step(&elements, tokens, &mut captures).then_some(captures)
}

fn step<'a>(elements: &[&'static str], tokens: &'a [Token], captures: &mut Captures<'a>) -> bool {
    let Some((element, later)) = elements.split_first() else {
        return tokens.is_empty();
    };
    if is_slot(element) {
        return slot(element, later, tokens, captures);
    }
    let (words, optional) = match element.strip_prefix('[') {
        Some(words) => (words.trim_end_matches(']'), true),
        None => (*element, false),
    };
    if let Some((first, rest)) = tokens.split_first() {
        let fits = first.kind != Kind::Quoted && words.split('|').any(|word| word == first.lower);
        if fits && step(later, rest, captures) {
            return true;
        }
    }
    optional && step(later, tokens, captures)
}

fn is_slot(element: &str) -> bool {
    element.len() > 1 && element.bytes().all(|byte| byte.is_ascii_uppercase())
}

/// Tries all lengths of a slot, the shortest first.
fn slot<'a>(
    name: &'static str,
    later: &[&'static str],
    tokens: &'a [Token],
    captures: &mut Captures<'a>,
) -> bool {
    let from = if name == "REST" { tokens.len() } else { 1 };
    for length in from.max(1)..=tokens.len() {
        let (taken, rest) = tokens.split_at(length);
        if !fits(name, taken) {
            continue;
        }
        captures.slots.push((name, taken));
        if step(later, rest, captures) {
            return true;
        }
        captures.slots.pop();
    }
    false
}

fn fits(slot: &str, taken: &[Token]) -> bool {
    let only = match taken {
        [only] => Some(only),
        _ => None,
    };
    match slot {
        "NAME" => names::name(taken).is_some(),
        "NAMES" => names::list(taken).is_some(),
        "POSS" => names::possessor(taken).is_some(),
        "FILE" => only.is_some_and(is_path),
        "DIR" => only.is_some_and(|token| token.kind != Kind::Mark),
        "NUM" => only.is_some_and(|token| number(token).is_some()),
        "ID" => only.is_some_and(|token| {
            token.kind != Kind::Mark && token.text.chars().any(|char| char.is_ascii_digit())
        }),
        // A quoted text is whole: words around it are not part of it.
        "TEXT" => taken.len() == 1 || taken.iter().all(|token| token.kind != Kind::Quoted),
        _ => true,
    }
}

pub(super) fn is_path(token: &Token) -> bool {
    const NAMES: &[&str] = &["makefile", "readme", "dockerfile", "license", "justfile"];
    match token.kind {
        Kind::Quoted => !token.text.trim().is_empty() && !token.text.contains('\n'),
        Kind::Word => token.text.contains(['.', '/']) || token.is_any(NAMES),
        Kind::Mark => false,
    }
}

/// The number that a token is, in digits or as a small word.
pub(super) fn number(token: &Token) -> Option<i64> {
    const WORDS: [&str; 13] = [
        "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
        "eleven", "twelve",
    ];
    let text = token.lower.trim_start_matches('#');
    if let Some(place) = WORDS.iter().position(|word| *word == text) {
        return i64::try_from(place).ok();
    }
    text.parse().ok()
}
