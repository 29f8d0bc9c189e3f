//! Matches the tokens of a clause against a pattern.
//!
//! A pattern is a line of elements. A word stands for itself, `a|b` for one of several, `[a|b]`
//! for any number of them, and a word in capitals is a slot, which `[SLOT]` makes optional:
//!
//! - `NAMES`: one or more teammates, `WHOSE`: `her`, `bob's`, `it`;
//! - `FILE`: a path, `DIR`: a path that may be a plain word, `NUM`: a number, `ID`: a request's id;
//! - `TEXT`: a quoted text or some words, `LIST`: any tokens with their brackets closed;
//! - `REST`: everything that follows, `WORK`: the same if it begins with a verb.
//!
//! Words that change nothing, such as `the`, are skipped where no element takes them.

use crate::names::Known;
use crate::table::is_verb;
use crate::words::{Kind, Token};

/// The slots of a pattern in order, with the tokens that each took.
pub(crate) type Captures<'c, 'a> = Vec<(&'static str, &'c [Token<'a>])>;

const FILLERS: &str =
    "the a an my your our of all new some any short simple small me please now too";

/// A list of names longer than this is not one.
const MOST_NAME_TOKENS: usize = 100;

/// What the slots of a pattern take, if the tokens match it.
pub(crate) fn captures<'c, 'a>(
    pattern: &'static str,
    tokens: &'c [Token<'a>],
    known: &Known,
) -> Option<Captures<'c, 'a>> {
    let elements: Vec<&'static str> = pattern.split(' ').collect();
    let mut captures = Vec::new();
    matches(&elements, tokens, known, &mut captures).then_some(captures)
}

fn matches<'c, 'a>(
    elements: &[&'static str],
    tokens: &'c [Token<'a>],
    known: &Known,
    captures: &mut Captures<'c, 'a>,
) -> bool {
    let Some((element, later)) = elements.split_first() else {
        return tokens.iter().all(is_filler);
    };
    let (inner, again) = match element.strip_prefix('[') {
        Some(inner) => (inner.trim_end_matches(']'), elements),
        None => (*element, later),
    };
    let is_optional = element.starts_with('[');
    if inner.bytes().all(|byte| byte.is_ascii_uppercase()) {
        if slot(inner, later, tokens, known, captures) {
            return true;
        }
    } else if let Some((first, rest)) = tokens.split_first()
        && first.kind != Kind::Quoted
        && inner.split('|').any(|word| word == first.lower)
        && matches(again, rest, known, captures)
    {
        return true;
    }
    is_optional && matches(later, tokens, known, captures)
        || tokens.split_first().is_some_and(|(first, rest)| {
            is_filler(first) && matches(elements, rest, known, captures)
        })
}

fn is_filler(token: &Token<'_>) -> bool {
    token.is_any(FILLERS) || token.kind == Kind::Word && token.number().is_some()
}

/// Tries all lengths of a slot, the shortest first.
fn slot<'c, 'a>(
    name: &'static str,
    later: &[&'static str],
    tokens: &'c [Token<'a>],
    known: &Known,
    captures: &mut Captures<'c, 'a>,
) -> bool {
    let all = tokens.len();
    let (least, most) = match name {
        "REST" | "WORK" => (all.max(1), all),
        "TEXT" | "LIST" => (1, all),
        "NAMES" => (1, all.min(MOST_NAME_TOKENS)),
        _ => (1, all.min(1)),
    };
    for length in least..=most {
        let (taken, rest) = tokens.split_at(length);
        if fits(name, taken, known) {
            captures.push((name, taken));
            if matches(later, rest, known, captures) {
                return true;
            }
            captures.pop();
        }
    }
    false
}

fn fits(slot: &str, taken: &[Token<'_>], known: &Known) -> bool {
    let Some(first) = taken.first() else {
        return false;
    };
    let count = |mark: char| taken.iter().filter(|token| token.is_mark(mark)).count();
    match slot {
        "NAMES" => known.list(taken).is_some(),
        "WHOSE" => known.owner(first).is_some(),
        "FILE" => first.is_path(),
        "DIR" => first.kind != Kind::Mark,
        "NUM" => first.number().is_some(),
        "ID" => {
            let allowed = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_');
            first.text.contains(char::is_numeric) && first.text.chars().all(allowed)
        }
        // Words around a quoted text are not part of it.
        "TEXT" => taken.len() == 1 || taken.iter().all(|token| token.kind != Kind::Quoted),
        "LIST" => count('(') == count(')'),
        "WORK" => is_verb(first),
        _ => true,
    }
}
